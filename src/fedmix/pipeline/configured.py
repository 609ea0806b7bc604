"""Read all configuration files, apply presets, and check everything together.

A run checks each study as published and in all presets, and all names in tables, figures,
published values, claims and discrepancies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import yaml

from fedmix.cells.items import item_entries, items_of
from fedmix.cells.papers import (
    Claim,
    Discrepancy,
    Paper,
    misnamed,
    read_checked,
    read_entries,
    read_papers,
)
from fedmix.cells.protocols.space import search_documents, space_of
from fedmix.configuration import Document, Problems, name_of, raise_all, read_document, validate
from fedmix.data.registry import entries_of
from fedmix.declarations import Keys
from fedmix.errors import ConfigurationError
from fedmix.pipeline.checking import Vocabulary, unknown_names
from fedmix.pipeline.checking.printed import PrintedFiles, coverage_errors, read_printed
from fedmix.pipeline.checking.references import (
    claim_errors,
    discrepancy_errors,
    item_errors,
    name_errors,
    paper_errors,
    place_errors,
    unmatched_errors,
)
from fedmix.pipeline.checking.studies import method_errors, search_errors, study_errors
from fedmix.pipeline.costs import read_costs
from fedmix.pipeline.plan import Study, plan_study
from fedmix.pipeline.schemas import (
    ONLY,
    MethodEntry,
    Options,
    PresetFile,
    ReplicationRule,
    StudyFile,
)

ALL = "all"
_WORDS = ("true", "false", "null")  # never a name or a folder
# Folders of results that belong to no study or preset: protocol searches, figures of the data.
SHARED_FOLDERS = ("protocols", "embeddings")


@dataclass
class Preset:
    """The changes of studies and items, the papers on request, and the rule for replications."""

    studies: dict[str, Document] = field(default_factory=dict)
    items: dict[str, Document] = field(default_factory=dict)
    on_request: set[str] = field(default_factory=set)
    replications: ReplicationRule | None = None


@dataclass(frozen=True)
class Configuration:
    """The whole configuration, by name.

    ``datasets`` are the entries of ``config/datasets.yaml``, ``published`` all studies as in their
    own files, ``presets`` the studies of each preset with its ``changes``.
    """

    papers: Mapping[str, Paper]
    datasets: Mapping[str, Any]
    published: Mapping[str, Study]
    presets: Mapping[str, Mapping[str, Study]]
    changes: Mapping[str, Preset]


def read_configuration(folder: str | Path) -> Configuration:
    """Read and check the folder ``config``; an error has the place of each problem."""
    folder = Path(folder)
    papers = read_papers(folder)
    problems = Problems()
    with problems.kept():
        methods = read_checked(folder / "methods.yaml", dict[str, MethodEntry])
        raise_all(method_errors(methods))
    with problems.kept():
        datasets = read_document(folder / "datasets.yaml", empty={})
        entries_of(datasets)
    files = _study_files(papers)
    studies = {}
    for name, (_, path) in files.items():
        with problems.kept():
            studies[name] = read_checked(path, StudyFile)
    for kind, entry in (("claims", Claim), ("discrepancies", Discrepancy)):
        with problems.kept():
            read_entries(papers, kind, entry)
    with problems.kept():
        items_of(item_entries(papers))
    if len(studies) == len(files):  # a preset may name any study
        with problems.kept():
            changes = _read_presets(folder, papers, studies)
    problems.raise_all()
    costs = read_costs(folder / "costs.csv")

    def plan(name: str, document: Document, *others: Study) -> Study:
        study = plan_study(name, files[name][0].key, document, methods.content, costs)
        raise_all(study_errors(document, (study, *others), datasets.content))
        return study

    published: dict[str, Study] = {}
    presets: dict[str, dict[str, Study]] = {preset: {} for preset in changes}
    for name, document in studies.items():
        with problems.kept():
            published[name] = plan(name, document)
    for preset, parts in changes.items():
        for name, change in parts.studies.items():
            if name in published:
                with problems.kept():
                    own = published[name]
                    if change.content:
                        own = plan(name, _changed(studies[name], change), own)
                    presets[preset][name] = own
    problems.raise_all()
    configuration = Configuration(papers, datasets.content, published, presets, changes)
    raise_all(_reference_errors(configuration, read_printed(folder.parent / "data" / "published")))
    return configuration


def read_options(folder: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the main options, checked.

    ``options`` is ``config.yaml`` with the changes of the command line. Snakemake leaves some of
    these as text, such as the ``true`` of ``--config partial=true``. An error says whether a
    problem is in the file or on the command line.
    """
    file = read_document(folder / "config.yaml", empty={})
    given = {key for key, value in options.items() if value != file.content.get(key)}
    values = {key: _value(key, own) if key in given else own for key, own in options.items()}

    def find(keys: Keys) -> str | None:
        return f"the command line (--config): {keys[0]}" if keys and keys[0] in given else None

    document = Document(values, (find, *file.finders))
    validate(document, Options)
    return values


def _value(key: str, given: Any) -> Any:
    """Return an option's value from the command line, which may be a text such as ``"7"``."""
    field = Options.model_fields.get(key)
    may_be_text = field is None or str in (field.annotation, *get_args(field.annotation))
    if not isinstance(given, str) or (may_be_text and given.lower() not in _WORDS):
        return given
    try:
        return yaml.safe_load(given)
    except yaml.YAMLError:
        return given


def _reference_errors(configuration: Configuration, files: PrintedFiles) -> Iterator[str]:
    """Yield unknown names in tables, figures, claims, discrepancies and searches."""
    all_plans = [configuration.published, *configuration.presets.values()]
    studies = {
        name: Vocabulary(plan[name] for plan in all_plans if name in plan)
        for name in configuration.published
    }
    papers = configuration.papers
    for _, claim in read_entries(papers, "claims", Claim):
        yield from claim_errors(claim, studies)
    for _, discrepancy in read_entries(papers, "discrepancies", Discrepancy):
        yield from discrepancy_errors(discrepancy, studies)
    entries = item_entries(papers)
    items = items_of(entries)
    documents = {name: entry.document for name, entry in entries.items()}
    of_items: list[str] = []
    for name, item in items.items():
        of_items += name_errors(name, documents[name], papers)
        of_items += item_errors(item, documents[name], studies, files)
    yield from of_items or (
        *coverage_errors(items, documents, files),
        *place_errors(items, documents, configuration.published),
    )
    for name, preset in configuration.changes.items():
        entries = item_entries(papers, preset.items) if preset.items else {}
        documents = {key: entry.document for key, entry in entries.items()}
        plans, valid = configuration.presets[name], {}
        for changed_item, item in items_of(entries, preset.items).items():
            document = documents[changed_item]
            found = [
                *item_errors(item, document, studies, files),
                *unmatched_errors(item, document, plans),
            ]
            yield from found
            if not found:
                valid[changed_item] = item
        yield from place_errors(valid, documents, plans)
    for paper in papers.values():
        shown = [item for item in items.values() if item.paper == paper.key]
        own = {n: studies[n] for n, s in configuration.published.items() if s.paper == paper.key}
        yield from paper_errors(paper, shown, own)
        for name, document in search_documents(paper).items():
            for preset in document.content["presets"]:
                chosen = document.under(document.part("presets", preset))
                yield from search_errors(space_of(name, paper, chosen), chosen)


def _read_presets(
    folder: Path, papers: Mapping[str, Paper], studies: Mapping[str, Document]
) -> dict[str, Preset]:
    """Return each preset, which is its main file and the parts of papers, by its name."""
    files: dict[str, list[Path]] = {}
    for part in (folder, *(paper.folder for paper in papers.values())):
        for path in sorted(part.glob("presets/*.yaml")):
            files.setdefault(path.stem, []).append(path)
    shared = {*studies, *SHARED_FOLDERS}
    raise_all(
        f"{name_of(paths[0])}: a preset cannot be called {name!r}, because results/{name} is "
        "shared by all presets. Give the file another name."
        for name, paths in files.items()
        if name in shared
    )
    raise_all(
        error
        for name, paths in files.items()
        for error in misnamed("a preset", name, name_of(paths[0]))
    )
    return {
        name: _read_preset([read_checked(path, PresetFile) for path in paths], studies, papers)
        for name, paths in files.items()
    }


def _study_files(papers: Mapping[str, Paper]) -> dict[str, tuple[Paper, Path]]:
    """Return the paper and the file of each study, by the study's name."""
    found: dict[str, tuple[Paper, Path]] = {}
    for paper in papers.values():
        for path in sorted((paper.folder / "studies").glob("*.yaml")):
            raise_all(misnamed("a study", path.stem, name_of(path)))
            if path.stem in found:
                raise ConfigurationError(
                    f"{name_of(path)}: {name_of(found[path.stem][1])} has the same name. Rename "
                    "one of them."
                )
            found[path.stem] = (paper, path)
    return found


def _read_preset(
    parts: list[Document], studies: Mapping[str, Document], papers: Collection[str]
) -> Preset:
    """Return the combined changes of a preset's validated files."""
    preset = Preset()
    for part in parts:
        raise_all(_unknown(part, studies, papers))
        if part.content.get("studies") == ALL:
            preset.studies.update({name: Document({}, part.finders) for name in studies})
        else:
            raise_all(_add(preset.studies, part, "studies"))
        raise_all(_add(preset.items, part, "items"))
        preset.on_request.update(part.content.get("on_request", ()))
    rules = [part for part in parts if part.content.get("replications")]
    raise_all(
        f"{part.place('replications')}: another file of the preset has a rule too"
        for part in rules[1:]
    )
    if rules:
        preset.replications = ReplicationRule(**rules[0].content["replications"])
    return preset


def _unknown(
    part: Document, studies: Mapping[str, Document], papers: Collection[str]
) -> Iterator[str]:
    if part.content.get("studies") != ALL:
        yield from unknown_names(part, "study", studies, "studies")
    yield from unknown_names(part, "paper", papers, "on_request")


def _add(found: dict[str, Document], part: Document, kind: str) -> Iterator[str]:
    for name in part.content.get(kind, {}):
        if name in found:
            yield f"{part.place(kind, name)}: {name!r} is changed in two files of the preset"
        found[name] = part.part(kind, name)


def _changed(study: Document, change: Document) -> Document:
    """Return a study as a preset runs it, without the variants that the preset leaves out."""
    whole = study.under(change)
    wanted = whole.content.pop(ONLY, None)
    if wanted is None:
        return whole
    variants = whole.content.get("variants", {})
    raise_all(unknown_names(change, "variant", variants, ONLY))
    raise_all(
        f"{change.place('variants', name)}: {name!r} is changed, but {ONLY} does not list it"
        for name in change.content.get("variants", {})
        if name not in wanted
    )
    whole.content["variants"] = {n: value for n, value in variants.items() if n in wanted}
    return whole

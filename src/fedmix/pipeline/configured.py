"""All configuration files, read, laid over one another and checked together.

Everything is checked whatever a run asks for: each study as published and in every preset, and what
tables, figures, printed numbers, claims and discrepancies say of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedmix.cells.items import item_entries
from fedmix.cells.papers import Paper, read_entries, read_papers
from fedmix.configuration import (
    Document,
    name_of,
    raise_all,
    read_document,
    read_schema,
    validate,
)
from fedmix.data.registry import entries_of
from fedmix.errors import ConfigurationError
from fedmix.pipeline.checking.claims import claim_errors, discrepancy_errors
from fedmix.pipeline.checking.conditions import method_condition_errors
from fedmix.pipeline.checking.items import item_errors, unmatched_errors
from fedmix.pipeline.checking.parameters import (
    method_errors,
    only_errors,
    study_parameter_errors,
)
from fedmix.pipeline.checking.printed import PrintedFiles
from fedmix.pipeline.checking.settings import setting_errors
from fedmix.pipeline.checking.vocabulary import Vocabulary
from fedmix.pipeline.costs import Costs, read_costs
from fedmix.pipeline.plan import Study, plan_study
from fedmix.pipeline.presets import (
    Preset,
    change_schema,
    changed,
    name_errors,
    preset_files,
    read_preset,
)


@dataclass(frozen=True)
class Configuration:
    """Everything that is configured.

    Attributes
    ----------
    papers : mapping of str to Paper
        Every folder of ``config/papers`` and ``config/beyond``.
    datasets : mapping of str to mapping
        Entries of ``config/datasets.yaml``.
    published : mapping of str to Study
        Every study as its own file has it.
    presets : mapping of str to mapping of str to Study
        The studies that a preset runs, as it runs them.
    changes : mapping of str to Preset
        What each preset says.
    """

    papers: Mapping[str, Paper]
    datasets: Mapping[str, Any]
    published: Mapping[str, Study]
    presets: Mapping[str, Mapping[str, Study]]
    changes: Mapping[str, Preset]

    def vocabulary(self, study: str) -> Vocabulary:
        """Return what can be named of a study, as published and in every preset."""
        plans = [self.published, *self.presets.values()]
        return Vocabulary.of(plan[study] for plan in plans if study in plan)


def read_configuration(folder: str | Path) -> Configuration:
    """Read and check a configuration folder.

    Parameters
    ----------
    folder : path-like
        The ``config`` folder; the schemas lie in ``workflow/schemas`` beside it.

    Raises
    ------
    ConfigurationError
        Listing what is wrong, in which file, line and key, with the nearest valid names.
    """
    folder = Path(folder)
    papers = read_papers(folder)
    methods = _read(folder, folder / "methods.yaml", "methods")
    datasets = _read(folder, folder / "datasets.yaml", "datasets")
    entries_of(datasets.content)  # for the errors that the schema cannot see
    raise_all(method_errors(methods))
    files = _study_files(papers)
    studies = {name: _read(folder, path, "study") for name, (_, path) in files.items()}
    changes = _read_presets(folder, papers, studies)
    planner = _Planner(
        {name: paper.key for name, (paper, _) in files.items()},
        methods.content,
        datasets.content,
        read_costs(folder / "costs.csv"),
    )
    published = {name: planner.plan(name, document) for name, document in studies.items()}
    presets = {
        preset: {
            name: planner.plan(name, changed(studies[name], change), published[name])
            if change.content
            else published[name]
            for name, change in parts.studies.items()
        }
        for preset, parts in changes.items()
    }
    configuration = Configuration(papers, datasets.content, published, presets, changes)
    raise_all(_reference_errors(configuration, PrintedFiles(folder.parent / "data" / "published")))
    return configuration


def _reference_errors(configuration: Configuration, files: PrintedFiles) -> Iterator[str]:
    """Yield what tables, figures, claims and discrepancies name in vain."""
    studies = {name: configuration.vocabulary(name) for name in configuration.published}
    papers = configuration.papers
    for _, claim in read_entries(papers, "claims"):
        yield from claim_errors(claim, studies)
    for _, discrepancy in read_entries(papers, "discrepancies"):
        yield from discrepancy_errors(discrepancy, studies)
    entries = item_entries(papers)
    for item in entries:
        yield from item_errors(item, entries, studies, files)
    for name, preset in configuration.changes.items():
        entries = item_entries(papers, preset.items) if preset.items else {}
        for item in preset.items:
            yield from item_errors(item, entries, studies, files)
            yield from unmatched_errors(entries[item].document, configuration.presets[name])


@dataclass(frozen=True)
class _Planner:
    """Plans and checks studies: their papers by name, methods, data sets and costs."""

    papers: Mapping[str, str]
    methods: Mapping[str, Any]
    datasets: Mapping[str, Any]
    costs: Costs

    def plan(self, name: str, document: Document, published: Study | None = None) -> Study:
        study = plan_study(name, self.papers[name], document, self.methods, self.costs)
        raise_all(setting_errors(document, self.datasets))
        raise_all(self._method_errors(document, [s for s in (study, published) if s]))
        return study

    def _method_errors(self, document: Document, plans: list[Study]) -> Iterator[str]:
        estimators = {name: entry["estimator"] for name, entry in self.methods.items()}
        names = set().union(*(plan.method_names for plan in plans))
        yield from study_parameter_errors(document, estimators, names)
        yield from only_errors(document, set().union(*(plan.methods for plan in plans)))
        known = [setting for plan in plans for setting in plan.settings.values()]
        yield from method_condition_errors(document.part("methods"), known)


def _read_presets(
    folder: Path, papers: Mapping[str, Paper], studies: Mapping[str, Document]
) -> dict[str, Preset]:
    files = preset_files(folder, papers)
    raise_all(name_errors(files, studies))
    presets = {
        name: read_preset([_read(folder, path, "preset") for path in paths], studies, papers)
        for name, paths in files.items()
    }
    schema = change_schema(read_schema(_schema(folder, "study")))
    for preset in presets.values():
        for change in preset.studies.values():
            validate(change, schema)
    return presets


def _read(folder: Path, path: Path, schema: str) -> Document:
    document = read_document(path, empty={})
    validate(document, read_schema(_schema(folder, schema)))
    return document


def _schema(folder: Path, name: str) -> Path:
    return folder.parent / "workflow" / "schemas" / f"{name}.schema.yaml"


def _study_files(papers: Mapping[str, Paper]) -> dict[str, tuple[Paper, Path]]:
    """Return every study's paper and file, by the study's name."""
    found: dict[str, tuple[Paper, Path]] = {}
    for paper in papers.values():
        for path in sorted((paper.folder / "studies").glob("*.yaml")):
            if path.stem in found:
                raise ConfigurationError(f"{name_of(path)}: another paper has such a study too")
            found[path.stem] = (paper, path)
    return found

"""Presets: the studies to run, and their changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from fedmix.cells.papers import Paper
from fedmix.configuration import Document, name_of, raise_all
from fedmix.declarations import Declared, Names
from fedmix.errors import nearest_names
from fedmix.pipeline.precision import ReplicationRule
from fedmix.pipeline.studies import StudyFile

ALL = "all"
# The key for the variants of a study that a preset runs; without it, all of them run.
ONLY = "only_variants"
# Folders of results that belong to no study or preset: protocol searches, figures of the data.
SHARED_FOLDERS = ("protocols", "embeddings")


def _change() -> type[Declared]:
    """Return the model of a preset's changes of a study: any of a study's keys."""
    fields = {
        name: (Annotated[field.rebuild_annotation(), Field(description=field.description)], None)
        for name, field in StudyFile.model_fields.items()
    }
    only = Annotated[Names, Field(description="The variants to run; all of them by default.")]
    return create_model(
        "StudyChange",
        __base__=Declared,
        __doc__="Keys of a study's file to change.",
        **{**fields, ONLY: (only, None)},  # type: ignore[call-overload]
    )


StudyChange = _change()


class PresetFile(Declared):
    """The studies to run, and their changes."""

    studies: Literal["all"] | dict[str, StudyChange] = Field(  # type: ignore[valid-type]
        {},
        description="Study name -> keys to change in its file (an empty mapping changes nothing); "
        'or "all" for every study at its published size.',
    )
    on_request: Names = Field(
        [],
        description="Folders of studies that `all`, its audit and its pages leave out. They run if "
        "a target names them, such as `snakemake --cores 2 beyond`.",
    )
    replications: ReplicationRule | None = Field(
        None,
        description="When a setting has enough replications; by default at its study's number.",
    )
    items: dict[str, dict[str, Any]] = Field(
        {},
        description="Item name -> keys to change, e.g. the stand-in data set that a table shows.",
    )


@dataclass(frozen=True)
class Preset:
    """The changes of a preset.

    Parameters
    ----------
    studies, items : mapping of str to Document
        The changes of each study to run, and of items.
    on_request : set of str
        Papers that run only if a target names them.
    replications : ReplicationRule or None
        When a setting has enough replications.
    """

    studies: dict[str, Document] = field(default_factory=dict)
    items: dict[str, Document] = field(default_factory=dict)
    on_request: set[str] = field(default_factory=set)
    replications: ReplicationRule | None = None


def preset_files(folder: Path, papers: Mapping[str, Paper]) -> dict[str, list[Path]]:
    """Return the files of each preset by its name: its main file and the parts of papers."""
    folders = [folder, *(paper.folder for paper in papers.values())]
    found: dict[str, list[Path]] = {path.stem: [] for path in folder.glob("presets/*.yaml")}
    for part in folders:
        for path in sorted(part.glob("presets/*.yaml")):
            found.setdefault(path.stem, []).append(path)
    return found


def name_errors(files: Mapping[str, list[Path]], studies: Iterable[str]) -> Iterator[str]:
    """Yield an error for each preset with the name of a folder that all presets share.

    Parameters
    ----------
    files : mapping of str to list of pathlib.Path
        From :func:`preset_files`.
    studies : iterable of str
        Names of all studies.
    """
    shared = {*studies, *SHARED_FOLDERS}
    for name, paths in files.items():
        if name in shared:
            yield (
                f"{name_of(paths[0])}: a preset cannot be called {name!r}, because results/{name} "
                "is shared by all presets. Give the file another name."
            )


def read_preset(
    parts: list[Document], studies: Mapping[str, Document], papers: Iterable[str]
) -> Preset:
    """Return the combined changes of a preset's files.

    Parameters
    ----------
    parts : list of Document
        The files, already validated.
    studies : mapping of str to Document
        All studies as published.
    papers : iterable of str
        The names of all papers.

    Raises
    ------
    ConfigurationError
        If a study or paper does not exist, or two files change the same study or have a rule.
    """
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
    if not rules:
        return preset
    return replace(preset, replications=ReplicationRule(**rules[0].content["replications"]))


def _unknown(
    part: Document, studies: Mapping[str, Document], papers: Iterable[str]
) -> Iterator[str]:
    named = part.content.get("studies", {})
    for name in () if named == ALL else named:
        if name not in studies:
            place = part.place("studies", name)
            yield f"{place}: unknown study {name!r}. {nearest_names(name, studies)}"
    for i, name in enumerate(part.content.get("on_request", ())):
        if name not in papers:
            place = part.place("on_request", i)
            yield f"{place}: unknown paper {name!r}. {nearest_names(name, papers)}"


def _add(found: dict[str, Document], part: Document, kind: str) -> Iterator[str]:
    for name in part.content.get(kind, {}):
        if name in found:
            yield f"{part.place(kind, name)}: {name!r} is changed in two files of the preset"
        found[name] = part.part(kind, name)


def changed(study: Document, change: Document) -> Document:
    """Return a study as a preset runs it.

    Raises
    ------
    ConfigurationError
        If the preset names an unknown variant, or changes one that it does not run.
    """
    whole = study.under(change)
    wanted = whole.content.pop(ONLY, None)
    if wanted is None:
        return whole
    variants = whole.content.get("variants", {})
    raise_all(
        f"{change.place(ONLY, i)}: unknown variant {name!r}. {nearest_names(name, variants)}"
        for i, name in enumerate(wanted)
        if name not in variants
    )
    raise_all(
        f"{change.place('variants', name)}: {name!r} is changed, but {ONLY} does not list it"
        for name in change.content.get("variants", {})
        if name not in wanted
    )
    whole.content["variants"] = {n: value for n, value in variants.items() if n in wanted}
    return whole

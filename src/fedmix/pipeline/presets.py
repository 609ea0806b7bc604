"""Presets: which studies run, and how they differ from their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from fedmix.cells.papers import Paper
from fedmix.configuration import Document, name_of, raise_all
from fedmix.declarations import Declared, Names
from fedmix.errors import nearest_names
from fedmix.pipeline.studies import StudyFile

ALL = "all"
# Names the variants of a study that a preset runs; all of them without it.
ONLY = "only_variants"
# Folders of results that are no study's and no preset's: the searches' runs, pictures of the data.
SHARED_FOLDERS = ("protocols", "embeddings")


def _change() -> type[Declared]:
    """Return the model of what a preset may say of a study: any of a study's keys."""
    fields = {
        name: (Annotated[field.rebuild_annotation(), Field(description=field.description)], None)
        for name, field in StudyFile.model_fields.items()
    }
    only = Annotated[Names, Field(description="The variants that run; all of them by default.")]
    return create_model(
        "StudyChange",
        __base__=Declared,
        __doc__="Keys of a study's file to change.",
        **{**fields, ONLY: (only, None)},  # type: ignore[call-overload]
    )


StudyChange = _change()


class PresetFile(Declared):
    """Which studies run, and how they differ from their files."""

    studies: Literal["all"] | dict[str, StudyChange] = Field(  # type: ignore[valid-type]
        {},
        description="Study name -> keys to change in its file (an empty mapping changes nothing); "
        'or "all", every study at its published size.',
    )
    on_request: Names = Field(
        [],
        description="Folders of studies that `all` leaves out, with its audit and its pages: they "
        "run where a target names them, such as `snakemake --cores 2 beyond`.",
    )
    items: dict[str, dict[str, Any]] = Field(
        {},
        description="Item name -> keys to change, e.g. the stand-in data set that a table shows.",
    )


@dataclass(frozen=True)
class Preset:
    """What a preset changes.

    Parameters
    ----------
    studies, items : mapping of str to Document
        The changes of each study that runs, and of items.
    on_request : set of str
        Papers that only targets of their own run.
    """

    studies: dict[str, Document] = field(default_factory=dict)
    items: dict[str, Document] = field(default_factory=dict)
    on_request: set[str] = field(default_factory=set)


def preset_files(folder: Path, papers: Mapping[str, Paper]) -> dict[str, list[Path]]:
    """Return every preset's files by its name: its own and every paper's part."""
    folders = [folder, *(paper.folder for paper in papers.values())]
    found: dict[str, list[Path]] = {path.stem: [] for path in folder.glob("presets/*.yaml")}
    for part in folders:
        for path in sorted(part.glob("presets/*.yaml")):
            found.setdefault(path.stem, []).append(path)
    return found


def name_errors(files: Mapping[str, list[Path]], studies: Iterable[str]) -> Iterator[str]:
    """Yield presets that are called as a folder of ``results`` that all presets share.

    Parameters
    ----------
    files : mapping of str to list of pathlib.Path
        Of :func:`preset_files`.
    studies : iterable of str
        Names of all studies.
    """
    shared = {*studies, *SHARED_FOLDERS}
    for name, paths in files.items():
        if name in shared:
            yield (
                f"{name_of(paths[0])}: a preset cannot be called {name!r}, for results/{name} "
                "holds what all presets share. Give the file another name."
            )


def read_preset(
    parts: list[Document], studies: Mapping[str, Document], papers: Iterable[str]
) -> Preset:
    """Return what a preset's files say together.

    Parameters
    ----------
    parts : list of Document
        As their schema allows.
    studies : mapping of str to Document
        Every study as published.
    papers : iterable of str
        Names of all papers.

    Raises
    ------
    ConfigurationError
        If a study or paper does not exist, or two files speak of the same study.
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
    return preset


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
        If the preset names a variant that the study does not have, or changes one that it leaves
        out.
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
        f"{change.place('variants', name)}: {name!r} is changed, but not one of {ONLY}"
        for name in change.content.get("variants", {})
        if name not in wanted
    )
    whole.content["variants"] = {n: value for n, value in variants.items() if n in wanted}
    return whole

"""Papers, comparisons beyond them, and their registers of claims and of discrepancies.

``config/papers/<key>`` is about one paper. ``config/beyond/<key>`` is a comparison of our own,
about no paper or about all of them. A new folder adds its studies, tables, figures, claims and
targets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from fedmix.configuration import Document, name_of, raise_all, read_document, validate
from fedmix.declarations import Declared, Like
from fedmix.errors import ConfigurationError, nearest_names

KINDS = ("papers", "beyond")
#: The files and folders of a paper's folder.
_FILES = ("about", "tables", "figures", "claims", "discrepancies")
_FOLDERS = ("studies", "presets", "protocols")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
Color = Literal["vermillion", "blue", "green", "purple", "sky", "orange", "olive", "black", "grey"]


class Look(Declared):
    """How a method, or a variant, is drawn."""

    color: Color = Field(
        description="A colour of a palette that is safe for the common kinds of colour blindness."
    )
    marker: Literal["o", "s", "^", "D", "v", "<", ">", "P", "X", "h", "p", "*"]
    line: Literal["-", "--", "-.", ":"]


class Margin(Declared):
    """A difference of substance: one that somebody who chooses a method would care about."""

    size: float = Field(gt=0, description="In the unit of the frame of cells, not that shown.")
    reason: str = Field(min_length=20, description="Why a smaller difference does not matter.")


class Paper(Declared):
    """A paper, or a comparison of our own, as a whole."""

    #: The folder's name, which its targets, results and published values use too.
    key: SkipJsonSchema[str]
    #: The parent folder; ``"beyond"`` is for comparisons of our own.
    kind: SkipJsonSchema[Literal["papers", "beyond"]]
    #: Has ``studies``, ``tables.yaml``, ``figures.yaml``, ``claims.yaml`` and so on.
    folder: SkipJsonSchema[Path]
    title: str = Field(description="Title with authors and year, as the page shows it.")
    name: str = Field(description="Name in a word or two.")
    about: str = Field(description="Subject, in half a sentence.")
    year: int = Field(9999, description="Year, by which papers are sorted.")
    citation: str = Field("", description="Authors, year, title and venue.")
    link: str = Field(
        "", pattern="^https?://", description="Address of the paper, which the README links to."
    )
    variants: dict[str, str] = Field(
        {}, description="Variant of its studies -> what it is, in half a sentence."
    )
    margins: Annotated[dict[str, dict[str, Any]], Like(dict[str, Margin])] = Field(
        {}, description="Metric -> the smallest difference of substance, beside the published sd."
    )
    looks: Annotated[dict[str, dict[str, str]], Like(dict[str, Look])] = Field(
        {}, description="Method, or variant -> how it is drawn in every figure."
    )

    @property
    def is_paper(self) -> bool:
        """Whether it is a paper, which has published values and claims."""
        return self.kind == "papers"


def read_papers(config: str | Path) -> dict[str, Paper]:
    """Return every paper by its key, papers first, by year and then by key.

    Raises
    ------
    ConfigurationError
        Names the file and the error in it.
    """
    config = Path(config)
    raise_all(_ignored_files(config))
    found: dict[str, Paper] = {}
    for kind in KINDS:
        raise_all(_unknown_files(config / kind))
        for path in sorted((config / kind).glob("*/about.yaml")):
            about, folder = read_document(path, empty={}), path.parent
            key, place = folder.name, name_of(folder)
            raise_all(misnamed("a paper", key, place))
            if key in found:
                raise ConfigurationError(
                    f"{place}: {name_of(found[key].folder)} has the same name. Rename one of them."
                )
            found[key] = validate(about, Paper, key=key, kind=kind, folder=folder)
    papers = sorted(found.values(), key=lambda paper: (not paper.is_paper, paper.year, paper.key))
    return {paper.key: paper for paper in papers}


def misnamed(what: str, name: str, place: object) -> Iterator[str]:
    """Yield an error if a name cannot be that of a file, a folder and a target."""
    if not _NAME.fullmatch(name):
        yield (
            f"{place}: {name!r} cannot be the name of {what}: only letters from a to z, digits, "
            "underscores and hyphens are allowed. Rename it."
        )


def _ignored_files(config: Path) -> Iterator[str]:
    """Yield files that would be ignored, because of their suffix or because they lie too high."""
    for path in sorted(config.rglob("*.[yY]*")):
        if path.suffix != ".yaml" and path.suffix.lower() in (".yml", ".yaml"):
            yield f"{name_of(path)}: only files in .yaml are read. Rename it to {path.stem}.yaml."
    for path in sorted(config.glob("*/about.yaml")):
        yield (
            f"{name_of(path)}: the folder of a paper is config/papers/<paper>. Move all of its "
            "files there."
        )


def _unknown_files(folder: Path) -> Iterator[str]:
    """Yield files that would be ignored, because of their name or that of their folder."""
    for path in sorted(folder.glob("*/*.yaml")):
        if path.stem not in _FILES:
            yield f"{name_of(path)}: unknown file {path.stem!r}. {nearest_names(path.stem, _FILES)}"
        if not (path.parent / "about.yaml").exists():
            yield f"{name_of(path)}: its folder has no about.yaml, which every paper needs"
    for path in sorted(folder.glob("*/*/*.yaml")):
        name = path.parent.name
        if name not in _FOLDERS:
            yield f"{name_of(path)}: unknown folder {name!r}. {nearest_names(name, _FOLDERS)}"


def part_document(paper: Paper, name: str, kind: Any) -> Document | None:
    """Return one file of a paper's folder, such as ``"claims"``, checked; None if it is missing.

    ``kind`` is the type of what it declares, see :func:`fedmix.configuration.validate`. The
    ConfigurationError lists all errors in the file.
    """
    path = paper.folder / f"{name}.yaml"
    return read_checked(path, kind) if path.exists() else None


def read_checked(path: Path, kind: Any, **added: Any) -> Document:
    """Read a file, and check it; for the parameters see :func:`fedmix.configuration.validate`."""
    document = read_document(path, empty={})
    validate(document, kind, **added)
    return document


def _id(text: str) -> str:
    if not re.fullmatch("[a-z0-9-]+", text):
        raise ValueError(f"expected lower-case letters, digits and hyphens, got {text!r}")
    return text


Id = Annotated[str, AfterValidator(_id), Field(json_schema_extra={"pattern": "^[a-z0-9-]+$"})]


class Claim(Declared):
    """What a paper claims: either with a predicate, or with why it cannot be tested."""

    id: Id
    section: str = Field(min_length=1)
    quote: str = Field(
        "",
        max_length=240,
        description="The paper's sentence, or the part of it that claims this, word for word.",
    )
    claim: str = Field(min_length=20)
    study: str = ""
    where: dict[str, Any] = Field({}, description="The settings that it is about.")
    predicate: str = ""
    parameters: dict[str, Any] = Field({}, description="Of the predicate.")
    extent: Literal["all", "most", "several"] = Field(
        "all", description="In how many settings the paper says that it holds."
    )
    unreported: str = Field(
        "",
        min_length=10,
        description="A choice that the paper does not report and that may decide the claim.",
    )
    untested: str = Field(
        "",
        min_length=10,
        description="What the sentence is about, besides settings, that is not run here.",
    )
    implied: str = Field(
        "",
        min_length=20,
        description="What the sentence leaves open. The claim is our reading of it: a yes supports "
        "it, and a no does not refute the paper.",
    )
    by_construction: str = Field(
        "", min_length=20, description="Why it holds whatever the data are."
    )
    contradiction: str = Field(
        "", min_length=20, description="Where the paper's own numbers contradict it."
    )
    note: str = Field("", min_length=20)
    untestable: str = Field("", min_length=20, description="Why it has no predicate.")

    @model_validator(mode="after")
    def _testable_or_not(self) -> Self:
        given = self.model_fields_set & {"study", "predicate", "untestable"}
        if given not in ({"study", "predicate"}, {"untestable"}):
            raise ValueError("expected either study and predicate, or untestable")
        return self


class EffectOf(Declared):
    """Two readings whose difference is measured when the page is made."""

    label: str
    study: str
    switch: str | Annotated[list[str], Field(min_length=2)] = Field(
        "",
        description="The setting or parameter, or those that belong together, in which the two "
        "readings differ.",
    )
    metric: str = ""
    method: str = ""
    where: dict[str, Any] = Field({}, description="What both readings have.")
    before: dict[str, Any] = Field(alias="from", min_length=1)
    after: dict[str, Any] = Field(alias="to", min_length=1)


class Discrepancy(Declared):
    """A slip, a contradiction, or a difference between text and code."""

    id: Id
    kind: Literal[
        "slip",
        "contradiction",
        "text and code differ",
        "unreported",
        "unlike comparison",
        "disclosed",
    ] = Field(description="What it is; disclosed is what the paper says of itself.")
    where: str = Field(min_length=3)
    what: str = Field(min_length=20)
    choice: str = Field(min_length=10)
    changes: str = Field("", min_length=10, description="Why there is nothing to measure.")
    effects: list[EffectOf] = Field([], min_length=1)

    @model_validator(mode="after")
    def _measured_or_not(self) -> Self:
        if len(self.model_fields_set & {"effects", "changes"}) != 1:
            raise ValueError("expected either effects or changes")
        return self


def read_entries(
    papers: Mapping[str, Paper], name: str, kind: type[Declared]
) -> list[tuple[Paper, Document]]:
    """Return the entries of all papers' lists in files of one name, such as ``"claims"``.

    ``kind`` is what an entry declares; it has an ``id``. The ConfigurationError lists all errors
    in a file, or all ids that are given twice.
    """
    entries = [
        (paper, document.part(i))
        for paper in papers.values()
        if (document := part_document(paper, name, list[kind]))  # type: ignore[valid-type]
        for i in range(len(document.content))
    ]
    first: dict[str, Document] = {}
    raise_all(
        f"{entry.place('id')}: {name!r} is also in {first[name].place('id')}. Rename one."
        for _, entry in entries
        if first.setdefault(name := entry.content["id"], entry) is not entry
    )
    return entries


def read_claims(papers: Mapping[str, Paper]) -> list[dict[str, Any]]:
    """Return every paper's claims as plain values, each with its ``paper``.

    Errors are those of :func:`read_entries`. Planning has checked what the claims name.
    """
    return _with_papers(read_entries(papers, "claims", Claim))


def read_discrepancies(papers: Mapping[str, Paper]) -> list[dict[str, Any]]:
    """Return every paper's discrepancies in the same way as :func:`read_claims`."""
    return _with_papers(read_entries(papers, "discrepancies", Discrepancy))


def _with_papers(entries: list[tuple[Paper, Document]]) -> list[dict[str, Any]]:
    return [{"paper": paper.key, **entry.content} for paper, entry in entries]

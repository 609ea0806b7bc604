"""The registers of claims and of discrepancies: what an entry declares, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from fedmix.cells.papers import Paper, part_document
from fedmix.configuration import Document, raise_all
from fedmix.declarations import Declared


class Claim(Declared):
    """What a paper claims: either with a predicate, or with why it cannot be tested."""

    id: str = Field(pattern="^[a-z0-9-]+$")
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

    id: str = Field(pattern="^[a-z0-9-]+$")
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
    """Return the entries of all papers' lists of one kind, such as ``"claims"``.

    Parameters
    ----------
    papers : mapping of str to Paper
        Of :func:`read_papers`.
    name : str
        The files' name without its suffix.
    kind : type of Declared
        What an entry declares; it has an ``id``.

    Raises
    ------
    ConfigurationError
        Listing all that is wrong in a file, or ids that are given twice.
    """
    entries = [
        (paper, document.part(i))
        for paper in papers.values()
        if (document := part_document(paper, name, list[kind]))  # type: ignore[valid-type]
        for i in range(len(document.content))
    ]
    raise_all(_repeated_ids([entry for _, entry in entries]))
    return entries


def read_register(
    papers: Mapping[str, Paper], name: str, kind: type[Declared]
) -> list[dict[str, Any]]:
    """Return the entries of :func:`read_entries` as plain values, each with its ``paper``."""
    entries = read_entries(papers, name, kind)
    return [{"paper": paper.key, **entry.content} for paper, entry in entries]


def _repeated_ids(entries: list[Document]) -> Iterator[str]:
    seen: set[str] = set()
    for entry in entries:
        name = entry.content["id"]
        if name in seen:
            yield f"{entry.place('id')}: {name!r} occurs twice"
        seen.add(name)

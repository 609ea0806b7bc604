"""Papers, and what lies beyond them: a folder of configuration each.

``config/papers/<key>`` holds what concerns one paper, ``config/beyond/<key>`` what concerns none
or all of them. Adding such a folder adds its studies, tables, figures, claims and targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedmix.configuration import Document, raise_all, read_document, read_schema, validate

KINDS = ("papers", "beyond")


@dataclass(frozen=True)
class Paper:
    """What ``about.yaml`` says of a paper.

    Parameters
    ----------
    key : str
        The folder's name; targets, results and printed numbers bear it.
    kind : {"papers", "beyond"}
        Whether it is a paper or a comparison of our own.
    folder : pathlib.Path
        Holds ``studies``, ``tables.yaml``, ``figures.yaml``, ``claims.yaml`` and the like.
    title, name, about : str
        With authors and year; in one word or two; what it is about.
    year : int
        Papers are shown by year.
    citation : str
    variants : mapping of str to str
        Variant of its studies -> what it is.
    looks : mapping of str to mapping
        Method, or variant -> ``color``, ``marker`` and ``line`` in figures.
    """

    key: str
    kind: str
    folder: Path
    title: str
    name: str
    about: str
    year: int = 9999
    citation: str = ""
    variants: Mapping[str, str] = field(default_factory=dict)
    looks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def is_paper(self) -> bool:
        """Whether printed numbers and claims can be held against it."""
        return self.kind == "papers"


def read_papers(config: str | Path = "config") -> dict[str, Paper]:
    """Return every paper by its key, papers first, by year and then by key.

    Raises
    ------
    ConfigurationError
        Naming the file and what is wrong in it.
    """
    config = Path(config)
    schema = read_schema(config.parent / "workflow" / "schemas" / "about.schema.yaml")
    found = []
    for kind in KINDS:
        for path in sorted((config / kind).glob("*/about.yaml")):
            about = read_document(path, empty={})
            validate(about, schema)
            found.append(Paper(path.parent.name, kind, path.parent, **about.content))
    found.sort(key=lambda paper: (not paper.is_paper, paper.year, paper.key))
    return {paper.key: paper for paper in found}


def part_document(paper: Paper, name: str) -> Document | None:
    """Return one file of a paper's folder, checked against its schema; None if there is none.

    Parameters
    ----------
    paper : Paper
    name : str
        The file's name without its suffix, such as ``"claims"``.

    Raises
    ------
    ConfigurationError
        Listing all that is wrong in the file.
    """
    path = paper.folder / f"{name}.yaml"
    if not path.exists():
        return None
    document = read_document(path, empty={})
    validate(document, schema_of(paper, name))
    return document


def part_documents(paper: Paper, name: str) -> dict[str, Document]:
    """Return the files of a folder of a paper's, by name; each as :func:`part_document`."""
    paths = sorted((paper.folder / name).glob("*.yaml"))
    documents = {path.stem: read_document(path, empty={}) for path in paths}
    for document in documents.values():
        validate(document, schema_of(paper, name))
    return documents


def schema_of(paper: Paper, name: str) -> dict[str, Any]:
    """Return the schema of one kind of file in a paper's folder."""
    return read_schema(paper.folder.parents[2] / "workflow" / "schemas" / f"{name}.schema.yaml")


def read_entries(papers: Mapping[str, Paper], name: str) -> list[tuple[Paper, Document]]:
    """Return the entries of all papers' lists of one kind.

    Parameters
    ----------
    papers : mapping of str to Paper
        Of :func:`read_papers`.
    name : str
        ``"claims"`` or ``"discrepancies"``.

    Raises
    ------
    ConfigurationError
        If a file is not as its schema says, or an id is given twice.
    """
    entries = [
        (paper, document.part(i))
        for paper in papers.values()
        if (document := part_document(paper, name))
        for i in range(len(document.content))
    ]
    raise_all(_repeated_ids([entry for _, entry in entries]))
    return entries


def read_register(papers: Mapping[str, Paper], name: str) -> list[dict[str, Any]]:
    """Return the entries of :func:`read_entries` as plain values, each with its ``paper``."""
    return [{"paper": paper.key, **entry.content} for paper, entry in read_entries(papers, name)]


def _repeated_ids(entries: list[Document]) -> Iterator[str]:
    seen: set[str] = set()
    for entry in entries:
        name = entry.content["id"]
        if name in seen:
            yield f"{entry.place('id')}: {name!r} occurs twice"
        seen.add(name)

"""What the pages show: judged frames, tables, figures, searches; and the page that has each."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from fedmix.cells.frame import read_cells
from fedmix.errors import DataError
from fedmix.storage import read_records
from fedmix.views.page.words import names_of, read_description, translator

# A vector figure of many thousand points is larger than its PNG file.
SIZE_LIMIT = 1_000_000
_SUFFIXES = (".svg", ".png")
_ITEMS = re.compile(r"(Table|Figure)s? (\d+[a-z]?(?:(?:[-–]|,? and | & |, )\d+[a-z]?)*)")


@dataclass(frozen=True)
class Figure:
    """A figure for a page.

    Parameters
    ----------
    paper : str
        Key of the paper, or of a comparison of our own.
    title : str
        The figure goes on the page of the table or figure that its title names (for
        example ``"FedGrEM, Figure 3"``).
    path : path-like
        An SVG or PNG file, which the page links to. For a large SVG it links to the PNG next to it.
    caption : str, optional
        By default it is read from the ``.md`` file with the figure's name.
    """

    paper: str
    title: str
    path: str | os.PathLike
    caption: str = ""

    def read_caption(self) -> str:
        """Return the caption: what is shown, from which data, and what the bands are."""
        return self.caption or Path(self.path).with_suffix(".md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Search:
    """The result of a search for the protocol behind a table.

    Parameters
    ----------
    paper : str
    target : str
        The table; a target with several tables goes on the paper's own page.
    words : path-like
        The findings, one per line, each after a dash.
    figures : sequence of Figure
    """

    paper: str
    target: str
    words: str | os.PathLike
    figures: Sequence[Figure] = ()

    def read_words(self) -> list[str]:
        """Return the findings, a sentence or two each."""
        lines = Path(self.words).read_text(encoding="utf-8").splitlines()
        return [line.removeprefix("- ") for line in lines if line]


@dataclass(frozen=True)
class PageContext:
    """Everything the pages show.

    Parameters
    ----------
    cells : DataFrame
        The frame of cells of all settings.
    scores : DataFrame
        From :func:`fedmix.cells.scorecard.score_tables`.
    ranks : DataFrame
        From :func:`fedmix.cells.scorecard.rank_agreement`.
    claims : DataFrame
        From :func:`fedmix.cells.claims.evaluate_claims`.
    discrepancies : DataFrame
        From :func:`fedmix.cells.discrepancies.measure_discrepancies`.
    papers : mapping of str to str
        Key -> title of each paper and of each comparison of our own, in the order to be shown.
    tables : sequence of mapping
        Items as :func:`fedmix.views.tables.build.build_table` takes them, each with its ``paper``,
        in the order to be shown.
    figures : sequence of Figure
        In the order to be shown.
    searches : sequence of Search
        Searches for the protocols behind tables.
    claim_figures : sequence of Figure
        Figures below the claims.
    provenance : mapping of str to str
        How it was run: versions, commit, replications, core-hours, machine.
    preset : str
        A preset other than ``"paper"`` has a banner that says how its sizes differ.
    explanations : mapping of str to str
        Anchor of a cell (:func:`fedmix.views.page.views.anchor`) -> where its number comes from.
        Cells with an explanation link to it.
    """

    cells: pd.DataFrame
    scores: pd.DataFrame
    ranks: pd.DataFrame
    claims: pd.DataFrame
    discrepancies: pd.DataFrame
    papers: Mapping[str, str]
    tables: Sequence[Mapping[str, Any]] = ()
    figures: Sequence[Figure] = ()
    searches: Sequence[Search] = ()
    claim_figures: Sequence[Figure] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    preset: str = "paper"
    explanations: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def in_names(self) -> Callable[[str], str]:
        """A function that replaces identifiers in a sentence by the names that readers know."""
        return translator(names_of(self.tables, self.cells))


def read_context(
    cells: str | os.PathLike,
    audit: str | os.PathLike,
    run: str | os.PathLike,
    explanations: str | os.PathLike | None = None,
    unavailable: Mapping[str, Mapping[str, str]] | None = None,
    figures: Iterable[Mapping[str, Any]] = (),
    searches: Iterable[Mapping[str, Any]] = (),
    claim_figures: Iterable[Mapping[str, Any]] = (),
    **shown: Any,
) -> PageContext:
    """Read the content of the pages from the files of a run.

    Parameters
    ----------
    cells, audit, run : path-like
        The frame of cells, what was judged from it, how it was run.
    explanations : path-like, optional
        Where the numbers of the cells come from.
    unavailable : mapping of str to mapping of str to str
        Study -> title of a data set that it was not run on -> the missing embedding.
    figures, claim_figures, searches : iterable of mapping
        Parameters of :class:`Figure` and of :class:`Search`.
    **shown
        ``papers``, ``tables`` and ``preset`` of :class:`PageContext`.
    """
    explained = json.loads(Path(explanations).read_text(encoding="utf-8")) if explanations else {}
    provenance = read_description(run)
    if unavailable:
        provenance["Data not available"] = "; ".join(
            f"{study}: {title} (`snakemake --cores 1 {path}` makes it)"
            for study, missing in unavailable.items()
            for title, path in missing.items()
        )
    return PageContext(
        cells=read_cells([cells]),
        **read_records(audit),
        figures=[Figure(**figure) for figure in figures],
        claim_figures=[Figure(**figure) for figure in claim_figures],
        searches=[
            Search(**{**search, "figures": [Figure(**figure) for figure in search["figures"]]})
            for search in searches
        ],
        provenance=provenance,
        explanations=explained,
        **shown,
    )


@dataclass
class Page:
    """A page: a published table or figure with all that belongs to it, or the rest of a paper.

    Parameters
    ----------
    name : str
        The file's name without suffix: that of the first table or figure, or the paper's key.
    paper : str
    title : str
    tables, figures, searches : list
        The content of the page, in the order to be shown.
    """

    name: str
    paper: str
    title: str
    tables: list[Mapping[str, Any]] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)

    @property
    def is_published(self) -> bool:
        """Whether the page is about a table or figure that the paper numbers."""
        return bool(items_named(self.title))


def items_named(section: str) -> set[str]:
    """Return the tables and figures that the reference to a section names.

    Examples
    --------
    >>> sorted(items_named("4.2, Tables 1-3; Figures 1 and 4 right"))
    ['Figure 1', 'Figure 4', 'Table 1', 'Table 2', 'Table 3']
    """
    found = set()
    for kind, numbers in _ITEMS.findall(section):
        for part in re.split(r",? and | & |, ", numbers):
            ends = [int(number) for number in re.findall(r"\d+", part)]
            found |= {f"{kind} {n}" for n in range(ends[0], ends[-1] + 1)}
    return found


def pages_of(context: PageContext) -> list[Page]:
    """Return all pages, paper by paper: published tables, published figures, then the rest.

    Items whose titles name the same table or figure share a page, such as a table, the same table
    in another metric, and its figures. The page has the name of the first one.
    """
    shown = set(context.cells["item"].unique())
    pages: dict[tuple[str, frozenset[str]], Page] = {}

    def page_for(paper: str, title: str, name: str) -> Page:
        named = frozenset(items_named(title))
        if not named:
            name, title = paper, context.papers[paper]
        return pages.setdefault((paper, named), Page(name, paper, title))

    for table in context.tables:
        if table["paper"] in context.papers and table["name"] in shown:
            page_for(table["paper"], table["title"], table["name"]).tables.append(table)
    for figure in context.figures:
        page_for(figure.paper, figure.title, Path(figure.path).stem).figures.append(figure)
    of_table = {table["name"]: page for page in pages.values() for table in page.tables}
    for search in context.searches:
        page = of_table.get(search.target) or page_for(search.paper, "", "")
        page.searches.append(search)
    order = list(context.papers)
    return sorted(pages.values(), key=lambda page: (order.index(page.paper), not page.is_published))


def light_image(path: str | os.PathLike, limit: int = SIZE_LIMIT) -> Path:
    """Return the file of a figure that a page shows.

    Parameters
    ----------
    path : path-like
        An SVG or PNG file.
    limit : int
        Bytes. A larger SVG is replaced by the PNG of the same name, if there is one.

    Raises
    ------
    DataError
        If the file is missing or of another kind.
    """
    path = Path(path)
    if path.suffix not in _SUFFIXES:
        raise DataError(f"{path}: the page takes figures as {' or '.join(_SUFFIXES)} files.")
    if not path.is_file():
        raise DataError(f"{path}: no such figure. Draw the figures before the page.")
    picture = path.with_suffix(".png")
    if path.suffix == ".svg" and path.stat().st_size > limit and picture.is_file():
        return picture
    return path

"""What each page contains: its tables, figures and searches, and the image file of a figure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedmix.errors import DataError
from fedmix.views.page.context import Figure, PageContext, Search

# A vector figure of many thousand points is larger than its PNG file.
SIZE_LIMIT = 1_000_000
_SUFFIXES = (".svg", ".png")
_ITEMS = re.compile(r"(Table|Figure)s? (\d+(?:(?:-| and |, )\d+)*)")


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
        for part in re.split(r" and |, ", numbers):
            first, _, last = part.partition("-")
            found |= {f"{kind} {n}" for n in range(int(first), int(last or first) + 1)}
    return found


def pages_of(context: PageContext) -> list[Page]:
    """Return all pages, paper by paper: published tables, published figures, then the rest.

    Items whose titles name the same table or figure share a page, such as a table, the same table
    in another metric, and its figures. The page has the name of the first one.
    """
    shown = set(context.cells["item"])
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
    picture = path.with_name(f"{path.name.removesuffix('.svg')}.png")
    if path.suffix == ".svg" and path.stat().st_size > limit and picture.is_file():
        return picture
    return path

"""What the pages show: results, how they were made, and the page that has each of them."""

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

from fedmix import __version__
from fedmix.cells.frame import read_cells
from fedmix.errors import DataError
from fedmix.revision import LIBRARIES
from fedmix.storage import read_records, write_text
from fedmix.views.captions import in_words

# A vector figure of many thousand points is larger than its PNG file.
SIZE_LIMIT = 1_000_000
_SUFFIXES = (".svg", ".png")
_ITEMS = re.compile(r"(Table|Figure)s? (\d+[a-z]?(?:(?:[-–]|,? and | & |, )\d+[a-z]?)*)")


@dataclass(frozen=True)
class Figure:
    """A figure, an SVG or PNG file, for the page of the table or figure that its title names.

    By default its caption is read from the ``.md`` file with the figure's name.
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

    A target with several tables goes on the paper's own page. The file ``words`` has the findings,
    one per line, each after a dash.
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
    """Everything the pages show, in the order to be shown.

    Parameters
    ----------
    cells, scores, ranks, claims, discrepancies : DataFrame
        The frame of cells of all settings, and what was judged from it.
    papers : mapping of str to str
        Key -> title of each paper and of each comparison of our own.
    tables : sequence of mapping
        Items as :func:`fedmix.views.tables.build.build_table` takes them, each with its ``paper``.
    figures, searches, claim_figures
        The last are below the claims.
    provenance : mapping of str to str
        How it was run: versions, commit, replications, core-hours, machine.
    preset : str
        A preset other than ``"paper"`` has a banner that says how its sizes differ.
    explanations : mapping of str to str
        Anchor of a cell (:func:`fedmix.views.page.views.anchor`) -> where its number comes from.
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
    """Read the content of the pages from the files of a run, see :class:`PageContext`.

    ``audit`` is what was judged from the cells, and ``run`` how it was run. ``unavailable`` has,
    for each study, the titles of data sets that it was not run on, each with its missing embedding.
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

    The name of its file is that of the first table or figure, or the paper's key.
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

    An SVG of more bytes than the limit is replaced by the PNG of the same name, if there is one. A
    file that is missing, or of another kind than SVG or PNG, is an error.
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


def names_of(tables: Iterable[Mapping[str, Any]], cells: pd.DataFrame) -> dict[str, str]:
    """Return data set -> title, of all tables, and method -> label, of all cells."""
    titles = {key: name for table in tables for key, name in table["datasets"].items()}
    named = cells.loc[cells["method"] != "", ["method", "label"]].drop_duplicates("method")
    return titles | dict(zip(named["method"], named["label"], strict=True))


def translator(names: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that replaces identifiers in a sentence by the names that readers know.

    A name that is the first word of its title (``digits``, "Digits (8x8)") is an ordinary word, and
    stays; ``emnist``, "EMNIST Balanced", is none.

    Examples
    --------
    >>> translate = translator({"frog_a": "Frog A", "LocalEM": "Local-EM"})
    >>> translate("yes in 1 of 1: frog_a-contaminated0, means_error of LocalEM")
    'yes in 1 of 1: Frog A-contaminated0, means error of Local-EM'
    """
    known = {
        key: name
        for key, name in names.items()
        if not name.startswith((f"{key} ", f"{key.capitalize()} "))
    }
    longest_first = sorted(map(re.escape, known), key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(longest_first)})(?!\w)|\w+_\w+(?!\S*\.md)")

    def translate(text: str) -> str:
        return pattern.sub(lambda found: known.get(found[0], in_words(found[0])), text)

    return translate


def describe_run(options: Mapping[str, Any], timings: pd.DataFrame) -> dict[str, str]:
    """Describe a run, in the order to be shown, for a reader who wants to repeat it.

    The options are the preset and what overrides it; the timings are those of all studies.
    """
    if timings.empty:  # nothing has been run yet, so there are no columns
        timings = timings.reindex(columns=["study", "replication", "cpu_seconds", "made"])
    replications = timings.groupby("study")["replication"].nunique()
    overrides = [f"{k}={v}" for k, v in options.items() if k != "preset" and v not in (None, False)]
    made = [json.loads(text) for text in timings["made"].unique()]  # what results say of themselves
    dates = sorted(origin["date"] for origin in made)

    def listed(*names: str) -> str:
        found = {", ".join(f"{name} {origin[name]}".strip() for name in names) for origin in made}
        return "; ".join(sorted(found))

    def alone(name: str) -> str:
        return "; ".join(sorted({origin[name] for origin in made} - {""}))

    return {
        "Preset": " ".join([str(options["preset"]), *overrides]),
        "Replications, at most": ", ".join(f"{study} {n}" for study, n in replications.items()),
        "Runs": f"{len(timings)} (one method on one replication of one setting)",
        "Core-hours of the methods": f"{timings['cpu_seconds'].sum() / 3600:.2f}",
        "Made": " to ".join(dict.fromkeys(dates[:1] + dates[-1:])),
        "fedmix": ", ".join(filter(None, [__version__, listed("commit")])),
        "Libraries": listed(*LIBRARIES),
        "Python": alone("python"),
        "Processor": alone("processor"),
    }


def write_description(path: str | os.PathLike, description: Mapping[str, str]) -> None:
    """Write the description of a run as CSV, one line per fact."""
    write_text(path, pd.Series(description, name="is").rename_axis("what").to_csv())


def read_description(path: str | os.PathLike) -> dict[str, str]:
    """Read a description that :func:`write_description` wrote."""
    return pd.read_csv(path, index_col="what", dtype=str, keep_default_na=False)["is"].to_dict()

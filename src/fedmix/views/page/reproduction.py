"""Write the pages that the repository keeps: Markdown, figures, and tables for other programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedmix.cells.claims import claims_table
from fedmix.cells.scorecard import cells_table, scorecard
from fedmix.errors import DataError
from fedmix.storage import write_text
from fedmix.views.page.contents import light_image, pages_of
from fedmix.views.page.context import Figure, PageContext
from fedmix.views.page.markdown import front_page, table_page
from fedmix.views.page.views import share_told
from fedmix.views.tables.format import to_markdown

if TYPE_CHECKING:
    import pandas as pd

#: The largest size of the folder in bytes, because it is kept in the repository.
LIMIT = 6_000_000
_PARTS = ("tables", "figures")
_TABLE_SUFFIXES = (".csv", ".tex")


def export_reproduction(
    folder: str | os.PathLike,
    context: PageContext,
    tables: Iterable[str | os.PathLike],
    timings: pd.DataFrame,
    stamp: str,
) -> None:
    """Write pages, tables, figures, scorecard, claims and provenance of a run into a folder.

    Code hosts show Markdown and SVG, and no HTML, so there are no HTML pages.

    Parameters
    ----------
    folder : path-like
        Usually ``docs/reproduction``. An earlier export there is replaced.
    context : PageContext
    tables : iterable of path-like
        Markdown files with the tables' names. The CSV and LaTeX files next to them are copied.
    timings : DataFrame
        The timings of all studies.
    stamp : str
        What the pages are made from, see :func:`fedmix.pipeline.provenance.stamp_of`. Every page
        ends with it.

    Raises
    ------
    DataError
        If the folder is larger than :data:`LIMIT`, with the largest files.
    """
    folder = Path(folder)
    for name in _PARTS:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    kept = _with_figures_in(folder / "figures", context)
    listed = claims_table(context.claims)
    told = listed.assign(chance=listed["chance"].map(share_told))
    summary = told[["paper", "section", "claim", "verdict", "where", "chance", "remarks"]]
    write_text(
        folder / "cells.csv", cells_table(context.cells).to_csv(index=False, float_format="%.6g")
    )
    write_text(folder / "scorecard.csv", scorecard(context.cells, context.claims).to_csv())
    write_text(folder / "scores.csv", context.scores.to_csv(index=False))
    write_text(folder / "claims.csv", listed.to_csv())
    _write_page(folder / "claims.md", to_markdown(summary, "# Claims"), stamp)
    pages = pages_of(kept)
    on_page = {table["name"]: (page, table) for page in pages for table in page.tables}
    for path in map(Path, tables):
        text = table_page(*on_page[path.stem], kept, path.read_text(encoding="utf-8"))
        _write_page(folder / "tables" / path.name, text, stamp)
        for suffix in _TABLE_SUFFIXES:
            shutil.copyfile(path.with_suffix(suffix), folder / "tables" / f"{path.stem}{suffix}")
    _write_page(folder / "README.md", front_page(pages, kept, timings), stamp)
    _check_size(folder)


def _write_page(path: Path, text: str, stamp: str) -> None:
    write_text(path, f"{text.rstrip()}\n\n{stamp}\n")


def _with_figures_in(folder: Path, context: PageContext) -> PageContext:
    """Copy each figure once, and return the context with the copies."""

    def copied(figure: Figure) -> Figure:
        source = light_image(figure.path)
        if folder.parent.resolve() in source.resolve().parents:  # belongs to a kept search
            return figure
        target = folder / f"{source.parent.name.removeprefix('figures')}_{source.name}".lstrip("_")
        shutil.copyfile(source, target)
        return replace(figure, path=target, caption=figure.read_caption())

    searches = [replace(s, figures=[copied(f) for f in s.figures]) for s in context.searches]
    return replace(
        context,
        figures=[copied(f) for f in context.figures],
        claim_figures=[copied(f) for f in context.claim_figures],
        searches=searches,
    )


def _check_size(folder: Path) -> None:
    files = [file for file in folder.rglob("*") if file.is_file()]
    total = sum(f.stat().st_size for f in files)
    if total > LIMIT:
        largest = sorted(files, key=lambda f: f.stat().st_size)[-3:]
        names = ", ".join(f"{f.name} ({f.stat().st_size // 1000} kB)" for f in largest)
        raise DataError(
            f"The reproduction has {total // 1000} kB, more than {LIMIT // 1000} kB. "
            f"The largest files: {names}."
        )

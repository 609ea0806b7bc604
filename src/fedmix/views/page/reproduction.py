"""Export the results of a run, so that they can be read without running anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedmix.cells.claims import claims_table
from fedmix.cells.scorecard import cells_table, scorecard
from fedmix.cells.verdicts import printed_cells
from fedmix.errors import DataError
from fedmix.storage import sha256_of, write_text
from fedmix.views.page.build import FOLDER, build_pages
from fedmix.views.page.contents import light_image, pages_of
from fedmix.views.page.context import Figure, PageContext
from fedmix.views.page.markdown import front_page, table_page
from fedmix.views.page.views import anchor
from fedmix.views.tables.format import to_markdown

if TYPE_CHECKING:
    import pandas as pd

#: The largest size of the folder in bytes, because it is kept in the repository.
LIMIT = 12_000_000
#: An export keeps this many fits, so that a test can compute them again. Each took at most so many
#: seconds, with its data and initial values.
N_FITS, SECONDS = 30, 20.0
FIT = ["study", "variant", "setting", "method", "replication"]
_PARTS = ("tables", "figures", FOLDER)


def export_reproduction(
    folder: str | os.PathLike,
    context: PageContext,
    tables: Iterable[str | os.PathLike],
    sample: pd.DataFrame,
    data: Iterable[str | os.PathLike],
    costs: Iterable[str],
    command: str,
) -> None:
    """Write pages, tables, figures, scorecard, claims and provenance of a run into a folder.

    Parameters
    ----------
    folder : path-like
        Usually ``docs/reproduction``. An earlier export there is replaced.
    context : PageContext
    tables : iterable of path-like
        Markdown files with the tables' names.
    sample : DataFrame
        Single results, from :func:`draw_sample`.
    data : iterable of path-like
        Embedded data sets, whose checksums are kept; those of raw data are in the configuration.
    costs : iterable of str
        The forecast and the actual costs of the run, as a Markdown table.
    command : str
        The command that regenerates the folder.

    Raises
    ------
    DataError
        If the folder is larger than :data:`LIMIT`, with the largest files.
    """
    folder = Path(folder)
    for name in _PARTS:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    kept = _with_figures_in(folder / "figures", _with_explanations_of_counted(context))
    build_pages(kept, folder / "index.html")
    listed = claims_table(context.claims)
    summary = listed[["paper", "section", "claim", "verdict", "where", "remarks"]]
    write_text(
        folder / "cells.csv", cells_table(context.cells).to_csv(index=False, float_format="%.6g")
    )
    write_text(folder / "scorecard.csv", scorecard(context.cells, context.claims).to_csv())
    write_text(folder / "scores.csv", context.scores.to_csv(index=False))
    write_text(folder / "claims.csv", listed.to_csv())
    write_text(folder / "claims.md", to_markdown(summary, "# Claims"))
    pages = pages_of(kept)
    on_page = {table["name"]: (page, table) for page in pages for table in page.tables}
    for path in map(Path, tables):
        text = table_page(*on_page[path.stem], kept, path.read_text(encoding="utf-8"))
        write_text(folder / "tables" / path.name, text)
    write_text(folder / "sample.csv", sample.assign(preset=context.preset).to_csv(index=False))
    write_text(folder / "checksums.sha256", "".join(f"{sha256_of(f)}  {f}\n" for f in data))
    write_text(folder / "README.md", front_page(pages, kept, costs, command))
    _check_size(folder)


def draw_sample(results: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Draw fits, at least one per study that has a short one, and return their final scores.

    Parameters
    ----------
    results, timings : DataFrame
        Of all settings, see :func:`fedmix.experiments.runner.tables_of`.

    Returns
    -------
    DataFrame
        ``study, variant, setting, method, replication, metric, value``, sorted. The same run gives
        the same sample.
    """
    import pandas as pd

    seconds = timings["cpu_seconds"] + timings["shared_seconds"]
    short = timings.loc[(timings["status"] == "ok") & (seconds < SECONDS), FIT]
    shuffled = short.sort_values(FIT).sample(frac=1, random_state=0)
    of_each = shuffled.groupby("study").head(1)
    more = shuffled.drop(of_each.index).head(max(N_FITS - len(of_each), 0))
    scores = results.loc[results["round"].isna(), [*FIT, "metric", "value"]]
    drawn = pd.concat([of_each, more]).merge(scores, on=FIT)
    return drawn.sort_values([*FIT, "metric"], ignore_index=True)


def _with_explanations_of_counted(context: PageContext) -> PageContext:
    """Drop the explanations of cells that are not counted: most of the pages' bytes."""
    counted = set(zip(context.scores["item"], context.scores["variant"], strict=True))
    cells = printed_cells(context.cells).to_dict("records")
    kept = {anchor(cell) for cell in cells if (cell["item"], cell["variant"]) in counted}
    explanations = {name: text for name, text in context.explanations.items() if name in kept}
    return replace(context, explanations=explanations)


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

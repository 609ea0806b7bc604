"""Build the tables that people ask for by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fedmix.methods.capabilities import obstacles
from fedmix.revision import commit
from fedmix.storage import write_text
from fedmix.views import captions
from fedmix.views.items import cells_of
from fedmix.views.tables.format import is_missing, to_latex, to_markdown
from fedmix.views.tables.layout import LISTS, Block, Entry, lay_out

if TYPE_CHECKING:
    import pandas as pd


def build_table(
    item: Mapping[str, Any], cells: pd.DataFrame, outputs: Iterable[str | os.PathLike]
) -> None:
    """Lay a table out and write it in the form that each output's suffix names.

    Parameters
    ----------
    item : mapping
        ``name, title, caption, options, preset``; ``variants`` and ``datasets``, which explain
        names. Options are ``show`` and ``names`` (see :func:`fedmix.views.tables.layout.lay_out`),
        ``rows`` (what the rows are) and ``left_out`` (whether methods that cannot run are named).
    cells : DataFrame
        The frame of cells of the item's settings.
    outputs : iterable of path-like
        Ending in ``csv`` (the frame's rows), ``md`` or ``tex``.

    Raises
    ------
    DataError
        If the item has no cell.
    """
    own = cells_of(item, cells)
    layout = as_text(blocks_of(item, own), own, item["options"].get("rows", ""))
    heading = caption(item, own)
    below = [*_brackets(own), *notes(item, own), captions.written_by()]
    writers = {
        "csv": lambda: as_rows(item, own).to_csv(index=False),
        "md": lambda: to_markdown(layout, heading, below),
        "tex": lambda: to_latex(layout, heading, below, label=item["name"]),
    }
    for output in outputs:
        suffix = os.fspath(output).rpartition(".")[2]
        write_text(output, writers[suffix]())


def as_rows(item: Mapping[str, Any], cells: pd.DataFrame) -> pd.DataFrame:
    """Return an item's rows of the frame as a CSV file has them, with the preset and the commit."""
    return cells.drop(columns=list(LISTS)).assign(preset=item["preset"], commit=commit())


def blocks_of(item: Mapping[str, Any], cells: pd.DataFrame) -> list[Block]:
    """Lay an item's rows of the frame out."""
    options = item["options"]
    names = {**item["datasets"], **options.get("names", {})}
    return lay_out(cells, options.get("show"), names)


def as_text(blocks: list[Block], cells: pd.DataFrame, rows: str = "") -> pd.DataFrame:
    """Return a table of text: blocks below each other, ours, its mark and the printed number.

    Parameters
    ----------
    blocks : list of Block
    cells : DataFrame
        The rows behind them.
    rows : str
        What the rows are.
    """
    import pandas as pd

    n = captions.usual_n(cells)
    several = len(blocks) > 1
    lines = {
        f"{captions.in_words(block.variant)}, {row}" if several else row: [
            cell_text(block.entries.get((row, column), []), n) for column in block.columns
        ]
        for block in blocks
        for row in block.rows
    }
    table = pd.DataFrame.from_dict(lines, orient="index", columns=blocks[0].columns)
    return table.rename_axis(index=f"variant, {rows}" if several and rows else rows)


def cell_text(entries: list[Entry], n: int) -> str:
    """Return one place of a table in words, e.g. ``"13.25 (1.20) ● [13.30 (1.17)]"``.

    Parameters
    ----------
    entries : list of Entry
        Several are joined by slashes; none gives an en dash.
    n : int
        Replications that need not be told.
    """
    if not entries:
        return "–"
    text = " / ".join(
        " ".join(filter(None, [e.ours, e.mark, f"[{e.printed}]" if e.printed else ""]))
        for e in entries
    )
    other = sorted({int(e.cell["n"]) for e in entries if e.cell} - {n})
    return f"{text}, n = {' / '.join(map(str, other))}" if other else text


def caption(item: Mapping[str, Any], cells: pd.DataFrame) -> str:
    """Return what stands above a table: its title, what stood in for its data, its caption."""
    return captions.sentences(
        f"{item['title']}.", captions.stand_in(cells, item["datasets"]), item["caption"]
    )


def _brackets(cells: pd.DataFrame) -> list[str]:
    printed = any(not is_missing(text) for text in cells["printed_text"])
    return ["In brackets: the paper's, as printed."] if printed else []


def notes(item: Mapping[str, Any], cells: pd.DataFrame) -> list[str]:
    """Return the sentences below a table."""
    lines = [
        captions.replications(cells, item["preset"], "unless a cell says otherwise"),
        captions.variants_explained(cells, item["variants"]),
        captions.marks_explained(cells),
    ]
    if item["options"].get("left_out"):
        skipped = obstacles()
        lines += [
            f"Not run, {reason}: {', '.join(n for n, own in skipped.items() if own == reason)}."
            for reason in dict.fromkeys(skipped.values())
        ]
    return [line for line in lines if line]

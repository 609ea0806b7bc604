"""Tables as text: the words of each place, and Markdown."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fedmix.views import captions
from fedmix.views.tables.layout import Block, Entry


@dataclass(frozen=True)
class Part:
    """One number of a place: ours, the text after it, and whether ours is among the best."""

    ours: str
    after: str = ""
    is_best: bool = False


def text_rows(blocks: list[Block], cells: pd.DataFrame) -> list[tuple[str, list[list[Part]]]]:
    """Return a table's rows as text, block after block: their names, and the parts of each place.

    Parameters
    ----------
    blocks : list of Block
    cells : DataFrame
        Their rows of the frame.
    """
    n = captions.usual_n(cells)
    several = len(blocks) > 1
    return [
        (
            f"{captions.in_words(block.variant)}, {row}" if several else row,
            [parts_of(block.entries.get((row, column), []), n) for column in block.columns],
        )
        for block in blocks
        for row in block.rows
    ]


def as_text(blocks: list[Block], cells: pd.DataFrame, rows: str = "") -> pd.DataFrame:
    """Return a Markdown table: ours, the best in bold, with marks and published values.

    ``rows`` is the heading of the rows' names; the rest is as in :func:`text_rows`.
    """
    lines = {
        name: ["".join(map(_marked, place)) for place in places]
        for name, places in text_rows(blocks, cells)
    }
    table = pd.DataFrame.from_dict(lines, orient="index", columns=blocks[0].columns)
    return table.rename_axis(index=corner_of(blocks, rows))


def _marked(part: Part) -> str:
    return f"**{part.ours}**{part.after}" if part.is_best else part.ours + part.after


def corner_of(blocks: list[Block], rows: str) -> str:
    """Return the table's corner: the heading of the rows' names."""
    return f"variant, {rows}" if len(blocks) > 1 and rows else rows


def parts_of(entries: list[Entry], n: int) -> list[Part]:
    """Return one place of a table as text, e.g. ``13.25 (1.20)``, ``● [13.30 (1.17)]``.

    Parameters
    ----------
    entries : list of Entry
        Several are separated by slashes; none gives an en dash.
    n : int
        The usual number of replications; only another number is shown.
    """
    if not entries:
        return [Part("–")]
    other = sorted({int(e.cell["n"]) for e in entries if e.cell} - {n})
    ends = [" / "] * (len(entries) - 1) + [f", n = {' / '.join(map(str, other))}" if other else ""]
    return [Part(e.ours, _beside(e) + end, e.is_best) for e, end in zip(entries, ends, strict=True)]


def _beside(entry: Entry) -> str:
    """Return the mark and the published value."""
    printed = f" [{entry.printed}]" if entry.printed else ""
    return f" {entry.mark}{printed}" if entry.mark else printed

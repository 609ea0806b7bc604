"""Lay out a table's cells in rows and columns, one block per variant.

All formats of a table (Markdown, LaTeX, the page) have the same layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from fedmix.cells.condensed import condense
from fedmix.cells.measured import SECONDS
from fedmix.cells.verdicts import SOURCES
from fedmix.errors import DataError
from fedmix.views.captions import usual_n
from fedmix.views.format import SIGNS, is_missing, number, seconds, with_spread

#: Columns with a list in each cell, which a CSV file cannot hold.
LISTS = ("replications", "values")
_PARAMETERS = ("setting_", "method_")
_RANK = {role: rank for rank, role in enumerate(SOURCES)}


@dataclass(frozen=True)
class Entry:
    """The entry of a table for one row of the frame of cells, which is empty for a missing metric.

    ``ours`` is in the printed unit, e.g. ``"13.25 (1.20)"``; an en dash if no replication ran, and
    how the first one failed, e.g. ``"timeout"``, if all failed. The published value and the verdict
    are empty if no value was published.
    """

    ours: str
    printed: str
    verdict: str
    cell: Mapping[str, Any]

    @property
    def mark(self) -> str:
        """The verdict's mark; empty without one."""
        return SIGNS.get(self.verdict, "")

    @property
    def is_best(self) -> bool:
        """Whether it is the best of those compared, or not distinguishable from the best."""
        return bool(self.cell.get("best"))


@dataclass(frozen=True)
class Part:
    """One number of a place: ours, the text after it, and whether ours is among the best."""

    ours: str
    after: str = ""
    is_best: bool = False


@dataclass(frozen=True)
class Block:
    """A table in one variant, with several entries in a place if it shows several metrics there.

    The columns are those of the whole table.
    """

    variant: str
    rows: list[str]
    columns: list[str]
    entries: Mapping[tuple[str, str], list[Entry]]

    @property
    def depth(self) -> int:
        """How many metrics the fullest place has."""
        return max(map(len, self.entries.values()), default=0)

    def only(self, index: int) -> Block:
        """Return the block with only the metric at this position of each place."""
        entries = {place: own[index : index + 1] for place, own in self.entries.items()}
        return replace(self, entries=entries)

    def that_ran(self) -> Block:
        """Return the block without rows and columns that were not run."""
        ran = [
            place
            for place, own in self.entries.items()
            if any(entry.cell and entry.cell["n"] + entry.cell["failed"] for entry in own)
        ]
        rows, columns = {row for row, _ in ran}, {column for _, column in ran}
        return replace(
            self,
            rows=[row for row in self.rows if row in rows],
            columns=[column for column in self.columns if column in columns],
        )

    def ordered(self, rows: list[str]) -> Block:
        """Return the block with its rows in this order; those that are not named come last."""
        place = {row: i for i, row in enumerate(rows)}
        return replace(self, rows=sorted(self.rows, key=lambda row: place.get(row, len(place))))


def lay_out(
    cells: pd.DataFrame,
    show: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
) -> list[Block]:
    """Place each cell of an item's table by its variant, row and column.

    ``show`` says by metric what is shown instead of the mean and standard deviation, and ``names``
    are those of the frame's rows and columns in the table. The variant that counts comes first, and
    diagnostic ones at the end. Rows and columns are in the printed order, then in that of
    ``cells``. It is an error if two settings or methods have the same place.
    """
    placed = cells.loc[:, ~cells.columns.str.startswith(_PARAMETERS)]
    placed = placed.sort_values("role", key=lambda role: role.map(_RANK), kind="stable")
    for side in ("row", "column"):
        placed[side] = [named(text, names or {}) for text in placed[side]]
    columns, shown = _in_order(placed, "column"), show or {}
    blocks = []
    for variant, own in placed.groupby("variant", sort=False):
        entries: dict[tuple[str, str], list[Entry]] = {}
        for cell in own.to_dict("records"):
            ours = _ours(cell, shown.get(cell["metric"], "mean_sd"))
            entry = Entry(ours, cell["printed_text"], cell["verdict"], cell)
            entries.setdefault((cell["row"], cell["column"]), []).append(entry)
        for place, metrics in entries.items():
            _check_place(place, metrics)
        blocks.append(Block(str(variant), _in_order(own, "row"), columns, _aligned(entries)))
    return blocks


def _check_place(place: tuple[str, str], entries: list[Entry]) -> None:
    first: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        other = first.setdefault(entry.cell["metric"], entry.cell)
        if other is not entry.cell:
            cells = " and ".join(
                f"{cell['setting']} {cell['method']}" for cell in (other, entry.cell)
            )
            raise DataError(
                f"{entry.cell['item']}: {cells} both have row {place[0]!r}, column "
                f"{place[1]!r}; `row` and `column` in tables.yaml must distinguish them."
            )


def lay_out_condensed(cells: pd.DataFrame, condensed: Mapping[str, Any]) -> list[Block]:
    """Place the entries that summarize many cells of an item each, one block per variant.

    ``condensed`` is the table's option of this name, see :mod:`fedmix.cells.condensed`.
    """
    blocks = {}
    for variant, own in cells.groupby("variant", sort=False):
        usual = usual_n(own)  # a summary covers many cells
        blocks[str(variant)] = {
            (row, column): [Entry(text, "", "", {**cell, "row": row, "column": column, "n": usual})]
            for row, column, text, cell in condense(own, condensed)
        }
    columns = list(dict.fromkeys(column for entries in blocks.values() for _, column in entries))
    return [
        Block(variant, list(dict.fromkeys(row for row, _ in entries)), columns, entries)
        for variant, entries in blocks.items()
    ]


def named(text: str, names: Mapping[str, str]) -> str:
    """Return the name of a row or column with each of its parts replaced by its name."""
    if text in names:
        return names[text]
    return ", ".join(names.get(part, part) for part in text.split(", "))


def _in_order(cells: pd.DataFrame, side: str) -> list[str]:
    """Return the rows, or columns, in printed order; those that were not published come last."""
    first = cells.groupby(side, sort=False)["printed_line"].min()
    return list(first.sort_values(kind="stable").index)


def _aligned(entries: Mapping[tuple[str, str], list[Entry]]) -> dict[tuple[str, str], list[Entry]]:
    """Give each place all metrics of the fullest one, so that a missing metric shifts nothing.

    A place with another metric keeps its own: the methods of a table may have different metrics.
    """
    metrics = [entry.cell["metric"] for entry in max(entries.values(), key=len)]
    missing = Entry("–", "", "", {})
    aligned = {}
    for place, own in entries.items():
        by_metric = {entry.cell["metric"]: entry for entry in own}
        full = [by_metric.get(metric, missing) for metric in metrics]
        aligned[place] = full if by_metric.keys() <= set(metrics) else own
    return aligned


def _ours(cell: Mapping[str, Any], statistic: str) -> str:
    if not cell["n"] and cell["failed"]:
        return cell["failures"].partition(":")[0] or "failed"
    names = _STATISTICS[statistic]
    values = [cell[name] / cell["scale"] for name in names]
    if cell["metric"] == SECONDS:
        return seconds(values)  # on another machine, so the published decimals do not apply
    digits = None if is_missing(cell["digits"]) else int(cell["digits"])
    return with_spread([number(value, digits) for value in values])


_STATISTICS: Mapping[str, Sequence[str]] = {
    "mean_sd": ("mean", "sd"),
    "mean": ("mean",),
    "median": ("median",),
    "quartiles": ("median", "q1", "q3"),
}

"""The papers' published values, and the mapping from a cell of ours to its published value.

An item's ``printed`` says where its published values are and which of our cells they belong to,
see :class:`fedmix.cells.items.Printed`. A column of ours is ``setting_<name>``, ``method``,
``label`` or ``method_<name>``. A stand-in is never compared with a published value.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.cells.items import Item
from fedmix.conditions import rows_with
from fedmix.errors import ConfigurationError, DataError, nearest_names

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PrintedNumber:
    """One published value."""

    #: Printed column -> value; together they identify the published value in its item.
    names: Mapping[str, Any]
    #: In the printed unit.
    mean: float
    sd: float
    #: Both with the published digits: ``"13.30 (1.17)"``.
    text: str
    replications: int
    #: Path in ``data/published``, and the line; the header is line 1.
    file: str
    line: int


class PrintedTable:
    """The published values of one item; empty if the item has none.

    ``folder`` is ``data/published``, which has one folder per paper. A file or a column that is
    missing, and two rows with the same names, are DataErrors.
    """

    def __init__(self, item: Item, folder: str | Path) -> None:
        self._numbers: dict[tuple, PrintedNumber] = {}
        for number in _read(item, Path(folder)) if item.printed else ():
            if self._numbers.setdefault(_key(number.names), number) is not number:
                raise DataError(
                    f"{number.file}, line {number.line}: {item.name} has another number under "
                    f"{dict(number.names)}; `columns` must tell all rows apart."
                )

    def number(self, names: Mapping[str, Any]) -> PrintedNumber | None:
        """Return the published value with these values in the printed columns, if there is one."""
        return self._numbers.get(_key(names)) if names else None

    def __iter__(self) -> Iterator[PrintedNumber]:
        return iter(self._numbers.values())


def names_of(item: Item, cell: Mapping[str, Any]) -> tuple[dict[str, Any] | None, bool]:
    """Return a cell's values in an item's printed columns, and whether it is a stand-in.

    The values are None if the cell lacks one of the columns.
    """
    names, is_stand_in = {}, False
    for printed, ours in columns_of(item.printed).items():
        if ours["column"] not in cell:
            return None, False
        value = cell[ours["column"]]
        value = ours.get("names", {}).get(value, value)
        places = item.printed.get("stand_in", {}).get(printed, {})
        is_stand_in |= value in places
        names[printed] = places.get(value, value)
    return names, is_stand_in


def check_coverage(items: Iterable[Item], folder: str | Path) -> None:
    """Check that every published value of the items' papers belongs to exactly one item.

    The DataError names the first line that no item, or more than one, has under ``printed``.
    """
    folder, items = Path(folder), list(items)
    papers = {item.paper for item in items}
    covered = Counter(
        (number.file, number.line)
        for item in items
        if item.printed and item.judged
        for number in PrintedTable(item, folder)
    )
    for path in sorted(p for p in folder.glob("*/*.csv") if p.parent.name in papers):
        name = f"{path.parent.name}/{path.name}"
        for index in _read_file(folder, name)[0].index:
            times = covered[name, index + 2]
            if times != 1:
                how = "no item" if times == 0 else f"{times} items"
                raise DataError(
                    f"{name}, line {index + 2}: {how} of tables.yaml and figures.yaml has it under "
                    "`printed`. Each published value must belong to exactly one item."
                )


def _read(item: Item, folder: Path) -> Iterator[PrintedNumber]:
    printed = item.printed
    name = f"{item.paper}/{printed['file']}"
    texts, values = _read_file(folder, name)
    named = [*printed.get("where", {}), *printed["columns"], printed["mean"], printed["sd"]]
    for column in named:
        if column not in values:
            raise DataError(
                f"{name} has no column {column!r}, which {item.name} names. "
                f"{nearest_names(column, values)}"
            )
    for index, row in rows_with(values, printed.get("where", {})).iterrows():
        mean, sd = (_as_printed(texts.loc[index, printed[k]], item.digits) for k in ("mean", "sd"))
        yield PrintedNumber(
            names={column: row[column] for column in printed["columns"]},
            mean=float(mean),
            sd=float(sd),
            text=f"{mean} ({sd})",
            replications=printed["replications"],
            file=name,
            line=int(index) + 2,
        )


@cache
def _read_file(folder: Path, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a file's cells as text, and as values."""
    import pandas as pd

    if not (folder / name).is_file():
        known = [f"{path.parent.name}/{path.name}" for path in folder.glob("*/*.csv")]
        raise DataError(f"{folder} has no file {name!r}. {nearest_names(name, known)}")
    read = partial(pd.read_csv, folder / name, skipinitialspace=True)
    return read(dtype=str), read()


def _as_printed(text: str, digits: int | None) -> str:
    """Return a number with the final zeros that the paper prints and the file leaves out."""
    whole, _, decimals = text.partition(".")
    decimals = decimals.ljust(digits or 0, "0")
    return f"{whole}.{decimals}" if decimals else whole


def _key(names: Mapping[str, Any]) -> tuple[str, ...]:
    """Return values as plain text, sorted by column."""
    return tuple(plain(value) for _, value in sorted(names.items()))


def plain(value: Any) -> str:
    """Return a value as text, in which 1 equals 1.0."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or "_" in str(value):  # Python reads "1_0" as 10
        return str(value)
    try:
        return f"{float(value):.9g}"
    except (TypeError, ValueError):
        return str(value)


def columns_of(printed: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return printed column -> our ``column``, and the published ``names`` of its values if any."""
    columns = printed.get("columns", {})
    return {k: {"column": ours} if isinstance(ours, str) else ours for k, ours in columns.items()}


def rows_of(path: Path, name: str = "") -> list[dict[str, str]]:
    """Return the rows of a CSV file as text; none without it. Messages call it ``name``.

    Anything but a row of values under the first line's names, line by line, is a
    ConfigurationError.
    """
    if not path.is_file():
        return []
    name = name or str(path)
    rows: list[dict[str, str]] = []
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:  # programs add the signature
            reader = csv.DictReader(stream, skipinitialspace=True)
            columns = list(reader.fieldnames or ())
            if len(columns) == 1 and set(columns[0]) & {";", "\t"}:
                raise ConfigurationError(
                    f"{name}:1: expected names separated by commas, got {columns[0]!r}. Separate "
                    "values by commas, and write decimals with a point."
                )
            for row in reader:
                if reader.line_num != len(rows) + 2:  # messages count rows to give a line
                    raise ConfigurationError(
                        f"{name}:{len(rows) + 2}: expected a row on each line, got an empty line "
                        "or a value with a line break. Remove it."
                    )
                if None in row or None in row.values():
                    raise ConfigurationError(
                        f"{name}:{reader.line_num}: expected {len(columns)} values "
                        f"({', '.join(columns)}), separated by commas, as in the first line. "
                        "Write decimals with a point, and text with commas in quotes."
                    )
                rows.append(row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(f"{name}: expected a CSV file in UTF-8 ({error}).") from None
    return rows

"""The papers' published values, and the mapping from a cell of ours to its published value.

An item's ``printed`` says where they stand and how they meet our cells:

``file``, ``where``
    Rows of ``data/published/<paper>/<file>``.
``columns``
    Printed column -> our column (``setting_<name>``, ``method``, ``label``, ``method_<name>``),
    or ``{column: ..., names: {ours: printed}}`` where the two name a value differently.
``mean``, ``sd``
    The columns of the numbers.
``replications``
    Behind a printed mean, as the paper says.
``best``
    ``lowest``, ``highest``, or ``none`` if no value is better than another.
``stand_in``
    In a preset that runs without network: printed column -> {ours: printed}. A stand-in
    is never compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.cells.items import Item
from fedmix.conditions import rows_with
from fedmix.errors import DataError, nearest_names

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PrintedNumber:
    """A printed number.

    Parameters
    ----------
    names : mapping
        The printed columns that identify it in its item.
    mean, sd : float
        In the printed unit.
    text : str
        With the published digits: ``"13.30 (1.17)"``.
    replications : int
        Behind the mean.
    file : str
        Under ``data/published``.
    line : int
        Of the file, its header being the first.
    """

    names: Mapping[str, Any]
    mean: float
    sd: float
    text: str
    replications: int
    file: str
    line: int


class PrintedTable:
    """The printed numbers of one item; of an item without any it is empty.

    Parameters
    ----------
    item : Item
    folder : path-like
        Holds a folder of printed numbers a paper.

    Raises
    ------
    DataError
        If the file or one of its columns is missing, or two rows have the same names.
    """

    def __init__(self, item: Item, folder: str | Path) -> None:
        self._columns = item.printed.get("columns", {})
        self._stand_in = item.printed.get("stand_in", {})
        self._numbers: dict[tuple, PrintedNumber] = {}
        for number in _read(item, Path(folder)) if item.printed else ():
            if self._numbers.setdefault(_key(number.names), number) is not number:
                raise DataError(
                    f"{number.file}, line {number.line}: {item.name} has another number under "
                    f"{dict(number.names)}; `columns` must tell all rows apart."
                )

    def names_of(self, cell: Mapping[str, Any]) -> tuple[dict[str, Any] | None, bool]:
        """Return a cell's values under the printed columns, and whether it is a stand-in.

        A cell without one of the columns has no names: None.
        """
        names, is_stand_in = {}, False
        for printed, ours in self._columns.items():
            ours = {"column": ours} if isinstance(ours, str) else ours
            if ours["column"] not in cell:
                return None, False
            value = cell[ours["column"]]
            value = ours.get("names", {}).get(value, value)
            places = self._stand_in.get(printed, {})
            is_stand_in |= value in places
            names[printed] = places.get(value, value)
        return names, is_stand_in

    def number(self, names: Mapping[str, Any]) -> PrintedNumber | None:
        """Return the value with these names, if there is one."""
        return self._numbers.get(_key(names)) if names else None

    def __iter__(self) -> Iterator[PrintedNumber]:
        return iter(self._numbers.values())


def check_coverage(items: Iterable[Item], folder: str | Path) -> None:
    """Check that every published value belongs to exactly one item.

    Raises
    ------
    DataError
        Naming the first line that no item's ``printed`` covers, or more than one.
    """
    folder = Path(folder)
    covered = Counter(
        (number.file, number.line)
        for item in items
        if item.printed and item.judged
        for number in PrintedTable(item, folder)
    )
    for path in sorted(folder.glob("*/*.csv")):
        name = f"{path.parent.name}/{path.name}"
        for index in _read_file(folder, name)[0].index:
            times = covered[name, index + 2]
            if times != 1:
                how = "no item" if times == 0 else f"{times} items"
                raise DataError(
                    f"{name}, line {index + 2}: {how} of tables.yaml and figures.yaml has it under "
                    "`printed`; a published value belongs to exactly one."
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
    """Return a file's texts as they stand, and its values."""
    import pandas as pd

    if not (folder / name).is_file():
        known = [f"{path.parent.name}/{path.name}" for path in folder.glob("*/*.csv")]
        raise DataError(f"{folder} has no file {name!r}. {nearest_names(name, known)}")
    return pd.read_csv(folder / name, dtype=str), pd.read_csv(folder / name)


def _as_printed(text: str, digits: int | None) -> str:
    """Return a number with the zeros at its end that a file of numbers does not keep."""
    whole, _, decimals = text.partition(".")
    decimals = decimals.ljust(digits or 0, "0")
    return f"{whole}.{decimals}" if decimals else whole


def _key(names: Mapping[str, Any]) -> tuple[str, ...]:
    """Return names in an order and a form in which 1 is 1.0."""
    numbers = (int, float)
    plain = {k: v.item() if hasattr(v, "item") else v for k, v in names.items()}
    return tuple(f"{v:.9g}" if isinstance(v, numbers) else str(v) for _, v in sorted(plain.items()))

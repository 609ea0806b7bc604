"""The files of results that the pipeline reads back: each must hold what its name says."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fedmix.errors import DataError
from fedmix.pipeline.plan import replications_of
from fedmix.storage import read_table

if TYPE_CHECKING:
    import pandas as pd

_IDENTITY = {"study": "O", "variant": "O", "setting": "O", "method": "O", "replication": "i"}
# Columns that every file has, and the kind of NumPy type that they need.
COLUMNS = {
    "results": {
        **_IDENTITY,
        "round": "if",
        "metric": "O",
        "value": "f",
        "status": "O",
        "message": "O",
        "rounds": "i",
        "converged": "b",
        "floats_up": "i",
        "floats_down": "i",
    },
    "timings": {
        **_IDENTITY,
        "status": "O",
        "seconds": "f",
        "cpu_seconds": "f",
        "shared_seconds": "f",
        "warm": "b",
    },
}


def finished_blocks(folder: str | os.PathLike, replications: int) -> list[str]:
    """Return the names of a method's blocks that lie there, of whatever size, in their order.

    Parameters
    ----------
    folder : path-like
        ``.../<study>/<setting>/<method>``.
    replications : int
        How many are wanted: blocks beyond them are left out, as are those that overlap one before.
    """
    suffix = ".timings.parquet"  # written last
    names = [path.name.removesuffix(suffix) for path in Path(folder).glob(f"*-*{suffix}")]
    found: list[str] = []
    end = 0
    for name in sorted(names, key=lambda name: replications_of(name).start):
        held = replications_of(name)
        if end <= held.start < replications:
            found.append(name)
            end = held.stop
    return found


def read_block(path: str | os.PathLike, most: int | None = None) -> pd.DataFrame:
    """Read one method's block and check that it holds all of its replications and nothing else.

    Parameters
    ----------
    path : path-like
        ``.../<study>/<setting>/<method>/<block>.parquet`` or ``<block>.timings.parquet``.
    most : int, optional
        Leave out replications from this number on: the block was made for more of them.

    Raises
    ------
    DataError
        Naming the file, what it holds and what was expected.
    """
    path = Path(path)
    block, _, timings = path.name.removesuffix(".parquet").partition(".")
    expected = {path.parent.name: replications_of(block)}
    rows = _read(path, timings or "results", path.parts[-4:-2], expected)
    return rows if most is None else rows[rows["replication"] < most]


def read_collected(
    path: str | os.PathLike, replications: Mapping[str, int], partial: bool = False
) -> pd.DataFrame:
    """Read a collected setting and check that every method has its replications.

    Parameters
    ----------
    path : path-like
        ``.../<study>/<setting>/results.parquet`` or ``timings.parquet``.
    replications : mapping of str to int
        How many each method of the setting has.
    partial : bool, default=False
        Whether methods and replications may be missing.

    Raises
    ------
    DataError
        Naming the file, what it holds and what was expected.
    """
    path = Path(path)
    expected = {method: range(n) for method, n in replications.items()}
    return _read(path, path.stem, path.parts[-3:-1], expected, partial)


def _read(
    path: Path,
    kind: str,
    place: tuple[str, ...],
    expected: Mapping[str, Collection[int]],
    partial: bool = False,
) -> pd.DataFrame:
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a parquet file. Move it away.")
    rows = read_table(path)
    if partial and rows.empty:
        return rows
    problem = next(_problems(rows, kind, place, expected, partial), None)
    if problem:
        raise DataError(
            f"{path}: {problem}. It is not what the pipeline wrote under this name: delete it and "
            "run Snakemake again, and it is remade."
        )
    return rows


def _problems(
    rows: pd.DataFrame,
    kind: str,
    place: tuple[str, ...],
    expected: Mapping[str, Collection[int]],
    partial: bool,
) -> Iterator[str]:
    missing = [name for name in COLUMNS[kind] if name not in rows]
    if missing:
        yield f"the columns {', '.join(missing)} are missing; it has {', '.join(rows) or 'none'}"
        return
    for name, kinds in COLUMNS[kind].items():
        if rows[name].dtype.kind not in kinds:
            yield f"column {name} is of type {rows[name].dtype}"
    prefix = rows["variant"].where(rows["variant"] != "default", "")
    places = rows["study"] + "/" + (prefix + "." + rows["setting"]).str.removeprefix(".")
    strange = sorted(set(places) - {"/".join(place)})
    if strange:
        yield f"it holds rows of {strange[0]}"
    held = {name: set(numbers) for name, numbers in rows.groupby("method")["replication"]}
    for method, numbers in held.items():
        if not numbers <= set(expected.get(method, ())):
            yield f"it holds {method}, replications {_listed(numbers)}, which nothing asks for"
    for method, wanted in expected.items():
        lost = set(wanted) - held.get(method, set())
        if lost and not partial:
            yield f"{method} lacks replications {_listed(lost)} of {len(wanted)}"
    key = ["method", "replication", *(["metric", "round"] if kind == "results" else [])]
    if rows.duplicated(key).any():
        first = rows[rows.duplicated(key)].iloc[0]
        yield f"it holds {first['method']}, replication {first['replication']} twice"


def _listed(numbers: Collection[int]) -> str:
    """Return numbers for people, the first few of many."""
    found = sorted(numbers)
    return ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")

"""Finished replications that a later try of their block, or another block, takes over.

A replication is taken over only if its key is the same: the hash of all that it was made from. So
a block that was killed costs one replication, blocks of another size cost none, and of a block
whose methods run together only the changed ones run again.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import UserDict, defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.errors import DataError
from fedmix.experiments.runner import Fit
from fedmix.pipeline.plan import replications_of
from fedmix.storage import read_table, write_table

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)
_Kept = tuple[str, str, int, Fit]  # key, method, replication and what it gave
_KEY = "made_from"
_ROW = [
    "round",
    "metric",
    "value",
    "status",
    "message",
    "rounds",
    "converged",
    "floats_up",
    "floats_down",
]
_TIMING = ["status", "seconds", "cpu_seconds", "shared_seconds", "warm"]


def key_of(*parts: Any) -> str:
    """Return the hash of what a replication is made from: parameters, code, data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class KeptFits(UserDict):
    """The finished replications of a block, by method and replication.

    Each that is added is written at once to ``<block>.partial.jsonl`` in the setting's folder.

    Parameters
    ----------
    folder : path
        ``results/<study>/<setting>``.
    block : str
        The block's name.
    keys : mapping of str to str
        Each method's key.
    """

    def __init__(self, folder: Path, block: str, keys: Mapping[str, str]):
        super().__init__()
        self._keys = keys
        self._path = folder / f"{block}.partial.jsonl"
        wanted = replications_of(block)
        overlapping = [
            path
            for path in _blocks(folder)
            if path.parent.name in keys and _overlap(replications_of(path.stem), wanted)
        ]
        found = chain(
            _unfinished(folder), *(_finished(path, keys[path.parent.name]) for path in overlapping)
        )
        self.data = {
            (method, replication): fit
            for key, method, replication, fit in found
            if key == keys.get(method) and replication in wanted
        }
        if self.data:
            logger.info("%d replications of methods are finished already", len(self.data))

    def __setitem__(self, cell: tuple[str, int], fit: Fit) -> None:
        super().__setitem__(cell, fit)
        method, replication = cell
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "a", encoding="utf-8") as stream:
            stream.write(_line(self._keys[method], method, replication, fit))

    def close(self) -> None:
        """Delete the partial file: the block is done."""
        self._path.unlink(missing_ok=True)


def write_block(path: Path, results: pd.DataFrame, timings: pd.DataFrame, key: str) -> None:
    """Write one method's block, and its key into the file of timings.

    The key is away while the results change, so that it never stands beside those of other code.

    Parameters
    ----------
    path : path
        ``<block>.parquet``; the timings go to ``<block>.timings.parquet``.
    results, timings : DataFrame
    key : str
    """
    beside = _timings_of(path)
    beside.unlink(missing_ok=True)
    write_table(path, results)
    timings.attrs[_KEY] = key
    write_table(beside, timings)


def lines_of(folder: Path) -> Iterator[str]:
    """Yield all that a setting's folder holds, of whatever code, as lines of a partial file.

    Parameters
    ----------
    folder : path
        ``results/<study>/<setting>``.
    """
    for each in chain(_unfinished(folder), *(_finished(path) for path in _blocks(folder))):
        yield _line(*each)


def _line(key: str, method: str, replication: int, fit: Fit) -> str:
    return json.dumps([key, method, replication, fit.rows, fit.timing]) + "\n"


def _timings_of(path: Path) -> Path:
    return path.with_name(f"{path.stem}.timings.parquet")


def _blocks(folder: Path) -> Iterator[Path]:
    """Yield the results of a setting's blocks, of all methods."""
    for path in sorted(folder.glob("*/*-*.parquet")):
        if not path.stem.endswith(".timings"):
            yield path


def _unfinished(folder: Path) -> Iterator[_Kept]:
    """Yield what partial files hold; the last line may have been cut off."""
    for path in sorted(folder.glob("*.partial.jsonl")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                key, method, replication, rows, timing = json.loads(line)
            except ValueError:
                continue
            yield key, method, replication, Fit(rows, timing)


def _finished(path: Path, key: str | None = None) -> Iterator[_Kept]:
    """Yield what a method's block holds, if it was made with this key, or with any."""
    try:
        timings = read_table(_timings_of(path))
        found = timings.attrs.get(_KEY)
        if found is None or key not in (None, found):
            return
        results = read_table(path)
    except (DataError, OSError):
        return  # damaged or being made: as if it were not there
    rows = defaultdict(list)
    for replication, row in _records(results, _ROW):
        rows[replication].append(row)
    for replication, timing in _records(timings, _TIMING):
        yield found, path.parent.name, replication, Fit(rows[replication], timing)


def _overlap(one: range, other: range) -> bool:
    return max(one.start, other.start) < min(one.stop, other.stop)


def _records(table: pd.DataFrame, names: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield replications and rows as a fit has them: plain values, no round for a final score."""
    import pandas as pd

    for replication, row in zip(table["replication"], table[names].to_dict("records"), strict=True):
        yield int(replication), {k: None if v is pd.NA else v for k, v in row.items()}

"""The files of finished replications: a block's results, and its timings next to them.

``results/<study>/<setting>/<block>.parquet`` holds the rows of all methods of a block, and in its
metadata the key of each method. ``<block>.timings.parquet`` holds what differs from run to run,
such as seconds and memory.

A job reuses each replication with the same key, from any block of the setting. So a killed job
loses one replication, a new block size loses none, and only the methods that changed run again.
"""

from __future__ import annotations

import json
import logging
from collections import UserDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
from pyarrow import ArrowException
from pyarrow.parquet import read_schema

from fedmix.errors import DataError
from fedmix.experiments.base import Method
from fedmix.experiments.runner import Fit, Scenario, tables_of
from fedmix.pipeline.evidence import RESULTS, TIMINGS, stopped_early
from fedmix.pipeline.plan import block_paths, replications_of, timings_of
from fedmix.revision import origin
from fedmix.storage import read_table, stacked, write_table

logger = logging.getLogger(__name__)

# The columns of each file, and the kinds of NumPy type that they may have.
IDENTITY = {"study": "O", "variant": "O", "setting": "O", "method": "O", "replication": "i"}
TIMED = {"status": "O", **TIMINGS}
COLUMNS = {"results": {**IDENTITY, **RESULTS}, "timings": {**IDENTITY, **TIMED}}
KEYS = "keys"  # in a block's metadata: method -> key

_Finished = tuple[str, str, int, Fit]  # key, method, replication and result


class KeptFits(UserDict):
    """The finished replications of a block, by method and replication.

    A new replication is written at once to ``<block>.partial.jsonl`` in the setting's ``folder``.
    ``keys`` has the key of each method, ``evidence`` the rows of this setting, and ``limit`` the
    seconds that a replication may take: one that was stopped earlier runs again.
    """

    def __init__(
        self,
        folder: Path,
        block: str,
        keys: Mapping[str, str],
        evidence: pd.DataFrame | None = None,
        limit: float | None = None,
    ):
        super().__init__()
        self._keys = keys
        self._path = folder / f"{block}.partial.jsonl"
        wanted = replications_of(block)
        kept: Iterable[_Finished] = ()
        if evidence is not None:
            last = evidence.drop_duplicates(["method", "replication"])
            kept = _fits_in(evidence, last, last["key"])
        self.data = {
            (method, replication): fit
            for key, method, replication, fit in chain(kept, finished(folder, wanted))
            if key == keys.get(method) and replication in wanted
            if not stopped_early(fit.timing, limit)
        }
        if self.data:
            logger.info("%d replications of methods are finished already", len(self.data))

    def __setitem__(self, cell: tuple[str, int], fit: Fit) -> None:
        fit.timing["made"] = origin()
        super().__setitem__(cell, fit)
        method, replication = cell
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps([self._keys[method], method, replication, fit.rows, fit.timing])
        with open(self._path, "a", encoding="utf-8") as stream:
            # A killed job may have left a line without an end: that line alone is lost.
            stream.write(f"\n{line}\n")

    def close(self) -> None:
        """Delete the partial file, because the block is written."""
        self._path.unlink(missing_ok=True)


def write_block(
    path: Path,
    scenario: Scenario,
    methods: Sequence[Method],
    fits: KeptFits,
    keys: Mapping[str, str],
) -> None:
    """Write a block: its timings first, then its results with the key of each method to ``path``.

    ``fits`` has all replications of the block. Rows of other methods in the file are kept.
    """
    replications = replications_of(path.stem)
    tables = [tables_of(scenario, method, fits, replications) for method in methods]
    results, timings = (stacked(parts) for parts in zip(*tables, strict=True))
    for old_results, old_timings in _whole(path):
        others = {m: k for m, k in old_results.attrs[KEYS].items() if m not in keys}
        keys = {**keys, **others}
        results = stacked([results, old_results[old_results["method"].isin(others)]])
        timings = stacked([timings, old_timings[old_timings["method"].isin(others)]])
    results.attrs, timings.attrs = {KEYS: dict(sorted(keys.items()))}, {}
    write_table(timings_of(path), timings)
    write_table(path, results)


def keys_in(path: Path) -> dict[str, str]:
    """Return the key of each method in a block's metadata; none if the file is damaged."""
    try:
        kept = read_schema(path).pandas_metadata or {}
    except (ArrowException, OSError):
        return {}
    return kept.get("attributes", {}).get(KEYS, {})


def finished(folder: Path, wanted: range | None = None) -> Iterator[_Finished]:
    """Yield the finished replications in a setting's folder, partial files first.

    Only blocks with some of the ``wanted`` replications are read, by default all blocks.
    """
    for path in sorted(folder.glob("*.partial.jsonl")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                key, method, replication, rows, timing = json.loads(line)
            except ValueError:
                continue  # the last line may be incomplete
            yield key, method, replication, Fit(rows, timing)
    for path in block_paths(folder):
        held = replications_of(path.stem)
        if wanted is None or max(held.start, wanted.start) < min(held.stop, wanted.stop):
            for results, timings in _whole(path):
                keys = map(results.attrs[KEYS].get, timings["method"])
                yield from _fits_in(results, timings, keys)


def _whole(path: Path) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield a block's tables; nothing if one is missing or damaged, or without keys."""
    try:
        results, timings = map(read_table, (path, timings_of(path)))
    except (DataError, OSError):
        return
    if KEYS in results.attrs:
        yield results, timings


def _fits_in(
    results: pd.DataFrame, timings: pd.DataFrame, keys: Iterable[str | None]
) -> Iterator[_Finished]:
    """Yield the fits in results, with the key of each row of timings; without a key, none."""
    rows = defaultdict(list)
    for cell, row in _records(results, RESULTS):
        rows[cell].append(row)
    for key, (cell, timing) in zip(keys, _records(timings, TIMED), strict=True):
        if key is not None:
            yield key, *cell, Fit(rows[cell], timing)


def _records(
    table: pd.DataFrame, names: Iterable[str]
) -> Iterator[tuple[tuple[str, int], dict[str, Any]]]:
    """Yield each row's method and replication, and its values as in a fit."""
    cells = zip(table["method"], map(int, table["replication"]), strict=True)
    for cell, row in zip(cells, table[list(names)].to_dict("records"), strict=True):
        yield cell, {name: None if value is pd.NA else value for name, value in row.items()}

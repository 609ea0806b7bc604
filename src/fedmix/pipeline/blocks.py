"""The files of finished replications: a block's results, and its timings next to them.

``results/<study>/<setting>/<block>.parquet`` holds the rows of all methods of a block, and in its
metadata the key of each method: the hash of everything that its replications depend on.
``<block>.timings.parquet`` holds what differs from run to run, such as seconds and memory.

A job reuses each replication with the same key, from any block of the setting. So a killed job
loses one replication, a new block size loses none, and only the methods that changed run again.
"""

from __future__ import annotations

import io
import json
import logging
import os
import tarfile
from collections import UserDict, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.errors import DataError
from fedmix.experiments.runner import Fit, Fits, tables_of
from fedmix.pipeline.plan import block_paths, replications_of
from fedmix.storage import atomic_path, read_table, stacked, write_table

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.experiments.base import Method
    from fedmix.experiments.runner import Scenario

logger = logging.getLogger(__name__)

_IDENTITY = {"study": "O", "variant": "O", "setting": "O", "method": "O", "replication": "i"}
# The columns of each file, and the kinds of NumPy type that they may have.
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
        "memory": "f",
        "shared_seconds": "f",
        "warm": "b",
    },
}
_FIT, _TIMING = ([n for n in COLUMNS[kind] if n not in _IDENTITY] for kind in COLUMNS)
_PACKED = "packed.partial.jsonl"
_KEYS = "keys"  # in a block's metadata: method -> key

_Finished = tuple[str, str, int, Fit]  # key, method, replication and result


class KeptFits(UserDict):
    """The finished replications of a block, by method and replication.

    A new replication is written at once to ``<block>.partial.jsonl`` in the setting's folder.

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
        self.data = {
            (method, replication): fit
            for key, method, replication, fit in _finished(folder, wanted)
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
        """Delete the partial file, because the block is written."""
        self._path.unlink(missing_ok=True)


def write_block(
    path: Path,
    scenario: Scenario,
    methods: Sequence[Method],
    fits: Fits,
    keys: Mapping[str, str],
) -> None:
    """Write a block: its timings first, then its results with the key of each method.

    Rows of other methods in the file are kept: a run with fewer methods loses none.

    Parameters
    ----------
    path : path
        ``<block>.parquet``; the timings go to ``<block>.timings.parquet``.
    scenario : Scenario
    methods : sequence of Method
    fits : mapping of tuple to Fit
        All replications of the block, by method and replication.
    keys : mapping of str to str
        Each method's key.
    """
    replications = replications_of(path.stem)
    tables = [tables_of(scenario, method, fits, replications) for method in methods]
    results, timings = (stacked(parts) for parts in zip(*tables, strict=True))
    for old_results, old_timings in _whole(path):
        others = {m: k for m, k in old_results.attrs[_KEYS].items() if m not in keys}
        keys = {**keys, **others}
        results = stacked([results, old_results[old_results["method"].isin(others)]])
        timings = stacked([timings, old_timings[old_timings["method"].isin(others)]])
    results.attrs, timings.attrs = {_KEYS: dict(sorted(keys.items()))}, {}
    write_table(_timings_of(path), timings)
    write_table(path, results)


def pack(workdir: str | os.PathLike, target: str | os.PathLike, studies: Sequence[str] = ()) -> int:
    """Write all finished replications below ``results`` into one file.

    Unpack it with ``tar xf`` where the run should continue. Jobs there reuse the replications with
    the same key, that is of the same code and data. Equal results give equal bytes.

    Parameters
    ----------
    workdir : path-like
        Where Snakemake works.
    target : path-like
        The ``tar.xz`` file. After an error there is no partial file.
    studies : sequence of str, optional
        The studies to pack; all by default.

    Returns
    -------
    int
        The number of replications of methods in the file.

    Raises
    ------
    DataError
        If no replication is finished, or the file's name does not end in ``.tar.xz``.
    """
    if not Path(target).name.endswith(".tar.xz"):
        raise DataError(f"{target}: expected a name that ends in .tar.xz, the format of the file.")
    results, count = Path(workdir, "results"), 0
    with atomic_path(target) as temporary, tarfile.open(temporary, "w:xz") as bundle:
        for folder in sorted(f for name in studies or "*" for f in results.glob(f"{name}/*/")):
            lines = sorted({_line(*each) for each in _finished(folder)})
            if lines:
                content = "".join(lines).encode()
                entry = tarfile.TarInfo((folder / _PACKED).relative_to(workdir).as_posix())
                entry.size = len(content)
                bundle.addfile(entry, io.BytesIO(content))
                count += len(lines)
        if not count:
            of = f" of {', '.join(studies)}" if studies else ""
            raise DataError(f"{results} holds no finished replication{of}.")
    return count


def _line(key: str, method: str, replication: int, fit: Fit) -> str:
    return json.dumps([key, method, replication, fit.rows, fit.timing]) + "\n"


def _timings_of(path: Path) -> Path:
    return path.with_name(f"{path.stem}.timings.parquet")


def _finished(folder: Path, wanted: range | None = None) -> Iterator[_Finished]:
    """Yield the finished replications in a setting's folder, partial files first.

    Parameters
    ----------
    folder : path
    wanted : range, optional
        Read only blocks with some of these replications.
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
            for tables in _whole(path):
                yield from _fits_in(*tables)


def _whole(path: Path) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield a block's tables; nothing if one is missing or damaged, or without keys."""
    try:
        results, timings = read_table(path), read_table(_timings_of(path))
    except (DataError, OSError):
        return
    if _KEYS in results.attrs:
        yield results, timings


def _fits_in(results: pd.DataFrame, timings: pd.DataFrame) -> Iterator[_Finished]:
    rows = defaultdict(list)
    for cell, row in _records(results, _FIT):
        rows[cell].append(row)
    for (method, replication), timing in _records(timings, _TIMING):
        if method in results.attrs[_KEYS]:
            fit = Fit(rows[method, replication], timing)
            yield results.attrs[_KEYS][method], method, replication, fit


def _records(
    table: pd.DataFrame, names: list[str]
) -> Iterator[tuple[tuple[str, int], dict[str, Any]]]:
    """Yield each row's method and replication, and its values as in a fit."""
    import pandas as pd

    cells = zip(table["method"], map(int, table["replication"]), strict=True)
    for cell, row in zip(cells, table[names].to_dict("records"), strict=True):
        yield cell, {name: None if value is pd.NA else value for name, value in row.items()}


def read_blocks(
    paths: Iterable[str | os.PathLike],
    replications: Mapping[str, int],
    keys: Mapping[str, str],
    partial: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read some methods from the blocks of a setting, and check that nothing is missing or stale.

    Parameters
    ----------
    paths : iterable of path-like
        ``.../<study>/<setting>/<block>.parquet``.
    replications : mapping of str to int
        The methods to read, in this order, and the number of replications of each. A block may
        have more of both.
    keys : mapping of str to str
        The key of each method by the present code, parameters and data.
    partial : bool, default=False
        Whether methods may be missing from a block. Those with another key are then left out.

    Returns
    -------
    results, timings : DataFrame
        The rows by method and replication. They do not depend on the size of the blocks.

    Raises
    ------
    DataError
        Naming the file, what it holds and what was expected.
    """
    order = {method: i for i, method in enumerate(replications)}
    tables = [_read_block(Path(path), replications, keys, partial) for path in paths]
    collected = []
    for rows in (stacked(parts) for parts in ([t[0] for t in tables], [t[1] for t in tables])):
        rows.attrs = {}
        if len(rows):
            rows = rows.sort_values("method", key=lambda m: m.map(order), kind="stable")
        collected.append(rows.reset_index(drop=True))
    return collected[0], collected[1]


def _read_block(
    path: Path, replications: Mapping[str, int], keys: Mapping[str, str], partial: bool
) -> list[pd.DataFrame]:
    held, place = replications_of(path.stem), path.parts[-3:-1]
    wanted = {method: held for method, n in replications.items() if n > held.start}
    results = _read(path, "results", place, wanted, partial, wanted)
    stale = [m for m in wanted if results.attrs.get(_KEYS, {}).get(m) != keys[m]]
    if stale and not partial:
        raise DataError(
            f"{path}: other code or other data made the results of {', '.join(stale)}, and the job "
            f"that should replace them ended without writing. See logs/run_methods/"
            f"{'/'.join(place)}/{path.stem}.log, or delete the file and run Snakemake again."
        )
    current = {method: held for method in wanted if method not in stale}
    timings = _read(_timings_of(path), "timings", place, current, partial, current)
    results = results[results["method"].isin(current)]
    return [
        rows[rows["replication"] < rows["method"].map(replications)] for rows in (results, timings)
    ]


def read_collected(
    path: str | os.PathLike, replications: Mapping[str, int], partial: bool = False
) -> pd.DataFrame:
    """Read a collected setting and check that every method has its replications.

    Parameters
    ----------
    path : path-like
        ``.../<study>/<setting>/results.parquet`` or ``timings.parquet``.
    replications : mapping of str to int
        The number of replications of each method of the setting.
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
    partial: bool,
    only: Collection[str] | None = None,
) -> pd.DataFrame:
    """Read a file and check it; ``only`` names the methods to keep."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a parquet file. Move it away.")
    rows = read_table(path)
    if partial and rows.empty:
        return rows
    if only is not None and "method" in rows:
        rows = rows[rows["method"].isin(only)]
    problem = next(_problems(rows, kind, place, expected, partial), None)
    if problem:
        raise DataError(
            f"{path}: {problem}. This is not the file that the pipeline wrote. Delete it and run "
            "Snakemake again to remake it."
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
            yield f"it holds {method}, replications {_listed(numbers)}, which were not requested"
    for method, wanted in expected.items():
        lost = set(wanted) - held.get(method, set())
        if lost and not partial:
            yield f"{method} lacks replications {_listed(lost)} of {len(wanted)}"
    key = ["method", "replication", *(["metric", "round"] if kind == "results" else [])]
    if rows.duplicated(key).any():
        first = rows[rows.duplicated(key)].iloc[0]
        yield f"it holds {first['method']}, replication {first['replication']} twice"


def _listed(numbers: Collection[int]) -> str:
    """Return numbers as text, only the first few of many."""
    found = sorted(numbers)
    return ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")

"""Evidence: finished replications that outlive the code and the machine that made them.

``data/evidence/<study>.parquet`` has one row per method, setting, replication and metric. Each row
has the key of its replication: a run takes over what has the planned key (:mod:`.coverage`), as if
it had just finished. ``<study>.json`` is an index of this file, so that a plan need not read
numbers.

Evidence may come from anyone. Every row is checked before it is used (:func:`checked`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fedmix.errors import DataError
from fedmix.pipeline.plan import replications_of
from fedmix.revision import other_versions
from fedmix.storage import sha256_of, write_table, write_text

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

FIT = ["setting", "method", "replication"]
# Columns of results and of timings, and the kinds of NumPy type that they may have.
RESULTS = {
    "round": "iuf",
    "metric": "O",
    "value": "f",
    "status": "O",
    "message": "O",
    "rounds": "i",
    "converged": "b",
    "floats_up": "i",
    "floats_down": "i",
}
TIMINGS = {
    "seconds": "f",
    "cpu_seconds": "f",
    "memory": "f",
    "shared_seconds": "f",
    "warm": "b",
    "made": "O",
}
#: The columns of a file.
COLUMNS = {"setting": "O", "method": "O", "replication": "i", **RESULTS, **TIMINGS, "key": "O"}
#: Its columns of text.
TEXT = [name for name, kinds in COLUMNS.items() if kinds == "O"]
_MEASURED = ["seconds", "cpu_seconds", "memory", "shared_seconds"]
_ROUNDING = 0.005  # the largest relative error of three digits
_STATUSES = {"ok", "diverged", "timeout", "error"}
#: The largest relative difference of equal values, on processors of one family.
SAME = 1e-9
#: Binary digits that are kept of values by round: 1 in 4,000 is less than the width of a line.
BITS = 12
#: Their largest relative error, and a hundredth more: some were rounded to more digits before.
ROUNDED = 1.01 * 2.0**-BITS
#: Rows that are read at a time: who wants one setting reads those with it, not the whole file.
ROWS_TOGETHER = 2**17
# Rounds follow each other, so their differences take little space.
_ENCODINGS = {"round": "DELTA_BINARY_PACKED", "value": "BYTE_STREAM_SPLIT"}
_MOST_ROWS = 5_000_000  # of a study; the largest of the paper preset has a quarter


@dataclass(frozen=True)
class Held:
    """What the evidence holds of a method in a setting: replications with the same key.

    ``timeouts`` gives the seconds after which some of them were stopped.
    """

    key: str
    replications: frozenset[int]
    timeouts: Mapping[int, float] = field(default_factory=dict)

    def within(self, limit: float | None) -> frozenset[int]:
        """Return the replications that were not stopped before a limit (:func:`stopped_early`)."""
        stopped = {r for r, seconds in self.timeouts.items() if seconds < _at_least(limit)}
        return self.replications - stopped


@dataclass(frozen=True)
class Index:
    """What the evidence of a study holds: ``fits`` by setting and method.

    ``data`` has the path of an embedded data set -> its ``sha256``, and the ``key`` of what made
    it. ``adoptions`` are the last checks after a change of the code, see
    :mod:`fedmix.pipeline.rerun`.
    """

    fits: Mapping[str, Mapping[str, Held]] = field(default_factory=dict)
    data: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    adoptions: list[Mapping[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Evidence:
    """The evidence in a folder, usually ``data/evidence``; without a folder there is none."""

    folder: Path | None = None
    _indices: dict[str, Index] = field(default_factory=dict, repr=False)

    def index(self, study: str) -> Index:
        """Return what is held of a study; an index of another file of results is an error."""
        if study not in self._indices:
            self._indices[study] = _read_index(self.folder, study) if self.folder else Index()
        return self._indices[study]

    def data_hash(self, study: str, path: str, key: str) -> str | None:
        """Return the sha256 of an embedded data set, if the evidence used one with this key."""
        held = self.index(study).data.get(path, {})
        return held.get("sha256") if held.get("key") == key else None

    def rows(
        self, study: str, settings: Collection[str] | None = None, as_categories: bool = False
    ) -> pd.DataFrame:
        """Return the rows of a study, or of some of its settings.

        Text as categories takes a tenth of the time and memory, because most of it is repeated.
        """
        path = self.folder / f"{study}.parquet" if self.folder else None
        if path is None or not path.is_file():
            return empty()
        filters = None if settings is None else [("setting", "in", sorted(settings))]
        text = TEXT if as_categories else None
        return _read(path, str(path), filters=filters, read_dictionary=text)


def unverified(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the pairs (setting, method) that other versions of libraries made and checked.

    Each with the first of these libraries, and both versions of it.
    """
    fits = rows[["setting", "method", "made"]].drop_duplicates()
    others = fits["made"].map(other_versions)
    found = zip(fits["setting"], fits["method"], others, strict=True)
    return {(setting, method): each[0] for setting, method, each in found if each}


def stopped_early(fits: Any, limit: float | None) -> Any:
    """Return whether replications were stopped before a limit, so that they may yet finish.

    ``fits`` has ``status`` and ``seconds``: of replications in a data frame, which gives a series,
    or of one in a mapping. ``limit`` is in seconds that a replication may take; None is no limit.
    """
    return (fits["status"] == "timeout") & (fits["seconds"] < _at_least(limit))


def _at_least(limit: float | None) -> float:
    """Return the fewest kept seconds, which are rounded, of a replication that reached a limit."""
    return (limit or float("inf")) * (1 - _ROUNDING)


def empty() -> pd.DataFrame:
    """Return rows of evidence without any."""
    import pandas as pd

    return pd.DataFrame(columns=list(COLUMNS))


def write_evidence(
    folder: Path,
    study: str,
    rows: pd.DataFrame,
    data: Mapping[str, Mapping[str, str]],
    adoptions: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Write the evidence of a study and its index; the same content gives the same bytes.

    ``rows`` has :data:`COLUMNS`; for ``data`` and ``adoptions`` see :class:`Index`. Times are
    rounded to three digits, values by round to :data:`BITS` binary digits, because figures need no
    more.
    """
    import numpy as np

    rows = rows[list(COLUMNS)].sort_values(FIT, kind="stable", ignore_index=True)
    rows[_MEASURED] = rows[_MEASURED].map(lambda number: float(f"{number:.3g}"))
    kinds = {"round": "Int64", "converged": bool, "warm": bool}
    rows = rows.astype(kinds | dict.fromkeys(TEXT, str))  # those of an archive have categories
    by_round = rows["round"].notna()
    mantissas, exponents = np.frexp(rows.loc[by_round, "value"])
    rows.loc[by_round, "value"] = np.ldexp(np.round(mantissas * 2.0**BITS) / 2.0**BITS, exponents)
    attributes = {"data": dict(data), "adoptions": list(adoptions)}
    rows.attrs = json.loads(json.dumps(attributes, sort_keys=True))  # in one order, for equal bytes
    write_table(
        folder / f"{study}.parquet",
        rows,
        compression_level=19,
        row_group_size=ROWS_TOGETHER,
        use_dictionary=[name for name in COLUMNS if name not in _ENCODINGS],
        column_encoding=_ENCODINGS,
    )
    write_index(folder, study, rows)


def write_index(folder: Path, study: str, rows: pd.DataFrame) -> None:
    """Write the index of a study's file."""
    fits: dict[str, dict[str, list]] = {}
    for (setting, method, key), own in rows.groupby(["setting", "method", "key"]):
        held = [key, _ranges(own["replication"].unique())]
        stopped = own[own["status"] == "timeout"]
        if len(stopped):
            held.append(
                dict(zip(map(str, stopped["replication"]), stopped["seconds"], strict=True))
            )
        fits.setdefault(setting, {})[method] = held
    content = {"sha256": sha256_of(folder / f"{study}.parquet"), **rows.attrs, "fits": fits}
    write_text(folder / f"{study}.json", json.dumps(content, indent=0, sort_keys=True) + "\n")


def read_foreign(file: Path | IO[bytes], name: str) -> pd.DataFrame:
    """Read a file of evidence from outside after checking its size and columns.

    Messages call it ``name``.
    """
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata
    from pyarrow.types import is_nested

    try:
        found = read_metadata(file)
    except (ArrowException, OSError) as error:
        raise DataError(f"{name} is not a parquet file: {error}") from None
    if found.num_rows > _MOST_ROWS:
        raise DataError(f"{name} has {found.num_rows} rows; at most {_MOST_ROWS} are expected.")
    schema = found.schema.to_arrow_schema()
    if set(schema.names) != set(COLUMNS):
        wrong = ", ".join(sorted(set(schema.names) ^ set(COLUMNS)))
        raise DataError(f"{name} is not evidence: missing or unknown columns: {wrong}.")
    for column in schema:
        if is_nested(column.type):
            raise DataError(f"{name}: column {column.name} is of type {column.type}.")
    rows = _read(file, name)
    for column, kinds in COLUMNS.items():
        if rows[column].dtype.kind not in kinds:
            raise DataError(f"{name}: column {column} is of type {rows[column].dtype}.")
    return rows


def _read(file: Path | IO[bytes], name: str, **options: Any) -> pd.DataFrame:
    """Read a file of evidence; the options are those of ``pandas.read_parquet``."""
    import pandas as pd

    try:
        return pd.read_parquet(file, page_checksum_verification=True, **options)
    except Exception as error:
        raise DataError(
            f"{name} is damaged or truncated ({type(error).__name__}: {error}). It is an original, "
            "which fedmix cannot make again: replace it by a good copy."
        ) from error


def checked(
    rows: pd.DataFrame, metrics: Collection[str], source: str
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of sound replications, and a sentence for each reason to leave some out.

    ``rows`` has :data:`COLUMNS`, ``metrics`` are those that the study's experiment may report, and
    ``source`` is the file, for messages.
    """
    ok = rows["status"] == "ok"
    needed = [name for name in COLUMNS if name not in {"round", "value", *_MEASURED}]
    faults = {
        "a text, count or flag is missing": rows[needed].isna().any(axis=1),
        "the status is unknown": ~rows["status"].isin(_STATUSES),
        "the text of what made it is damaged": ~rows["made"].isin(
            [text for text in rows["made"].unique() if _tells_origin(text)]
        ),
        "the metric is unknown": ok & ~rows["metric"].isin(metrics),
        "a finished replication has a value that is not finite": ok & ~_finite(rows["value"]),
        "a failed replication has a value": ~ok & (rows["value"].notna() | (rows["metric"] != "")),
        "a count is negative": (
            rows[["replication", "rounds", "floats_up", "floats_down"]] < 0
        ).any(axis=1),
        "a time is negative or not finite": ~(
            _finite(rows[_MEASURED]) & (rows[_MEASURED] >= 0)
        ).all(axis=1),
        "a value occurs twice": rows.duplicated([*FIT, "metric", "round"], keep=False),
        "its rows disagree": _disagreeing(rows),
    }
    messages = []
    bad = ok & False
    for reason, mask in faults.items():
        if mask.any():
            fits = rows.loc[mask, FIT].drop_duplicates()
            first = "/".join(map(str, fits.iloc[0]))
            messages.append(
                f"{source}: {len(fits)} replications left out, because {reason}: first {first}."
            )
            bad |= mask
    if not bad.any():
        return rows, []
    return rows[~among(rows, rows[bad], FIT)], messages


def _tells_origin(text: Any) -> bool:
    """Return whether a text says what :func:`fedmix.revision.origin` says."""
    try:
        return json.loads(text).keys() >= {"date", "commit", "processor"}
    except (TypeError, ValueError, AttributeError):
        return False


def among(rows: pd.DataFrame, others: pd.DataFrame, names: list[str]) -> NDArray[np.bool_]:
    """Return which rows have the same values in some columns as one of the others."""
    return rows.set_index(names).index.isin(others.set_index(names).index)


def _finite(numbers: pd.DataFrame | pd.Series) -> Any:
    return numbers.notna() & (numbers.abs() != float("inf"))


def _disagreeing(rows: pd.DataFrame) -> pd.Series:
    """Return the rows of replications that differ in what a whole replication shares."""
    shared = [name for name in COLUMNS if name not in {*FIT, "round", "metric", "value"}]
    whole = rows.drop_duplicates([*FIT, *shared])
    twice = whole[whole.duplicated(FIT, keep=False)]
    return among(rows, twice, FIT) & rows["status"].notna()


def _read_index(folder: Path, study: str) -> Index:
    path, file = folder / f"{study}.json", folder / f"{study}.parquet"
    if not (path.is_file() or file.is_file()):
        return Index()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["sha256"] != sha256_of(file):
            raise ValueError("it belongs to another file")
        fits = {
            setting: {method: _held(*parts) for method, parts in held.items()}
            for setting, held in content["fits"].items()
        }
        return Index(fits, content["data"], content["adoptions"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is not the index of {file.name} ({error}). If an interrupted `evidence add` "
            "left it so, `python -m fedmix evidence add` makes the index again. If one of the two "
            "files is damaged or missing, replace both by a good copy."
        ) from None


def _held(key: str, replications: str, timeouts: Mapping[str, float] | None = None) -> Held:
    stopped = {int(number): float(seconds) for number, seconds in (timeouts or {}).items()}
    held = (number for part in replications.split(",") for number in replications_of(part))
    return Held(key, frozenset(held), stopped)


def _ranges(numbers: np.ndarray) -> str:
    """Return numbers as text: 0, 1, 2, 5 as ``"0-2,5-5"``."""
    import numpy as np

    numbers = np.sort(numbers)
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1)
    return ",".join(f"{run[0]}-{run[-1]}" for run in runs)

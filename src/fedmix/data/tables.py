"""The reader of csv and parquet tables."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedmix.data.dataset import Raw
from fedmix.errors import ConfigurationError, DataError, nearest_names
from fedmix.storage import read_table

#: Larger integers are rounded by float64.
LARGEST_INTEGER = 2**53


def read_table_file(
    paths: Sequence[Path],
    label: str,
    client: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    names: Sequence[str] | None = None,
    codes: Mapping[str, Mapping[str, float]] | None = None,
    label_edges: Sequence[float] | None = None,
    square: bool = False,
) -> Raw:
    """Read a csv or parquet table. Further files are appended below the first.

    :class:`fedmix.data.registry.TableOptions` describes the options. A csv's column that holds only
    numbers is read as numbers: 7 and 007 are one client or class. Spaces around a client's name do
    not count, and clients are numbered in sorted order. In ``codes`` a number is the text of its
    digits. With ``label_edges`` a value's class is the number of edges below it. ``square`` is for
    EMNIST, whose images are published transposed.

    Raises
    ------
    ConfigurationError
        If an option names a column that does not exist, or does not fit its column.
    DataError
        If a line has too many fields, two columns share a name, a row has no class or no client, or
        a feature is not a finite number that float64 can hold.
    """
    table, codes = read_frames(paths, names), _codes_by_text(codes or {})
    special = {"label": [label], "client": [client] if client else [], "drop": drop}
    for option, wanted in {**special, "columns": columns or (), "codes": codes}.items():
        require_names(option, wanted, table.columns, "column", paths[0])
    left_out = {name for names in special.values() for name in names}
    for name in columns or ():
        if name in left_out:
            raise ConfigurationError(
                f"option 'columns': {name!r} is the label, the client or in 'drop', and cannot be "
                "a feature as well."
            )
    columns = list(columns or [name for name in table.columns if name not in left_out])
    features = _numbers(table, columns, codes, paths[0])
    labels = _classes(table[label], paths[0])
    return Raw(
        _upright(features) if square else features,
        labels if label_edges is None else _binned(labels, label_edges, label),
        _numbered(table[client], paths[0]) if client else None,
    )


def read_frames(paths: Sequence[Path], names: Sequence[str] | None = None) -> pd.DataFrame:
    """Read and concatenate csv or parquet files; ``names`` are for csv files without a header."""
    return pd.concat([_read_frame(path, names) for path in paths], ignore_index=True)


def require_names(
    option: str, wanted: Iterable[str], known: Iterable[str], what: str, path: Path
) -> None:
    """Raise ConfigurationError for the first name in an option that is not in the file."""
    known = list(known)
    for name in wanted:
        if name not in known:
            raise ConfigurationError(
                f"option {option!r}: {path} has no {what} {name!r}. {nearest_names(name, known)}"
            )


def _read_frame(path: Path, names: Sequence[str] | None) -> pd.DataFrame:
    if path.suffix == ".parquet":
        return read_table(path, remade=False)
    if names is not None and len(set(names)) < len(names):
        raise ConfigurationError("option 'names': two columns share a name.")
    header = "infer" if names is None else None
    try:
        if names is None:
            _check_header(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # No field is taken for an index, and only an empty one is missing: NA may be a class.
            # A large file must not be read in pieces, which could differ in a column's type.
            table = pd.read_csv(
                path,
                header=header,
                skipinitialspace=True,
                index_col=False,
                keep_default_na=False,
                na_values=[""],
                low_memory=False,
            )
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: expected a CSV file in UTF-8 ({error}). Save it so.") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        # The warning, that all lines have more, says nothing else that is of use.
        which = f" ({error})" if isinstance(error, pd.errors.ParserError) else ""
        raise DataError(
            f"{path}: some lines have more fields than the first{which}. Remove them, write "
            "decimals with a point, or quote texts with commas."
        ) from None
    if names is not None and len(names) != table.shape[1]:
        raise ConfigurationError(
            f"option 'names': {len(names)} names for the {table.shape[1]} columns of {path}."
        )
    return table if names is None else table.set_axis(names, axis=1)


def _check_header(path: Path) -> None:
    """Raise DataError if names are not separated by commas, or if two columns share one.

    pandas would change a shared name silently.
    """
    with open(path, encoding="utf-8-sig", newline="") as stream:
        names = [name.strip() for name in next(csv.reader(stream), [])]
    if len(names) == 1 and set(names[0]) & {";", "\t"}:
        raise DataError(
            f"{path}: expected names separated by commas in the first line, got {names[0]!r}. "
            "Separate values by commas, and write decimals with a point."
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"{path}: two columns are named {twice[0]!r}. Rename or remove one.")


def _classes(labels: pd.Series, where: Path) -> NDArray[np.str_]:
    """Return the class of each row as text, or raise DataError at a row without one."""
    texts = labels.astype(str).str.strip().to_numpy(dtype=str)
    empty = np.flatnonzero(labels.isna().to_numpy() | (texts == ""))
    if empty.size:
        raise DataError(
            f"{where}: column {labels.name!r} has no class in {empty.size} rows, first in row "
            f"{empty[0]}, counted from 0. Give their class, or remove these rows."
        )
    return texts


def _codes_by_text(codes: Mapping[str, Mapping]) -> dict[str, dict[str, float]]:
    """Return the codes with texts as keys, because YAML reads some texts as other values."""
    for name, known in codes.items():
        if any(isinstance(text, bool) for text in known):
            raise ConfigurationError(
                f"option 'codes': YAML reads yes, no, on, off, true and false as truth values. "
                f"Quote the texts of column {name!r}."
            )
    return {name: {str(text): code for text, code in own.items()} for name, own in codes.items()}


def _numbers(
    table: pd.DataFrame, columns: Sequence[str], codes: Mapping, where: Path
) -> NDArray[np.float64]:
    """Return columns as an (n, d) array, or raise DataError at a value that is not a number."""
    values = np.empty((len(table), len(columns)))
    for j, name in enumerate(columns):
        _check_type(table[name], where)
        column = table[name].astype(str).map(codes[name]) if name in codes else table[name]
        values[:, j] = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(values[:, j]))
        if bad.size:
            found = table[name].iloc[bad[0]]
            first = "an empty cell" if pd.isna(found) else repr(str(found))
            raise DataError(
                f"{where}: column {name!r} has {bad.size} values that are not finite numbers, "
                f"first {first} in row {bad[0]}, counted from 0. Replace texts by numbers (option "
                "codes), leave the column out (option drop), or repair the file: decimals have a "
                "point."
            )
    return values


def _check_type(column: pd.Series, where: Path) -> None:
    """Raise DataError for a column whose values would change as float64."""
    kind = column.dtype.kind
    if kind in "cmM":
        raise DataError(
            f"{where}: column {column.name!r} holds {column.dtype}; expected numbers. Convert "
            "it, or leave it out (option drop)."
        )
    if kind in "iu" and len(column) and max(column.max(), -column.min()) > LARGEST_INTEGER:
        raise DataError(
            f"{where}: column {column.name!r} has integers beyond 2**53, which float64 rounds. If "
            "it is an identifier, leave it out (option drop)."
        )


def _upright(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Transpose each row as a square image."""
    n_points, n_features = features.shape
    side = round(n_features**0.5)
    if side**2 != n_features:
        raise ConfigurationError(f"option 'square': {n_features} features are not a square image.")
    return features.reshape(-1, side, side).transpose(0, 2, 1).reshape(n_points, n_features)


def _binned(labels: NDArray, edges: Sequence[float], column: str) -> NDArray[np.int64]:
    """Return the number of edges below each label."""
    try:
        numbers = labels.astype(np.float64)
        if np.isnan(numbers).any():
            raise ValueError("'nan' is not a number")
    except ValueError as error:
        raise ConfigurationError(
            f"option 'label_edges': column {column!r} holds text, which has no bins ({error}). "
            "Leave the option out, or use a column of numbers as label."
        ) from error
    return np.searchsorted(np.sort(edges), numbers, side="left")


def _numbered(clients: pd.Series, where: Path) -> NDArray[np.int64]:
    if not pd.api.types.is_numeric_dtype(clients):  # 7 and "7" can stand in one column
        clients = clients.astype(object).map(lambda name: str(name).strip(), na_action="ignore")
        clients = clients.mask(clients == "")
    numbers, _ = pd.factorize(clients, sort=True)
    unnamed = np.flatnonzero(numbers < 0)
    if unnamed.size:
        raise DataError(
            f"{where}: column {clients.name!r} names no client in {unnamed.size} rows, first in "
            f"row {unnamed[0]}, counted from 0. Give their client, or remove these rows."
        )
    return numbers.astype(np.int64)

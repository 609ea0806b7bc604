"""Reading what people give as the data of clients: arrays, data frames, mappings."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.checks import as_real
from fedmix.errors import DataError, InputTypeError, nearest_names

FloatArray = NDArray[np.float64]

#: Larger numbers are refused: their squared distances would leave float64's range.
LARGEST = 1e152


def is_array(value: Any) -> bool:
    """Return whether a value can hold one client's points."""
    return isinstance(value, list | tuple) or hasattr(value, "__array__")


def is_form(data: Any) -> bool:
    """Return whether data are a list of arrays, or a mapping of names to arrays."""
    if isinstance(data, Mapping):
        return bool(data) and all(map(is_array, data.values()))
    return isinstance(data, list) and all(map(is_array, data))


def describe(data: Any) -> str:
    """Describe a value of the wrong type for an error message."""
    kind = type(data).__name__
    vowel = kind[0].lower() in "aeiou" or kind == "ndarray"
    described = f"{'an' if vowel else 'a'} {kind}"
    wrong = [x for x in data if not is_array(x)] if isinstance(data, list) else []
    if wrong:
        return f"{described} that holds {describe(wrong[0])}"
    shape = getattr(data, "shape", None)
    return f"{described} of shape {shape}" if isinstance(shape, tuple) else described


def has_bool(names: Iterable[Hashable]) -> bool:
    """Return whether some names are booleans. Otherwise ``True`` in a mask would be client 1."""
    return any(isinstance(name, bool | np.bool_) for name in names)


def check_frame(frame: Any, columns: Iterable[str]) -> None:
    """Raise InputTypeError for no data frame, and DataError if a column is missing or repeated."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise InputTypeError(f"Expected a pandas data frame, got {describe(frame)}.")
    if repeated := list(frame.columns[frame.columns.duplicated()]):
        raise DataError(f"The data frame has more than one column {repeated[0]!r}. Rename one.")
    for column in columns:
        if column not in frame.columns:
            hint = nearest_names(column, frame.columns)
            raise DataError(f"The data frame has no column {column!r}. {hint}")


def column_names(xs: Sequence[Any]) -> list[str] | None:
    """Return the names of the columns of data frames, None if there are none or they are no words.

    Raises DataError if data frames differ in the names or the order of their columns.
    """
    columns = {k: list(x.columns) for k, x in enumerate(xs) if hasattr(x, "columns")}
    first = next(iter(columns), None)
    for k, own in columns.items():
        if own != columns[first]:
            raise DataError(
                f"Client {k} has the columns {own}, client {first} {columns[first]}: expected the "
                "same names in the same order."
            )
    found = columns.get(first, [])
    return found if found and all(isinstance(name, str) for name in found) else None


def in_order_of(names: list | None, responses: Mapping[Hashable, ArrayLike]) -> list[ArrayLike]:
    """Return the responses in the order of the clients' names."""
    if names is None or set(names) != set(responses):
        raise DataError(
            f"Expected the responses of the clients {names}, got those of {list(responses)}. Give "
            "both as mappings with the same keys, or both as lists."
        )
    return [responses[name] for name in names]


def stack_responses(responses: Sequence[ArrayLike], sizes: list[int]) -> FloatArray:
    """Return all clients' responses in one array (n,), or raise DataError."""
    if not isinstance(responses, Iterable):
        raise InputTypeError(f"Expected one (n_k,) array per client, got {describe(responses)}.")
    vectors = [
        numbers(y, f"Client {k}: expected responses of shape (n_k,)")
        for k, y in enumerate(responses)
    ]
    shapes = [y.shape for y in vectors]
    if shapes != [(n,) for n in sizes]:
        raise DataError(
            f"Expected one response per point: client sizes {sizes}, got shapes {shapes}."
        )
    return np.concatenate(vectors)


def matrices(xs: Sequence[ArrayLike], sizes: Sequence[int] | None = None) -> list[FloatArray]:
    """Return each client's points (n_k, d), with the given n_k, or raise DataError."""
    arrays = [as_matrix(x, k) for k, x in enumerate(xs)]
    if sizes is not None and len(arrays) != len(sizes):
        raise DataError(f"Expected one array for each of {len(sizes)} clients, got {len(arrays)}.")
    for k, (array, size) in enumerate(zip(arrays, sizes or (), strict=False)):
        if len(array) != size:
            raise DataError(
                f"Client {k}: expected {size} points, got {len(array)}. Give each client as many "
                "points as it has."
            )
    widths = sorted({array.shape[1] for array in arrays})
    if len(widths) > 1:
        raise DataError(f"Clients differ in their number of features: {widths}.")
    return arrays


def client_labels(groups: ArrayLike) -> NDArray[Any]:
    """Return the client of each point as an array, or raise DataError if some have none.

    Times finer than a microsecond are rounded down, because Python has no such times as names.
    """
    labels = point_labels(groups, "groups", "Give their client, or remove the points.")
    kind = labels.dtype.kind
    if kind in "mM" and np.datetime_data(labels.dtype)[0] in ("ns", "ps", "fs", "as"):
        return labels.astype(f"{kind}8[us]")
    return labels


def point_labels(values: ArrayLike, name: str, remedy: str) -> NDArray[Any]:
    """Return labels as an array, or raise DataError with the remedy if some are missing."""
    if np.ma.is_masked(values):
        raise DataError(f"Some {name} are masked. {remedy}")
    try:
        labels = np.asarray(values)
    except ValueError as error:
        raise DataError(f"Expected {name} of shape (n,), one per point; {error}") from None
    if labels.dtype.kind == "U" and not hasattr(values, "dtype"):
        labels = np.asarray(values, dtype=object)  # else NaN becomes the word "nan"
    if labels.dtype == object:
        from pandas import isna

        missing = np.count_nonzero(isna(labels))
    else:
        missing = np.count_nonzero(labels != labels)  # NaN, and NaT, which is no time
    if missing:
        raise DataError(f"{missing} of the {name} are missing. {remedy}")
    return labels


def position(k: Any, n_clients: int) -> int:
    """Return a client's position, counted from 0.

    Raises InputTypeError if ``k`` is not an integer, such as a client's name or a truth value, and
    IndexError if there is no such client.
    """
    try:
        number = index(k)
    except TypeError:
        number = None
    if number is None or isinstance(k, bool):
        raise InputTypeError(
            f"Expected a client's position, an integer, got {k!r}. The position of a name is "
            "clients.names.index(name). np.flatnonzero(mask) gives the positions of a mask."
        )
    if not -n_clients <= number < n_clients:
        raise IndexError(f"There is no client {number}: expected 0 to {n_clients - 1}.")
    return number % n_clients


def as_matrix(x: ArrayLike, k: int) -> FloatArray:
    """Return client k's points as float64, or raise DataError."""
    x = numbers(x, f"Client {k}: expected numbers of shape (n_k, d)")
    if x.ndim != 2:
        raise DataError(f"Client {k}: expected an array of shape (n_k, d), got shape {x.shape}.")
    return x


def numbers(values: ArrayLike, expected: str) -> FloatArray:
    """Return the values as float64, or raise DataError with what was expected and the reason."""
    if hasattr(values, "toarray"):
        raise DataError(f"{expected}; the matrix is sparse: convert it with its method toarray.")
    try:
        return as_real(values)
    except (TypeError, ValueError) as error:
        raise DataError(f"{expected}; {str(error).rstrip('.')}.") from error


def check_finite(offsets: NDArray[np.int64], values: FloatArray, what: str) -> None:
    """Raise DataError, with client and row, unless all values are finite and small enough."""
    valid = np.abs(values) <= LARGEST
    if valid.all():
        return
    row = int(np.argwhere(~valid)[0, 0])
    k = int(np.searchsorted(offsets, row, side="right") - 1)
    where = f"first in row {row - offsets[k]} of this client"
    count = f"{np.count_nonzero(~valid)} such values in all"
    if np.isfinite(values).all():
        raise DataError(
            f"Client {k}: {what} hold numbers larger than {LARGEST:g}, {where} ({count}). Squared "
            "distances would overflow. Rescale the data first."
        )
    raise DataError(
        f"Client {k}: {what} hold NaN or infinity, {where} ({count}). Remove or impute them first."
    )

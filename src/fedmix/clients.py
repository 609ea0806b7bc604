"""Ragged data of many clients in one contiguous array with offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.errors import DataError

FloatArray = NDArray[np.float64]

#: Larger numbers are refused: their squared distances would leave float64's range.
LARGEST = 1e152


class Clients:
    """The data of K clients, stored one after the other.

    Build it with :meth:`from_arrays`; the constructor takes the contiguous form.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        All clients' points, client after client.
    offsets : ndarray of shape (K + 1,)
        Client k owns rows ``offsets[k]`` to ``offsets[k + 1]``; a client may be empty.
    responses : ndarray of shape (n,), optional
        The response of each point, for regression.

    Attributes
    ----------
    sizes : ndarray of shape (K,)
        Points a client.

    Raises
    ------
    DataError
        If shapes do not agree, there is no client or no point, or a value is not finite or beyond
        1e152 in size.
    """

    def __init__(
        self, points: ArrayLike, offsets: ArrayLike, responses: ArrayLike | None = None
    ) -> None:
        self.points = np.ascontiguousarray(points, dtype=np.float64)
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.responses = (
            None if responses is None else np.ascontiguousarray(responses, dtype=np.float64)
        )
        self._validate()

    @classmethod
    def from_arrays(
        cls, xs: Sequence[ArrayLike], responses: Sequence[ArrayLike] | None = None
    ) -> Clients:
        """Gather one array a client.

        Parameters
        ----------
        xs : sequence of K arrays of shape (n_k, d)
            The points of each client; sizes may differ.
        responses : sequence of K arrays of shape (n_k,), optional
            The responses of each client, for regression.

        Returns
        -------
        Clients

        Raises
        ------
        DataError
            Naming the client whose array has the wrong shape or a value that is not finite.
        """
        arrays = [_as_matrix(x, k) for k, x in enumerate(xs)]
        if not arrays:
            raise DataError("No clients were given: expected at least one (n_k, d) array.")
        widths = sorted({a.shape[1] for a in arrays})
        if len(widths) > 1:
            raise DataError(f"Clients differ in their number of features: {widths}.")
        sizes = [len(a) for a in arrays]
        stacked = None
        if responses is not None:
            vectors = [_as_vector(y, k) for k, y in enumerate(responses)]
            shapes = [y.shape for y in vectors]
            if shapes != [(n,) for n in sizes]:
                raise DataError(
                    f"Expected one response a point: client sizes {sizes}, got shapes {shapes}."
                )
            stacked = np.concatenate(vectors)
        return cls(np.concatenate(arrays), offsets_of(sizes), stacked)

    def __len__(self) -> int:
        """Return the number of clients K."""
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[FloatArray]:
        """Yield a view of each client's points."""
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int | np.integer) -> FloatArray:
        """Return a view of client k's points, of shape (n_k, d)."""
        k = range(len(self))[int(k)]
        return self.points[self.offsets[k] : self.offsets[k + 1]]

    def __repr__(self) -> str:
        kind = "" if self.responses is None else ", with responses"
        return f"Clients(K={len(self)}, n={self.n_points}, d={self.n_features}{kind})"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Points a client, of shape (K,)."""
        return np.diff(self.offsets)

    @property
    def n_points(self) -> int:
        """Points of all clients together."""
        return len(self.points)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.points.shape[1]

    def responses_of(self, k: int | np.integer) -> FloatArray:
        """Return a view of client k's responses, of shape (n_k,)."""
        if self.responses is None:
            raise DataError("These clients have no responses: pass them to Clients.from_arrays.")
        k = range(len(self))[int(k)]
        return self.responses[self.offsets[k] : self.offsets[k + 1]]

    def subset(self, indices: Iterable[int | np.integer]) -> Clients:
        """Return the clients at ``indices``, in that order."""
        indices = list(indices)
        responses = None if self.responses is None else [self.responses_of(k) for k in indices]
        return Clients.from_arrays([self[k] for k in indices], responses)

    def with_points(self, xs: Sequence[ArrayLike]) -> Clients:
        """Return the same clients with other points, as many each; responses are kept."""
        return Clients(np.concatenate(xs), self.offsets, self.responses)

    def split(self, values: NDArray) -> list[NDArray]:
        """Cut an array with one row a point into one array a client."""
        return np.split(values, self.offsets[1:-1])

    def pooled(self) -> Clients:
        """Return one client that owns everybody's points."""
        return Clients(self.points, [0, self.n_points], self.responses)

    def _validate(self) -> None:
        if self.points.ndim != 2 or self.points.shape[1] == 0:
            raise DataError(f"Expected points of shape (n, d), d >= 1; got {self.points.shape}.")
        if len(self.offsets) < 2 or self.offsets[0] != 0 or self.offsets[-1] != self.n_points:
            raise DataError("Offsets must run from 0 to the number of points, one step a client.")
        if np.any(self.sizes < 0):
            raise DataError("Offsets must not decrease.")
        if self.n_points == 0:
            raise DataError("All clients are empty: expected at least one point.")
        _check_finite(self, self.points, "points")
        if self.responses is not None:
            if self.responses.shape != (self.n_points,):
                raise DataError(f"Expected {self.n_points} responses; got {self.responses.shape}.")
            _check_finite(self, self.responses, "responses")


def offsets_of(sizes: ArrayLike) -> NDArray[np.int64]:
    """Return where each client's rows begin, and the last one's end, from sizes (K,): (K + 1,)."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _as_matrix(x: ArrayLike, k: int) -> FloatArray:
    try:
        x = _as_real(x)
    except (TypeError, ValueError) as error:
        raise DataError(f"Client {k}: expected numbers of shape (n_k, d); {error}.") from error
    if x.ndim != 2:
        raise DataError(f"Client {k}: expected an array of shape (n_k, d), got shape {x.shape}.")
    return x


def _as_vector(y: ArrayLike, k: int) -> FloatArray:
    try:
        return _as_real(y)
    except (TypeError, ValueError) as error:
        raise DataError(f"Client {k}: expected responses of shape (n_k,); {error}.") from error


def _as_real(values: ArrayLike) -> FloatArray:
    """Return float64 values; complex ones are refused, for NumPy would drop imaginary parts."""
    if np.iscomplexobj(values):
        raise TypeError("these are complex")
    return np.asarray(values, dtype=np.float64)


def _check_finite(clients: Clients, values: FloatArray, what: str) -> None:
    valid = np.abs(values) <= LARGEST
    if valid.all():
        return
    row = int(np.argwhere(~valid)[0, 0])
    k = int(np.searchsorted(clients.offsets, row, side="right") - 1)
    where = f"first in row {row - clients.offsets[k]} of this client"
    count = f"{np.count_nonzero(~valid)} such values in all"
    if np.isfinite(values).all():
        raise DataError(
            f"Client {k}: {what} hold numbers beyond {LARGEST:g}, {where} ({count}). Squared "
            "distances would overflow. Rescale the data first."
        )
    raise DataError(
        f"Client {k}: {what} hold NaN or infinity, {where} ({count}). Remove or impute them first."
    )

"""The data of many clients, of different sizes, in one contiguous array with offsets."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.errors import DataError, InputTypeError
from fedmix.inputs import (
    check_finite,
    check_frame,
    client_labels,
    column_names,
    describe,
    in_order_of,
    is_form,
    matrices,
    numbers,
    position,
    stack_responses,
)

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]


class Clients:
    """The data of K clients, stored one after the other.

    Build it with :meth:`from_arrays`, :meth:`from_groups` or :meth:`from_frame`. The constructor
    takes the contiguous form.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The points of all clients, client after client.
    offsets : ndarray of shape (K + 1,)
        Client k owns rows ``offsets[k]`` to ``offsets[k + 1]``, the latter excluded. A client can
        be empty.
    responses : ndarray of shape (n,), optional
        The response of each point, for regression.
    names : sequence of K names, optional
        The clients' names. The default names are the positions 0 to K - 1.
    feature_names : sequence of d strings, optional
        The features' names.
    rows : sequence of n ints, optional
        The row of each point in the data frame or array that was split into clients.

    Attributes
    ----------
    sizes : ndarray of shape (K,)
        Number of points of each client.
    names : list of K names
        The clients' names.
    named : bool
        Whether names were given.
    feature_names : list of d strings, or None
        The names of the columns, if the points came from data frames.
    rows : ndarray of shape (n,), or None
        The row of each point in the data frame or array that was split, counted from 0.

    Raises
    ------
    DataError
        If the shapes do not agree, if there is no client or no point, if a value is not finite
        or exceeds 1e152 in absolute value, or if two clients have the same name.

    Examples
    --------
    >>> from fedmix import Clients
    >>> clients = Clients.from_arrays([[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0]]])
    >>> clients
    Clients(K=2, n=3, d=2)
    >>> clients.sizes
    array([2, 1])
    """

    def __init__(
        self,
        points: ArrayLike,
        offsets: ArrayLike,
        responses: ArrayLike | None = None,
        names: Iterable[Hashable] | None = None,
        feature_names: Iterable[str] | None = None,
        rows: ArrayLike | None = None,
    ) -> None:
        self.points = np.ascontiguousarray(numbers(points, "Expected points of shape (n, d)"))
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        if not np.array_equal(self.offsets, offsets):
            raise DataError(f"Expected offsets to be integers, got {offsets!r}.")
        self.responses = (
            None
            if responses is None
            else np.ascontiguousarray(numbers(responses, "Expected responses of shape (n,)"))
        )
        self.named = names is not None
        self.names = list(range(len(self))) if names is None else list(names)
        self.feature_names = None if feature_names is None else list(feature_names)
        self.rows = None if rows is None else np.asarray(rows)
        self._validate()

    @classmethod
    def from_arrays(
        cls,
        xs: Sequence[ArrayLike] | Mapping[Hashable, ArrayLike],
        responses: Sequence[ArrayLike] | Mapping[Hashable, ArrayLike] | None = None,
    ) -> Clients:
        """Build the clients from one array per client.

        Parameters
        ----------
        xs : sequence of K arrays or data frames of shape (n_k, d), or mapping of names to them
            The points of each client. The number of rows can differ between clients. Data frames
            must have the same columns in the same order. The keys of a mapping name the clients.
        responses : sequence of K arrays of shape (n_k,), or mapping with the keys of xs, optional
            The responses of each client, for regression.

        Returns
        -------
        Clients

        Raises
        ------
        InputTypeError
            If ``xs`` is not a sequence. It is a TypeError.
        DataError
            If an array has the wrong shape or a value that is not finite. The message names the
            client.
        """
        if not isinstance(xs, Iterable):
            raise InputTypeError(f"Expected one (n_k, d) array per client, got {describe(xs)}.")
        names = list(xs) if isinstance(xs, Mapping) else None
        if isinstance(responses, Mapping):
            responses = in_order_of(names, responses)
        xs = list(xs.values()) if isinstance(xs, Mapping) else list(xs)
        feature_names = column_names(xs)
        if not xs:
            raise DataError("No clients were given: expected at least one (n_k, d) array.")
        points = matrices(xs)
        sizes = [len(own) for own in points]
        stacked = None if responses is None else stack_responses(responses, sizes)
        return cls(np.concatenate(points), offsets_of(sizes), stacked, names, feature_names)

    @classmethod
    def from_groups(
        cls, points: ArrayLike, groups: ArrayLike, responses: ArrayLike | None = None
    ) -> Clients:
        """Split one array into clients by a label per point.

        Parameters
        ----------
        points : array or data frame of shape (n, d)
            The points of all clients, in any order.
        groups : array of shape (n,)
            The client of each point: numbers, strings or times.
        responses : array of shape (n,), optional
            The response of each point, for regression.

        Returns
        -------
        Clients
            The clients in the sorted order of their labels, ``numpy.unique(groups)``, which are
            their names. The points of a client keep their order.

        Raises
        ------
        DataError
            If there is not one label per point, or if labels are missing or cannot be sorted.
        """
        feature_names = column_names([points])
        points, groups = numbers(points, "Expected points of shape (n, d)"), client_labels(groups)
        if groups.shape != points.shape[:1]:
            raise DataError(
                f"Expected one group per point: points have shape {points.shape}, groups "
                f"{groups.shape}."
            )
        if not len(groups):
            raise DataError("There are no points. Give at least one client's.")
        try:
            names, own = np.unique(groups, return_inverse=True)
        except TypeError as error:
            raise DataError(
                f"The groups cannot be sorted ({error}). Are some of them missing?"
            ) from None
        order = np.argsort(own, kind="stable")
        sorted_responses = None
        if responses is not None:
            sorted_responses = numbers(responses, "Expected responses of shape (n,)")
            if sorted_responses.shape != groups.shape:
                raise DataError(
                    f"Expected one response per point: {len(points)} points, responses of shape "
                    f"{sorted_responses.shape}."
                )
            sorted_responses = sorted_responses[order]
        return cls(
            points[order],
            offsets_of(np.bincount(own)),
            sorted_responses,
            names.tolist(),
            feature_names,
            order,
        )

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, by: str = "client", response: str | None = None
    ) -> Clients:
        """Split a data frame into clients by one of its columns.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row per point. All columns but ``by`` and ``response`` are features.
        by : str, default="client"
            The column that names the client of each point.
        response : str, optional
            The column of the responses, for regression.

        Returns
        -------
        Clients
            The clients in the sorted order of their labels; see :meth:`from_groups`.

        Raises
        ------
        InputTypeError
            If ``frame`` is no pandas data frame. It is a TypeError.
        DataError
            If a column is missing or occurs twice, or if a feature is not a number. It is named.
        """
        special = [by] if response is None else [by, response]
        check_frame(frame, special)
        if frame[by].isna().any():
            raise DataError(f"Column {by!r} names no client in {frame[by].isna().sum()} rows.")
        features = frame.drop(columns=special)
        if words := [name for name in features if features[name].dtype.kind not in "biuf"]:
            raise DataError(
                f"Column {words[0]!r} holds {features[words[0]].dtype}, not numbers. Encode or "
                "remove it."
            )
        responses = None if response is None else frame[response].to_numpy()
        # astype: a nullable column has NaN, not NA, where a value is missing
        return cls.from_groups(features.astype("float64"), frame[by].to_numpy(), responses)

    def __len__(self) -> int:
        """Return the number of clients K."""
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[FloatArray]:
        """Yield a view of each client's points."""
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int | np.integer) -> FloatArray:
        """Return a view of the points of the client at position k, of shape (n_k, d)."""
        k = position(k, len(self))
        return self.points[self.offsets[k] : self.offsets[k + 1]]

    def __repr__(self) -> str:
        kind = "" if self.responses is None else ", with responses"
        return f"Clients(K={len(self)}, n={self.n_points}, d={self.n_features}{kind})"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of points of each client, of shape (K,)."""
        return np.diff(self.offsets)

    @property
    def n_points(self) -> int:
        """Total number of points n."""
        return len(self.points)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.points.shape[1]

    def responses_of(self, k: int | np.integer) -> FloatArray:
        """Return a view of client k's responses, of shape (n_k,)."""
        if self.responses is None:
            raise DataError("These clients have no responses. Pass them to Clients.from_arrays.")
        k = position(k, len(self))
        return self.responses[self.offsets[k] : self.offsets[k + 1]]

    def subset(self, indices: Iterable[int | np.integer]) -> Clients:
        """Return the clients at ``indices``, in that order, with their names if they have any."""
        own = [position(k, len(self)) for k in indices]
        if not own:
            raise DataError("No clients were asked for: expected at least one index.")
        kept = np.concatenate([np.arange(self.offsets[k], self.offsets[k + 1]) for k in own])
        return Clients(
            self.points[kept],
            offsets_of(self.sizes[own]),
            None if self.responses is None else self.responses[kept],
            [self.names[k] for k in own] if self.named else None,
            self.feature_names,
            None if self.rows is None else self.rows[kept],
        )

    def with_points(self, xs: Sequence[ArrayLike]) -> Clients:
        """Return the clients with other points, as many for each client, and the same responses."""
        names = self.names if self.named else None
        points = np.concatenate(matrices(xs, self.sizes.tolist()))
        return Clients(points, self.offsets, self.responses, names, self.feature_names, self.rows)

    def split(self, values: NDArray) -> list[NDArray]:
        """Split an array with one row per point into one array per client."""
        return np.split(values, self.offsets[1:-1])

    def pooled(self) -> Clients:
        """Return one client that owns the points of all clients."""
        offsets = [0, self.n_points]
        return Clients(self.points, offsets, self.responses, None, self.feature_names, self.rows)

    def _validate(self) -> None:
        if self.points.ndim != 2 or self.points.shape[1] == 0:
            raise DataError(f"Expected points of shape (n, d), d >= 1; got {self.points.shape}.")
        if len(self.offsets) < 2 or self.offsets[0] != 0 or self.offsets[-1] != self.n_points:
            raise DataError("Offsets must run from 0 to the number of points, one step per client.")
        if np.any(self.sizes < 0):
            raise DataError("Offsets must not decrease.")
        if self.n_points == 0:
            raise DataError("All clients are empty: expected at least one point.")
        self._check_names()
        check_finite(self.offsets, self.points, "points")
        if self.responses is not None:
            if self.responses.shape != (self.n_points,):
                raise DataError(f"Expected {self.n_points} responses; got {self.responses.shape}.")
            check_finite(self.offsets, self.responses, "responses")

    def _check_names(self) -> None:
        if unhashable := [name for name in self.names if not isinstance(name, Hashable)]:
            raise DataError(f"Expected names of clients, such as strings; got {unhashable[0]!r}.")
        if len(self.names) != len(self) or len(set(self.names)) != len(self):
            raise DataError(f"Expected {len(self)} different names of clients, got {self.names}.")
        for what, given, wanted in (
            ("feature names", self.feature_names, self.n_features),
            ("rows", self.rows, self.n_points),
        ):
            if given is not None and len(given) != wanted:
                raise DataError(f"Expected {wanted} {what}; got {len(given)}.")


def offsets_of(sizes: ArrayLike) -> NDArray[np.int64]:
    """Return the first row of each client and the total, of shape (K + 1,), from sizes (K,)."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


#: The forms in which an estimator takes the clients' data, see :func:`as_clients`.
ClientsLike = Clients | Mapping[Hashable, ArrayLike] | Sequence[ArrayLike] | ArrayLike


def as_clients(data: Any, responses: Any = None, groups: ArrayLike | None = None) -> Clients:
    """Convert the clients' data from any form that estimators take.

    Parameters
    ----------
    data : Clients, list or mapping of K arrays or data frames of shape (n_k, d), or (X, groups)
        A mapping names the clients. A tuple holds one array X of shape (n, d) and the client of
        each point, groups of shape (n,); see :meth:`Clients.from_groups`. With ``groups``, one
        array or data frame of shape (n, d).
    responses : list or mapping of K arrays of shape (n_k,), optional
        The responses, for regression. With ``groups``, one array of shape (n,). ``Clients`` have
        their own.
    groups : array of shape (n,), optional
        The client of each point.

    Returns
    -------
    Clients

    Raises
    ------
    InputTypeError
        If the data have another form. It is a TypeError.
    DataError
        If the data are not finite numbers, if the clients differ in their number of features, or
        if responses or groups are given twice.
    """
    if isinstance(data, tuple) and len(data) == 2 and np.ndim(data[1]) == 1 and groups is None:
        data, groups = data
    if isinstance(data, Clients):
        if responses is not None or groups is not None:
            raise DataError("Clients have their own responses and groups. Do not give them again.")
        return data
    if groups is not None:
        return Clients.from_groups(data, groups, responses)
    if is_form(data):
        return Clients.from_arrays(data, responses)
    raise InputTypeError(
        f"Expected the data of several clients, got {describe(data)}. Give Clients, a list of "
        "(n_k, d) arrays or data frames, one per client, a mapping of the clients' names to them, "
        "or X of shape (n, d) with groups=, the client of each point (n,). Use Clients.from_frame "
        "for a data frame with a client column."
    )

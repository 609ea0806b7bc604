"""Which client owns which point, and which of its points it learns from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.errors import ConfigurationError, DataError

Rows = list[NDArray[np.int64]]


def by_group(groups: ArrayLike) -> Rows:
    """Make one client of each group, such as a writer.

    Parameters
    ----------
    groups : array-like of shape (n,)
        The group of each point.

    Returns
    -------
    list of ndarray
        The rows of each client, in the order of the groups' numbers; rows ascend.

    Raises
    ------
    DataError
        If the data set has no groups.
    """
    if groups is None:
        raise DataError(
            "This data set has no groups: partition it uniformly, or choose one with groups."
        )
    groups = np.asarray(groups)
    if groups.ndim != 1 or groups.size == 0:
        raise DataError(f"Expected one group a point, shape (n,); got shape {groups.shape}.")
    _, members = np.unique(groups, return_inverse=True)
    return _rows_of(members, int(members.max()) + 1)


def uniform(n_points: int, n_clients: int, rng: np.random.Generator) -> Rows:
    """Give each point to one of K clients at random, independently and with equal chances.

    Client sizes are therefore random; this is how FedGrEM's paper deals out images (Section 4.2).

    Parameters
    ----------
    n_points : int
        Number of points n.
    n_clients : int
        Number of clients K.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    list of ndarray
        The rows of each client; rows ascend.

    Raises
    ------
    ConfigurationError
        If there is no client, or there are more clients than points.
    """
    if not 1 <= n_clients <= n_points:
        raise ConfigurationError(
            f"n_clients={n_clients} is not possible with {n_points} points: expected 1 to "
            f"{n_points}. Choose fewer clients or a larger data set."
        )
    return _rows_of(rng.integers(n_clients, size=n_points), n_clients)


def train_test_split(
    rows: Sequence[NDArray[np.int64]], train_fraction: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Split every client's rows at random into a training and a test part.

    Parameters
    ----------
    rows : sequence of ndarray
        The rows of each client.
    train_fraction : float
        Share of a client's points for training, above 0 and at most 1; FedGrEM's paper has 0.8.
        A client's count is rounded, and a client with any point keeps at least one for training.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    train, test : list of ndarray
        Rows of each client; rows ascend and a test part may be empty.

    Raises
    ------
    ConfigurationError
        If the share is not above 0 and at most 1.
    """
    if not 0.0 < train_fraction <= 1.0:
        raise ConfigurationError(
            f"train_fraction={train_fraction}: expected a share above 0 and at most 1."
        )
    train, test = [], []
    for own in rows:
        shuffled = rng.permutation(own)
        n_train = max(round(train_fraction * len(own)), min(1, len(own)))
        train.append(np.sort(shuffled[:n_train]))
        test.append(np.sort(shuffled[n_train:]))
    return train, test


def _rows_of(members: NDArray[np.int64], n_clients: int) -> Rows:
    """Return the ascending rows of each client from the client of each row, of shape (n,)."""
    order = np.argsort(members, kind="stable")
    ends = np.cumsum(np.bincount(members, minlength=n_clients))
    return np.split(order, ends[:-1])

"""Which client owns which point, and which of its points it learns from.

Clients may be a data set's own groups, random, or hold some of the classes (FedGEM's partition).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.errors import ConfigurationError, DataError

IntArray = NDArray[np.int64]
Rows = list[IntArray]


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


def draw_classes(
    n_classes: int, n_clients: int, most_classes: int, rng: np.random.Generator
) -> Rows:
    """Draw each client's classes, K_g of them, with K_g uniform on 2, ..., ``most_classes``.

    Parameters
    ----------
    n_classes, n_clients : int
        K and G.
    most_classes : int
        Largest K_g.
    rng : numpy.random.Generator

    Returns
    -------
    list of G int arrays of shape (K_g,)
        Classes, ascending. Some class may be at no client.

    Raises
    ------
    ConfigurationError
        If 2 <= most_classes <= n_classes does not hold.
    """
    if not 2 <= most_classes <= n_classes:
        raise ConfigurationError(
            f"most_classes={most_classes} is not possible: expected 2 to the number of classes, "
            f"{n_classes}."
        )
    sizes = rng.integers(2, most_classes, endpoint=True, size=n_clients)
    return [np.sort(rng.permutation(n_classes)[:k]) for k in sizes]


def deal_out(labels: IntArray, classes: Rows) -> Rows:
    """Give every client the next int(n_c / G) rows of each of its classes.

    As the published program does: a client with few classes has little data, and most rows of a
    class that few clients hold go unused.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Classes, numbered from 0.
    classes : list of G int arrays
        The classes of each client.

    Returns
    -------
    list of G int arrays
        The rows of each client, class after class.
    """
    members = _members(labels, classes)
    shares = [len(rows) // len(classes) for rows in members]
    taken = [0] * len(members)
    clients = []
    for own in classes:
        parts = []
        for c in own:
            parts.append(members[c][taken[c] : taken[c] + shares[c]])
            taken[c] += shares[c]
        clients.append(np.concatenate(parts))
    return clients


def split_in_order(labels: IntArray, classes: Rows, train_fraction: float) -> tuple[Rows, Rows]:
    """Deal rows out and keep the first of each client's rows of a class for training.

    Where a file is sorted, by recording say, a client's test rows are then from other recordings
    than its training rows. This gives the scores of the published program on the frog calls.

    Parameters
    ----------
    labels, classes
        As in :func:`deal_out`.
    train_fraction : float
        Share of a client's rows of a class that are for training.

    Returns
    -------
    train, test : list of G int arrays
        The rows of each client, class after class.
    """
    train, test = [], []
    for rows in deal_out(labels, classes):
        own = [rows[labels[rows] == c] for c in np.unique(labels[rows])]
        cuts = [round(train_fraction * len(part)) for part in own]
        train.append(np.concatenate([part[:cut] for part, cut in zip(own, cuts, strict=True)]))
        test.append(np.concatenate([part[cut:] for part, cut in zip(own, cuts, strict=True)]))
    return train, test


def share_out(labels: IntArray, classes: Rows, rng: np.random.Generator) -> Rows:
    """Share all rows of a class evenly, at random, between the clients that hold it.

    Parameters
    ----------
    labels, classes
        As in :func:`deal_out`; rows of a class that no client holds go unused.
    rng : numpy.random.Generator

    Returns
    -------
    list of G int arrays
        The rows of each client, in random order.
    """
    parts: list[Rows] = [[] for _ in classes]
    for c, rows in enumerate(_members(labels, classes)):
        holders = [g for g, own in enumerate(classes) if c in own]
        if holders:
            shuffled = np.array_split(rng.permutation(rows), len(holders))
            for g, share in zip(rng.permutation(holders), shuffled, strict=True):
                parts[g].append(share)
    return [rng.permutation(np.concatenate(p)) for p in parts]


def hand_over_missing(classes: Rows, n_classes: int) -> Rows:
    """Give each class that no client holds to the client with the fewest classes."""
    held = [list(own) for own in classes]
    for c in sorted(set(range(n_classes)) - set(np.concatenate(classes).tolist())):
        min(held, key=len).append(c)
    return [np.sort(np.array(own, dtype=np.int64)) for own in held]


def _members(labels: IntArray, classes: Rows) -> Rows:
    """Return the rows of each class, ascending."""
    n_classes = 1 + max(int(labels.max(initial=-1)), *(int(own.max()) for own in classes))
    return [np.flatnonzero(labels == c) for c in range(n_classes)]


def _rows_of(members: NDArray[np.int64], n_clients: int) -> Rows:
    """Return the ascending rows of each client from the client of each row, of shape (n,)."""
    order = np.argsort(members, kind="stable")
    ends = np.cumsum(np.bincount(members, minlength=n_clients))
    return np.split(order, ends[:-1])

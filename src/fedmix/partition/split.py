"""Assignment of points to clients, and of each client's points to training and testing.

The clients are a data set's own groups, random, or have some of the classes (FedGEM's partition).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.errors import ConfigurationError, DataError
from fedmix.inputs import client_labels

IntArray = NDArray[np.int64]
Rows = list[IntArray]


def by_group(groups: ArrayLike) -> Rows:
    """Make one client from each group, such as a writer.

    Parameters
    ----------
    groups : array-like of shape (n,)
        The group of each point.

    Returns
    -------
    list of ndarray
        The rows of each client, ascending, in the order of the groups' numbers.

    Raises
    ------
    DataError
        If the data set has no groups, or some points have none.
    """
    if groups is None:
        raise DataError(
            "This data set has no groups. Partition it uniformly, or use a data set with groups."
        )
    groups = client_labels(groups)
    if groups.ndim != 1 or groups.size == 0:
        raise DataError(f"Expected one group per point, shape (n,); got shape {groups.shape}.")
    _, members = np.unique(groups, return_inverse=True)
    return _rows_of(members, int(members.max()) + 1)


def uniform(n_points: int, n_clients: int, rng: np.random.Generator) -> Rows:
    """Assign each point to one of K clients, independently and with equal probability.

    Client sizes are therefore random. FedGrEM's paper assigns images in this way (Section 4.2).

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
        The rows of each client, ascending.

    Raises
    ------
    ConfigurationError
        If there are no clients, or more clients than points.
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
        Share of a client's points for training, above 0 and at most 1 (0.8 in FedGrEM's paper). A
        client's number of training points is rounded, and is at least one if the client has points.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    train, test : list of ndarray
        Rows of each client, ascending. A test part can be empty.

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

    They are ascending. It can happen that no client has a class. Raises ConfigurationError if 2 <=
    most_classes <= n_classes does not hold.
    """
    if not 2 <= most_classes <= n_classes:
        raise ConfigurationError(
            f"most_classes={most_classes} is not possible: expected 2 to the number of classes, "
            f"{n_classes}."
        )
    sizes = rng.integers(2, most_classes, endpoint=True, size=n_clients)
    return [np.sort(rng.permutation(n_classes)[:k]) for k in sizes]


def deal_out(labels: IntArray, classes: Rows) -> Rows:
    """Assign to every client the next int(n_c / G) rows of each of its classes, class after class.

    This is the rule of the published program, but for its rounding: see :func:`split_in_order`. A
    client with few classes has few rows, and most rows of a class that few clients have are not
    used.
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
    """Assign to every client the next rows of each of its classes, first training then test rows.

    If a file is sorted, for example by recording, a client's test rows come from other recordings
    than its training rows. The rule and its rounding are those of FedGEM's published program, which
    shares each part of the data equally among clients and rounds a class's share of it down.
    """
    n_points, members = len(labels), _members(labels, classes)
    n_train = int(train_fraction * n_points)
    sizes = [int((1 / len(classes)) * part) for part in (n_train, n_points - n_train)]
    counts = [[int(len(rows) / n_points * size) for size in sizes] for rows in members]
    taken = [0] * len(members)
    train, test = [], []
    for own in classes:
        parts = []
        for c in own:
            start, (n_first, n_second) = taken[c], counts[c]
            taken[c] = start + n_first + n_second
            parts.append(np.split(members[c][start : taken[c]], [n_first]))
        train.append(np.concatenate([first for first, _ in parts]))
        test.append(np.concatenate([second for _, second in parts]))
    return train, test


def share_out(labels: IntArray, classes: Rows, rng: np.random.Generator) -> Rows:
    """Assign all rows of a class at random, in equal shares, to the clients that have the class.

    A client's rows are in random order. Rows of a class that no client has are not used.
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
    """Assign each class that no client has to the client with the fewest classes."""
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

"""Matching component labels across clients.

Each client's mixture is known only up to the order of its components. The labels are aligned by
permutations with a small score. The score is the sum of the distances between means with the same
label, over all components and pairs of clients.

References
----------
Tian, Weng and Feng (2024), Section C.2.
"""

from __future__ import annotations

from itertools import permutations, product
from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.errors import ConfigurationError, DataError, nearest_names

FloatArray = NDArray[np.float64]
Permutations = NDArray[np.int64]

MAX_COMBINATIONS = 1_000_000


def align(
    means: ArrayLike, n_orders: int = 50, method: str = "stepwise", random_state: int = 0
) -> Permutations:
    """Return permutations that align the labels of all clients.

    Parameters
    ----------
    means : array of shape (K, R, d)
        Component means of each client.
    n_orders : int, default=50
        Number of random orders of the clients that the stepwise search tries. The result with the
        smallest score is returned. The default is the published code's.
    method : {"stepwise", "reference", "exhaustive"}, default="stepwise"
        "stepwise" takes the clients in order and aligns each to those before it, by a linear
        assignment problem (Alignment Algorithm 2). "reference" aligns each client to the first
        client only. "exhaustive" tries all combinations (Alignment Algorithm 1); use it for very
        small cases only.
    random_state : int, default=0
        Seed of the random orders.

    Returns
    -------
    permutations : ndarray of shape (K, R)
        The means ``means[k, permutations[k]]`` are aligned. The first client keeps its labels.

    Raises
    ------
    DataError
        If the means are not a finite (K, R, d) array, or if their distances overflow.
    ConfigurationError
        If the method is unknown, if ``n_orders`` is below 1, or if the exhaustive search would try
        more than a million combinations.

    Examples
    --------
    >>> from fedmix import align
    >>> align([[[0.0], [5.0]], [[5.1], [0.1]]])
    array([[0, 1],
           [1, 0]])
    """
    distances = _distances(_as_means(means))
    if method == "exhaustive":
        found = _exhaustive(distances)
    elif method == "stepwise":
        found = _stepwise(distances, n_orders, np.random.default_rng(random_state))
    elif method == "reference":
        found = _align_to_first(distances)
    else:
        hint = nearest_names(method, ["stepwise", "reference", "exhaustive"])
        raise ConfigurationError(f"Unknown alignment method {method!r}. {hint}")
    first_label = np.argsort(found[0])
    return found[:, first_label]


def alignment_score(means: ArrayLike, permutations: ArrayLike) -> float:
    """Return the score of permutations. Each unordered pair of clients counts twice.

    Parameters
    ----------
    means : array of shape (K, R, d)
        Component means of each client.
    permutations : array of shape (K, R)
        One permutation per client.

    Returns
    -------
    float
        The sum of distances; smaller is better.
    """
    return _score(_distances(_as_means(means)), np.asarray(permutations))


def _as_means(means: ArrayLike) -> FloatArray:
    means = np.asarray(means, dtype=np.float64)
    if means.ndim != 3 or 0 in means.shape:
        raise DataError(f"Expected means of shape (K, R, d), all positive; got {means.shape}.")
    if not np.isfinite(means).all():
        k, r, _ = np.argwhere(~np.isfinite(means))[0]
        raise DataError(f"The means of client {k}, component {r} are not finite.")
    return means


def _distances(means: FloatArray) -> FloatArray:
    """Return D[k, l, r, s], the distance of client k's mean r from client l's mean s."""
    from scipy.spatial.distance import cdist

    n_clients, n_components, d = means.shape
    flat = means.reshape(-1, d)
    square = cdist(flat, flat).reshape(n_clients, n_components, n_clients, n_components)
    if not np.isfinite(square).all():
        k, r, *_ = np.argwhere(~np.isfinite(square))[0]
        raise DataError(
            f"The mean of client {k}, component {r} is so far from other means that the distance "
            "overflows. Rescale the data."
        )
    return np.ascontiguousarray(square.transpose(0, 2, 1, 3))


def _score(distances: FloatArray, permutations: Permutations) -> float:
    k = np.arange(len(permutations))
    chosen = permutations[:, None, :], permutations[None, :, :]
    return float(distances[k[:, None, None], k[None, :, None], *chosen].sum())


def _stepwise(distances: FloatArray, n_orders: int, generator: np.random.Generator) -> Permutations:
    """Return the best result of ``n_orders`` stepwise searches."""
    if n_orders < 1:
        raise ConfigurationError(f"n_orders must be 1 or more; got {n_orders!r}.")
    best, best_score = None, np.inf
    for _ in range(n_orders):
        found = _align_in_order(distances, generator.permutation(len(distances)))
        score = _score(distances, found)
        if best is None or score < best_score:
            best, best_score = found, score
    return best


def _align_in_order(distances: FloatArray, order: NDArray[np.int64]) -> Permutations:
    """Align each client to those before it, by one linear assignment problem per client."""
    from scipy.optimize import linear_sum_assignment

    n_clients, _, n_components, _ = distances.shape
    found = np.tile(np.arange(n_components), (n_clients, 1))
    for position in range(1, n_clients):
        k, earlier = order[position], order[:position]
        # cost[r, s]: client k's component s against label r of all clients before it
        cost = distances[earlier[:, None], k, found[earlier]].sum(axis=0)
        found[k] = linear_sum_assignment(cost)[1]
    return found


def _align_to_first(distances: FloatArray) -> Permutations:
    """Align each client to the first one, by one linear assignment problem per client."""
    from scipy.optimize import linear_sum_assignment

    return np.array([linear_sum_assignment(cost)[1] for cost in distances[0]])


def _exhaustive(distances: FloatArray) -> Permutations:
    """Return the best of all permutations. The first client's is fixed without loss."""
    n_clients, _, n_components, _ = distances.shape
    n_combinations = factorial(n_components) ** (n_clients - 1)
    if n_combinations > MAX_COMBINATIONS:
        raise ConfigurationError(
            f"The exhaustive search would try {n_combinations:.3g} combinations (at most "
            f'{MAX_COMBINATIONS}). Use method="stepwise".'
        )
    orders = [np.array(p) for p in permutations(range(n_components))]
    candidates = product([orders[0]], *[orders] * (n_clients - 1))
    return min((np.array(c) for c in candidates), key=lambda c: _score(distances, c))

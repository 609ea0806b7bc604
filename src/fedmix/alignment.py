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

from fedmix.checks import check_integer
from fedmix.errors import ConfigurationError, DataError, nearest_names
from fedmix.inputs import numbers

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
        smallest score is returned. The default is the published code's. The time grows with
        n_orders K^2 R^2 d, and the memory with K R d.
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
        If the method is unknown, if ``n_orders`` is below 1 for the stepwise search, or if the
        exhaustive search would try more than a million combinations.

    Examples
    --------
    >>> from fedmix import align
    >>> align([[[0.0], [5.0]], [[5.1], [0.1]]])
    array([[0, 1],
           [1, 0]])
    """
    means = _as_means(means)
    if method == "exhaustive":
        found = _exhaustive(means)
    elif method == "stepwise":
        found = _stepwise(means, n_orders, np.random.default_rng(random_state))
    elif method == "reference":
        found = _align_to_first(means)
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
        One permutation of 0 to R - 1 per client.

    Returns
    -------
    float
        The sum of distances; smaller is better.

    Raises
    ------
    DataError
        If the means are not a finite (K, R, d) array, if their distances overflow, or if a client
        has no permutation of 0 to R - 1.
    """
    from fedmix.kernels.distances import pair_distances

    means = _as_means(means)
    return 2 * pair_distances(means, _as_permutations(permutations, means.shape[:2]))


def _as_means(means: ArrayLike) -> FloatArray:
    means = numbers(means, "Expected means of shape (K, R, d)")
    if means.ndim != 3 or 0 in means.shape:
        raise DataError(f"Expected means of shape (K, R, d), all positive; got {means.shape}.")
    if not np.isfinite(means).all():
        k, r, _ = np.argwhere(~np.isfinite(means))[0]
        raise DataError(f"The means of client {k}, component {r} are not finite.")
    with np.errstate(over="ignore"):
        widest = np.square(np.ptp(means.reshape(-1, means.shape[2]), axis=0)).sum()
    if not np.isfinite(widest):
        k, r, _ = np.unravel_index(np.abs(means).argmax(), means.shape)
        raise DataError(
            f"The mean of client {k}, component {r} is so far from other means that the distance "
            "overflows. Rescale the data."
        )
    return np.ascontiguousarray(means)


def _as_permutations(permutations: ArrayLike, shape: tuple[int, int]) -> Permutations:
    """Return permutations as integers. The kernel does not check its indices."""
    permutations = np.asarray(permutations)
    if permutations.shape != shape:
        raise DataError(
            f"Expected permutations of shape (K, R) = {shape}; got {permutations.shape}."
        )
    wrong = (np.sort(permutations, axis=1) != np.arange(shape[1])).any(axis=1)
    if wrong.any():
        k = int(wrong.argmax())
        raise DataError(
            f"Expected a permutation of 0 to {shape[1] - 1} for each client; client {k} has "
            f"{permutations[k].tolist()}."
        )
    return permutations.astype(np.int64)


def _stepwise(means: FloatArray, n_orders: int, generator: np.random.Generator) -> Permutations:
    """Return the best result of ``n_orders`` stepwise searches."""
    check_integer("align", "n_orders", n_orders, 1)
    searches = (_align_in_order(means, generator.permutation(len(means))) for _ in range(n_orders))
    return min(searches, key=lambda search: search[1])[0]


def _align_in_order(means: FloatArray, order: NDArray[np.int64]) -> tuple[Permutations, float]:
    """Align each client to those before it, by one linear assignment problem per client.

    Returns the permutations and half their score. Distances are computed anew in every search,
    because those of all pairs of means would take (K R)^2 numbers.
    """
    from scipy.optimize import linear_sum_assignment

    from fedmix.kernels.distances import distance_sums

    n_clients, n_components, d = means.shape
    found = np.empty((n_clients, n_components), dtype=np.int64)
    aligned = np.empty((n_components, d, n_clients))
    score = 0.0
    for position, k in enumerate(order):
        # cost[r, s]: client k's component s against label r of all clients before it
        cost = distance_sums(aligned, position, means[k])
        found[k] = linear_sum_assignment(cost)[1]
        score += cost[np.arange(n_components), found[k]].sum()
        aligned[:, :, position] = means[k, found[k]]
    return found, float(score)


def _align_to_first(means: FloatArray) -> Permutations:
    """Align each client to the first one, by one linear assignment problem per client."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    return np.array([linear_sum_assignment(cdist(means[0], own))[1] for own in means])


def _exhaustive(means: FloatArray) -> Permutations:
    """Return the best of all permutations. The first client's is fixed without loss."""
    from fedmix.kernels.distances import pair_distances

    n_clients, n_components, _ = means.shape
    n_combinations = factorial(n_components) ** (n_clients - 1)
    if n_combinations > MAX_COMBINATIONS:
        raise ConfigurationError(
            f"The exhaustive search would try {n_combinations:.3g} combinations (at most "
            f'{MAX_COMBINATIONS}). Use method="stepwise".'
        )
    orders = [np.array(p) for p in permutations(range(n_components))]
    candidates = product([orders[0]], *[orders] * (n_clients - 1))
    return min((np.array(c) for c in candidates), key=lambda c: pair_distances(means, c))

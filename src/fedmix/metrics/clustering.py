"""Scores of federated clusterings: one score of all points, or the mean over clients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.clients import Clients
from fedmix.errors import DataError
from fedmix.inputs import as_matrix, check_finite
from fedmix.kernels.distances import cluster_distance_sums

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def adjusted_rand_index(labels: IntArray, predicted: IntArray) -> float:
    """Return the adjusted Rand index of two labellings of shape (n,).

    References
    ----------
    Hubert, Arabie (1985). Comparing partitions.
    """
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(labels, predicted))


def silhouette(points: FloatArray, predicted: IntArray) -> float | None:
    """Return the mean silhouette coefficient in O(n K) memory.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    predicted : ndarray of shape (n,)
        Cluster labels; a point alone in its cluster scores 0.

    Returns
    -------
    float or None
        None where it is undefined: fewer than 2 clusters, or as many as points.

    Raises
    ------
    DataError
        If there is not one label per point, or if points are not finite.

    References
    ----------
    Rousseeuw (1987). Silhouettes.
    """
    points = as_matrix(points, 0)
    if np.shape(predicted) != (len(points),):
        raise DataError(f"Expected {len(points)} labels; got shape {np.shape(predicted)}.")
    check_finite(np.array([0, len(points)]), points, "points")
    _, labels = np.unique(predicted, return_inverse=True)
    counts = np.bincount(labels)
    if not 2 <= len(counts) < len(points):
        return None
    points = np.ascontiguousarray(points)
    sums = cluster_distance_sums(points, labels, len(counts))
    return float(_coefficients(sums, labels, counts).mean())


def pooled_scores(
    clients: Clients, labels: Sequence[IntArray], predicted: Sequence[IntArray]
) -> dict[str, float]:
    """Score all clients' points at once, with clusters that mean the same at every client.

    Returns
    -------
    dict
        ``ari_pooled``, ``silhouette_pooled`` (left out where undefined) and
        ``silhouette_pooled_undefined`` (0 or 1).
    """
    _check(clients, labels, predicted)
    together = np.concatenate(predicted)
    scores = {"ari_pooled": adjusted_rand_index(np.concatenate(labels), together)}
    value = silhouette(clients.points, together)
    if value is not None:
        scores["silhouette_pooled"] = value
    return scores | {"silhouette_pooled_undefined": float(value is None)}


def per_client_scores(
    clients: Clients,
    labels: Sequence[IntArray],
    predicted: Sequence[IntArray],
    weights: ArrayLike | None = None,
) -> dict[str, float]:
    """Score every client separately and average over clients. Those without points do not count.

    Clusters may mean something else at every client. ``weights`` are the clients' weights in the
    means; equal by default.

    Returns
    -------
    dict
        ``ari_per_client`` and ``silhouette_per_client``, means with ``weights``; ``..._weighted``,
        means weighted by the clients' sizes (what the paper's text says); and
        ``silhouette_per_client_undefined``, the number of clients whose silhouette is undefined,
        which take no part in its means.
    """
    _check(clients, labels, predicted)
    if weights is not None and np.shape(weights) != (len(clients),):
        raise DataError(f"Expected {len(clients)} weights; got shape {np.shape(weights)}.")
    filled = [k for k, n in enumerate(clients.sizes) if n]
    sizes = clients.sizes[filled]
    given = np.ones(len(filled)) if weights is None else np.asarray(weights)[filled]
    ari = [adjusted_rand_index(labels[k], predicted[k]) for k in filled]
    values = [silhouette(clients[k], predicted[k]) for k in filled]
    defined = np.array([v is not None for v in values])
    scores = {
        "ari_per_client": float(np.average(ari, weights=given)),
        "ari_per_client_weighted": float(np.average(ari, weights=sizes)),
        "silhouette_per_client_undefined": float(np.sum(~defined)),
    }
    if defined.any():
        found = [v for v in values if v is not None]
        scores["silhouette_per_client"] = float(np.average(found, weights=given[defined]))
        scores["silhouette_per_client_weighted"] = float(np.average(found, weights=sizes[defined]))
    return scores


def _coefficients(sums: FloatArray, labels: IntArray, counts: IntArray) -> FloatArray:
    """Return silhouette coefficients (n,) from sums of distances to each cluster (K, n)."""
    points = np.arange(len(labels))
    own = counts[labels]
    within = sums[labels, points] / np.maximum(own - 1, 1)
    between = sums / counts[:, None]
    between[labels, points] = np.inf
    nearest = between.min(axis=0)
    largest = np.maximum(within, nearest)
    scored = (own > 1) & (largest > 0)
    return np.where(scored, (nearest - within) / np.where(scored, largest, 1.0), 0.0)


def _check(clients: Clients, labels: Sequence[IntArray], predicted: Sequence[IntArray]) -> None:
    sizes = clients.sizes.tolist()
    for name, values in (("labels", labels), ("predicted", predicted)):
        found = [len(v) for v in values]
        if found != sizes:
            raise DataError(f"Expected {name} of the clients' sizes {sizes}; got {found}.")

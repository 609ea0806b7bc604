"""Scores of clusterings spread over clients: one score of all points, or the mean over clients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.errors import DataError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: A block of the distance matrix holds at most this many entries.
_BLOCK_ENTRIES = 4_000_000


def adjusted_rand_index(labels: IntArray, predicted: IntArray) -> float:
    """Return the adjusted Rand index of two labellings of shape (n,).

    References
    ----------
    Hubert, Arabie (1985). Comparing partitions.
    """
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(labels, predicted))


def silhouette(points: FloatArray, predicted: IntArray) -> float | None:
    """Return the mean silhouette coefficient, never holding an n x n matrix.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    predicted : ndarray of shape (n,)
        Cluster labels; a point alone in its cluster scores 0.

    Returns
    -------
    float or None
        None where it is undefined: fewer than 2 clusters, or as many as points.

    References
    ----------
    Rousseeuw (1987). Silhouettes.
    """
    _, labels = np.unique(predicted, return_inverse=True)
    counts = np.bincount(labels)
    if not 2 <= len(counts) < len(points):
        return None
    order = np.argsort(labels, kind="stable")
    points, labels = np.ascontiguousarray(points[order], dtype=np.float64), labels[order]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rows = max(1, _BLOCK_ENTRIES // len(points))
    total = 0.0
    for start in range(0, len(points), rows):
        block = slice(start, min(start + rows, len(points)))
        sums = np.add.reduceat(_distances(points, block), starts, axis=1)
        total += _coefficients(sums, labels[block], counts).sum()
    return float(total / len(points))


def pooled_scores(
    clients: Clients, labels: Sequence[IntArray], predicted: Sequence[IntArray]
) -> dict[str, float]:
    """Score all clients' points at once.

    Parameters
    ----------
    clients : Clients
    labels, predicted : sequences of K int arrays of shape (n_k,)
        True classes, and clusters that mean the same at every client.

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
    clients: Clients, labels: Sequence[IntArray], predicted: Sequence[IntArray]
) -> dict[str, float]:
    """Score every client on its own and average over clients.

    Parameters
    ----------
    clients : Clients
        Clients without points do not count.
    labels, predicted : sequences of K int arrays of shape (n_k,)
        True classes and clusters; the latter may mean something else at every client.

    Returns
    -------
    dict
        ``ari_per_client`` and ``silhouette_per_client``, plain means; ``..._weighted``, means
        weighted by the clients' sizes (what the paper's text says); and
        ``silhouette_per_client_undefined``, the number of clients whose silhouette is undefined,
        which take no part in its means.
    """
    _check(clients, labels, predicted)
    filled = [k for k, n in enumerate(clients.sizes) if n]
    sizes = clients.sizes[filled]
    ari = [adjusted_rand_index(labels[k], predicted[k]) for k in filled]
    values = [silhouette(clients[k], predicted[k]) for k in filled]
    defined = np.array([v is not None for v in values])
    scores = {
        "ari_per_client": float(np.mean(ari)),
        "ari_per_client_weighted": float(np.average(ari, weights=sizes)),
        "silhouette_per_client_undefined": float(np.sum(~defined)),
    }
    if defined.any():
        found = [v for v in values if v is not None]
        scores["silhouette_per_client"] = float(np.mean(found))
        scores["silhouette_per_client_weighted"] = float(np.average(found, weights=sizes[defined]))
    return scores


def _distances(points: FloatArray, block: slice) -> FloatArray:
    """Return distances from a block of rows to all points, of shape (rows, n)."""
    from scipy.spatial.distance import cdist

    return cdist(points[block], points)


def _coefficients(sums: FloatArray, labels: IntArray, counts: IntArray) -> FloatArray:
    """Return silhouette coefficients (rows,) from sums of distances to each cluster (rows, K)."""
    rows = np.arange(len(labels))
    own = counts[labels]
    within = sums[rows, labels] / np.maximum(own - 1, 1)
    between = sums / counts
    between[rows, labels] = np.inf
    nearest = between.min(axis=1)
    largest = np.maximum(within, nearest)
    scored = (own > 1) & (largest > 0)
    return np.where(scored, (nearest - within) / np.where(scored, largest, 1.0), 0.0)


def _check(clients: Clients, labels: Sequence[IntArray], predicted: Sequence[IntArray]) -> None:
    sizes = list(clients.sizes)
    for name, values in (("labels", labels), ("predicted", predicted)):
        found = [len(v) for v in values]
        if found != sizes:
            raise DataError(f"Expected {name} of the clients' sizes {sizes}; got {found}.")

"""From points to the symmetric affinities of t-SNE: exact neighbours, then calibrated widths."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from fedmix.kernels.neighbors import merge_nearest, squared_distances

_ROWS, _COLUMNS = 1024, 4096  # a block of distances takes 16 MB a thread
_BISECTIONS = 50


def nearest_neighbors(
    points: np.ndarray, n_neighbors: int, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest neighbours of every point among all others, exactly.

    Distances come in blocks from matrix products in float32, so that memory grows with n and
    never with n^2; those of the neighbours found are then computed anew from differences.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Centred data of moderate scale, as matrix products in float32 need it.
    n_neighbors : int
        Neighbours a point, the point itself not counted; below n.
    threads : int, default=1
        Threads to use; the result does not depend on it.

    Returns
    -------
    neighbors : ndarray of int32, shape (n, n_neighbors)
        Neighbours from near to far, ties in order of index.
    distances : ndarray of float64, shape (n, n_neighbors)
        Their squared Euclidean distances.
    """
    points = np.ascontiguousarray(points, dtype=np.float32)
    squares = np.einsum("ij,ij->i", points, points)
    n = len(points)
    neighbors = np.empty((n, n_neighbors), np.int32)
    distances = np.empty((n, n_neighbors), np.float64)

    def search(start: int) -> None:
        stop = min(start + _ROWS, n)
        nearest = np.full((stop - start, n_neighbors), np.inf, np.float32)
        found = np.zeros((stop - start, n_neighbors), np.int32)
        for a in range(0, n, _COLUMNS):
            block = points[start:stop] @ points[a : a + _COLUMNS].T
            merge_nearest(block, squares[a : a + _COLUMNS], start, a, nearest, found)
        exact = squared_distances(points, found, start)
        order = np.lexsort((found, exact), axis=1)
        neighbors[start:stop] = np.take_along_axis(found, order, axis=1)
        distances[start:stop] = np.take_along_axis(exact, order, axis=1)

    # Each product runs on one thread, for its rounding may depend on how it is split.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        list(pool.map(search, range(0, n, _ROWS)))
    return neighbors, distances


def conditional_affinities(distances: np.ndarray, perplexity: float) -> np.ndarray:
    """Calibrate each point's Gaussian to a perplexity over its neighbours.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
        Squared distances to the neighbours.
    perplexity : float
        Effective number of neighbours, exp(entropy); below k.

    Returns
    -------
    ndarray of shape (n, k)
        p_{j|i}; each row sums to 1. Where more than ``perplexity`` neighbours are at the same
        least distance, they share the row equally.
    """
    excess = distances - distances.min(axis=1, keepdims=True)
    scale = excess.mean(axis=1, keepdims=True)
    excess /= np.where(scale > 0, scale, 1.0)
    low = np.full((len(excess), 1), -35.0)  # log precision, in units of the row's mean distance
    high = -low
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        too_flat = _entropy(excess, np.exp(middle)) > np.log(perplexity)
        low = np.where(too_flat, middle, low)
        high = np.where(too_flat, high, middle)
    affinities = np.exp(-excess * np.exp((low + high) / 2))
    return affinities / affinities.sum(axis=1, keepdims=True)


def _entropy(excess: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return the entropy of each row's Gaussian weights, shape (n, 1)."""
    weights = np.exp(-excess * precision)
    total = weights.sum(axis=1, keepdims=True)
    mean = np.einsum("ij,ij->i", weights, excess)[:, None] / total
    return np.log(total) + precision * mean


def joint_affinities(
    neighbors: np.ndarray, distances: np.ndarray, perplexity: float
) -> sparse.csr_array:
    """Return the symmetric affinities p_ij = (p_{j|i} + p_{i|j}) / 2n, which sum to 1.

    Parameters
    ----------
    neighbors, distances : ndarrays of shape (n, k)
        From ``nearest_neighbors``.
    perplexity : float
        Effective number of neighbours.

    Returns
    -------
    scipy.sparse.csr_array of float64, shape (n, n)
    """
    n, k = neighbors.shape
    conditional = np.empty((n, k))
    for a in range(0, n, _COLUMNS):
        conditional[a : a + _COLUMNS] = conditional_affinities(
            distances[a : a + _COLUMNS], perplexity
        )
    indptr = np.arange(0, n * k + 1, k, dtype=np.int32 if n * k < 2**31 else np.int64)
    directed = sparse.csr_array((conditional.ravel(), neighbors.ravel(), indptr), shape=(n, n))
    joint = (directed + directed.T).tocsr()
    joint.data /= joint.data.sum()
    return joint

"""E-step of a Gaussian mixture with identity covariances, for all clients in one pass."""

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.responsibilities import BLOCK, REORDER, normalise


@njit(cache=True, fastmath=REORDER)
def gaussian_expectation(columns, offsets, weights, means, floor):
    """Sum responsibilities and weighted deviations over each client's points.

    The points are walked once in blocks; responsibilities live for one block only.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        The points, one row a feature, so that loops over points are vectorised.
    offsets : ndarray of shape (K + 1,)
        Client k owns columns ``offsets[k]`` to ``offsets[k + 1]``.
    weights : ndarray of shape (K, R)
        Mixing weights.
    means : ndarray of shape (K, R, d)
        Component means.
    floor : int
        See :func:`fedmix.kernels.responsibilities.normalise`.

    Returns
    -------
    responsibilities : ndarray of shape (K, R)
        Sums of responsibilities.
    scores : ndarray of shape (K, R, d)
        Sums of responsibility times (x - mean).
    log_likelihoods : ndarray of shape (K,)
        Up to the density's constant.
    """
    n_features = columns.shape[0]
    n_clients, n_components = weights.shape
    responsibilities = np.zeros((n_clients, n_components))
    scores = np.zeros((n_clients, n_components, n_features))
    log_likelihoods = np.zeros(n_clients)
    squares = np.empty((n_components, BLOCK))
    largest, total = np.empty(BLOCK), np.empty(BLOCK)
    for k in range(n_clients):
        for start in range(offsets[k], offsets[k + 1], BLOCK):
            stop = min(start + BLOCK, offsets[k + 1])
            n = stop - start
            _squared_distances(columns, start, stop, means[k], squares)
            log_likelihoods[k] += normalise(squares, weights[k], floor, largest[:n], total[:n])
            for r in range(n_components):
                row = squares[r, :n]
                summed = 0.0
                for i in range(n):
                    summed += row[i]
                responsibilities[k, r] += summed
                for c in range(n_features):
                    x = columns[c, start:stop]
                    mean = means[k, r, c]
                    summed = 0.0
                    for i in range(n):
                        summed += row[i] * (x[i] - mean)
                    scores[k, r, c] += summed
    return responsibilities, scores, log_likelihoods


@njit(cache=True, fastmath=REORDER)
def _squared_distances(columns, start, stop, means, squares):
    """Fill ``squares`` (R, BLOCK) with squared distances of points to means (R, d)."""
    n_components, n_features = means.shape
    for r in range(n_components):
        row = squares[r, : stop - start]
        row[:] = 0.0
        for c in range(n_features):
            x = columns[c, start:stop]
            mean = means[r, c]
            for i in range(stop - start):
                row[i] += (x[i] - mean) * (x[i] - mean)

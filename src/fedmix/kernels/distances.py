"""Distances inside hot loops, and sums of distances from every point to every cluster."""

from __future__ import annotations

import numpy as np

from fedmix.kernels.compiler import njit

_TILE = 256


@njit(cache=True)
def cluster_distance_sums(points, labels, n_clusters):
    """Sum each point's distances to the points of each cluster, without an n x n matrix.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
        Clusters, 0 to ``n_clusters - 1``.
    n_clusters : int

    Returns
    -------
    ndarray of shape (n_clusters, n)
    """
    n_points, n_features = points.shape
    sums = np.zeros((n_clusters, n_points))
    squared = np.empty(_TILE)
    for start in range(0, n_points, _TILE):
        width = min(_TILE, n_points - start)
        tile = points[start : start + width].T.copy()  # the inner loops run over neighbours
        for i in range(n_points):
            squared[:width] = 0.0
            for f in range(n_features):
                row, value = tile[f], points[i, f]
                for j in range(width):
                    difference = row[j] - value
                    squared[j] += difference * difference
            total = sums[labels[i], start : start + width]
            for j in range(width):
                total[j] += np.sqrt(squared[j])
    return sums


@njit(cache=True, inline="always")
def squared_distance(x, y):
    """Return the squared Euclidean distance between two vectors of shape (d,)."""
    total = 0.0
    for f in range(len(x)):
        difference = x[f] - y[f]
        total += difference * difference
    return total

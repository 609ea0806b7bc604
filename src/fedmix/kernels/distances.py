"""Distances inside hot loops, and sums of distances in little memory."""

from __future__ import annotations

import numpy as np

from fedmix.kernels.compiler import njit

TILE = 256  # points whose distances from one other are computed together


@njit(cache=True, inline="always")
def squared_distance(x, y):
    """Return the squared Euclidean distance between two vectors of shape (d,)."""
    total = 0.0
    for f in range(len(x)):
        difference = x[f] - y[f]
        total += difference * difference
    return total


@njit(cache=True, inline="always")
def squared_distances_from(point, columns, squared):
    """Set ``squared`` (k,) to the squared distances of columns (d, >= k) from a point (d,)."""
    squared[:] = 0.0
    for f in range(len(point)):
        row, value = columns[f], point[f]
        for j in range(len(squared)):
            difference = value - row[j]
            squared[j] += difference * difference


@njit(cache=True)
def cluster_distance_sums(points, labels, n_clusters):
    """Sum each point's distances to the points of each cluster, without an n x n matrix.

    Points are (n, d), their labels (n,) and the sums (n_clusters, n).
    """
    n_points = len(points)
    sums = np.zeros((n_clusters, n_points))
    scratch = np.empty(TILE)
    for start in range(0, n_points, TILE):
        squared = scratch[: min(TILE, n_points - start)]
        tile = points[start : start + TILE].T.copy()  # the inner loops run over neighbours
        for i in range(n_points):
            squared_distances_from(points[i], tile, squared)
            total = sums[labels[i], start : start + TILE]
            for j in range(len(squared)):
                total[j] += np.sqrt(squared[j])
    return sums


@njit(cache=True)
def distance_sums(aligned, n_aligned, means):
    """Sum the distances of one client's means from all means with a label.

    ``aligned`` (R, d, K) holds the means of each label at the clients aligned so far, the first
    ``n_aligned`` ones. The clients are last, because the inner loops run over them. Entry (r, s)
    of the result (R, R) is the sum over the clients of the distance of mean s (R, d) from label r.
    """
    n_components, d, _ = aligned.shape
    sums = np.zeros((n_components, n_components))
    distances = np.empty((n_components, TILE))
    for start in range(0, n_aligned, TILE):
        size = min(TILE, n_aligned - start)
        for r in range(n_components):
            distances[:] = 0.0
            for f in range(d):
                label = aligned[r, f, start : start + size]
                for s in range(n_components):
                    own, value = distances[s, :size], means[s, f]
                    for k in range(size):
                        difference = label[k] - value
                        own[k] += difference * difference
            for s in range(n_components):
                own = distances[s, :size]
                for k in range(size):
                    own[k] = np.sqrt(own[k])
            for k in range(size):
                for s in range(n_components):
                    sums[r, s] += distances[s, k]
    return sums


@njit(cache=True)
def pair_distances(means, permutations):
    """Sum the distances between means (K, R, d) with one label, over unordered pairs of clients."""
    total = 0.0
    for k in range(len(means)):
        for other in range(k):
            for r in range(means.shape[1]):
                first, second = permutations[k, r], permutations[other, r]
                total += np.sqrt(squared_distance(means[k, first], means[other, second]))
    return total

"""Hot loops of label alignment: sums of distances between component means, in little memory."""

from __future__ import annotations

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.distances import squared_distance

_BLOCK = 256


@njit(cache=True)
def distance_sums(aligned, n_aligned, means):
    """Sum the distances of one client's means from all means with a label.

    Parameters
    ----------
    aligned : ndarray of shape (R, d, K)
        The means of label r at the clients aligned so far; the clients are last, because the inner
        loops run over them.
    n_aligned : int
        Number of clients aligned so far.
    means : ndarray of shape (R, d)
        The means of the client.

    Returns
    -------
    ndarray of shape (R, R)
        Entry (r, s) is the sum over the clients of the distance of mean s from label r.
    """
    n_components, d, _ = aligned.shape
    sums = np.zeros((n_components, n_components))
    distances = np.empty((n_components, _BLOCK))
    for start in range(0, n_aligned, _BLOCK):
        size = min(_BLOCK, n_aligned - start)
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

"""Model-based hierarchical clustering: merges that cost the least classification likelihood."""

from __future__ import annotations

import math

import numpy as np

from fedmix.kernels.compiler import njit


@njit(cache=True)
def model_based_clusters(points, n_clusters):
    """Merge points (n, d) into clusters with a full covariance each.

    Each merge increases the sum of the clusters' terms of :func:`_term` by the least. Pairs of
    points cost n^2 floats of memory. A point's label is the index of a point of its cluster.

    References
    ----------
    Fraley (1998), Algorithms for model-based Gaussian hierarchical clustering, criterion VVV with
    the floor of the R package mclust.
    """
    n, d = points.shape
    means, sizes, labels = points.copy(), np.ones(n), np.arange(n)
    scatters, traces = np.zeros((n, d, d)), np.zeros(n)
    floor = 0.0
    for f in range(d):
        floor += np.var(points[:, f]) / d
    floor = max(floor, 2.0**-52)
    terms, alive = np.full(n, math.log(floor)), np.ones(n, np.bool_)
    costs, work = np.full((n, n), np.inf), np.empty((d, d))
    for i in range(n):
        for j in range(i):
            costs[i, j] = _cost(i, j, means, sizes, scatters, traces, terms, floor, work)
            costs[j, i] = costs[i, j]
    nearest = np.empty(n, np.int64)
    for i in range(n):
        nearest[i] = costs[i].argmin()
    for _ in range(n - n_clusters):
        a, least = 0, np.inf
        for i in range(n):
            if alive[i] and costs[i, nearest[i]] < least:
                a, least = i, costs[i, nearest[i]]
        a, b = min(a, nearest[a]), max(a, nearest[a])
        shift, share = means[b] - means[a], sizes[b] / (sizes[a] + sizes[b])
        for f in range(d):
            for g in range(d):
                scatters[a, f, g] += scatters[b, f, g] + sizes[a] * share * shift[f] * shift[g]
            traces[a] += sizes[a] * share * shift[f] * shift[f]
        traces[a] += traces[b]
        means[a] += share * shift
        sizes[a] += sizes[b]
        work[:] = scatters[a]
        terms[a] = _term(sizes[a], work, traces[a], floor)
        alive[b] = False
        labels[labels == b] = a
        costs[b] = np.inf
        costs[:, b] = np.inf
        for i in range(n):
            if alive[i] and i != a:
                costs[a, i] = _cost(a, i, means, sizes, scatters, traces, terms, floor, work)
                costs[i, a] = costs[a, i]
                if nearest[i] == a or nearest[i] == b:
                    nearest[i] = costs[i].argmin()
                elif costs[i, a] < costs[i, nearest[i]]:
                    nearest[i] = a
        nearest[a] = costs[a].argmin()
    return labels


@njit(cache=True)
def _cost(i, j, means, sizes, scatters, traces, terms, floor, work):
    """Return by how much the sum of terms grows if clusters i and j become one."""
    d = means.shape[1]
    size = sizes[i] + sizes[j]
    weight = sizes[i] * sizes[j] / size
    trace = traces[i] + traces[j]
    for f in range(d):
        trace += weight * (means[i, f] - means[j, f]) ** 2
    if size > d:
        for f in range(d):
            for g in range(f + 1):
                work[f, g] = (
                    scatters[i, f, g]
                    + scatters[j, f, g]
                    + weight * (means[i, f] - means[j, f]) * (means[i, g] - means[j, g])
                )
    return _term(size, work, trace, floor) - terms[i] - terms[j]


@njit(cache=True)
def _term(size, scatter, trace, floor):
    """Return n log(|W / n| + (tr W + floor) / n) of a cluster with scatter W, which is overwritten.

    The determinant is left out for at most d points. The second part keeps it positive.
    """
    d = len(scatter)
    spread = (trace + floor) / size
    log_determinant = -d * math.log(size)
    if size <= d:
        return size * math.log(spread)
    for f in range(d):
        for g in range(f):
            inner = scatter[f, g]
            for h in range(g):
                inner -= scatter[f, h] * scatter[g, h]
            scatter[f, g] = inner / scatter[g, g]
        pivot = scatter[f, f]
        for h in range(f):
            pivot -= scatter[f, h] ** 2
        if not pivot > 0:
            return size * math.log(spread)
        scatter[f, f] = math.sqrt(pivot)
        log_determinant += math.log(pivot)
    highest = max(log_determinant, math.log(spread))
    lowest = min(log_determinant, math.log(spread))
    return size * (highest + math.log1p(math.exp(lowest - highest)))

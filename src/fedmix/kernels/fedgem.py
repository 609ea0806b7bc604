"""Hot loops of FedGEM: labels of points and the server's grouping of components."""

from __future__ import annotations

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.distances import TILE, squared_distance, squared_distances_from


@njit(cache=True)
def assign(points, offsets, means, component_offsets, log_weights):
    """Return each point's most probable component of its own client, counted from 0, (n,).

    Client g owns the points (n, d) from ``offsets[g]`` to ``offsets[g + 1]``. It owns the
    components, with means (C, d) and log weights (C,), from ``component_offsets[g]`` to
    ``component_offsets[g + 1]``.
    """
    labels = np.empty(len(points), dtype=np.int64)
    for g in range(len(offsets) - 1):
        first = component_offsets[g]
        for i in range(offsets[g], offsets[g + 1]):
            best = -np.inf
            labels[i] = 0
            for c in range(first, component_offsets[g + 1]):
                density = log_weights[c] - 0.5 * squared_distance(points[i], means[c])
                if density > best:
                    best = density
                    labels[i] = c - first
    return labels


@njit(cache=True)
def overlap_rows(centres, radii, next_client, start, stop):
    """Test the balls of rows ``start`` to ``stop`` against those of all later clients.

    The balls have centres (C, d) and radii (C,), not squared. ``next_client`` (C,) is the first
    component of the client after the component's own. The result (stop - start, C) is True where
    ||M_i - M_j|| <= r_i + r_j and j belongs to a later client than i.
    """
    n_components = len(centres)
    overlap = np.zeros((stop - start, n_components), dtype=np.bool_)
    scratch = np.empty(TILE)
    for begin in range(next_client[start], n_components, TILE):
        squared = scratch[: min(TILE, n_components - begin)]
        tile = centres[begin : begin + TILE].T.copy()  # the inner loops run over neighbours
        others = radii[begin : begin + TILE]
        for i in range(start, stop):
            first = max(0, next_client[i] - begin)
            if first >= len(squared):
                continue
            squared_distances_from(centres[i], tile, squared)
            found = overlap[i - start, begin : begin + TILE]
            for j in range(first, len(squared)):
                found[j] = np.sqrt(squared[j]) <= radii[i] + others[j]
    return overlap


@njit(cache=True)
def overlap_pairs(centres, radii, left, right):
    """Test pairs of balls, ``left`` and ``right`` (P,), as :func:`overlap_rows` does."""
    overlap = np.empty(len(left), dtype=np.bool_)
    for p in range(len(left)):
        squared = squared_distance(centres[right[p]], centres[left[p]])
        overlap[p] = np.sqrt(squared) <= radii[left[p]] + radii[right[p]]
    return overlap


@njit(cache=True)
def find_roots(parent):
    """Return the representative of every component's super-cluster, of shape (C,)."""
    roots = np.empty(len(parent), dtype=np.int64)
    for i in range(len(parent)):
        roots[i] = _find_root(parent, i)
    return roots


@njit(cache=True)
def _find_root(parent, i):
    """Follow component i to its representative, halving the path on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True)
def join_pairs(left, right, client, one_component_per_client, parent, ring, size):
    """Join the super-clusters of each pair in turn, and return whether each joined two, (P,).

    ``left`` and ``right`` (P,) are overlapping components in the server's order. ``client`` (C,)
    is the client of each component. With ``one_component_per_client`` a join that would put two
    components of one client together is refused. The state is updated in place: the union-find
    forest ``parent`` (C,), each super-cluster's members as a circular list ``ring`` (C,), and the
    ``size`` (C,) at the roots.
    """
    n_clients = client[-1] + 1
    seen = np.full(n_clients, -1, dtype=np.int64)
    joined = np.zeros(len(left), dtype=np.bool_)
    for p in range(len(left)):
        a, b = _find_root(parent, left[p]), _find_root(parent, right[p])
        if a == b:
            continue
        if one_component_per_client and _share_client(a, b, client, ring, size, seen, p):
            continue
        if size[a] < size[b]:
            a, b = b, a
        parent[b] = a
        size[a] += size[b]
        ring[a], ring[b] = ring[b], ring[a]
        joined[p] = True
    return joined


@njit(cache=True)
def _share_client(a, b, client, ring, size, seen, stamp):
    """Return whether the super-clusters rooted at a and b have a client in common."""
    if size[a] + size[b] > len(seen):
        return True
    i = a
    for _ in range(size[a]):
        seen[client[i]] = stamp
        i = ring[i]
    i = b
    for _ in range(size[b]):
        if seen[client[i]] == stamp:
            return True
        i = ring[i]
    return False


@njit(cache=True)
def add_common_maximisers(left, right, copies, centres, radii, sign, total, count):
    """Add each pair's common maximiser nu* to the sets T of both components, in place.

    nu* = M + clip(1/2, 1 - r'/w, r/w) (M' - M), w = ||M' - M||, with ``sign`` = -1 for the printed
    difference (M - M'). Identical centres (w = 0) share M itself. It enters ``copies`` (P,) times.
    ``total`` (C, d) and ``count`` (C,) are the sums and sizes of the sets.
    """
    for p in range(len(left)):
        i, j = left[p], right[p]
        distance = np.sqrt(squared_distance(centres[i], centres[j]))
        fraction = 0.0
        if distance > 0.0:
            fraction = min(max(0.5, 1.0 - radii[j] / distance), radii[i] / distance)
        for f in range(centres.shape[1]):
            maximiser = centres[i, f] + sign * fraction * (centres[j, f] - centres[i, f])
            total[i, f] += copies[p] * maximiser
            total[j, f] += copies[p] * maximiser
        count[i] += copies[p]
        count[j] += copies[p]

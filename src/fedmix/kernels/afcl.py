"""Hot loops of AFCL: clients' messages, groups of close seeds and the index of the groups."""

from __future__ import annotations

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.distances import squared_distances_from


@njit(cache=True)
def describe(points, labels, n_seeds):
    """Return the mean distance (k,) of each seed's points from their centre, and the centre (k, d).

    ``labels`` (n,) are the seeds of the points (n, d). Both results are 0 for a seed without
    points. The centre of a single point has the mean of its coordinates in every feature, as in
    the authors' program.
    """
    n_points, n_features = points.shape
    spreads, centres = np.zeros(n_seeds), np.zeros((n_seeds, n_features))
    sizes = np.zeros(n_seeds, dtype=np.int64)
    for i in range(n_points):
        sizes[labels[i]] += 1
        centres[labels[i]] += points[i]
    for j in np.flatnonzero(sizes):
        centres[j] /= sizes[j]
        if sizes[j] == 1:
            centres[j] = centres[j].mean()
    for i in range(n_points):
        j = labels[i]
        spreads[j] += np.sqrt(np.square(points[i] - centres[j]).sum()) / sizes[j]
    return spreads, centres


@njit(cache=True)
def near(seeds, distance):
    """Return which seeds (k, d) differ by less than ``distance`` in every feature, (k, k)."""
    n_seeds, n_features = seeds.shape
    close = np.ones((n_seeds, n_seeds), dtype=np.bool_)
    for i in range(n_seeds):
        for j in range(i):
            for f in range(n_features):
                if not abs(seeds[i, f] - seeds[j, f]) < distance:
                    close[i, j] = close[j, i] = False
                    break
    return close


@njit(cache=True)
def group(close, place_of):
    """Group all clients' copies of the seeds, client by client and seed by seed.

    A copy and the later ones near it join the youngest group that holds any of them, or open one.
    The groups are no connected components: a copy may be in two. Equal copies are always in the
    same groups, so that a place's groups are kept once. ``close`` (m, m) is :func:`near` of the
    places where copies are, and ``place_of`` (G, k) the place of each client's copy of each seed.

    Returns the group, client and seed of every membership, (n, 3), of which the first of a group
    opened it, and the number of copies that are in no group.
    """
    n_places = len(close)
    neighbours = [np.flatnonzero(row) for row in close]
    later = np.bincount(place_of.ravel(), minlength=n_places)  # copies still to come, with this one
    groups_of = np.zeros((n_places, n_places), dtype=np.bool_)
    oldest, youngest = np.full(n_places, n_places), np.full(n_places, -1)  # group of each place
    n_groups = n_alone = 0
    members = [(0, 0, 0) for _ in range(0)]
    for client, own_places in enumerate(place_of):
        for seed, own in enumerate(own_places):
            chosen, size = -1, 0
            for place in neighbours[own]:
                if later[place] > 0:
                    size += later[place]
                    chosen = max(chosen, youngest[place])
            if size > 1:
                if chosen == -1:
                    chosen = n_groups
                    n_groups += 1
                for place in neighbours[own]:
                    if later[place] > 0:
                        groups_of[place, chosen] = True
                        oldest[place] = min(oldest[place], chosen)
                        youngest[place] = max(youngest[place], chosen)
            if youngest[own] == -1:
                n_alone += 1
            for g in range(oldest[own], youngest[own] + 1):
                if groups_of[own, g]:
                    members.append((g, client, seed))
            later[own] -= 1
    table = np.empty((len(members), 3), dtype=np.int64)
    for i, member in enumerate(members):
        table[i] = member
    return table, n_alone


@njit(cache=True)
def add_members(members, shares, weights, of_copies, sums):
    """Add to each group's ``sums`` (n, p) its members' values, times share and weight, in turn.

    ``members`` (m, 3) are groups, clients and seeds, ``shares`` and ``weights`` are (m,), and
    ``of_copies`` (G, k, p) the values of each client's copies.
    """
    for i in range(len(members)):
        group, client, seed = members[i]
        factor, values, total = shares[i] * weights[i], of_copies[client, seed], sums[group]
        for f in range(len(values)):
            total[f] += factor * values[f]


@njit(cache=True, error_model="numpy")
def largest_ratios(spreads, centres):
    """Return each cluster's largest (spread + spread) / distance to another, (n,).

    Ratios that are undefined count as 0. The spreads are (n,), the centres (n, d).
    """
    n_clusters = len(spreads)
    columns = centres.T.copy()  # the inner loops run over clusters
    largest, ratios = np.zeros(n_clusters), np.empty(n_clusters)
    for i in range(n_clusters):
        own = ratios[:i]
        squared_distances_from(centres[i], columns, own)
        for j in range(i):
            own[j] = (spreads[i] + spreads[j]) / np.sqrt(own[j])
        for j in range(i):
            largest[i] = own[j] if own[j] > largest[i] else largest[i]
            largest[j] = own[j] if own[j] > largest[j] else largest[j]
    return largest

"""Hot loops of AFCL: clients' messages, the competition among seeds, groups of close seeds."""

from __future__ import annotations

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.distances import squared_distances_from

COOPERATION_FLOOR = 1e-4  # squared distance within which a seed always moves with the winner


@njit(cache=True)
def compete(points, places, place_of, wins, rates, floor=COOPERATION_FLOOR):
    """Present points one by one: the winner and the seeds near it move towards the point.

    The points (n, d) are those of one client, as the server rebuilds them. Equal seeds always move
    alike, so each of the ``places`` (m, d) where seeds are is moved once, in place. ``place_of``
    (k,) is the place of each seed, and ``wins`` (k,) counts its wins, in place. Each feature has a
    learning rate, (d,). Seeds within the squared distance ``floor`` of the winner always move, and
    so do those that are no farther from it than the point.
    """
    n_seeds, n_places = len(place_of), len(places)
    columns = places.T.copy()  # the inner loops run over places
    distances, handicapped = np.empty(n_places), np.empty(n_seeds)
    total = wins.sum()
    for point in points:
        squared_distances_from(point, columns, distances)
        for j in range(n_seeds):
            handicapped[j] = wins[j] / total * distances[place_of[j]]
        winner = 0
        for j in range(n_seeds):
            if handicapped[j] < handicapped[winner]:
                winner = j
        reach = max(distances[place_of[winner]], floor)
        wins[winner] += 1
        total += 1
        squared_distances_from(columns[:, place_of[winner]].copy(), columns, distances)
        for f in range(len(point)):
            row, rate, target = columns[f], rates[f], point[f]
            for j in range(n_places):
                moved = row[j] + rate * (target - row[j])
                row[j] = moved if distances[j] <= reach else row[j]
    places[:] = columns.T


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
    youngest = np.full(n_places, -1)
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
                        youngest[place] = max(youngest[place], chosen)
            if youngest[own] == -1:
                n_alone += 1
            for g in range(youngest[own] + 1):
                if groups_of[own, g]:
                    members.append((g, client, seed))
            later[own] -= 1
    table = np.empty((len(members), 3), dtype=np.int64)
    for i, member in enumerate(members):
        table[i] = member
    return table, n_alone

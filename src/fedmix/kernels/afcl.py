"""Hot loops of AFCL: competition among seeds with cooperation, and the grouping of close seeds."""

from __future__ import annotations

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.distances import squared_distance

COOPERATION_FLOOR = 1e-4  # squared distance within which a seed always moves with the winner


@njit(cache=True)
def compete(points, seeds, wins, rates, floor=COOPERATION_FLOOR):
    """Present points one by one: the winner and the seeds near it move towards the point.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        One client's points, as the server rebuilds them.
    seeds : ndarray of shape (k, d)
        Moved in place.
    wins : ndarray of shape (k,)
        How often each seed has won; counted in place.
    rates : ndarray of shape (d,)
        Learning rate of each feature.
    floor : float
        Seeds within this squared distance of the winner always move; so do those that are no
        farther from it than the point.
    """
    n_seeds, n_features = seeds.shape
    total = wins.sum()
    for i in range(len(points)):
        winner, reach, best = 0, np.inf, np.inf
        for j in range(n_seeds):
            distance = squared_distance(points[i], seeds[j])
            if wins[j] / total * distance < best:
                winner, reach, best = j, distance, wins[j] / total * distance
        wins[winner] += 1
        total += 1
        centre = seeds[winner].copy()
        for j in range(n_seeds):
            if squared_distance(seeds[j], centre) <= max(reach, floor):
                for f in range(n_features):
                    seeds[j, f] += rates[f] * (points[i, f] - seeds[j, f])


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
def group(close, copy_of, n_seeds):
    """Group all clients' copies of the seeds, seed by seed and client by client.

    A seed and the later ones near it join the youngest group that holds any of them, or open one.
    The groups are no connected components: a seed may be in two. Later clients' copies of one
    version go through this together, so that a version's groups are kept once.

    Parameters
    ----------
    close : ndarray of shape (v k, v k)
        :func:`near` of the v versions of the k seeds that clients have.
    copy_of : ndarray of shape (G,)
        The version that each client has.
    n_seeds : int
        k.

    Returns
    -------
    members : ndarray of shape (n, 3)
        Group, client and seed of every membership. The first of a group opened it.
    n_alone : int
        Copies that are in no group.
    """
    n_copies = len(close)
    version_of = np.arange(n_copies) // n_seeds
    seed_of = np.arange(n_copies) % n_seeds
    neighbours = [np.flatnonzero(row) for row in close]
    later = np.zeros(n_copies // n_seeds, dtype=np.int64)  # clients still to come, by version
    for version in copy_of:
        later[version] += 1
    groups_of = np.zeros((n_copies, n_copies), dtype=np.bool_)
    youngest = np.full(n_copies, -1)
    n_groups = n_alone = 0
    members = [(0, 0, 0) for _ in range(0)]
    for client, version in enumerate(copy_of):
        later[version] -= 1
        for seed in range(n_seeds):
            own = version * n_seeds + seed
            chosen, size = -1, 0
            for c in neighbours[own]:
                here = version_of[c] == version and seed_of[c] >= seed
                size += later[version_of[c]] + here
                if here or later[version_of[c]] > 0:
                    chosen = max(chosen, youngest[c])
            if size > 1:
                if chosen == -1:
                    chosen = n_groups
                    n_groups += 1
                for c in neighbours[own]:
                    here = version_of[c] == version and seed_of[c] >= seed
                    if here or later[version_of[c]] > 0:
                        groups_of[c, chosen] = True
                        youngest[c] = max(youngest[c], chosen)
            if youngest[own] == -1:
                n_alone += 1
            for g in range(youngest[own] + 1):
                if groups_of[own, g]:
                    members.append((g, client, seed))
    table = np.empty((len(members), 3), dtype=np.int64)
    for i, member in enumerate(members):
        table[i] = member
    return table, n_alone

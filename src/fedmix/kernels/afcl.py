"""Hot loop of AFCL: competition among seeds with cooperation of the winner's neighbours."""

from __future__ import annotations

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.distances import squared_distance


@njit(cache=True)
def compete(points, seeds, wins, rates):
    """Present points one by one: the winner and the seeds near it move towards the point.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        One client's points.
    seeds : ndarray of shape (k, d)
        Moved in place.
    wins : ndarray of shape (k,)
        How often each seed has won; counted in place.
    rates : ndarray of shape (d,)
        Learning rate of each feature.
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
            if squared_distance(seeds[j], centre) <= reach:
                for f in range(n_features):
                    seeds[j, f] += rates[f] * (points[i, f] - seeds[j, f])

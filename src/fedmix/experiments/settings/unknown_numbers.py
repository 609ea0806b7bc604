"""Settings of :mod:`fedmix.experiments.unknown_numbers`."""

from __future__ import annotations

from fedmix.experiments.settings import cluster_simulation


class Settings(cluster_simulation.Settings):
    """Those of `cluster_simulation`; each method has one start."""


METRICS = {
    "ari": "Adjusted Rand index of all clients' test points, the method told the true numbers.",
    "n_clusters": "Clusters, as the method estimates them or as its labels have them.",
    "found": "1 where these are as many as there are.",
    "promised": "1 where FedGEM's Theorem 3 has its condition: every final epsilon <= R_min / 4.",
    "promised_by_root": "The same with the radii, the roots of epsilon, in place of epsilon.",
    "regret_minus_2": "Fall of `ari` where the method is told two components too few.",
    "regret_minus_1": "The same for one too few.",
    "regret_plus_1": "The same for one too many.",
    "regret_plus_2": "The same for two too many.",
    "regret_uneven": "The same where each client's own number is one off, up or down at random.",
}

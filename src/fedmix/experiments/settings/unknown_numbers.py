"""Settings of :mod:`fedmix.experiments.unknown_numbers`."""

from __future__ import annotations

from typing import Literal

from fedmix.experiments.settings import cluster_simulation


class Settings(cluster_simulation.Settings):
    """Those of `cluster_simulation`; each method is fitted once."""

    start: Literal["seeds", "truth"] = "seeds"
    """Where methods start that take means: at seeds of their own, or so near the truth that theory
    lets them converge, at the means of each client's test points by true cluster. Then no method is
    told wrong numbers."""


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

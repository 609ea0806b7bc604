"""
Your own method
===============

A method is a class with ``_fit``. Under ``@register`` it takes part in comparisons like all others.
Here the server clusters a random sample that every client sends.
"""

from typing import ClassVar

import numpy as np
from sklearn.cluster import KMeans

from fedmix import compare
from fedmix.methods.base import register
from fedmix.methods.centroids import CentroidClustering


@register
class Sample(CentroidClustering):
    """k-means of a few points of each client."""

    needs: ClassVar = ("n_clusters",)
    constraints: ClassVar = {"n_clusters": ["integer >= 1"], "n_sent": ["integer >= 1"]}

    def __init__(self, n_clusters=2, n_sent=5, random_state=0):
        self.n_clusters = n_clusters
        self.n_sent = n_sent
        self.random_state = random_state

    def _fit(self, clients):
        rng = np.random.default_rng(self.random_state)
        sent = np.concatenate([rng.permutation(x)[: self.n_sent] for x in clients])
        found = KMeans(self.n_clusters, n_init=10, random_state=self.random_state).fit(sent)
        self.n_rounds_, self.converged_ = 1, True
        self._set_centres(found.cluster_centers_)
        self._send(up=sent.size, down=len(clients) * found.cluster_centers_.size)


# %%
# Two of its settings beside k-FED, which sends centres instead of points.

rng = np.random.default_rng(0)
centres = 4 * np.eye(3)
labels = [rng.integers(3, size=60) for _ in range(8)]
xs = [centres[own] + rng.normal(size=(60, 3)) for own in labels]
found = compare(
    [Sample(n_sent=2), Sample(n_sent=20), "KFED"], xs, labels, replications=10, progress=False
)
axis = found.plot("ari_pooled")

# %%
found.table()

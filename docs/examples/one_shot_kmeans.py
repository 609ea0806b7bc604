"""One-shot k-means: the clients send their centres, the server clusters those."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fedmix.checks import check_integer
from fedmix.clients import Clients
from fedmix.methods.base import register
from fedmix.methods.centroids import CentroidClustering
from fedmix.methods.local_kmeans import cluster_clients, cluster_points
from fedmix.streams import generator_of


@register
class OneShotKMeans(CentroidClustering):
    """K-means at every client, then k-means of the centres, weighted equally.

    Parameters
    ----------
    n_clusters : int, default=2
        K, at every client and in the end.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (K, d)

    References
    ----------
    An example of fedmix's documentation.
    """

    needs: ClassVar[tuple[str, ...]] = ("n_clusters",)

    def __init__(
        self, n_clusters: int = 2, random_state: int | np.random.Generator | None = None
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, clients: Clients) -> OneShotKMeans:
        """Cluster every client's points once, and then the centres."""
        check_integer(self, "n_clusters", self.n_clusters, 1)
        rng = generator_of(self.random_state)
        wanted = np.where(clients.sizes > 0, self.n_clusters, 0)
        centres = np.concatenate(cluster_clients(clients, wanted, rng))
        self._set_centres(cluster_points(centres, self.n_clusters, rng), rounds=1, converged=True)
        down = int(np.count_nonzero(wanted)) * self.cluster_centers_.size
        self.communication_ = {"up": centres.size, "down": down}
        return self

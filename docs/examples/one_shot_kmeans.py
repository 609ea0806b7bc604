"""One-shot k-means: the clients send their centres, the server clusters those."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fedmix.clients import Clients
from fedmix.methods.base import Constraints, register
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
    random_state : int, Generator or None, default=0

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (K, d)

    References
    ----------
    An example of fedmix's documentation.
    """

    needs: ClassVar[tuple[str, ...]] = ("n_clusters",)
    constraints: ClassVar[Constraints] = {"n_clusters": ["integer >= 1"]}

    def __init__(
        self, n_clusters: int = 2, random_state: int | np.random.Generator | None = 0
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def _fit(self, clients: Clients) -> None:
        """Cluster every client's points once, and then the centres."""
        rng = generator_of(self.random_state)
        wanted = np.where(clients.sizes > 0, self.n_clusters, 0)
        centres = np.concatenate(cluster_clients(clients, wanted, rng))
        self.n_rounds_, self.converged_ = 1, True
        self._set_centres(cluster_points(centres, self.n_clusters, rng))
        self._send(up=centres.size, down=np.count_nonzero(wanted) * self.cluster_centers_.size)

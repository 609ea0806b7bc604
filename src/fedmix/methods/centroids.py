"""What federated k-means and its relatives share: global centres and the nearest of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.errors import DivergenceError
from fedmix.methods.base import FederatedEstimator, check_same_features

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class CentroidClustering(FederatedEstimator):
    """Base of methods whose model is one set of global centres.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, d)
    n_clusters_ : int
        Number of centres; a method that must be told the number of clusters returns that number.
    """

    cluster_centers_: FloatArray
    n_clusters_: int

    def _predict(self, clients: Clients) -> list[IntArray]:
        """Label each point with its nearest centre, at any clients."""
        check_same_features(self, clients, self.cluster_centers_.shape[1])
        return clients.split(nearest_centre(clients.points, self.cluster_centers_))

    def _set_centres(self, centres: FloatArray) -> None:
        """Set what every such method has learned, or say that it has left the finite numbers."""
        if not np.isfinite(centres).all():
            row = int(np.argmin(np.isfinite(centres).all(axis=1)))
            raise DivergenceError(
                f"{type(self).__name__}: centre {row} is not finite after {self.n_rounds_} "
                "rounds. Squared distances overflow: rescale the features."
            )
        self.cluster_centers_ = centres
        self.n_clusters_ = len(centres)


def nearest_centre(points: FloatArray, centres: FloatArray) -> IntArray:
    """Return the index of the nearest of centres (K, d) for points (n, d), of shape (n,)."""
    from fedmix.kernels.fedgem import assign

    every = np.array([0, len(points)]), np.array([0, len(centres)])
    return assign(points, every[0], centres, every[1], np.zeros(len(centres)))

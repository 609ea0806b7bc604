"""k-FED: one-shot federated k-means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.methods.base import Constraints, register
from fedmix.methods.centroids import CentroidClustering, nearest_centre
from fedmix.methods.local_kmeans import cluster_clients
from fedmix.methods.seeding import components_of
from fedmix.streams import generator_of

FloatArray = NDArray[np.float64]


@register
class KFED(CentroidClustering):
    """One-shot federated k-means (k-FED).

    Every client sends the centres of its own k-means; the server picks K of them that lie far
    apart, starting with all of one client, and does one Lloyd step on all centres.

    Parameters
    ----------
    n_clusters : int, default=2
        K, the number of global clusters, which must be known; 2 are the fewest worth looking for.
    components_per_client : int or sequence of G ints, optional
        K_g; by default K at every client.
    seeding : {"farthest-minimum", "farthest-mean"}, default="farthest-minimum"
        The next centre has the largest distance to the nearest chosen one (k-FED's own rule), or
        the largest mean distance to all chosen ones (FedGEM's published re-implementation).
    n_init : int, default=10
        Restarts of the local k-means, of which the best counts; long scikit-learn's own default.
    random_state : int, Generator or None, default=0

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (K, d)

    References
    ----------
    Dennis, Li, Smith (2021). Heterogeneity for the win: one-shot federated clustering, Algorithm 2.
    """

    needs: ClassVar[tuple[str, ...]] = ("n_clusters", "components_per_client")
    constraints: ClassVar[Constraints] = {
        "n_clusters": ["integer >= 1"],
        "components_per_client": ["integer >= 1", "integers >= 1", None],
        "seeding": [{"farthest-minimum", "farthest-mean"}],
        "n_init": ["integer >= 1"],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        components_per_client: int | Sequence[int] | None = None,
        seeding: str = "farthest-minimum",
        n_init: int = 10,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.components_per_client = components_per_client
        self.seeding = seeding
        self.n_init = n_init
        self.random_state = random_state

    def _fit(self, clients: Clients) -> None:
        """Cluster every client's points once and cluster the centres."""
        wanted = self.components_per_client
        n_components = components_of(clients, self.n_clusters if wanted is None else wanted)
        rng = generator_of(self.random_state)
        local = cluster_clients(clients, n_components, rng, self.n_init)
        first = local[rng.choice(np.flatnonzero(n_components))]
        centres = np.concatenate(local)
        chosen = _spread_out(first[: self.n_clusters], centres, self.n_clusters, self.seeding)
        self.n_rounds_, self.converged_ = 1, True
        self._set_centres(lloyd_step(centres, chosen))
        self._send(up=centres.size, down=np.count_nonzero(n_components) * chosen.size)


def lloyd_step(points: FloatArray, centres: FloatArray) -> FloatArray:
    """Move each of centres (K, d) to the mean of its points (n, d); one without points stays."""
    nearest = nearest_centre(points, centres)
    count = np.bincount(nearest, minlength=len(centres))
    total = np.zeros(centres.shape)
    np.add.at(total, nearest, points)
    return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], centres)


def _spread_out(
    chosen: FloatArray, candidates: FloatArray, n_clusters: int, seeding: str
) -> FloatArray:
    """Add far candidates (n, d) to the chosen centres until there are K, of shape (K, d)."""
    from scipy.spatial.distance import cdist

    summary = np.min if seeding == "farthest-minimum" else np.mean
    while len(chosen) < n_clusters:
        farthest = np.argmax(summary(cdist(candidates, chosen), axis=1))
        chosen = np.concatenate([chosen, candidates[farthest : farthest + 1]])
    return chosen

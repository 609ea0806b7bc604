"""FedKMeans: federated k-means, by weighted k-means on the clients' centres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from fedmix.clients import Clients
from fedmix.methods.base import Constraints, FloatArray, register
from fedmix.methods.centroids import CentroidClustering, components_of, nearest_centre, seed_clients
from fedmix.methods.local_kmeans import cluster_points
from fedmix.streams import generator_of


@register
class FedKMeans(CentroidClustering):
    """Federated k-means of Garst and Reinders.

    The clients send k-means++ seeds with their counts. The server clusters all seeds by weighted
    k-means. In every further round each client runs k-means, starting from the global centres that
    own some of its points, and sends the resulting centres with their counts.

    Parameters
    ----------
    n_clusters : int, default=2
        The known number K of global clusters. The default is the smallest number of interest.
    components_per_client : int or sequence of G ints, optional
        Number of seeds of each client in the first exchange; K by default.
    max_rounds : int, default=20
        Maximum number of rounds after the first exchange. The default is that of FedGEM's
        Appendix D.3.
    local_steps : int, default=300
        Maximum number of Lloyd steps per client and round. The steps end earlier if no centre
        moves. The default is scikit-learn's.
    n_init : int, default=10
        Number of restarts of the server's k-means. The best result is used. The default was
        scikit-learn's for a long time.
    n_local_trials : int, optional
        Number of points from which each client's k-means++ seed is chosen; scikit-learn's number
        by default.
    tol : float or None, default=0.0
        The fit stops when no global centre moves further than this. With 0 it runs all rounds
        unless no centre moves at all. With None it runs all rounds: the server's k-means can find
        other centres in the next one.
    random_state : int, Generator or None, default=0
        Seed of the clients' seeds and of the server's k-means.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (K, d)
        The global centres.

    References
    ----------
    Garst, Reinders (2024). Federated k-means clustering.
    """

    needs: ClassVar[tuple[str, ...]] = ("n_clusters", "components_per_client")
    constraints: ClassVar[Constraints] = {
        "n_clusters": ["integer >= 1"],
        "components_per_client": ["integer >= 1", "integers >= 1", None],
        "max_rounds": ["integer >= 0"],
        "local_steps": ["integer >= 1"],
        "n_init": ["integer >= 1"],
        "n_local_trials": ["integer >= 1", None],
        "tol": ["number >= 0", None],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        components_per_client: int | Sequence[int] | None = None,
        max_rounds: int = 20,
        local_steps: int = 300,
        n_init: int = 10,
        n_local_trials: int | None = None,
        tol: float | None = 0.0,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.components_per_client = components_per_client
        self.max_rounds = max_rounds
        self.local_steps = local_steps
        self.n_init = n_init
        self.n_local_trials = n_local_trials
        self.tol = tol
        self.random_state = random_state

    def _fit(self, clients: Clients) -> None:
        """Alternate between local k-means and weighted k-means on the centres."""
        from scipy.spatial.distance import cdist

        wanted = self.components_per_client
        n_components = components_of(clients, self.n_clusters if wanted is None else wanted)
        rng = generator_of(self.random_state)
        active = [points for points in clients if len(points)]
        drawn = seed_clients(clients, n_components, rng, self.n_local_trials)
        seeds = [own for own in drawn if len(own)]
        sent = [_with_counts(x, s) for x, s in zip(active, seeds, strict=True)]
        with threadpool_limits(limits=1):
            centres = self._aggregate(sent, rng)
            for _ in self._rounds(self.max_rounds):
                sent = [_local_kmeans(x, centres, self.local_steps) for x in active]
                previous, centres = centres, self._aggregate(sent, rng)
                moved = cdist(centres, previous).min(axis=1).max()  # away from the old centres
                self.converged_ = self.tol is not None and bool(moved <= self.tol)
        self._set_centres(centres)

    def _aggregate(
        self, sent: list[tuple[FloatArray, FloatArray]], rng: np.random.Generator
    ) -> FloatArray:
        """Cluster the clients' centres and send the global centres to each client."""
        centres = np.concatenate([c for c, _ in sent])
        counts = np.concatenate([n for _, n in sent])
        together = cluster_points(centres, self.n_clusters, rng, counts, self.n_init)
        self._send(up=centres.size + counts.size, down=len(sent) * together.size)
        return together


def _with_counts(points: FloatArray, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the centres that own points, with their numbers of points."""
    counts = np.bincount(nearest_centre(points, centres), minlength=len(centres))
    return centres[counts > 0], counts[counts > 0].astype(np.float64)


def _local_kmeans(
    points: FloatArray, centres: FloatArray, max_steps: int
) -> tuple[FloatArray, FloatArray]:
    """Run k-means on a client's points, from the global centres that own some of them."""
    from sklearn.cluster import KMeans

    start, _ = _with_counts(points, centres)
    model = KMeans(len(start), init=start, n_init=1, max_iter=max_steps).fit(points)
    return _with_counts(points, model.cluster_centers_)

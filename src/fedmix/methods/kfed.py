"""k-FED: one-shot federated k-means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from fedmix.clients import Clients
from fedmix.methods.base import Constraints, FloatArray, IntArray, register
from fedmix.methods.centroids import CentroidClustering, components_of, given_means, nearest_centre
from fedmix.methods.local_kmeans import cluster_points
from fedmix.streams import generator_of

MAX_LLOYD_STEPS = 300  # scikit-learn's default


@register
class KFED(CentroidClustering):
    """One-shot federated k-means (k-FED).

    Every client sends the centres of its own clusters. The server selects K of them that are far
    apart, starting with all centres of one client, and does one Lloyd step on all centres. All
    points of a local cluster belong to the global cluster of its centre.

    Parameters
    ----------
    n_clusters : int, default=2
        The known number K of global clusters. The default is the smallest number of interest.
    components_per_client : int or sequence of G ints, optional
        Number K_g of clusters of each client; K by default.
    local : {"awasthi-sheffet", "kmeans"}, default="awasthi-sheffet"
        How a client clusters its points: by :func:`awasthi_sheffet`, k-FED's own rule (Algorithm
        1), or by plain k-means (FedGEM's published re-implementation).
    seeding : {"farthest-minimum", "farthest-mean"}, default="farthest-minimum"
        The next centre has the largest distance to the nearest selected centre (k-FED's own rule).
        Or it has the largest mean distance to all selected centres, and is not from the client that
        the server starts with (FedGEM's published re-implementation). The second rule can select a
        centre more than once.
    labelling : {"induced", "nearest"}, default="induced"
        "induced" gives a point the global cluster of the nearest centre of its own client (k-FED's
        own rule, Definition 3.2). New clients have the global means as their own centres.
        "nearest" gives it the cluster of the nearest global mean (FedGEM's published
        re-implementation).
    n_init : int, default=10
        Number of restarts of the local k-means. The best result is used. The default was
        scikit-learn's for a long time.
    local_init : sequence of G arrays of shape (K_g, d), optional
        The only start of each client's plain k-means; by default ``n_init`` starts by k-means++.
        The scheme of Awasthi and Sheffet has its own start.
    random_state : int, Generator or None, default=0
        Seed of the local k-means and of the client that the server starts with.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (K, d)
        The global means.
    local_centers_ : list of G arrays of shape (K_g, d)
        The centres of each client's own clusters.
    local_labels_ : list of G int arrays of shape (K_g,)
        The global cluster of each local cluster.

    References
    ----------
    Dennis, Li, Smith (2021). Heterogeneity for the win: one-shot federated clustering, Algorithm 2.
    Awasthi, Sheffet (2012). Improved spectral-norm bounds for clustering.
    """

    needs: ClassVar[tuple[str, ...]] = ("n_clusters", "components_per_client")
    of_clients: ClassVar[tuple[str, ...]] = ("local_centers_", "local_labels_")
    constraints: ClassVar[Constraints] = {
        "n_clusters": ["integer >= 1"],
        "components_per_client": ["integer >= 1", "integers >= 1", None],
        "local": [{"awasthi-sheffet", "kmeans"}],
        "seeding": [{"farthest-minimum", "farthest-mean"}],
        "labelling": [{"induced", "nearest"}],
        "n_init": ["integer >= 1"],
        "local_init": ["array-like", None],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        components_per_client: int | Sequence[int] | None = None,
        local: str = "awasthi-sheffet",
        seeding: str = "farthest-minimum",
        labelling: str = "induced",
        n_init: int = 10,
        local_init: Sequence[ArrayLike] | None = None,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.components_per_client = components_per_client
        self.local = local
        self.seeding = seeding
        self.labelling = labelling
        self.n_init = n_init
        self.local_init = local_init
        self.random_state = random_state

    def _fit(self, clients: Clients) -> None:
        """Cluster every client's points once, then cluster the centres."""
        wanted = self.components_per_client
        n_components = components_of(clients, self.n_clusters if wanted is None else wanted)
        rng = generator_of(self.random_state)
        with threadpool_limits(limits=1):  # scikit-learn's sums depend on the number of threads
            local = self._cluster_clients(clients, n_components, rng)
            first = rng.choice(np.flatnonzero(n_components))
            centres = np.concatenate(local)
            chosen = self._spread_out(local, first)
            moved = self._move(centres, chosen, rng)
        self.local_centers_ = local
        self.local_labels_ = np.split(nearest_centre(centres, chosen), np.cumsum(n_components)[:-1])
        self.n_rounds_, self.converged_ = 1, True
        self._set_centres(moved)
        self._send(up=centres.size, down=np.count_nonzero(n_components) * chosen.size)

    def _cluster_clients(
        self, clients: Clients, n_components: IntArray, rng: np.random.Generator
    ) -> list[FloatArray]:
        """Return the centres of each client's own clusters."""
        if self.local == "awasthi-sheffet":
            return [
                awasthi_sheffet(points, k, rng, self.n_init) if k else points
                for points, k in zip(clients, n_components, strict=True)
            ]
        starts: Sequence[FloatArray | None] = [None] * len(clients)
        if self.local_init is not None:
            starts = given_means(self, "local_init", self.local_init, n_components, clients)
        return [
            cluster_points(points, k, rng, n_init=self.n_init, init=start) if k else points
            for points, k, start in zip(clients, n_components, starts, strict=True)
        ]

    def _spread_out(self, local: Sequence[FloatArray], first: int) -> FloatArray:
        """Select K of the clients' centres, (K, d), starting with those of one client."""
        from scipy.spatial.distance import cdist

        chosen, offered = local[first][: self.n_clusters], np.concatenate(local)
        summary = np.min if self.seeding == "farthest-minimum" else np.mean
        others = [own for g, own in enumerate(local) if g != first and len(own)]
        if self.seeding == "farthest-mean" and others:
            offered = np.concatenate(others)
        while len(chosen) < self.n_clusters:
            farthest = np.argmax(summary(cdist(offered, chosen), axis=1))
            chosen = np.concatenate([chosen, offered[farthest : farthest + 1]])
        return chosen

    def _move(
        self, centres: FloatArray, chosen: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Do one Lloyd step on the clients' centres. scikit-learn's moves a repeated centre."""
        if self.seeding == "farthest-minimum":
            return lloyd_step(centres, chosen)
        return cluster_points(centres, self.n_clusters, rng, init=chosen, max_iter=1)

    def _predict(self, clients: Clients) -> list[IntArray]:
        """Label each point by its client's nearest centre, or by the nearest global mean.

        A client without points in ``fit`` has no centres. Its points get the nearest global mean.
        """
        nearest = super()._predict(clients)
        if self.labelling == "nearest":
            return nearest
        own = zip(clients, self.local_centers_, self.local_labels_, nearest, strict=True)
        return [
            labels[nearest_centre(points, centres)] if len(centres) else fallback
            for points, centres, labels, fallback in own
        ]

    def _new_client(self, clients: Clients) -> dict[str, NDArray]:
        """Return the global means as the centres of a new client."""
        return {
            "local_centers_": self.cluster_centers_,
            "local_labels_": np.arange(self.n_clusters_),
        }


def awasthi_sheffet(
    points: FloatArray, n_clusters: int, rng: np.random.Generator, n_init: int = 10
) -> FloatArray:
    """Return the centres (k, d) of points (n, d) by the scheme of Awasthi and Sheffet.

    The points are projected onto their first k singular vectors and clustered by k-means, the best
    of ``n_init`` starts. Points at most a third as far from their own centre as from any other are
    averaged. Lloyd's algorithm on all points starts from these averages. If there are no more
    points than clusters, every point is a centre and the first one is repeated.
    """
    from scipy.spatial.distance import cdist

    if len(points) <= n_clusters:
        return cluster_points(points, n_clusters, rng, n_init=n_init)
    directions = np.linalg.svd(points, full_matrices=False)[2][:n_clusters]
    projected = points @ directions.T
    found = cluster_points(projected, n_clusters, rng, n_init=n_init)
    distances = cdist(projected, found)
    labels = distances.argmin(axis=1)
    closest, second = np.sort(np.column_stack([distances, np.full(len(points), np.inf)]))[:, :2].T
    core = 3 * closest <= second
    centres = found @ directions  # a centre without points (duplicate points) stays there
    for r in np.unique(labels):
        own = labels == r
        centres[r] = points[own & core if np.any(own & core) else own].mean(axis=0)
    for _ in range(MAX_LLOYD_STEPS):
        previous, centres = centres, lloyd_step(points, centres)
        if np.array_equal(previous, centres):
            break
    return centres


def lloyd_step(points: FloatArray, centres: FloatArray) -> FloatArray:
    """Move each of the centres (K, d) to the mean of its points; one without points stays."""
    nearest = nearest_centre(points, centres)
    count = np.bincount(nearest, minlength=len(centres))
    total = np.zeros(centres.shape)
    np.add.at(total, nearest, points)
    return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], centres)

"""k-means at every client without any exchange: the baseline that federation has to beat."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from fedmix.clients import Clients, offsets_of
from fedmix.methods.base import Constraints, FederatedEstimator, FloatArray, IntArray, register
from fedmix.methods.centroids import components_of, nearest_centre, without_repeats
from fedmix.methods.fedgem_client import MergedClustersMixin, Mixtures, final_radii
from fedmix.methods.fedgem_server import Server
from fedmix.streams import generator_of


@register
class LocalKMeans(MergedClustersMixin, FederatedEstimator):
    """k-means with the known K_g at every client, without learning from other clients.

    FedGEM's final merge estimates the number of clusters. It is the only exchange and does not
    move the centres that points are assigned to. A client without points has no clusters.

    Parameters
    ----------
    components_per_client : int or sequence of G ints, default=2
        The known number K_g of clusters, one for all clients or one per client. The default is the
        smallest number of interest. A client with fewer different points has as many clusters as
        those; the first one is repeated in ``means_`` and ``superclusters_``.
    final_radius_scale : float, default=1.0
        The constant v of FedGEM's final merge, with the same default.
    one_component_per_client : bool, default=False
        Whether a merged cluster contains at most one cluster of each client, as in FedGEM's
        published program.
    n_init : int, default=10
        Number of restarts of k-means. The best result is used. The default was scikit-learn's for
        a long time.
    random_state : int, Generator or None, default=0
        Seed of k-means.

    Attributes
    ----------
    means_ : list of G arrays of shape (K_g, d)
        The centres of each client.
    superclusters_ : list of G int arrays of shape (K_g,)
        The global cluster of each local cluster.
    cluster_centers_ : ndarray of shape (n_clusters_, d)
        Means of the merged clusters.
    n_clusters_ : int
        Number of merged clusters.

    Notes
    -----
    This baseline is not in the paper. The paper scores FedGEM client by client with the client's
    own K_g, and local k-means gets the same information.
    """

    needs: ClassVar[tuple[str, ...]] = ("components_per_client",)
    constraints: ClassVar[Constraints] = {
        "components_per_client": ["integer >= 1", "integers >= 1"],
        "final_radius_scale": ["number >= 0"],
        "one_component_per_client": ["boolean"],
        "n_init": ["integer >= 1"],
    }

    def __init__(
        self,
        components_per_client: int | Sequence[int] = 2,
        final_radius_scale: float = 1.0,
        one_component_per_client: bool = False,
        n_init: int = 10,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.components_per_client = components_per_client
        self.final_radius_scale = final_radius_scale
        self.one_component_per_client = one_component_per_client
        self.n_init = n_init
        self.random_state = random_state

    def _fit(self, clients: Clients) -> None:
        """Cluster every client's points, then merge the clusters to count them."""
        wanted = components_of(clients, self.components_per_client)
        n_components = np.array(list(map(_at_most_different, clients, wanted)), dtype=np.int64)
        rng = generator_of(self.random_state)
        self.means_ = cluster_clients(clients, n_components, rng, self.n_init)
        mixtures = Mixtures(
            means=np.concatenate(self.means_),
            weights=np.repeat(1.0 / np.maximum(n_components, 1), n_components),
            offsets=offsets_of(n_components),
        )
        radii = final_radii(mixtures, clients.sizes, self.final_radius_scale)
        server = Server(one_component_per_client=self.one_component_per_client)
        merged, labels = server.merge(mixtures.means, radii, mixtures.client)
        self._set_clusters(mixtures, merged, labels)
        for name in ("means_", "superclusters_"):
            once = zip(getattr(self, name), wanted - n_components, strict=True)
            setattr(self, name, [np.concatenate([c, c[:1].repeat(n, axis=0)]) for c, n in once])
        self.converged_ = True
        self._send(up=merged.size + len(merged), down=len(merged))

    def _predict(self, clients: Clients) -> list[IntArray]:
        """Label each point with the nearest of its client's own centres, 0 to K_g - 1."""
        return [nearest_centre(own, c) for own, c in zip(clients, self.means_, strict=True)]


def _at_most_different(points: FloatArray, wanted: int) -> int:
    """Return the wanted number of clusters, or that of different points if it is smaller."""
    if len(without_repeats(points[:wanted])[0]) == wanted:  # saves the time for many points
        return wanted
    return min(wanted, len(without_repeats(points)[0]))


def cluster_clients(
    clients: Clients, n_components: IntArray, rng: np.random.Generator, n_init: int = 10
) -> list[FloatArray]:
    """Run k-means at every client: a list of G arrays of centres, of shape (K_g, d)."""
    with threadpool_limits(limits=1):  # scikit-learn's sums depend on the number of threads
        return [
            cluster_points(points, k, rng, n_init=n_init)
            for points, k in zip(clients, n_components, strict=True)
        ]


def cluster_points(
    points: FloatArray,
    n_clusters: int,
    rng: np.random.Generator,
    weights: FloatArray | None = None,
    n_init: int = 10,
    init: FloatArray | None = None,
    max_iter: int = 300,
) -> FloatArray:
    """Run k-means on one set of points (n, d) and return the centres (n_clusters, d).

    If there are no more points than clusters, every point is a centre and the first one is
    repeated. ``rng`` draws the seed of k-means. The points have ``weights`` (n,), equal by default.
    k-means starts ``n_init`` times by k-means++, or once from the centres ``init``, and does at
    most ``max_iter`` Lloyd steps. A centre without points moves to the point that is farthest from
    its own centre.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    seed = int(rng.integers(2**31))
    if len(points) <= n_clusters:
        missing = np.repeat(points[:1], n_clusters - len(points), axis=0)
        return np.concatenate([points, missing])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # duplicates: fewer distinct points
        start = {"n_init": n_init} if init is None else {"init": init, "n_init": 1}
        model = KMeans(n_clusters, max_iter=max_iter, random_state=seed, **start)
        return model.fit(points, sample_weight=weights).cluster_centers_.astype(np.float64)

"""AFCL: asynchronous federated clustering with an unknown number of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.kernels.afcl import compete
from fedmix.methods.base import Constraints, register
from fedmix.methods.centroids import CentroidClustering
from fedmix.methods.seeding import components_of, seed_clients, seed_points
from fedmix.streams import generator_of

FloatArray = NDArray[np.float64]


@register
class AFCL(CentroidClustering):
    """Asynchronous federated clustering by competition among too many seeds.

    In each round a random part of the clients sends its points, disguised, to the server, where
    seeds compete for them: the winner, handicapped by its earlier wins, and the seeds that are as
    close to it as the point move towards the point. Seeds that come together are one cluster.

    Parameters
    ----------
    components_per_client : int or sequence of G ints, default=2
        K_g, which must be known; 2 are the fewest worth looking for. Their sum is the number of
        seeds (FedGEM's Appendix D.3).
    training : {"competition", "none"}, default="competition"
        AFCL's own algorithm, on features scaled to [0, 1]; or FedGEM's published re-implementation,
        which never trains: the clients' k-means++ seeds are the centres.
    max_rounds : int, default=100
        Rounds, all of which are run; the authors' program has 100.
    step : float, default=0.001
        Mean learning rate of a feature; the authors' program's.
    merge_distance : float, default=0.001
        Seeds within this distance in every scaled feature are one cluster; the authors' program's.
    random_state : int, Generator or None, default=0

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, d)
    n_clusters_ : int

    Notes
    -----
    A disguised point, W (x - mu) with W drawn by the client and known to the server, is the point
    itself to the server; so points are used directly here, and counted as sent. A client that has
    been heard less often than the average and is silent in a round is replayed from what the server
    keeps of it.

    References
    ----------
    Zhang, Zhang, Lu, Li, Chen, Cheung (2025). Asynchronous federated clustering with unknown number
    of clusters.
    """

    needs: ClassVar[tuple[str, ...]] = ("components_per_client",)
    constraints: ClassVar[Constraints] = {
        "components_per_client": ["integer >= 1", "integers >= 1"],
        "training": [{"competition", "none"}],
        "max_rounds": ["integer >= 1"],
        "step": ["number > 0 and < 1"],
        "merge_distance": ["number >= 0"],
    }

    def __init__(
        self,
        components_per_client: int | Sequence[int] = 2,
        training: str = "competition",
        max_rounds: int = 100,
        step: float = 0.001,
        merge_distance: float = 0.001,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.components_per_client = components_per_client
        self.training = training
        self.max_rounds = max_rounds
        self.step = step
        self.merge_distance = merge_distance
        self.random_state = random_state

    def _fit(self, clients: Clients) -> None:
        """Let the seeds compete for the clients' points."""
        n_components = components_of(clients, self.components_per_client)
        rng = generator_of(self.random_state)
        if self.training == "none":
            seeds = np.concatenate(seed_clients(clients, n_components, rng))
            self._set_centres(seeds)
            self._send(up=seeds.size, down=np.count_nonzero(clients.sizes) * seeds.size)
            return
        low, width = _range(clients.points)
        scaled = Clients((clients.points - low) / width, clients.offsets)
        local = np.concatenate(seed_clients(scaled, n_components, rng))
        seeds = seed_points(local, len(local), rng)
        heard = self._train(scaled, seeds, rng)
        merged = _merge_close(seeds, self.merge_distance)
        self._set_centres(low + width * merged)
        n_features, active = clients.n_features, int(np.count_nonzero(clients.sizes))
        self._send(
            up=active * 2 * n_features + local.size + heard @ clients.sizes * n_features,
            down=heard.sum() * seeds.size,
        )

    def _train(
        self, clients: Clients, seeds: FloatArray, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Move the seeds in place; return how often each client was heard, (G,)."""
        n_clients = len(clients)
        probability = rng.uniform(size=n_clients)
        heard = np.zeros(n_clients, dtype=np.int64)
        wins = np.ones(len(seeds))
        for _ in self._rounds(self.max_rounds):
            speaks = rng.uniform(size=n_clients) < probability
            heard += speaks
            replayed = ~speaks & (heard > 0) & (heard < heard.mean())
            share = heard / max(heard.sum(), 1)
            weights = rng.dirichlet(np.ones(clients.n_features), size=n_clients)
            for g in np.flatnonzero(speaks | replayed):
                rates = self.step * clients.n_features * weights[g] / (1 + share[g])
                compete(clients[g], seeds, wins, rates)
        return heard


def _range(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each feature's minimum and width, of shape (d,); a constant feature has width 1."""
    low = points.min(axis=0)
    width = points.max(axis=0) - low
    return low, np.where(width > 0, width, 1.0)


def _merge_close(seeds: FloatArray, distance: float) -> FloatArray:
    """Return the means of seeds (k, d) that are linked by coordinates within ``distance``."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree

    pairs = KDTree(seeds).query_pairs(distance, p=np.inf, output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(seeds), len(seeds)))
    n_clusters, labels = connected_components(links, directed=False)
    total = np.zeros((n_clusters, seeds.shape[1]))
    np.add.at(total, labels, seeds)
    return total / np.bincount(labels)[:, None]

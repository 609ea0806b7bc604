"""AFCL: asynchronous federated clustering with an unknown number of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.methods.afcl_server import Server
from fedmix.methods.base import Constraints, register
from fedmix.methods.centroids import CentroidClustering, components_of
from fedmix.streams import generator_of

FloatArray = NDArray[np.float64]


@register
class AFCL(CentroidClustering):
    """Asynchronous federated clustering by competition among too many seeds.

    In each round a random part of the clients sends its points, disguised, to the server, where
    seeds compete for them: the winner, handicapped by its earlier wins, and the seeds that are as
    close to it as the point move towards the point. Seeds that come together are one cluster. All
    of them may: one cluster at the end is a result like any other.

    Parameters
    ----------
    components_per_client : int or sequence of G ints, default=2
        K_g, which must be known; 2 are the fewest worth looking for. Their sum is the number of
        seeds (FedGEM's Appendix D.3).
    training : {"competition", "none"}, default="competition"
        AFCL's own algorithm, on features scaled to [0, 1]; or FedGEM's published re-implementation,
        which never trains: the clients' k-means++ seeds are the centres. They are drawn plainly,
        one candidate each: so AFCL's ARI on MNIST in FedGEM's Table 1 comes out (.038), which it
        does not with scikit-learn's several candidates (.033).
    max_rounds : int, default=100
        Rounds at most; the authors' program has 100.
    step : float, default=0.001
        Mean learning rate of a feature; the authors' program's.
    merge_distance : float, default=0.001
        Seeds less than this apart in every scaled feature are one cluster, the lowest-numbered of
        them; the authors' program's.
    stop_tolerance : float, default=0.0001
        The rounds end once an index of the clients' clusters changes by no more than this; the
        authors' program's.
    random_state : int, Generator or None, default=0

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, d)
    n_clusters_ : int

    Notes
    -----
    The competition is that of the authors' program, step by step. Two of its choices look like
    accidents and are kept, for they belong to what the program does. A feature in which nothing was
    sent gets a rate of 0, which the server takes for 1: where nobody speaks in the first round all
    rates are 0 from then on, and only seeds within a hundredth of one another still move. And the
    index that ends the rounds is taken before the seeds move, from labels that often stay the same:
    it may stand still while the seeds do not, so that the rounds end early.

    On thousands of points that no wide gaps divide the seeds collapse into one: the step is per
    point, and every point draws all seeds together that lie within its distance of the winner. The
    authors' averages leave runs with one cluster out; ours count them.

    A disguised point is known to the server up to the client's weight, so points count as sent.
    Silent clients that were heard less than the average are replayed from what they sent last.

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
        "stop_tolerance": ["number >= 0"],
    }

    def __init__(
        self,
        components_per_client: int | Sequence[int] = 2,
        training: str = "competition",
        max_rounds: int = 100,
        step: float = 0.001,
        merge_distance: float = 0.001,
        stop_tolerance: float = 0.0001,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.components_per_client = components_per_client
        self.training = training
        self.max_rounds = max_rounds
        self.step = step
        self.merge_distance = merge_distance
        self.stop_tolerance = stop_tolerance
        self.random_state = random_state

    def _fit(self, clients: Clients) -> None:
        """Let the seeds compete for the clients' points."""
        n_components = components_of(clients, self.components_per_client)
        rng = generator_of(self.random_state)
        if self.training == "none":
            draws = zip(clients, n_components, rng.spawn(len(clients)), strict=True)
            seeds = np.concatenate([_seed(own, k, draw) for own, k, draw in draws])
            self._set_centres(seeds)
            self._send(up=seeds.size, down=np.count_nonzero(clients.sizes) * seeds.size)
            return
        low, width = _range(clients.points)
        scaled = Clients((clients.points - low) / width, clients.offsets)
        server, heard = self._train(scaled.subset(np.flatnonzero(clients.sizes)), n_components, rng)
        self._set_centres(low + width * server.merged())
        self._count_floats(server, heard)

    def _train(
        self, clients: Clients, n_components: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[Server, NDArray[np.int64]]:
        """Run the rounds; return the server and how often each client spoke, (G,)."""
        n_seeds = int(n_components.sum())
        seeds = np.concatenate([_seed(own, n_seeds, rng) for own in clients])
        server = Server(
            clients,
            _seed(seeds, n_seeds, rng),
            rng.uniform(size=clients.n_features),
            self.step,
            self.merge_distance,
            self.stop_tolerance,
        )
        probability = rng.uniform(size=len(clients))
        heard = np.zeros(len(clients), dtype=np.int64)
        for _ in self._rounds(self.max_rounds):
            speaks = rng.uniform(size=len(clients)) < probability
            server.round(speaks)
            heard += speaks
            self.converged_ = server.stopped
        return server, heard

    def _count_floats(self, server: Server, heard: NDArray[np.int64]) -> None:
        """Count what clients sent and got that spoke ``heard`` times, (G,).

        First their features' ranges and their own seeds; then, whenever they speak, all their
        points and every seed's spread and centre, for the seeds and the features' rates.
        """
        n_seeds, n_features = server.seeds.shape
        sizes = server.clients.sizes
        first = (2 + np.minimum(sizes, n_seeds)) * n_features
        each = sizes * n_features + n_seeds * (1 + n_features)
        self._send(
            up=first.sum() + heard @ each,
            down=heard.sum() * (n_seeds + 1) * n_features,
        )


def _range(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each feature's minimum and width, (d,); a constant feature is scaled to 1."""
    low = points.min(axis=0)
    width = points.max(axis=0) - low
    return np.where(width > 0, low, low - 1.0), np.where(width > 0, width, 1.0)


def _seed(points: FloatArray, n_seeds: int, rng: np.random.Generator) -> FloatArray:
    """Draw plain k-means++ seeds, one candidate each; with no more points, every one is a seed."""
    from sklearn.cluster import kmeans_plusplus

    if len(points) <= n_seeds:
        return points
    seed = int(rng.integers(2**31))
    return kmeans_plusplus(points, n_seeds, n_local_trials=1, random_state=seed)[0]

"""FFCM: federated fuzzy c-means."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from fedmix.checks import as_numbers
from fedmix.clients import Clients
from fedmix.methods.base import Constraints, FloatArray, register
from fedmix.methods.centroids import CentroidClustering
from fedmix.methods.local_kmeans import cluster_points
from fedmix.streams import generator_of

_SAME = 1e-14  # relative rounding of the distance of a point from itself


@register
class FFCM(CentroidClustering):
    """Federated fuzzy c-means.

    Every client does fuzzy c-means steps from the global centres. The server combines the results.

    Parameters
    ----------
    n_clusters : int, default=2
        The known number K of global clusters. The default is the smallest number of interest.
    aggregation : {"average", "kmeans"}, default="average"
        "average" averages each centre over the clients, weighted by its support ("avg1"). A centre
        without any support, because all points lie exactly at other centres or memberships
        underflow, stays. "kmeans" runs k-means on the centres of all clients ("avg2").
    rule : {"own", "published"}, default="own"
        "own" is FFCM's rule: random centres in the data's bounding box, memberships by the
        fuzzifier m, centres weighted by U^m, and the sum of U as support. "published" is FedGEM's
        published re-implementation: random centres in [0, 1]^d regardless of the data's scale,
        memberships by *squared* distances to the power 2 / (m - 1) (a fuzzifier of 1.5 under the
        name m = 2), centres weighted by U, and the sum of U^m as support.
    fuzzifier : float, default=2.0
        The fuzzifier m > 1. The default is the usual value of fuzzy c-means.
    max_rounds : int, default=20
        Maximum number of rounds. The default is that of FedGEM's Appendix D.3.
    local_steps : int, default=1
        Largest number of fuzzy c-means steps per client and round. A client stops when no centre
        moves further than ``tol``. The default is that of FedGEM's published program. The program
        of FFCM's authors has 1,000.
    init : array of shape (K, d), optional
        Initial centres; by default random, see ``rule``.
    tol : float, default=0.0
        The fit stops when no centre moves further than this. With ``aggregation="kmeans"`` centres
        are matched by index. With 0 it runs all rounds unless no centre moves at all.
    n_init : int, default=10
        Number of restarts of the server's k-means. The best result is used. The default was
        scikit-learn's for a long time.
    random_state : int, Generator or None, default=0
        Seed of the initial centres and of the server's k-means.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (K, d)
        The global centres.

    References
    ----------
    Stallmann, Wilbik (2022). Towards federated clustering: a federated fuzzy c-means algorithm.
    """

    needs: ClassVar[tuple[str, ...]] = ("n_clusters",)
    constraints: ClassVar[Constraints] = {
        "n_clusters": ["integer >= 1"],
        "aggregation": [{"average", "kmeans"}],
        "rule": [{"own", "published"}],
        "fuzzifier": ["number > 1"],
        "max_rounds": ["integer >= 1"],
        "local_steps": ["integer >= 1"],
        "init": ["array-like", None],
        "tol": ["number >= 0"],
        "n_init": ["integer >= 1"],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        aggregation: str = "average",
        rule: str = "own",
        fuzzifier: float = 2.0,
        max_rounds: int = 20,
        local_steps: int = 1,
        init: ArrayLike | None = None,
        tol: float = 0.0,
        n_init: int = 10,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.aggregation = aggregation
        self.rule = rule
        self.fuzzifier = fuzzifier
        self.max_rounds = max_rounds
        self.local_steps = local_steps
        self.init = init
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    def _fit(self, clients: Clients) -> None:
        """Alternate between local fuzzy c-means steps and the aggregation of the centres."""
        rng = generator_of(self.random_state)
        centres = self._start(clients, rng)
        active = [points for points in clients if len(points)]
        with threadpool_limits(limits=1):
            for _ in self._rounds(self.max_rounds):
                previous = centres
                local = [self._local_steps(points, centres) for points in active]
                centres = self._aggregate(local, previous, rng)
                n = len(active) * centres.size
                self._send(up=n + len(active) * len(centres), down=n)
                move = np.linalg.norm(centres - previous, axis=1).max()
                self.converged_ = bool(move <= self.tol)
        self._set_centres(centres)

    def _start(self, clients: Clients, rng: np.random.Generator) -> FloatArray:
        shape = (self.n_clusters, clients.n_features)
        if self.init is not None:
            return as_numbers(self, "init", self.init, shape)
        start = rng.uniform(size=shape)
        if self.rule == "published":
            return start
        low, high = clients.points.min(axis=0), clients.points.max(axis=0)
        return low + (high - low) * start

    def _local_steps(
        self, points: FloatArray, centres: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return a client's centres (K, d) and their support (K,)."""
        published = self.rule == "published"
        exponent = (2.0 if published else 1.0) / (self.fuzzifier - 1)
        for _ in range(self.local_steps):
            previous = centres
            membership = memberships(points, centres, exponent)
            power = membership**self.fuzzifier
            weight, support = (membership, power) if published else (power, membership)
            mass = weight.sum(axis=0)[:, None]
            moved = weight.T @ points / np.where(mass > 0, mass, 1.0)
            centres = np.where(mass > 0, moved, centres)
            if np.linalg.norm(centres - previous, axis=1).max() <= self.tol:
                break
        return centres, support.sum(axis=0)

    def _aggregate(
        self,
        local: list[tuple[FloatArray, FloatArray]],
        previous: FloatArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        centres = np.stack([c for c, _ in local])
        if self.aggregation == "kmeans":
            together = centres.reshape(-1, centres.shape[2])
            return cluster_points(together, self.n_clusters, rng, n_init=self.n_init)
        support = np.stack([s for _, s in local])
        total, smallest = support.sum(axis=0), np.finfo(np.float64).tiny
        average = np.einsum("gk,gkd->kd", support / np.maximum(total, smallest), centres)
        return np.where(total[:, None] < smallest, previous, average)


def memberships(points: FloatArray, centres: FloatArray, exponent: float) -> FloatArray:
    """Return fuzzy memberships (n, K), proportional to squared distance to the power -``exponent``.

    The exponent is 1 / (m - 1) for fuzzifier m. The rows sum to 1. A point at one or more centres,
    to rounding, belongs to these only.
    """
    from scipy.spatial.distance import cdist

    squared = cdist(points, centres, "sqeuclidean")
    rounding = (_SAME * np.linalg.norm(points, axis=1, keepdims=True)) ** 2
    squared = np.where(squared <= rounding, 0.0, squared)
    nearest = squared.min(axis=1, keepdims=True)
    on_centre = nearest == 0
    ratio = np.where(on_centre, squared == 0, nearest / np.where(squared > 0, squared, 1.0))
    power = ratio**exponent
    return power / power.sum(axis=1, keepdims=True)

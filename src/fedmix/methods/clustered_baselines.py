"""Baselines of two-phase clustered federated learning (Su, Xu and Yang 2022, Appendix C)."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from fedmix.clients import Clients
from fedmix.errors import DataError
from fedmix.kernels.regression_maps import RotatedClients, rotate
from fedmix.methods.base import Constraints, register
from fedmix.methods.clustered_regression import (
    ClusteredRegression,
    check_regression,
    starting_models,
)
from fedmix.streams import seed_of


@register
class IFCA(ClusteredRegression):
    """Iterative federated clustering: Phase 2 from a random start (Ghosh et al. 2020).

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    local, local_steps, learning_rate, rounds, gamma, tol, random_state
        As in :class:`~fedmix.methods.two_phase.TwoPhase`.
    init : array-like of shape (k, d), optional
        Starting models. By default random, in the scale of the data.
    average : {"all", "cluster"}, default="all"
        What the server divides a model's summed local updates by. ``"all"`` divides by the points
        of all clients, as Su, Xu and Yang (2022) do, and Ghosh et al. with gradients.
        ``"cluster"`` divides by those of the clients that chose the model, as Ghosh et al. do with
        models after local steps. The model then moves about k times as far in a round.

    References
    ----------
    Ghosh, Chung, Yin, Ramchandran (2020), An Efficient Framework for Clustered Federated Learning,
    Algorithm 1, options I and II.
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        local: str = "fedavg",
        local_steps: int = 5,
        learning_rate: float | None = None,
        rounds: int = 400,
        init: ArrayLike | None = None,
        average: str = "all",
        gamma: float = 0.5,
        tol: float = 0.0,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            n_clusters, local, local_steps, learning_rate, rounds, init, gamma, tol, random_state
        )
        self.average = average

    def _start(self, clients: Clients, rng: np.random.Generator) -> NDArray:
        shape = (self.n_clusters, clients.n_features)
        return starting_models(self.init, shape, clients, rng)[None]


@register
class FedAvg(ClusteredRegression):
    """One model for all clients, which ignores their clusters (McMahan et al. 2017).

    Parameters
    ----------
    local, local_steps, learning_rate, rounds, gamma, tol, random_state
        As in :class:`~fedmix.methods.two_phase.TwoPhase`.
    init : array-like of shape (d,), optional
        Starting model. By default random, in the scale of the data.

    Attributes
    ----------
    models_ : ndarray of shape (1, d)
        The common model.

    References
    ----------
    McMahan, Moore, Ramage, Hampson, Agüera y Arcas (2017), Communication-Efficient Learning of
    Deep Networks from Decentralized Data.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    starts_from: ClassVar[str | None] = "model"

    def __init__(
        self,
        local: str = "fedavg",
        local_steps: int = 5,
        learning_rate: float | None = None,
        rounds: int = 400,
        init: ArrayLike | None = None,
        gamma: float = 0.5,
        tol: float = 0.0,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            None, local, local_steps, learning_rate, rounds, init, gamma, tol, random_state
        )

    def _start(self, clients: Clients, rng: np.random.Generator) -> NDArray:
        return starting_models(self.init, (clients.n_features,), clients, rng)[None, None]


@register
class OracleClustering(ClusteredRegression):
    """Phase 2 from the true models: a benchmark, because the models are unknown in practice.

    Parameters
    ----------
    models : array-like of shape (k, d)
        The true models.
    local, local_steps, learning_rate, rounds, gamma, tol, random_state
        As in :class:`~fedmix.methods.two_phase.TwoPhase`.
    """

    needs: ClassVar[tuple[str, ...]] = ("models",)
    starts_from: ClassVar[str | None] = None
    constraints: ClassVar[Constraints] = {"models": ["array-like"]}

    def __init__(
        self,
        models: ArrayLike | None = None,
        local: str = "fedavg",
        local_steps: int = 5,
        learning_rate: float | None = None,
        rounds: int = 400,
        gamma: float = 0.5,
        tol: float = 0.0,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            None, local, local_steps, learning_rate, rounds, None, gamma, tol, random_state
        )
        self.models = models

    def _start(self, clients: Clients, rng: np.random.Generator) -> NDArray:
        n_clusters = max(1, len(np.atleast_1d(self.models)))
        shape = (n_clusters, clients.n_features)
        return starting_models(self.models, shape, clients, rng)[None]


@register
class OneShotClustering(ClusteredRegression):
    """Cluster the clients' own estimates once by k-means, then run FedAvg within each cluster.

    FedAvg starts from the centres and weights a client by its share of its cluster's points.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k. With fewer different local estimates ``fit`` raises a DataError.
    local, local_steps, learning_rate, rounds, gamma, tol
        As in :class:`~fedmix.methods.two_phase.TwoPhase`.
    ridge : float, default=0.01
        Penalty of the local estimates ``argmin ||y - X theta||^2 / n_i + ridge m_i ||theta||^2``,
        where m_i is the client's mean squared feature. With 0 the estimates are least squares, of
        smallest norm if a client has fewer points than features. Least squares estimates become
        very large if a client has about as many points as features.
    n_init : int, default=10
        Number of starts of k-means. The best result is used.
    random_state : int, default=0
        Seed of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (M,)
        The clusters of k-means, which never change. A client without points is in cluster 0.
        ``predict`` takes the model with the smallest residual instead, also for these clients.

    References
    ----------
    Ghosh, Hong, Yin, Ramchandran (2019), Robust Federated Learning in a Heterogeneous Environment.
    """

    starts_from: ClassVar[str | None] = None
    constraints: ClassVar[Constraints] = {"ridge": ["number >= 0"], "n_init": ["integer >= 1"]}

    def __init__(
        self,
        n_clusters: int | None = None,
        local: str = "fedavg",
        local_steps: int = 5,
        learning_rate: float | None = None,
        rounds: int = 400,
        ridge: float = 0.01,
        n_init: int = 10,
        gamma: float = 0.5,
        tol: float = 0.0,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            n_clusters, local, local_steps, learning_rate, rounds, None, gamma, tol, random_state
        )
        self.ridge = ridge
        self.n_init = n_init

    def _fit(self, clients: Clients) -> None:
        """Learn the clients' clusters, then a model for each cluster."""
        from sklearn.cluster import KMeans

        check_regression(clients)
        active = np.flatnonzero(clients.sizes > 0)
        with threadpool_limits(limits=1):
            rotated = rotate(clients)
            self._choose_learning_rate(rotated)
            estimates = local_estimates(rotated, self.ridge)
            kmeans = KMeans(
                self.n_clusters, n_init=self.n_init, random_state=seed_of(self.random_state)
            )
            kmeans.fit(estimates[active])
        found = len(np.unique(kmeans.labels_))
        if found < self.n_clusters:
            raise DataError(
                f"OneShotClustering: n_clusters asks for {self.n_clusters}, more than the {found} "
                "different local estimates. Ask for fewer."
            )
        self.labels_ = np.zeros(len(clients), dtype=np.int64)
        self.labels_[active] = kmeans.labels_
        self._train_clusters(clients, active, kmeans.cluster_centers_)

    def _train_clusters(self, clients: Clients, active: NDArray, centres: NDArray) -> None:
        """Run FedAvg in every cluster and combine the results."""
        d = clients.n_features
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # raised once, below
            fits = [
                FedAvg(
                    self.local, self.local_steps, self.learning_rate_, self.rounds, c, tol=self.tol
                ).fit(clients.subset(active[self.labels_[active] == j]))
                for j, c in enumerate(centres)
            ]
        self.n_rounds_ = max(f.n_rounds_ for f in fits)
        paths = [f.history_["models"][:, 0] for f in fits]
        rest = [np.repeat(p[-1:], self.n_rounds_ + 1 - len(p), axis=0) for p in paths]
        joined = [np.concatenate(pair) for pair in zip(paths, rest, strict=True)]
        self.history_ = {"models": np.stack(joined, axis=1)}
        self.models_ = self.history_["models"][-1].copy()
        self.converged_ = all(f.converged_ for f in fits)
        if not self.converged_ and self.tol > 0 and self.rounds > 0:
            self._warn_of_no_convergence(f"{self.rounds} rounds")
        self._send(up=len(active) * d)
        for fit in fits:
            self._send(**fit.communication_)


def local_estimates(rotated: RotatedClients, ridge: float) -> NDArray:
    """Return every client's own ridge or least squares estimate, of shape (M, d).

    The penalty is in units of the client's mean squared feature. Without one, the estimate is 0 in
    directions in which the client's features do not vary.
    """
    n_clients, n_features = len(rotated.sizes), rotated.rows.shape[1]
    owners = rotated.owners
    total = np.bincount(owners, rotated.curvatures, minlength=n_clients)[owners]
    counted = rotated.curvatures > np.finfo(float).eps * total
    scale = rotated.sizes[owners] * (rotated.curvatures + ridge * total / n_features)
    pulls = np.divide(rotated.targets, scale, out=np.zeros(len(scale)), where=counted)
    estimates = np.zeros((n_clients, n_features))
    np.add.at(estimates, owners, pulls[:, None] * rotated.rows)
    return estimates

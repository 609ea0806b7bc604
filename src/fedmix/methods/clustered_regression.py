"""Phase 2 of two-phase clustered federated learning, the base of its methods and baselines."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from fedmix.checks import as_numbers
from fedmix.clients import Clients, ClientsLike
from fedmix.errors import DataError, DivergenceError
from fedmix.fitted import owners_of
from fedmix.kernels.regression_maps import RotatedClients, hard_round, local_filter, rotate
from fedmix.methods.base import Constraints, FederatedEstimator
from fedmix.streams import generator_of

# Phase 1 multiplies four data values. Outside these bounds the products leave float64's range.
_SMALLEST, _LARGEST = 1e-60, 1e60


class ClusteredRegression(FederatedEstimator):
    """Iterative clustering of clients with FedAvg or FedProx, for the square loss.

    In each round every client selects the model with the smallest residual on its data (equation
    (8)) and trains it locally. The server averages the results with weights n_i / N (Su, Xu and
    Yang 2022, Phase 2). Local training is in closed form (Lemma 1). Subclasses define the start.

    Attributes
    ----------
    models_ : ndarray of shape (k, d)
        Regression coefficients of the clusters.
    labels_ : ndarray of shape (M,)
        Cluster of each client under ``models_``. A client without points is in cluster 0.
    history_ : dict
        ``{"models": (rounds + 1, k, d)}``: the models of each round. Round 0 is the start.
    learning_rate_ : float
        The step eta that was used.
    gamma_ : float
        ``eta max_i ||X_i||^2 / n_i``, the stability of local training.
    """

    families: ClassVar[tuple[str, ...]] = ("regression",)
    level: ClassVar[str] = "client"
    needs: ClassVar[tuple[str, ...]] = ("n_clusters",)
    starts_from: ClassVar[str | None] = "models"
    constraints: ClassVar[Constraints] = {
        "n_clusters": ["integer >= 1"],
        "local": [{"fedavg", "fedprox"}],
        "local_steps": ["integer >= 1"],
        "learning_rate": ["number > 0", None],
        "rounds": ["integer >= 0"],
        "init": ["array-like", None],
        "average": [{"all", "cluster"}],
        "gamma": ["number > 0 and < 1"],
        "tol": ["number >= 0"],
    }

    average: str = "all"
    models_: NDArray
    labels_: NDArray
    history_: dict[str, NDArray]

    def __init__(
        self,
        n_clusters: int | None = None,
        local: str = "fedavg",
        local_steps: int = 5,
        learning_rate: float | None = None,
        rounds: int = 400,
        init: ArrayLike | None = None,
        gamma: float = 0.5,
        tol: float = 0.0,
        random_state: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.local = local
        self.local_steps = local_steps
        self.learning_rate = learning_rate
        self.rounds = rounds
        self.init = init
        self.gamma = gamma
        self.tol = tol
        self.random_state = random_state

    def predict_clients(self, X: ClientsLike, groups: ArrayLike | None = None) -> NDArray:
        """Return the cluster of each client, of shape (M,), by its residuals (equation (8))."""
        _, data = self._model_for(X, groups=groups)
        return assign(data, self.models_)

    def predict_response(
        self,
        X: ClientsLike,
        clients: Sequence[Hashable] | str | None = None,
        groups: ArrayLike | None = None,
    ) -> list[NDArray]:
        """Return the response that the model of each client's cluster predicts: M arrays (n_i,).

        Parameters
        ----------
        X, clients, groups
            As in ``predict``. Clients of ``fit`` need no responses, because their clusters are
            known. The cluster of a new client is that with the smallest residual.

        Raises
        ------
        DataError
            If a new client has no responses and there are several clusters.
        """
        _, data = self._model_for(X, clients, groups)
        owners = owners_of(self, data, clients)
        if len(self.models_) == 1:
            found = np.zeros(len(data), dtype=np.int64)
        elif np.all(owners >= 0):
            found = self.labels_[owners]
        elif data.responses is None:
            raise DataError(
                f"{type(self).__name__}: the cluster of a new client is not known, and these "
                "clients have no responses to find it. Say which clients of fit they are, "
                "predict_response(X, clients=[names]), or find the cluster from some responses: "
                "predict_clients(Clients.from_arrays(xs, responses))."
            )
        else:
            found = np.where(owners >= 0, self.labels_[owners], assign(data, self.models_))
        return [x @ self.models_[z] for x, z in zip(data, found, strict=True)]

    def _fit(self, clients: Clients) -> None:
        """Learn the models and the clients' clusters."""
        check_regression(clients)
        with threadpool_limits(limits=1):  # sums in another order would differ in the last bits
            rotated = rotate(clients)
            self._choose_learning_rate(rotated)
            self._refine(rotated, self._start(clients, generator_of(self.random_state)))
        self.labels_ = assign(clients, self.models_)

    def _predict(self, clients: Clients) -> list[NDArray]:
        """Label each point with its client's cluster: a list of M arrays of shape (n_i,)."""
        labels = assign(clients, self.models_)
        return [np.full(n, z) for n, z in zip(clients.sizes, labels, strict=True)]

    def _start(self, clients: Clients, rng: np.random.Generator) -> NDArray:
        """Return the models (t + 1, k, d) of the rounds so far. Phase 2 starts from the last."""
        raise NotImplementedError

    def _choose_learning_rate(self, rotated: RotatedClients) -> None:
        """Set the step. By default each client sends its curvature and receives the step."""
        curvature, n_clients = rotated.largest_curvature, np.count_nonzero(rotated.sizes)
        if self.learning_rate is not None:
            self.learning_rate_ = float(self.learning_rate)
        else:
            self.learning_rate_ = self.gamma / curvature if curvature > 0 else self.gamma
            self._send(up=n_clients, down=n_clients)
        self.gamma_ = self.learning_rate_ * curvature

    def _refine(self, rotated: RotatedClients, start: NDArray) -> None:
        """Run Phase 2 after the rounds of ``start``; set all fitted attributes but the labels."""
        (k, d), n_clients = start.shape[1:], len(rotated.sizes)
        history = np.concatenate([start, np.empty((self.rounds, k, d))])
        filters = local_filter(
            rotated.curvatures, self.learning_rate_, self.local, self.local_steps
        )
        labels, summed = np.empty(n_clients, dtype=np.int64), np.empty((k, d))
        for t in self._rounds(self.rounds, done=len(start) - 1):
            models = history[t - 1]
            hard_round(
                rotated.rows, rotated.targets, filters, rotated.offsets, models, labels, summed
            )
            history[t] = models - self._step(rotated.sizes, labels, k) * summed
            _check_finite(history[t], t)
            n_active = np.count_nonzero(rotated.sizes)
            self._send(up=n_active * d, down=n_active * k * d)
            largest_move = np.linalg.norm(history[t] - models, axis=1).max()
            self.converged_ = self.tol > 0 and bool(largest_move <= self.tol)
        self.models_ = history[self.n_rounds_].copy()
        self.history_ = {"models": history[: self.n_rounds_ + 1]}

    def _step(self, sizes: NDArray, labels: NDArray, k: int) -> NDArray:
        """Return the factor of each model's summed gradients, of shape (k, 1).

        It is eta / N, or with ``average="cluster"`` eta / (points of the clients that chose it).
        """
        if self.average == "all":
            return np.full((k, 1), self.learning_rate_ / sizes.sum())
        points = np.bincount(labels, weights=sizes, minlength=k)
        return self.learning_rate_ / np.maximum(points, 1)[:, None]  # no client, no update


def assign(clients: Clients, models: NDArray) -> NDArray:
    """Return the model with the smallest residual for each client (equation (8)), (M,).

    Ties, and clients without points, are assigned to the first of the models (k, d).
    """
    check_regression(clients)
    owners = np.repeat(np.arange(len(clients)), clients.sizes)
    losses = np.zeros((len(clients), len(models)))
    np.add.at(losses, owners, (clients.points @ models.T - clients.responses[:, None]) ** 2)
    return losses.argmin(axis=1)


def starting_models(
    init: ArrayLike | None, shape: tuple[int, ...], clients: Clients, rng: np.random.Generator
) -> NDArray:
    """Check and return the given start, or return a random one in the scale of the data.

    The shape is (k, d) or (d,). A random model is ``R / sqrt(d) N(0, I)`` with ``R^2 = d sum y^2 /
    sum ||x||^2``, an estimate of the models' squared norm. In the paper's experiments R = 2 is
    known.
    """
    if init is None:
        spread = np.sum(clients.points**2)
        scale = np.sqrt(np.sum(clients.responses**2) / spread) if spread > 0 else 0.0
        return scale * rng.standard_normal(shape)
    return as_numbers("the start", "the models", init, shape)


def check_regression(clients: Clients) -> None:
    """Raise DataError unless clients have responses and products of values fit in float64."""
    if clients.responses is None:
        raise DataError("These clients have no responses. Pass them to Clients.from_arrays.")
    for name, values in (("points", clients.points), ("responses", clients.responses)):
        largest = np.abs(values).max()
        if largest != 0 and not _SMALLEST <= largest <= _LARGEST:
            raise DataError(
                f"The largest absolute value of the {name} is {largest:.1e}. Sums of products "
                "leave the range of float64. Rescale it to between "
                f"{_SMALLEST:.0e} and {_LARGEST:.0e}."
            )


def _check_finite(models: NDArray, t: int) -> None:
    finite = np.isfinite(models).all(axis=1)
    if not finite.all():
        raise DivergenceError(
            f"Cluster {int(np.argmin(finite))} has a model that is not finite in round {t}: the "
            "learning rate is too large for these data. Lower it or leave it None."
        )

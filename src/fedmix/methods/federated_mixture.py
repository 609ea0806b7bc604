"""The base of the EM family: shared parameters, initial values, rounds and prediction."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from fedmix import families
from fedmix.checks import as_numbers
from fedmix.clients import Clients, ClientsLike
from fedmix.errors import ConfigurationError, DivergenceError
from fedmix.families import Sample, Statistics
from fedmix.initialization import aligned_initial_values
from fedmix.inputs import LARGEST
from fedmix.kernels.em import all_within, has_settled
from fedmix.methods.base import Constraints, FederatedEstimator, FloatArray
from fedmix.methods.likelihood import LikelihoodMixin, draw_gaussian
from fedmix.streams import seed_of


class FederatedMixture(LikelihoodMixin, FederatedEstimator):
    """Base of the EM family.

    Parameters
    ----------
    n_components : int
        Number R of components of every client's mixture.
    family : {"gaussian", "regression"}, default="gaussian"
        Gaussian components with identity covariance, or linear regressions with unit noise.
    max_rounds : int, default=1000
        Maximum number of rounds; 0 returns the initial values. The default is that of the paper's
        simulations.
    tol : float, default=1e-4
        The fit stops when every parameter changes by less than ``tol``. The default is a
        ten-thousandth of a component's standard deviation, less than any data can resolve. With 0
        the fit stops early only at a fixed point, where more rounds would change nothing.
    init : (weights, means) or str, optional
        Initial values of shapes (K, R) and (K, R, d), which are used unchanged, or the name of a
        strategy of :data:`fedmix.initialization.INITIALIZATIONS`. The labels of a strategy's
        result are aligned across clients. The default is the family's own strategy ("eee" or
        "regression").
    density_floor : {None, "zeros", "below"}, default=None
        The published code's floor on weight times kernel before normalising. With "zeros" exact
        zeros become 1e-8; with "below" all values up to 1e-8 do. Full M-steps then also divide as
        that code does, see :meth:`fedmix.families.Family.maximise`. None uses log-sum-exp without
        a floor.
    random_state : int, default=0
        Seed of all random numbers in the fit.

    Attributes
    ----------
    weights_ : ndarray of shape (K, R)
        Mixing weights of each client.
    means_ : ndarray of shape (K, R, d)
        Component means, or regression coefficients, of each client.
    labels_, n_rounds_, converged_, communication_
        See :class:`fedmix.methods.base.FederatedEstimator`.
    """

    families: ClassVar[tuple[str, ...]] = ("gaussian", "regression")
    starts_from: ClassVar[str | None] = "mixtures"
    of_clients: ClassVar[tuple[str, ...]] = ("weights_", "means_")
    constraints: ClassVar[Constraints] = {
        "n_components": ["integer >= 1"],
        "family": [{"gaussian", "regression"}],
        "max_rounds": ["integer >= 0"],
        "tol": ["number >= 0"],
        "init": ["array-like", "string", None],
        "density_floor": [{"zeros", "below"}, None],
    }

    weights_: FloatArray
    means_: FloatArray

    def __init__(
        self,
        n_components: int | None = None,
        family: str = "gaussian",
        max_rounds: int = 1000,
        tol: float = 1e-4,
        init: tuple[FloatArray, FloatArray] | str | None = None,
        density_floor: str | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.max_rounds = max_rounds
        self.tol = tol
        self.init = init
        self.density_floor = density_floor
        self.random_state = random_state

    def with_start(self, clients: Clients) -> Self:
        """Return a copy that starts in numbers where this estimator would start on these clients.

        Fits with other parameters then need not compute the start again.
        """
        self._check_counts(clients)
        families.get(self.family).check(clients)
        return clone(self).set_params(init=self._initial_values(clients))

    def _predict(self, clients: Clients) -> list[np.ndarray]:
        """Return each point's component with the largest responsibility: K arrays (n_k,)."""
        return [joint.argmax(axis=1) for joint in self._log_joint(clients)]

    def _log_joint(self, clients: Clients) -> list[FloatArray]:
        """Return log(w_r p_r(x)) of each client's points: K arrays of shape (n_k, R)."""
        families.get(self.family).check(clients)
        with np.errstate(divide="ignore"):  # a weight of zero is a log weight of -infinity
            log_weights = np.log(self.weights_)
        joint = []
        for k in range(len(clients)):
            responses = None if clients.responses is None else clients.responses_of(k)
            log_density = families.get(self.family).log_density(
                clients[k], responses, self.means_[k]
            )
            joint.append(log_density + log_weights[k])
        return joint

    @available_if(lambda self: self.family == "regression")
    def predict_response(
        self,
        X: ClientsLike,
        clients: Sequence[Hashable] | str | None = None,
        groups: ArrayLike | None = None,
    ) -> list[FloatArray]:
        """Return the expected response of each point: K arrays (n_k,).

        It is the mean of the components' predictions, weighted by their probabilities given the
        features. The arguments are those of ``predict``; responses are not needed.
        """
        model, data = self._model_for(X, clients, groups)
        return [
            (x @ means.T * model._shares(x, k)).sum(axis=1)
            for k, (x, means) in enumerate(zip(data, model.means_, strict=True))
        ]

    def _shares(self, x: FloatArray, k: int) -> FloatArray:
        """Return the probabilities of client k's components given features (n, d)."""
        return self.weights_[k]

    @available_if(lambda self: self.family == "gaussian")
    def _draw(self, k: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, FloatArray]:
        """Draw components and points of client k."""
        return draw_gaussian(self.weights_[k], self.means_[k], size, rng)

    def _n_parameters(self) -> int:
        """Count the means, each once if clients have it in common, and the clients' weights.

        A client without points has none of its own.
        """
        own = self.means_[self._with_points]
        means = np.unique(own.reshape(-1, self.n_features_in_), axis=0)
        return means.size + len(own) * (self.n_components - 1)

    def _start(self, clients: Clients) -> Sample:
        """Set the initial values and return the points in the kernels' layout."""
        families.get(self.family).check(clients)
        self.weights_, self.means_ = self._initial_values(clients)
        return Sample.of(clients)

    def _initial_values(self, clients: Clients) -> tuple[FloatArray, FloatArray]:
        """Return copies of the initial weights (K, R) and means (K, R, d)."""
        if self.init is None or isinstance(self.init, str):
            return aligned_initial_values(
                clients, self.n_components, self.init, self.family, seed_of(self.random_state)
            )
        try:
            weights, means = self.init
        except (TypeError, ValueError):
            raise ConfigurationError(
                f"init: expected a pair (weights, means) or a name, got {self.init!r}."
            ) from None
        shape = (len(clients), self.n_components)
        weights = as_numbers(self, "the weights of init", weights, shape)
        means = as_numbers(self, "the means of init", means, (*shape, clients.n_features))
        if (weights < 0).any() or not np.allclose(weights.sum(axis=1), 1.0, atol=1e-6):
            raise ConfigurationError(
                "init: each client's weights must be non-negative and sum to 1."
            )
        return weights, means

    def _em_rounds(self) -> Iterator[int]:
        """Yield the round numbers 1, 2, ... until ``max_rounds`` or convergence."""
        for number in self._rounds(self.max_rounds):
            before = self._state()
            yield number
            self._check_finite(self.weights_, self.means_)
            self.converged_ = self._has_settled(before)

    def _state(self) -> list[FloatArray]:
        """Return everything that the next round depends on."""
        return [self.weights_, self.means_]

    def _has_settled(self, before: list[FloatArray]) -> bool:
        tolerance = float(self.tol)
        return all(
            has_settled(b.reshape(-1), a.reshape(-1), tolerance)
            for b, a in zip(before, self._state(), strict=True)
        )

    def _check_finite(self, weights: FloatArray, means: FloatArray) -> None:
        """Raise DivergenceError if an iterate is NaN, or too large to be squared."""
        if all_within(means.reshape(-1), LARGEST) and all_within(weights.reshape(-1), LARGEST):
            return
        bad = ~((np.abs(means) <= LARGEST).all(axis=2) & (np.abs(weights) <= LARGEST))
        k, r = np.argwhere(bad)[0]
        raise DivergenceError(
            f"{type(self).__name__} diverged in round {self.n_rounds_ + 1}: client {k}, component "
            f"{r} is not finite or larger than {LARGEST:g} ({np.count_nonzero(bad)} such "
            "components in all)."
        )

    def _expectation(self, sample: Sample, for_gradient: bool = False) -> Statistics:
        """Do the E-step at the current parameters."""
        return families.get(self.family).expectation(
            sample, self.weights_, self.means_, self.density_floor, for_gradient
        )

    def _maximise(self, statistics: Statistics) -> FloatArray:
        """Do the M-step of the means, (K, R, d), starting from the current means."""
        as_published = self.density_floor is not None
        return families.get(self.family).maximise(statistics, self.means_, as_published)


class CommonComponentsMixin:
    """For methods with the same components at all clients: a new client has them too.

    Its mixing weights are the averages over the clients of ``fit`` that had points, each of which
    counts alike.
    """

    of_clients: ClassVar[tuple[str, ...]]
    _with_points: NDArray[np.bool_]

    def _new_client(self, clients: Clients) -> dict[str, FloatArray]:
        """Return the averages over clients with points of all entries in ``of_clients``."""
        return {n: getattr(self, n)[self._with_points].mean(axis=0) for n in self.of_clients}

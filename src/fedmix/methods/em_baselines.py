"""The baselines of Tian, Weng and Feng (2024): EM without federation, FedEM and TGMM."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fedmix import families
from fedmix.clients import Clients
from fedmix.families import Sample
from fedmix.methods.base import Constraints, register
from fedmix.methods.federated_mixture import CommonComponentsMixin, FederatedMixture, FloatArray


@register
class LocalEM(FederatedMixture):
    """EM on each client's own data, without any exchange.

    Parameters and attributes are those of
    :class:`fedmix.methods.federated_mixture.FederatedMixture`.

    References
    ----------
    Dempster, Laird and Rubin (1977); the baseline Local-EM of Tian, Weng and Feng (2024),
    Section 4.
    """

    def _fit(self, clients: Clients) -> None:
        """Run EM on each client."""
        sample = self._start(clients)
        for _ in self._em_rounds():
            statistics = self._expectation(sample)
            self.weights_ = statistics.mixing_weights(self.weights_)
            self.means_ = self._maximise(statistics)


@register
class LocalGradientEM(FederatedMixture):
    """Gradient EM on each client's own data, without any exchange.

    Parameters
    ----------
    step_size : float, default=0.1
        Step along the gradient of Q-hat, the same for all components. The default is the published
        code's.
    **others
        See :class:`fedmix.methods.federated_mixture.FederatedMixture`.

    References
    ----------
    Balakrishnan, Wainwright and Yu (2017); the baseline Local-GrEM of Tian, Weng and Feng (2024),
    Section 4.
    """

    constraints: ClassVar[Constraints] = {"step_size": ["number > 0"]}

    def __init__(
        self,
        n_components: int | None = None,
        family: str = "gaussian",
        step_size: float = 0.1,
        max_rounds: int = 1000,
        tol: float = 1e-4,
        init: tuple[FloatArray, FloatArray] | str | None = None,
        density_floor: str | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(n_components, family, max_rounds, tol, init, density_floor, random_state)
        self.step_size = step_size

    def _fit(self, clients: Clients) -> None:
        """Run gradient EM on each client."""
        sample = self._start(clients)
        for _ in self._em_rounds():
            statistics = self._expectation(sample, for_gradient=True)
            self.weights_ = statistics.mixing_weights(self.weights_)
            self.means_ = self.means_ + self.step_size * statistics.gradient()


class _Pooled(CommonComponentsMixin, FederatedMixture):
    """Fit one mixture to the pooled points and return it for every client."""

    def _fit(self, clients: Clients) -> None:
        """Fit one mixture to all clients' points."""
        super()._fit(clients)
        n_clients = len(clients)
        self.weights_ = np.repeat(self.weights_, n_clients, axis=0)
        self.means_ = np.repeat(self.means_, n_clients, axis=0)
        width = clients.n_features + (clients.responses is not None)
        n_parameters = self.weights_[0].size + self.means_[0].size
        n_receivers = np.count_nonzero(self._with_points)
        self._send(up=clients.n_points * width, down=n_receivers * n_parameters)

    def _n_parameters(self) -> int:
        """Count the parameters of the common mixture."""
        return self.means_[0].size + self.n_components - 1

    def _initial_values(self, clients: Clients) -> tuple[FloatArray, FloatArray]:
        """Return the given values, or those of a strategy on the pooled points for each client."""
        if self.init is None or isinstance(self.init, str):
            weights, means = super()._initial_values(clients.pooled())
            return np.repeat(weights, len(clients), axis=0), np.repeat(means, len(clients), axis=0)
        return super()._initial_values(clients)

    def _start(self, clients: Clients) -> Sample:
        super()._start(clients)
        self.weights_, self.means_ = self.weights_[:1], self.means_[:1]
        return Sample.of(clients.pooled())


@register
class PooledEM(_Pooled, LocalEM):
    """EM on the pooled points of all clients.

    Parameters are those of :class:`fedmix.methods.federated_mixture.FederatedMixture`. If ``init``
    gives values, the fit starts from the first client's. If it names a strategy, the strategy runs
    on the pooled points. ``weights_`` and ``means_`` repeat the common mixture for each client.

    References
    ----------
    The baseline Pooled-EM of Tian, Weng and Feng (2024), Section 4.
    """


@register
class PooledGradientEM(_Pooled, LocalGradientEM):
    """Gradient EM on the pooled points of all clients.

    Parameters are those of :class:`LocalGradientEM`. If ``init`` gives values, the fit starts from
    the first client's, as in the published code. If it names a strategy, the strategy runs on the
    pooled points. ``weights_`` and ``means_`` repeat the common mixture for each client.

    References
    ----------
    The baseline Pooled-GrEM of Tian, Weng and Feng (2024), Section 4.
    """


@register
class FedEM(CommonComponentsMixin, FederatedMixture):
    """Federated EM: the server averages the clients' M-steps in each round.

    Each client keeps its own mixing weights. A client without points does not count in the average
    and receives the result.

    Parameters
    ----------
    weighting : {"equal", "size"}, default="equal"
        Weights of the clients in the average: equal, as in the program of Tian, Weng and Feng, or
        their shares n_k / n of the points, as in Marfoq et al. (Algorithm 1).
    **others
        See :class:`fedmix.methods.federated_mixture.FederatedMixture`.

    References
    ----------
    Marfoq et al. (2021), as in the comparison of Tian, Weng and Feng (2024), Section 4.
    """

    constraints: ClassVar[Constraints] = {"weighting": [{"equal", "size"}]}

    def __init__(
        self,
        n_components: int | None = None,
        family: str = "gaussian",
        weighting: str = "equal",
        max_rounds: int = 1000,
        tol: float = 1e-4,
        init: tuple[FloatArray, FloatArray] | str | None = None,
        density_floor: str | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(n_components, family, max_rounds, tol, init, density_floor, random_state)
        self.weighting = weighting

    def _fit(self, clients: Clients) -> None:
        """Alternate between local EM steps and averages."""
        sample = self._start(clients)
        sizes = sample.sizes if self.weighting == "size" else sample.sizes > 0
        shares = sizes.astype(np.float64)[:, None, None]
        floats = np.count_nonzero(self._with_points) * self.means_[0].size
        for _ in self._em_rounds():
            statistics = self._expectation(sample)
            self.weights_ = statistics.mixing_weights(self.weights_)
            local = self._maximise(statistics)
            self._check_finite(self.weights_, local)
            centre = (shares * local).sum(axis=0) / shares.sum()
            self.means_ = np.repeat(centre[None], len(clients), axis=0)
            self._send(up=floats, down=floats)


@register
class TGMM(FederatedMixture):
    """Transfer learning for Gaussian mixtures, with each client in turn as the target.

    A component's mean is pulled towards the initial means of the other clients that have points.
    The weight of each is ``source_weight`` times the component's own mass:

        theta_r^(k) = (mean_r^(k) + s sum_{f != k} theta0_r^(f)) / (1 + s (K - 1)),

    where mean_r^(k) is the weighted average of the client's own points.

    Parameters
    ----------
    source_weight : float, default=0.4
        The weight s of one other client. The default is the paper's.
    **others
        See :class:`fedmix.methods.federated_mixture.FederatedMixture`. ``density_floor`` changes
        only the E-step here.

    References
    ----------
    Wang et al. (2021), as in the comparison of Tian, Weng and Feng (2024), Sections 4 and B.
    """

    families: ClassVar[tuple[str, ...]] = ("gaussian",)
    constraints: ClassVar[Constraints] = {
        "family": [{"gaussian"}],
        "source_weight": ["number >= 0"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        family: str = "gaussian",
        source_weight: float = 0.4,
        max_rounds: int = 1000,
        tol: float = 1e-4,
        init: tuple[FloatArray, FloatArray] | str | None = None,
        density_floor: str | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(n_components, family, max_rounds, tol, init, density_floor, random_state)
        self.source_weight = source_weight

    def _fit(self, clients: Clients) -> None:
        """Run EM on each client with the pull of all other clients."""
        sample = self._start(clients)
        filled = self._with_points[:, None, None]
        sources = self.means_[self._with_points].sum(axis=0) - np.where(filled, self.means_, 0.0)
        share = 1.0 + self.source_weight * (np.sum(filled) - filled)
        if self.source_weight > 0:  # without points the pull alone decides, also in the first round
            self.means_ = np.where(filled, self.means_, sources / np.sum(filled))
        for _ in self._em_rounds():
            statistics = self._expectation(sample)
            self.weights_ = statistics.mixing_weights(self.weights_)
            local = families.get(self.family).maximise(statistics, self.means_)
            self.means_ = (local + self.source_weight * sources) / share
        floats = np.count_nonzero(self._with_points) * self.means_[0].size
        self._send(up=floats, down=floats)

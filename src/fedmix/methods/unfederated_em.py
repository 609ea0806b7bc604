"""EM and gradient EM without federation: each client alone, or all points pooled."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fedmix.clients import Clients
from fedmix.families import Sample
from fedmix.methods.base import Constraints, register
from fedmix.methods.federated_mixture import (
    CommonComponentsMixin,
    FederatedMixture,
    FloatArray,
)


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
        n_parameters = self.weights_.size + self.means_.size
        self._send(up=clients.n_points * width, down=n_parameters)

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

"""Every client for itself: EM and gradient EM."""

from __future__ import annotations

from typing import ClassVar

from fedmix.clients import Clients
from fedmix.methods.base import Constraints, register
from fedmix.methods.federated_mixture import FederatedMixture, FloatArray


@register
class LocalEM(FederatedMixture):
    """EM on each client's own data; nothing is exchanged.

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
    """Gradient EM on each client's own data; nothing is exchanged.

    Parameters
    ----------
    step_size : float, default=0.1
        Step along the gradient of Q-hat, the same for all components (the value of the published
        code).
    **others
        Those of :class:`fedmix.methods.federated_mixture.FederatedMixture`.

    References
    ----------
    Balakrishnan, Wainwright and Yu (2017); the baseline Local-GrEM of Tian, Weng and Feng (2024),
    Section 4.
    """

    constraints: ClassVar[Constraints] = {"step_size": ["number > 0"]}

    def __init__(
        self,
        n_components: int,
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

"""TGMM: transfer learning for mixtures, with each client in turn as the target."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fedmix import families
from fedmix.clients import Clients
from fedmix.methods.base import Constraints, register
from fedmix.methods.federated_mixture import FederatedMixture, FloatArray


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
        for _ in self._em_rounds():
            statistics = self._expectation(sample)
            self.weights_ = statistics.mixing_weights(self.weights_)
            local = families.get(self.family).maximise(statistics, self.means_)
            self.means_ = (local + self.source_weight * sources) / share
        self._send(up=sources.size, down=sources.size)

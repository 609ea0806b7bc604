"""FedEM: full EM steps at the clients, averages at the server."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fedmix.clients import Clients
from fedmix.methods.base import Constraints, register
from fedmix.methods.federated_mixture import (
    CommonComponentsMixin,
    FederatedMixture,
    FloatArray,
)


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
        for _ in self._em_rounds():
            statistics = self._expectation(sample)
            self.weights_ = statistics.mixing_weights(self.weights_)
            local = self._maximise(statistics)
            self._check_finite(self.weights_, local)
            centre = (shares * local).sum(axis=0) / shares.sum()
            self.means_ = np.repeat(centre[None], len(clients), axis=0)
            self._send(up=self.means_.size, down=self.means_.size)

"""FedEM: full EM steps on the clients, plain averages at the server."""

from __future__ import annotations

import numpy as np

from fedmix.clients import Clients
from fedmix.methods.base import register
from fedmix.methods.federated_mixture import FederatedMixture


@register
class FedEM(FederatedMixture):
    """Federated EM: the clients' M-steps are averaged in each round.

    Mixing weights stay with the clients. The average is not weighted by sample size; a client
    without points is left out of it, and takes the result.

    Parameters and attributes are those of
    :class:`fedmix.methods.federated_mixture.FederatedMixture`.

    References
    ----------
    Marfoq et al. (2021), as compared with by Tian, Weng and Feng (2024), Section 4.
    """

    def _fit(self, clients: Clients) -> None:
        """Alternate local EM steps and averages."""
        sample = self._start(clients)
        has_points = sample.sizes > 0
        for _ in self._em_rounds():
            statistics = self._expectation(sample)
            self.weights_ = statistics.mixing_weights(self.weights_)
            local = self._maximise(statistics)
            self._check_finite(self.weights_, local)
            centre = local[has_points].mean(axis=0)
            self.means_ = np.repeat(centre[None], len(clients), axis=0)
            self._send(up=self.means_.size, down=self.means_.size)

"""Federated EM whose server takes medians."""

from __future__ import annotations

import numpy as np

from fedmix.clients import Clients
from fedmix.methods.base import register
from fedmix.methods.federated_mixture import CommonComponentsMixin, FederatedMixture


@register
class MedianEM(CommonComponentsMixin, FederatedMixture):
    """EM steps at the clients, coordinate-wise medians of their means at the server.

    Each client keeps its own mixing weights. A median depends little on a few contaminated clients.

    Parameters
    ----------
    **others
        See :class:`fedmix.methods.federated_mixture.FederatedMixture`.

    References
    ----------
    An example of fedmix's documentation.
    """

    def _fit(self, clients: Clients) -> None:
        """Alternate between local EM steps and medians."""
        sample = self._start(clients)
        has_points = sample.sizes > 0
        for _ in self._em_rounds():
            statistics = self._expectation(sample)
            self.weights_ = statistics.mixing_weights(self.weights_)
            local = self._maximise(statistics)
            self._check_finite(self.weights_, local)
            centre = np.median(local[has_points], axis=0)
            self.means_ = np.repeat(centre[None], len(clients), axis=0)
            self._send(up=self.means_.size, down=self.means_.size)

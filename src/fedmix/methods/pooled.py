"""All data in one place: EM and gradient EM on the pooled points."""

from __future__ import annotations

import numpy as np

from fedmix.clients import Clients
from fedmix.families import Sample
from fedmix.methods.base import register
from fedmix.methods.federated_mixture import FederatedMixture
from fedmix.methods.local_em import LocalEM, LocalGradientEM


class _Pooled(FederatedMixture):
    """Replace the clients by their pool at the start, and give all of them its result."""

    def _fit(self, clients: Clients) -> None:
        """Fit one mixture to all clients' points."""
        super()._fit(clients)
        n_clients = len(clients)
        self.weights_ = np.repeat(self.weights_, n_clients, axis=0)
        self.means_ = np.repeat(self.means_, n_clients, axis=0)
        width = clients.n_features + (clients.responses is not None)
        n_parameters = self.weights_.size + self.means_.size
        self._send(up=clients.n_points * width, down=n_parameters)

    def _start(self, clients: Clients) -> Sample:
        if self.init is None or isinstance(self.init, str):
            return super()._start(clients.pooled())
        super()._start(clients)
        self.weights_, self.means_ = self.weights_[:1], self.means_[:1]
        return Sample.of(clients.pooled())


@register
class PooledEM(_Pooled, LocalEM):
    """EM on the points of all clients together.

    Parameters are those of :class:`fedmix.methods.federated_mixture.FederatedMixture`. Given
    initial values start it at the first client's; a named strategy runs on the pooled points.
    ``weights_`` and ``means_`` repeat the one mixture for each client.

    References
    ----------
    The baseline Pooled-EM of Tian, Weng and Feng (2024), Section 4.
    """


@register
class PooledGradientEM(_Pooled, LocalGradientEM):
    """Gradient EM on the points of all clients together.

    Parameters are those of :class:`fedmix.methods.local_em.LocalGradientEM`. Given initial values
    start it at the first client's, as the published code does; a named strategy runs on the pooled
    points. ``weights_`` and ``means_`` repeat the one mixture for each client.

    References
    ----------
    The baseline Pooled-GrEM of Tian, Weng and Feng (2024), Section 4.
    """

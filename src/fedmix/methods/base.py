"""What every federated estimator shares."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from fedmix.clients import Clients

REGISTRY: dict[str, type[FederatedEstimator]] = {}


def register(cls: type[FederatedEstimator]) -> type[FederatedEstimator]:
    """Class decorator that makes a method known under its class name."""
    REGISTRY[cls.__name__] = cls
    return cls


class FederatedEstimator(BaseEstimator):
    """Base of all methods: ``fit(clients)`` learns, ``predict(clients)`` labels.

    Subclasses store the constructor's parameters untouched and learn attributes with a trailing
    underscore; all set ``n_rounds_``, ``converged_`` and ``communication_``.

    Attributes
    ----------
    n_rounds_ : int
        Communication rounds done.
    converged_ : bool
        Whether the stopping tolerance was met before ``max_rounds``.
    communication_ : dict
        Floats sent by all clients together, ``{"up": int, "down": int}``.
    """

    #: Families of data that the method takes.
    families: ClassVar[tuple[str, ...]] = ("gaussian",)
    #: "sample": each point has a component; "client": each client belongs to one cluster.
    level: ClassVar[str] = "sample"
    #: What must be known: "n_components", "components_per_client", "n_clusters" or the true
    #: "models"; empty where a method needs nothing.
    needs: ClassVar[tuple[str, ...]] = ("n_components",)
    #: Whether the method takes the shared initial values ``init=(weights, means)``.
    takes_initial_values: ClassVar[bool] = False

    n_rounds_: int
    converged_: bool
    communication_: dict[str, int]

    def fit(self, clients: Clients) -> FederatedEstimator:
        """Learn from the clients' data and return the estimator itself."""
        raise NotImplementedError

    def predict(self, clients: Clients) -> list[np.ndarray]:
        """Return one integer label a point: a list of K arrays of shape (n_k,)."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_rounds_")

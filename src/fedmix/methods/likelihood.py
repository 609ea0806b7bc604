"""Likelihoods of fitted mixtures: scores, probabilities, information criteria and samples."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fedmix.clients import Clients, ClientsLike
from fedmix.errors import DataError
from fedmix.families import log_sum, probabilities
from fedmix.fitted import owners_of
from fedmix.methods.base import FloatArray, IntArray
from fedmix.streams import generator_of

#: ``clients=`` of ``predict`` and the like.
Wanted = Sequence[Hashable] | str | None


def _implements(name: str) -> Any:
    """Return a check for ``available_if``: whether an estimator has the method ``name``."""
    return lambda estimator: getattr(estimator, name, None) is not None


class LikelihoodMixin:
    """Likelihoods of a fitted mixture, for methods that implement :meth:`_log_joint`.

    All functions take the clients as ``predict`` does. A method with ``_n_parameters`` also has
    information criteria, and one with ``_draw`` samples.
    """

    _n_parameters: Callable[[], int]
    _draw: Callable[[int, int, np.random.Generator], tuple[IntArray, FloatArray]]

    def score_samples(
        self, X: ClientsLike, clients: Wanted = None, groups: ArrayLike | None = None
    ) -> list[FloatArray]:
        """Return each point's log-likelihood under its client's mixture: K arrays (n_k,)."""
        return [log_sum(joint) for joint in self._joint_of(X, clients, groups)]

    def score(
        self, X: ClientsLike, clients: Wanted = None, groups: ArrayLike | None = None
    ) -> float:
        """Return the mean log-likelihood per point, each under its client's mixture."""
        return float(np.concatenate(self.score_samples(X, clients, groups)).mean())

    def predict_proba(
        self, X: ClientsLike, clients: Wanted = None, groups: ArrayLike | None = None
    ) -> list[FloatArray]:
        """Return each point's probability of each component: K arrays (n_k, R_k)."""
        return [probabilities(joint) for joint in self._joint_of(X, clients, groups)]

    @available_if(_implements("_n_parameters"))
    def bic(self, X: ClientsLike, clients: Wanted = None, groups: ArrayLike | None = None) -> float:
        """Return the Bayesian information criterion on the data; lower is better.

        It is ``p log(n) - 2 log L`` for n points in all. The number p counts the parameters of the
        mixtures of these clients, and a value that they have in common once. Penalised pooling,
        which gives clients the same mean, thus reduces p.
        """
        values, n_parameters = self._likelihoods_and_size(X, clients, groups)
        return float(n_parameters * np.log(len(values)) - 2 * values.sum())

    @available_if(_implements("_n_parameters"))
    def aic(self, X: ClientsLike, clients: Wanted = None, groups: ArrayLike | None = None) -> float:
        """Return Akaike's information criterion ``2 p - 2 log L``, see :meth:`bic`."""
        values, n_parameters = self._likelihoods_and_size(X, clients, groups)
        return float(2 * n_parameters - 2 * values.sum())

    @available_if(_implements("_draw"))
    def sample(
        self,
        n_samples: int | Sequence[int] = 1,
        clients: Sequence[Hashable] | None = None,
        random_state: Any = None,
    ) -> tuple[Clients, list[IntArray]]:
        """Draw points from the clients' mixtures.

        Parameters
        ----------
        n_samples : int or sequence of K ints, default=1
            Number of points of each client.
        clients : sequence of K names, optional
            Clients of the fit; all of them by default.
        random_state : int, Generator or None, default=None
            Seed of the points.

        Returns
        -------
        clients : Clients
            The points, with the names of the clients if those of the fit had names. Without
            names, give ``clients`` to later calls such as ``score`` again. ``FedGMM`` also draws
            responses.
        labels : list of K int arrays of shape (n_k,)
            The component of each point.
        """
        check_is_fitted(self)  # type: ignore[call-overload]
        names = self.client_names_ if clients is None else list(clients)  # type: ignore[attr-defined]
        given = np.asarray(n_samples)
        whole = given.dtype.kind in "iu" and given.shape in ((), (len(names),))
        if not whole or given.min(initial=0) < 0 or given.max(initial=0) == 0:
            raise DataError(
                f"sample: expected n_samples to be one integer >= 1, or one integer >= 0 for each "
                f"of {len(names)} clients; got {n_samples!r}."
            )
        sizes = np.broadcast_to(given, len(names))
        shape = (len(names), self.n_features_in_)  # type: ignore[attr-defined]
        asked = Clients(np.zeros(shape), np.arange(len(names) + 1))
        rng, drawn, labels, responses = generator_of(random_state), [], [], []
        for k, size in zip(owners_of(self, asked, names), sizes, strict=True):
            own, points = self._draw(int(k), int(size), rng)
            labels.append(own)
            drawn.append(points)
            responses.append(self._draw_responses(int(k), own, points, rng))
        columns = getattr(self, "feature_names_in_", None)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        together = None if responses[0] is None else np.concatenate(responses)
        named = names if self._clients_have_names else None  # type: ignore[attr-defined]
        return Clients(np.concatenate(drawn), offsets, together, named, columns), labels

    def _draw_responses(
        self, k: int, labels: IntArray, points: FloatArray, rng: np.random.Generator
    ) -> FloatArray | None:
        """Draw the responses (n,) of client k's points; None if the mixture has none."""
        return None

    def _likelihoods_and_size(
        self, X: ClientsLike, clients: Wanted, groups: ArrayLike | None
    ) -> tuple[FloatArray, int]:
        """Return the points' log-likelihoods (n,) and the number of their mixtures' parameters."""
        model, data = self._model_for(X, clients, groups)  # type: ignore[attr-defined]
        values = np.concatenate([log_sum(joint) for joint in model._log_joint(data)])
        return values, model._n_parameters()

    def _joint_of(
        self, X: ClientsLike, clients: Wanted, groups: ArrayLike | None
    ) -> list[FloatArray]:
        model, data = self._model_for(X, clients, groups)  # type: ignore[attr-defined]
        return model._log_joint(data)

    def _log_joint(self, clients: Clients) -> list[FloatArray]:
        """Return log(w_r p_r(x)) of each client's points: K arrays of shape (n_k, R_k)."""
        raise NotImplementedError


def draw_gaussian(
    weights: FloatArray, means: FloatArray, size: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Draw components (n,) and points (n, d) of a mixture with identity covariances."""
    labels = rng.choice(len(weights), size=size, p=weights / weights.sum())
    return labels, means[labels] + rng.standard_normal((size, means.shape[1]))

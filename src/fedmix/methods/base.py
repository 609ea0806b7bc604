"""What every federated estimator shares."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, SupportsInt

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fedmix.clients import Clients, ClientsLike, as_clients
from fedmix.errors import ConfigurationError, DataError
from fedmix.methods.constraints import Alternative, check_parameters

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Constraints = Mapping[str, Sequence[Alternative]]

#: Parameters that ask for a number of components or clusters.
_NUMBERS_ASKED_FOR = ("n_components", "n_clusters", "components_per_client")


def register(cls: type[FederatedEstimator]) -> type[FederatedEstimator]:
    """Class decorator that makes a method known: :func:`fedmix.methods.index` looks for it.

    Raises
    ------
    ConfigurationError
        If ``constraints`` and the constructor do not name the same parameters.
    """
    arguments, declared = set(inspect.signature(cls).parameters), set(all_constraints(cls))
    if arguments != declared:
        raise ConfigurationError(
            f"{cls.__name__}: its constraints and its constructor differ in "
            f"{', '.join(sorted(arguments ^ declared))}: each parameter needs a constraint."
        )
    return cls


def all_constraints(cls: type[FederatedEstimator]) -> Constraints:
    """Return what a method's parameters may be: its constraints and those that it inherits."""
    found: dict[str, Sequence[Alternative]] = {}
    taken = inspect.signature(cls).parameters
    for ancestor in reversed(cls.__mro__):
        found |= vars(ancestor).get("constraints", {})
    return {name: alternatives for name, alternatives in found.items() if name in taken}


def check_same_features(
    estimator: FederatedEstimator, clients: Clients, n_features: int, n_clients: int | None = None
) -> None:
    """Raise DataError unless clients have the features of those in ``fit``.

    Parameters
    ----------
    estimator : FederatedEstimator
        The fitted method.
    clients : Clients
        To predict for.
    n_features : int
        Features in the fit.
    n_clients : int, optional
        Clients in the fit, of a method that fits each client a model of its own.
    """
    name = type(estimator).__name__
    if clients.n_features != n_features:
        raise DataError(f"{name} was fitted to {n_features} features; got {clients!r}.")
    if n_clients is not None and len(clients) != n_clients:
        raise DataError(
            f"{name} was fitted to {n_clients} clients; got {clients!r}. Give the same clients in "
            "the same order."
        )


class FederatedEstimator(BaseEstimator):
    """Base of all methods: ``fit(clients)`` learns, ``predict(clients)`` labels.

    ``fit``, ``predict`` and ``fit_predict`` take :class:`fedmix.Clients`, a list of K arrays or
    data frames of shape (n_k, d), or a tuple (X, groups); see :func:`fedmix.clients.as_clients`.

    Subclasses store the constructor's parameters untouched, say in ``constraints`` what these may
    be, and implement :meth:`_fit` and :meth:`_predict`.

    Attributes
    ----------
    labels_ : list of K int arrays of shape (n_k,)
        The label of each training point, as ``predict`` gives it. A method that labels clients has
        an array of shape (K,).
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
    #: Parameters that must be told: "n_components", "components_per_client", "n_clusters" or the
    #: true "models"; empty where a method needs nothing.
    needs: ClassVar[tuple[str, ...]] = ("n_components",)
    #: Which start that the methods share ``init`` takes: "mixtures" (weights, means), "means" (an
    #: array (K_g, d) a client), "models" (k, d), one "model" (d,), or None where a method has its
    #: own.
    starts_from: ClassVar[str | None] = None
    #: Parameters to be chosen for the data at hand, because the labels depend on them -> how
    #: :func:`fedmix.selection.choose` does it: its ``criterion`` and other arguments.
    tunes: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    #: What each parameter may be; see :mod:`fedmix.methods.constraints`.
    constraints: ClassVar[Constraints] = {"random_state": ["random_state"]}

    labels_: list[IntArray] | IntArray
    n_rounds_: int
    converged_: bool
    communication_: dict[str, int]

    def fit(self, clients: ClientsLike) -> FederatedEstimator:
        """Learn from the clients' data.

        Parameters
        ----------
        clients : Clients, list of K arrays or data frames of shape (n_k, d), or (X, groups)
            Responses, for regression, need :class:`fedmix.Clients`.

        Returns
        -------
        self

        Raises
        ------
        ConfigurationError
            If a parameter is not what ``constraints`` allow, or does not fit the data.
        InputTypeError
            If the data are of another kind; a TypeError.
        DataError
            If the data are not finite numbers, or there are fewer points (for methods that label
            clients: clients with points) than components asked for.
        DivergenceError
            If an iterate leaves the finite numbers.

        Warns
        -----
        ConvergenceWarning
            If a fit with a tolerance ended after ``max_rounds`` without meeting it.
        """
        self.check_parameters()
        clients = as_clients(clients)
        self._check_numbers(clients)
        self._forget()
        self.n_rounds_, self.converged_ = 0, False
        self.communication_ = {"up": 0, "down": 0}
        self._fit(clients)
        if self.level == "sample":
            self.labels_ = self._predict(clients)
        return self

    def predict(self, clients: ClientsLike) -> list[IntArray]:
        """Return one integer label a point: a list of K arrays of shape (n_k,)."""
        check_is_fitted(self)
        return self._predict(as_clients(clients))

    def fit_predict(self, clients: ClientsLike) -> list[IntArray]:
        """Fit, then label the same points: a list of K arrays of shape (n_k,)."""
        clients = as_clients(clients)
        return self.fit(clients).predict(clients)

    def check_parameters(self) -> None:
        """Raise ConfigurationError unless all parameters are what ``constraints`` allow."""
        check_parameters(type(self).__name__, self.get_params(), all_constraints(type(self)))

    @classmethod
    def open_choices(cls, given: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """Return what of ``tunes`` is left to choose where some parameters are given."""
        return {name: how for name, how in cls.tunes.items() if name not in given}

    def candidates(self, name: str, clients: Clients) -> list[float]:
        """Return values of a parameter in ``tunes`` to try on such data, first what pools least.

        A method has them where they follow from the data; others are given by who tunes it.
        """
        raise ConfigurationError(
            f"{type(self).__name__} has no candidates of its own for {name}: give them."
        )

    def _fit(self, clients: Clients) -> None:
        """Learn attributes with a trailing underscore; a client-level method ``labels_`` too."""
        raise NotImplementedError

    def _predict(self, clients: Clients) -> list[IntArray]:
        """Label each point by what was learned."""
        raise NotImplementedError

    def _rounds(self, most: int, done: int = 0) -> Iterator[int]:
        """Yield the numbers of the rounds after ``done`` until one sets ``converged_``.

        Parameters
        ----------
        most : int
            Rounds at most.
        done : int, default=0
            Rounds of an earlier phase.
        """
        self.n_rounds_ = done
        for number in range(done + 1, done + most + 1):
            yield number
            self.n_rounds_ = number
            if self.converged_:
                return
        if most > 0 and getattr(self, "tol", 0) > 0:
            self._warn_of_no_convergence(f"{most} rounds")

    def _send(self, up: SupportsInt = 0, down: SupportsInt = 0) -> None:
        """Count floats that the clients sent to, and got from, the server."""
        self.communication_["up"] += int(up)
        self.communication_["down"] += int(down)

    def _warn_of_no_convergence(self, spent: str) -> None:
        warnings.warn(
            f"{type(self).__name__} did not meet its tolerance within {spent}: allow more.",
            ConvergenceWarning,
            stacklevel=2,
        )

    def _check_numbers(self, clients: Clients) -> None:
        """Raise DataError where more components are asked for than there is anything to label."""
        points = self.level == "sample"
        there = clients.n_points if points else np.count_nonzero(clients.sizes)
        for name in _NUMBERS_ASKED_FOR:
            asked = getattr(self, name, None)
            most = 0 if asked is None else int(np.max(asked, initial=0))
            if most > there:
                what = "points" if points else "clients with points"
                raise DataError(
                    f"{type(self).__name__}: {name} asks for {most}, more than the {there} {what} "
                    f"of {clients!r}. Ask for fewer."
                )

    def _forget(self) -> None:
        """Drop what an earlier fit has learned."""
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")


class LikelihoodMixin:
    """Likelihoods under a fitted mixture, for methods that implement :meth:`_score_samples`."""

    def score_samples(self, clients: ClientsLike) -> list[FloatArray]:
        """Return each point's log-likelihood under its client's mixture: K arrays (n_k,).

        The clients are those of the fit, in the same order, with other points or the same.
        """
        check_is_fitted(self)
        return self._score_samples(as_clients(clients))

    def score(self, clients: ClientsLike) -> float:
        """Return the mean log-likelihood a point under each client's mixture."""
        return float(np.concatenate(self.score_samples(clients)).mean())

    def _score_samples(self, clients: Clients) -> list[FloatArray]:
        raise NotImplementedError

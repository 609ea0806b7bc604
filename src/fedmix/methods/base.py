"""The base class of all federated estimators."""

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

#: Parameters that set a number of components or clusters.
_COUNTS = ("n_components", "n_clusters", "components_per_client")


def register(cls: type[FederatedEstimator]) -> type[FederatedEstimator]:
    """Class decorator that registers a method; :func:`fedmix.methods.index` looks for it.

    Parameters
    ----------
    cls : type
        The method's class.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    ConfigurationError
        If ``constraints`` and the constructor do not name the same parameters.
    """
    arguments, declared = set(inspect.signature(cls).parameters), set(all_constraints(cls))
    if arguments != declared:
        raise ConfigurationError(
            f"{cls.__name__}: its constraints and its constructor differ in "
            f"{', '.join(sorted(arguments ^ declared))}. Each parameter needs a constraint."
        )
    return cls


def all_constraints(cls: type[FederatedEstimator]) -> Constraints:
    """Return the valid values of a method's parameters: its own and inherited constraints."""
    found: dict[str, Sequence[Alternative]] = {}
    taken = inspect.signature(cls).parameters
    for ancestor in reversed(cls.__mro__):
        found |= vars(ancestor).get("constraints", {})
    return {name: alternatives for name, alternatives in found.items() if name in taken}


def check_same_features(
    estimator: FederatedEstimator, clients: Clients, n_features: int, n_clients: int | None = None
) -> None:
    """Raise DataError unless the clients match those of ``fit``.

    Parameters
    ----------
    estimator : FederatedEstimator
        The fitted method.
    clients : Clients
        The clients to predict for.
    n_features : int
        Number of features in ``fit``.
    n_clients : int, optional
        Number of clients in ``fit``, for a method that fits a separate model to each client.
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
    """Base of all methods: ``fit(clients)`` learns a model, ``predict(clients)`` returns labels.

    ``fit``, ``predict`` and ``fit_predict`` take :class:`fedmix.Clients`, a list of K arrays or
    data frames of shape (n_k, d), or a tuple (X, groups); see :func:`fedmix.clients.as_clients`.

    A subclass stores the constructor's parameters unchanged, declares their valid values in
    ``constraints``, and implements :meth:`_fit` and :meth:`_predict`.

    Attributes
    ----------
    labels_ : list of K int arrays of shape (n_k,)
        The label of each training point, as ``predict`` returns it. For a method that labels
        clients, an array of shape (K,).
    n_rounds_ : int
        Number of communication rounds.
    converged_ : bool
        Whether the tolerance was reached within ``max_rounds``.
    communication_ : dict
        ``{"up": int, "down": int}``: the number of floats that all clients together sent to the
        server and received from it.
    """

    #: Families of data that the method takes.
    families: ClassVar[tuple[str, ...]] = ("gaussian",)
    #: "sample" if each point has a component, "client" if each client belongs to one cluster.
    level: ClassVar[str] = "sample"
    #: Parameters that must be given: "n_components", "components_per_client", "n_clusters" or the
    #: true "models". Empty if the method needs none.
    needs: ClassVar[tuple[str, ...]] = ("n_components",)
    #: The shared initial values that ``init`` takes: "mixtures" (weights, means), "means" (one
    #: array (K_g, d) per client), "models" (k, d), or one "model" (d,). None if the method has its
    #: own start.
    starts_from: ClassVar[str | None] = None
    #: Parameters that should be chosen for the data, because the labels depend on them. The value
    #: holds the arguments for :func:`fedmix.selection.choose`, such as its ``criterion``.
    tunes: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    #: The valid values of each parameter; see :mod:`fedmix.methods.constraints`.
    constraints: ClassVar[Constraints] = {"random_state": ["random_state"]}

    labels_: list[IntArray] | IntArray
    n_rounds_: int
    converged_: bool
    communication_: dict[str, int]

    def fit(self, clients: ClientsLike) -> FederatedEstimator:
        """Fit the model to the clients' data.

        Parameters
        ----------
        clients : Clients, list of K arrays or data frames of shape (n_k, d), or (X, groups)
            The training data. Responses, for regression, can only be given in
            :class:`fedmix.Clients`.

        Returns
        -------
        self

        Raises
        ------
        ConfigurationError
            If a parameter's value is not valid, or does not fit the data.
        InputTypeError
            If the data have another form. It is a TypeError.
        DataError
            If the data are not finite numbers, or if there are fewer points than components. For
            methods that label clients: fewer clients with points than clusters.
        DivergenceError
            If an iterate is no longer finite.

        Warns
        -----
        ConvergenceWarning
            If ``max_rounds`` ended a fit with a positive tolerance before it was reached.
        """
        self.check_parameters()
        clients = as_clients(clients)
        self._check_counts(clients)
        self._reset()
        self.n_rounds_, self.converged_ = 0, False
        self.communication_ = {"up": 0, "down": 0}
        self._fit(clients)
        if self.level == "sample":
            self.labels_ = self._predict(clients)
        return self

    def predict(self, clients: ClientsLike) -> list[IntArray]:
        """Return an integer label for each point.

        Parameters
        ----------
        clients : Clients, list of K arrays or data frames of shape (n_k, d), or (X, groups)
            The points to label, with the features of ``fit``.

        Returns
        -------
        list of K int arrays of shape (n_k,)

        Raises
        ------
        DataError
            If the clients do not match those of ``fit``.
        """
        check_is_fitted(self)
        return self._predict(as_clients(clients))

    def fit_predict(self, clients: ClientsLike) -> list[IntArray]:
        """Fit the model and label the same points: a list of K arrays of shape (n_k,)."""
        clients = as_clients(clients)
        return self.fit(clients).predict(clients)

    def check_parameters(self) -> None:
        """Raise ConfigurationError unless all parameters satisfy ``constraints``."""
        check_parameters(type(self).__name__, self.get_params(), all_constraints(type(self)))

    @classmethod
    def open_choices(cls, given: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """Return the part of ``tunes`` that is left to choose if some parameters are given."""
        return {name: how for name, how in cls.tunes.items() if name not in given}

    def candidates(self, name: str, clients: Clients) -> list[float]:
        """Return values to try of a parameter in ``tunes``, first the one that pools least.

        A method implements this if the values follow from the data. For other parameters the
        caller has to give them.
        """
        raise ConfigurationError(
            f"{type(self).__name__} has no default candidates for {name}. Give them."
        )

    def _fit(self, clients: Clients) -> None:
        """Set the fitted attributes; a method that labels clients also sets ``labels_``."""
        raise NotImplementedError

    def _predict(self, clients: Clients) -> list[IntArray]:
        """Label each point by the fitted model."""
        raise NotImplementedError

    def _rounds(self, most: int, done: int = 0) -> Iterator[int]:
        """Yield the numbers of the rounds after ``done`` until one sets ``converged_``.

        Parameters
        ----------
        most : int
            Maximum number of rounds.
        done : int, default=0
            Number of rounds of an earlier phase.
        """
        self.n_rounds_ = done
        for number in range(done + 1, done + most + 1):
            yield number
            self.n_rounds_ = number
            if self.converged_:
                return
        if most > 0 and (getattr(self, "tol", None) or 0) > 0:
            self._warn_of_no_convergence(f"{most} rounds")

    def _send(self, up: SupportsInt = 0, down: SupportsInt = 0) -> None:
        """Count floats that the clients sent to the server and received from it."""
        self.communication_["up"] += int(up)
        self.communication_["down"] += int(down)

    def _warn_of_no_convergence(self, spent: str) -> None:
        warnings.warn(
            f"{type(self).__name__} did not reach its tolerance within {spent}. Allow more.",
            ConvergenceWarning,
            stacklevel=2,
        )

    def _check_counts(self, clients: Clients) -> None:
        """Raise DataError if there are more components than points (or clients) to label."""
        points = self.level == "sample"
        available = clients.n_points if points else np.count_nonzero(clients.sizes)
        for name in _COUNTS:
            value = getattr(self, name, None)
            most = 0 if value is None else int(np.max(value, initial=0))
            if most > available:
                what = "points" if points else "clients with points"
                raise DataError(
                    f"{type(self).__name__}: {name} asks for {most}, more than the {available} "
                    f"{what} of {clients!r}. Ask for fewer."
                )

    def _reset(self) -> None:
        """Delete the attributes of an earlier fit."""
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")


class LikelihoodMixin:
    """Likelihoods of a fitted mixture, for methods that implement :meth:`_score_samples`."""

    def score_samples(self, clients: ClientsLike) -> list[FloatArray]:
        """Return each point's log-likelihood under its client's mixture: K arrays (n_k,).

        The clients must be those of ``fit``, in the same order. Their points can be new.
        """
        check_is_fitted(self)
        return self._score_samples(as_clients(clients))

    def score(self, clients: ClientsLike) -> float:
        """Return the mean log-likelihood per point, each under its client's mixture."""
        return float(np.concatenate(self.score_samples(clients)).mean())

    def _score_samples(self, clients: Clients) -> list[FloatArray]:
        raise NotImplementedError

"""The base class of all federated estimators."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsInt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fedmix.clients import Clients, ClientsLike, as_clients
from fedmix.errors import ConfigurationError, DataError
from fedmix.fitted import check_features, owners_of, remember
from fedmix.methods.capabilities import define
from fedmix.methods.constraints import (
    Constraints,
    all_constraints,
    check_parameters,
    constraint_problems,
)
from fedmix.methods.contract import check_labels, unfinished

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Parameters that set a number of components or clusters.
_COUNTS = ("n_components", "n_clusters", "components_per_client")


def register(cls: type[FederatedEstimator]) -> type[FederatedEstimator]:
    """Class decorator that registers a method, in a file or in a notebook.

    :func:`fedmix.methods.index` finds it in the text of a file of methods. A class anywhere else,
    such as in a notebook, is registered when this runs.

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
        If it is not a subclass of :class:`FederatedEstimator` with its own ``_fit`` and
        ``_predict``, if ``constraints`` and the constructor do not name the same parameters, or if
        a constraint is not understood or does not allow the parameter's default.
    """
    if not (isinstance(cls, type) and issubclass(cls, FederatedEstimator)):
        name = getattr(cls, "__name__", repr(cls))
        raise ConfigurationError(
            f"{name} is no method: expected a class that inherits FederatedEstimator. Write "
            f"class {name}(FederatedEstimator)."
        )
    arguments, declared = set(inspect.signature(cls).parameters), set(all_constraints(cls))
    if arguments != declared:
        raise ConfigurationError(
            f"{cls.__name__}: its constraints and its constructor differ in "
            f"{', '.join(sorted(arguments ^ declared))}. Each parameter needs a constraint."
        )
    if wrong := [*unfinished(cls, FederatedEstimator), *constraint_problems(cls)]:
        raise ConfigurationError(" ".join(wrong), wrong)
    define(cls)
    return cls


class FederatedEstimator(BaseEstimator):
    """Base of all methods: ``fit(clients)`` learns a model, ``predict(clients)`` returns labels.

    ``fit``, ``predict`` and ``fit_predict`` take :class:`fedmix.Clients`, a list of K arrays or
    data frames of shape (n_k, d), a mapping of names to them, or one array X of shape (n, d) with
    ``groups``, the client of each point; see :func:`fedmix.clients.as_clients`.

    A subclass stores the constructor's parameters unchanged, declares their valid values in
    ``constraints``, and implements :meth:`_fit` and :meth:`_predict`. If clients have models of
    their own, ``of_clients`` names the attributes that hold one entry per client. :meth:`_predict`
    is then called on a model with the entries of the clients that it gets.

    Attributes
    ----------
    n_features_in_ : int
        Number of features d.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if ``fit`` got data frames.
    client_names_ : list of K names
        Names of the clients; their positions if they have none.
    labels_ : list of K int arrays of shape (n_k,)
        The label of each training point, as ``predict`` returns it. For a method that labels
        clients, an array of shape (K,).
    n_rounds_ : int
        Number of rounds. For a method without exchange these are its own iterations. A single
        exchange before or after the rounds does not count.
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
    #: The attributes of a fit with one entry per client, if ``predict`` depends on them.
    of_clients: ClassVar[tuple[str, ...]] = ()

    n_features_in_: int
    client_names_: list[Hashable]
    _with_points: NDArray[np.bool_]
    labels_: list[IntArray] | IntArray
    n_rounds_: int
    converged_: bool
    communication_: dict[str, int]

    def fit(
        self, X: ClientsLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit the model to the clients' data.

        Parameters
        ----------
        X : Clients, list or mapping of K arrays or data frames of shape (n_k, d), or (X, groups)
            The training data. With ``groups``, one array or data frame of shape (n, d).
        y : list or mapping of K arrays of shape (n_k,), or array of shape (n,), optional
            The responses, for regression. ``Clients`` have their own.
        groups : array of shape (n,), optional
            The client of each point.

        Returns
        -------
        self

        Raises
        ------
        ConfigurationError
            If a parameter is missing, or its value is not valid or does not fit the data.
        InputTypeError
            If the data have another form. It is a TypeError.
        DataError
            If the data are not finite numbers, or if there are fewer points than components. For
            methods that label clients: fewer clients with points than clusters. Also if a method
            does not give each point one integer label.
        DivergenceError
            If an iterate is no longer finite.

        Warns
        -----
        ConvergenceWarning
            If ``max_rounds`` ended a fit with a positive tolerance before it was reached.
        """
        self.check_parameters()
        clients = as_clients(X, y, groups)
        self._check_counts(clients)
        self._reset()
        remember(self, clients)
        self._rows = clients.rows
        self.n_rounds_, self.converged_ = 0, False
        self.communication_ = {"up": 0, "down": 0}
        self._fit(clients)
        if self.level == "sample":
            self.labels_ = self._predict(clients)
        check_labels(self, clients)
        return self

    def predict(
        self,
        X: ClientsLike,
        clients: Sequence[Hashable] | str | None = None,
        groups: ArrayLike | None = None,
    ) -> list[IntArray]:
        """Return an integer label for each point.

        Parameters
        ----------
        X : Clients, list or mapping of K arrays or data frames of shape (n_k, d), or (X, groups)
            The points to label, with the features of ``fit``.
        clients : sequence of K names or "new", optional
            Which clients of ``fit`` these are (their positions, if they had no names), or "new" if
            they were not in ``fit``. By default clients with names are found by name. As many
            clients without names as in ``fit`` are the same in the same order. Others are new.
        groups : array of shape (n,), optional
            The client of each point, if X is one array.

        Returns
        -------
        list of K int arrays of shape (n_k,)

        Raises
        ------
        DataError
            If the features or clients do not match those of ``fit``. New clients can only be
            labelled if the method's clusters are the same at all clients.
        """
        model, data = self._model_for(X, clients, groups)
        return model._predict(data)

    def fit_predict(
        self, X: ClientsLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> list[IntArray]:
        """Fit the model and label the same points: a list of K arrays of shape (n_k,)."""
        data = as_clients(X, y, groups)
        return self.fit(data).predict(data)

    def labels_frame(
        self,
        X: ClientsLike | None = None,
        clients: Sequence[Hashable] | str | None = None,
        groups: ArrayLike | None = None,
    ) -> pd.DataFrame:
        """Return the labels as a data frame with the columns ``client`` and ``label``.

        Parameters
        ----------
        X, clients, groups
            As in :meth:`predict`. By default the training data.

        Returns
        -------
        DataFrame
            One row per point. If the points came from one data frame or array, in the order of
            its rows, otherwise client after client. For the training data of a method that labels
            clients: one row per client.
        """
        import pandas as pd

        if X is None:
            check_is_fitted(self)
            if self.level == "client":
                return pd.DataFrame({"client": self.client_names_, "label": self.labels_})
            names, labels, rows = list(self.client_names_), self.labels_, self._rows
        else:
            data = as_clients(X, groups=groups)
            labels, rows = self.predict(data, clients), data.rows
            names = list(data.names)
            if clients is not None and not isinstance(clients, str):
                names = list(clients)
        owners = np.repeat(np.arange(len(names)), [len(own) for own in labels])
        frame = pd.DataFrame(
            {"client": [names[k] for k in owners], "label": np.concatenate(labels)}, index=rows
        )
        return frame if rows is None else frame.sort_index(kind="stable")

    def check_parameters(self) -> None:
        """Raise ConfigurationError unless all parameters satisfy ``constraints``."""
        name, constraints = type(self).__name__, all_constraints(type(self))
        for needed in self.needs:
            if getattr(self, needed) is None and None not in constraints[needed]:
                raise ConfigurationError(f"{name} needs {needed}. Give it: {name}({needed}=...).")
        check_parameters(name, self.get_params(), constraints)

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

    def _model_for(
        self,
        X: ClientsLike,
        clients: Sequence[Hashable] | str | None = None,
        groups: ArrayLike | None = None,
    ) -> tuple[Self, Clients]:
        """Return a model of exactly the given clients, and their data, for :meth:`_predict`."""
        check_is_fitted(self)
        data = as_clients(X, groups=groups)
        check_features(self, data)
        owners = owners_of(self, data, clients)
        if not self.of_clients or np.array_equal(owners, np.arange(len(self.client_names_))):
            return self, data
        new = self._new_client(data) if np.any(owners < 0) else {}
        model = copy(self)
        for name in self.of_clients:
            values = getattr(self, name)
            own = [new[name] if k < 0 else values[k] for k in owners]
            setattr(model, name, np.array(own) if isinstance(values, np.ndarray) else own)
        model._with_points = np.array([k < 0 or self._with_points[k] for k in owners])
        return model, data

    def _new_client(self, clients: Clients) -> dict[str, Any]:
        """Return the entries in ``of_clients`` of a client that was not in the fit.

        By default a DataError says that the method has no model for new clients.
        """
        raise DataError(
            f"{type(self).__name__} was fitted to {len(self.client_names_)} clients, each with its "
            f"own model; got {clients!r}. Give the same clients in the same order, or say which "
            f"they are: predict(X, clients=[names]), with names among {_few(self.client_names_)}. "
            "Refit to have a model of a new client."
        )

    def _rounds(self, most: int, done: int = 0) -> Iterator[int]:
        """Yield the rounds after ``done``, at most ``most``, until one sets ``converged_``."""
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
            most = 0 if value is None else int(np.max(np.asarray(value), initial=0))
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


def _few(names: Sequence[Hashable], most: int = 10) -> str:
    """Return the first names as text."""
    text = ", ".join(map(str, names[:most]))
    return text if len(names) <= most else f"{text}, ... ({len(names)} in all)"

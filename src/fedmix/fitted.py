"""Checks of new data against those of the fit: their features, and which client they belong to."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.errors import DataError, nearest_names
from fedmix.inputs import has_bool

#: What ``clients=`` says for clients that were not in the fit.
NEW = "new"


def remember(estimator: Any, clients: Clients) -> None:
    """Keep in the estimator the features, the clients' names, and which clients have points."""
    estimator.n_features_in_ = clients.n_features
    if clients.feature_names is not None:
        estimator.feature_names_in_ = np.array(clients.feature_names, dtype=object)
    estimator.client_names_ = list(clients.names)
    estimator._clients_have_names = clients.named
    estimator._with_points = clients.sizes > 0


def check_features(estimator: Any, clients: Clients) -> None:
    """Raise DataError unless the features are those of the fit, in the same order.

    Warns
    -----
    UserWarning
        If only one of the two has names, as in scikit-learn. The features are then taken to be in
        the same order.
    """
    name = type(estimator).__name__
    if clients.n_features != estimator.n_features_in_:
        raise DataError(
            f"{name} was fitted to {estimator.n_features_in_} features; got {clients!r}."
        )
    fitted, given = getattr(estimator, "feature_names_in_", None), clients.feature_names
    if fitted is None and given is None:
        return
    if fitted is None or given is None:
        without = "the data have" if given is None else "the fit had data with"
        warnings.warn(
            f"{name}: {without} no feature names, so the order of the features cannot be checked. "
            "Use data frames for both, or arrays for both.",
            UserWarning,
            stacklevel=4,
        )
    elif list(fitted) != given:
        raise DataError(
            f"{name}: the features are not those of the fit, or are in another order. Fitted: "
            f"{list(fitted)}. Given: {given}. Select the columns by name: X[fitted_names]."
        )


def owners_of(
    estimator: Any, clients: Clients, wanted: Sequence[Hashable] | str | None = None
) -> NDArray[np.int64]:
    """Return which client of the fit each client is, of shape (K,), or -1 for a new one.

    ``wanted`` names the clients of the fit that they are, or is "new". By default clients with
    names are found by name, if those of the fit had names too. Otherwise, as many clients as in the
    fit are those of the fit in the same order, and any other number are new.

    Raises DataError if a name in ``wanted`` is not in the fit, or if there is not one name per
    client.
    """
    names = estimator.client_names_
    if isinstance(wanted, str) and wanted == NEW:
        return np.full(len(clients), -1)
    if wanted is not None:
        return _places(estimator, clients, wanted)
    if clients.named and estimator._clients_have_names:
        place = {name: k for k, name in enumerate(names)}
        return np.array([place.get(name, -1) for name in clients.names])
    return np.arange(len(names)) if len(clients) == len(names) else np.full(len(clients), -1)


def _places(
    estimator: Any, clients: Clients, wanted: Sequence[Hashable] | str
) -> NDArray[np.int64]:
    """Return the places in the fit of the clients that are named in ``wanted``."""
    owner, names = type(estimator).__name__, estimator.client_names_
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise DataError(
            f"{owner}: expected clients to be a list of names or 'new', got {wanted!r}."
        )
    wanted = list(wanted)
    if any(not isinstance(name, Hashable) for name in wanted):
        raise DataError(
            f"{owner}: expected clients to be names of clients of the fit, got arrays. Give "
            "responses with the data, such as Clients.from_arrays(xs, ys)."
        )
    if len(wanted) != len(clients):
        raise DataError(
            f"{owner}: clients has {len(wanted)} names, but the data are {clients!r}. Give one "
            "name per client."
        )
    if has_bool(wanted) and not has_bool(names):
        raise DataError(
            f"{owner}: expected clients to be names of clients of the fit, got a mask. "
            "np.flatnonzero(mask) gives the clients."
        )
    if unknown := [name for name in wanted if name not in names]:
        hint = nearest_names(str(unknown[0]), map(str, names))
        raise DataError(f"{owner}: client {unknown[0]!r} was not in the fit. {hint}")
    return np.array([names.index(name) for name in wanted])

"""Initial values of the EM family: a local fit at each client, with labels aligned across clients.

:data:`INITIALIZATIONS` lists the strategies by name. A strategy is a function that gets one
client's data and this client's own random generator. A client's values therefore do not depend on
the other clients.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fedmix import families
from fedmix.alignment import align
from fedmix.clients import Clients
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.initialization import strategies

FloatArray = NDArray[np.float64]

#: Strategies by name, for each family.
INITIALIZATIONS: dict[str, dict[str, Callable]] = {
    "gaussian": {
        "eee": strategies.shared_covariance,
        "mclust": strategies.mclust,
        "bic": strategies.covariance_by_bic,
        "kmeans++": strategies.kmeans_plus_plus,
        "kmeans++10": partial(strategies.kmeans_plus_plus, n_draws=10),
        # k-means from random seeds: the best of this number of starts
        "kmeans1": partial(strategies.kmeans, n_starts=1),
        "kmeans2": partial(strategies.kmeans, n_starts=2),
        "kmeans3": partial(strategies.kmeans, n_starts=3),
        "kmeans5": partial(strategies.kmeans, n_starts=5),
        "kmeans10": partial(strategies.kmeans, n_starts=10),
        # one start with at most ten iterations, the default of R's kmeans
        "kmeans1_ten_iterations": partial(strategies.kmeans, n_starts=1, max_iterations=10),
        "ward": strategies.ward,
        "random": strategies.random_points,
    },
    "regression": {
        "regression": strategies.regressions,
        "regression10": partial(strategies.regressions, n_starts=10),
        "mixreg": strategies.regressions_with_own_noise,
    },
}


def initialize(
    clients: Clients,
    n_components: int,
    strategy: str | None = None,
    family: str = "gaussian",
    random_state: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Fit each client's own mixture, without aligning labels.

    A client with fewer (distinct) points than components gets components at repeated points. An
    empty client gets equal weights and zero means.

    Parameters
    ----------
    clients : Clients
        The data.
    n_components : int
        Components R.
    strategy : str, optional
        A name in :data:`INITIALIZATIONS` for the family; by default the family's own strategy.
    family : {"gaussian", "regression"}, default="gaussian"
        Family of the components.
    random_state : int, default=0
        Seed. The random numbers of client k depend only on it and on k.

    Returns
    -------
    weights : ndarray of shape (K, R)
        Mixing weights.
    means : ndarray of shape (K, R, d)
        Component means, or coefficients.

    Raises
    ------
    ConfigurationError
        If the family has no such strategy. The message lists the valid names.
    """
    fit = _strategy(strategy, family)
    families.get(family).check(clients)
    weights = np.full((len(clients), n_components), 1.0 / n_components)
    means = np.zeros((len(clients), n_components, clients.n_features))
    with threadpool_limits(limits=1):  # scikit-learn's sums depend on the number of threads
        for k in np.flatnonzero(clients.sizes):
            generator = np.random.default_rng([random_state, int(k)])
            weights[k], means[k] = fit(clients.subset([k]), n_components, generator)
    return weights, means


def aligned_initial_values(
    clients: Clients,
    n_components: int,
    strategy: str | None = None,
    family: str = "gaussian",
    random_state: int = 0,
    n_orders: int = 50,
) -> tuple[FloatArray, FloatArray]:
    """Fit each client's own mixture, then align the labels across clients.

    Parameters are those of :func:`initialize` and :func:`fedmix.align`. A client without points is
    not aligned and gets the average of the other clients' values.

    Returns
    -------
    weights : ndarray of shape (K, R)
        Mixing weights.
    means : ndarray of shape (K, R, d)
        Component means, or coefficients.
    """
    weights, means = initialize(clients, n_components, strategy, family, random_state)
    return align_fits(clients, weights, means, n_orders=n_orders, random_state=random_state)


def align_fits(
    clients: Clients, weights: FloatArray, means: FloatArray, **alignment: Any
) -> tuple[FloatArray, FloatArray]:
    """Align the labels of local fits.

    Parameters
    ----------
    clients : Clients
        The clients. One without points is not aligned and gets the average of the others' values.
    weights, means : ndarray of shape (K, R) and (K, R, d)
        The result of :func:`initialize`.
    **alignment
        Further parameters of :func:`fedmix.align`.

    Returns
    -------
    weights, means : ndarray
        New arrays of the same shapes.
    """
    weights, means = weights.copy(), means.copy()
    has_points = clients.sizes > 0
    order = align(means[has_points], **alignment)
    weights[has_points] = np.take_along_axis(weights[has_points], order, axis=1)
    means[has_points] = np.take_along_axis(means[has_points], order[..., None], axis=1)
    weights[~has_points] = weights[has_points].mean(axis=0)
    means[~has_points] = means[has_points].mean(axis=0)
    return weights, means


def _strategy(name: str | None, family: str) -> Callable:
    known = INITIALIZATIONS[families.get(family).name]
    name = families.get(family).default_initialization if name is None else name
    if name not in known:
        raise ConfigurationError(
            f"Unknown initialisation {name!r} for family {family!r}. {nearest_names(name, known)}"
        )
    return known[name]

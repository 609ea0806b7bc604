"""Contaminated clients: which they are, and what stands in their data's place.

FedGrEM's paper contaminates clients of real data but does not say how (Section 4.2), so there are
several kinds, one function each, found by name in :data:`CONTAMINATIONS`. To add one, write a
function and decorate it. Contaminate what the methods see, that is after any standardisation of
each client: standardising a contaminated client would undo some of the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.checks import check_choice
from fedmix.clients import Clients
from fedmix.errors import ConfigurationError, DataError
from fedmix.partition.scaling import column_scales

#: Shift and standard deviation of the simulations' outlier client in the authors' program ...
SHIFT, SPREAD = 2.5, 2.0
#: ... and in the text (Section B.1).
SHIFT_AS_WRITTEN, SPREAD_AS_WRITTEN = 2.0, 3.0**0.5

#: Which clients are contaminated: the last, as in the simulations, or any.
PLACES = ("last", "random")


@dataclass(frozen=True)
class Reference:
    """What a contamination may look at: the training data of the good clients.

    Parameters
    ----------
    clients : Clients
        The good clients.
    labels : ndarray of shape (n,), optional
        The class of each of their points; only ``single_class`` needs it.
    """

    clients: Clients
    labels: NDArray[np.int64] | None = None


Contamination = Callable[[NDArray[np.float64], np.random.Generator, Reference], NDArray[np.float64]]
CONTAMINATIONS: dict[str, Contamination] = {}


def contamination(function: Contamination) -> Contamination:
    """Enter a function into :data:`CONTAMINATIONS` under its own name.

    It takes a client's points (n_k, d), a generator and a :class:`Reference`, and returns the n_k
    points that replace them.
    """
    CONTAMINATIONS[function.__name__] = function
    return function


def choose_contaminated(
    n_clients: int, n_contaminated: int, rng: np.random.Generator, place: str = "random"
) -> NDArray[np.int64]:
    """Choose the contaminated clients.

    Parameters
    ----------
    n_clients : int
        Number of clients K.
    n_contaminated : int
        How many of them are contaminated, at most one half.
    rng : numpy.random.Generator
        Source of randomness.
    place : {"random", "last"}, default="random"
        Any clients, drawn with equal chances; or the last ones, as the simulations' outlier. The
        first client is good then, whose initial values pooled gradient EM starts from.

    Returns
    -------
    ndarray of shape (n_contaminated,)
        Their numbers, ascending.

    Raises
    ------
    ConfigurationError
        If it is negative or more than one half, or there is no such place.
    """
    check_choice("the contaminated clients", "place", place, PLACES)
    if n_contaminated < 0 or 2 * n_contaminated > n_clients:
        raise ConfigurationError(
            f"{n_contaminated} of {n_clients} clients contaminated: expected 0 to "
            f"{n_clients // 2}, at most one half. Lower n_contaminated."
        )
    if place == "last":
        return np.arange(n_clients - n_contaminated, n_clients)
    return np.sort(rng.choice(n_clients, size=n_contaminated, replace=False))


def contaminate(
    clients: Clients,
    contaminated: Sequence[int] | NDArray[np.int64],
    kind: str,
    rng: np.random.Generator,
    labels: ArrayLike | None = None,
) -> Clients:
    """Replace the data of the contaminated clients.

    Parameters
    ----------
    clients : Clients
        Training data of all clients, as the methods will see them.
    contaminated : sequence of int
        Numbers of the contaminated clients, as :func:`choose_contaminated` returns them.
    kind : str
        A name in :data:`CONTAMINATIONS`.
    rng : numpy.random.Generator
        Source of randomness.
    labels : array-like of shape (n,), optional
        Classes of all clients' points; only ``single_class`` needs them.

    Returns
    -------
    Clients
        The same clients with the same sizes; the good ones are unchanged. Responses are kept: a
        contaminated client's points no longer fit them.

    Raises
    ------
    ConfigurationError
        If the kind is unknown or more than one half of the clients are contaminated.
    DataError
        If the kind needs labels and there are none, or no good client has a point.
    """
    check_choice("contaminate", "kind", kind, CONTAMINATIONS)
    bad = np.unique(np.asarray(contaminated, dtype=np.int64))
    if 2 * len(bad) > len(clients):
        raise ConfigurationError(
            f"{len(bad)} of {len(clients)} clients contaminated: expected at most one half."
        )
    if len(bad) == 0:
        return clients
    good = np.setdiff1d(np.arange(len(clients)), bad)
    reference = Reference(clients.subset(good))
    if labels is not None:
        own_labels = clients.split(np.asarray(labels))
        reference = Reference(reference.clients, np.concatenate([own_labels[k] for k in good]))
    arrays = list(clients)
    for k in bad:
        arrays[k] = CONTAMINATIONS[kind](clients[k], rng, reference)
    return clients.with_points(arrays)


@contamination
def gaussian(
    points: NDArray[np.float64], rng: np.random.Generator, reference: Reference
) -> NDArray[np.float64]:
    """Draw the program's outlier in the data's own scale: N(m + 2.5 s, 4 s^2) a column.

    m and s are mean and standard deviation of the good clients' pooled columns.
    """
    pooled = reference.clients.points
    scale = column_scales(pooled)
    return pooled.mean(axis=0) + scale * (SHIFT + SPREAD * rng.standard_normal(points.shape))


@contamination
def simulation(
    points: NDArray[np.float64], rng: np.random.Generator, reference: Reference
) -> NDArray[np.float64]:
    """Draw the program's outlier as it is, N(2.5, 4) in every coordinate."""
    return SHIFT + SPREAD * rng.standard_normal(points.shape)


@contamination
def simulation_as_written(
    points: NDArray[np.float64], rng: np.random.Generator, reference: Reference
) -> NDArray[np.float64]:
    """Draw the text's outlier as it is, N(2, 3) in every coordinate."""
    return SHIFT_AS_WRITTEN + SPREAD_AS_WRITTEN * rng.standard_normal(points.shape)


@contamination
def shuffled_coordinates(
    points: NDArray[np.float64], rng: np.random.Generator, reference: Reference
) -> NDArray[np.float64]:
    """Reorder the client's coordinates by one random permutation, the same for all its points.

    Each coordinate moves to another place (a cyclic shift of a random order), so that the client
    has clusters, in the wrong places. A single coordinate cannot be shuffled: that is an error.
    """
    if points.shape[1] < 2:
        raise DataError("Contamination 'shuffled_coordinates' needs two features or more.")
    order = rng.permutation(points.shape[1])
    shuffled = np.empty_like(points)
    shuffled[:, order] = points[:, np.roll(order, 1)]
    return shuffled


@contamination
def shift(
    points: NDArray[np.float64], rng: np.random.Generator, reference: Reference
) -> NDArray[np.float64]:
    """Move the client's points together, in a random direction.

    The way is 2.5 standard deviations of the good clients' columns, in root mean square over the
    coordinates.
    """
    direction = rng.standard_normal(points.shape[1])
    direction *= np.sqrt(points.shape[1]) / np.linalg.norm(direction)
    return points + SHIFT * direction * column_scales(reference.clients.points)


@contamination
def single_class(
    points: NDArray[np.float64], rng: np.random.Generator, reference: Reference
) -> NDArray[np.float64]:
    """Draw the good clients' points of one random class, again and again if there are too few."""
    if reference.labels is None:
        raise DataError("Contamination 'single_class' needs labels: the data set has none.")
    chosen = rng.choice(np.unique(reference.labels))
    return _draw(reference.clients.points[reference.labels == chosen], len(points), rng)


@contamination
def sign_flip(
    points: NDArray[np.float64], rng: np.random.Generator, reference: Reference
) -> NDArray[np.float64]:
    """Draw the points of a random good client with all signs flipped."""
    donors = np.flatnonzero(reference.clients.sizes)
    return -_draw(reference.clients[rng.choice(donors)], len(points), rng)


def _draw(
    points: NDArray[np.float64], n_points: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw rows without replacement, or with it if more are wanted than there are."""
    return points[rng.choice(len(points), size=n_points, replace=n_points > len(points))]

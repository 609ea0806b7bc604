"""Contaminated clients: their choice, and the data that replace theirs.

FedGrEM's paper contaminates clients of real data but does not report how (Section 4.2). There are
therefore several kinds, which :data:`CONTAMINATIONS` lists by name. Some replace
a client's points, others its responses. To add a kind, write a function and add it to the list.
Contaminate the data after any standardisation of each client, because standardising a contaminated
client would undo some kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.checks import check_choice
from fedmix.clients import Clients
from fedmix.errors import ConfigurationError, DataError
from fedmix.partition.scaling import column_scales

FloatArray = NDArray[np.float64]

#: Shift and standard deviation of the simulations' outlier client in the authors' program ...
SHIFT, SPREAD = 2.5, 2.0
#: ... and in the paper (Section B.1).
SHIFT_AS_WRITTEN, SPREAD_AS_WRITTEN = 2.0, 3.0**0.5
#: Standard deviation of wide noise, and shift of a far outlier: our choices.
WIDE_SPREAD, FAR_SHIFT = 3.0, 10.0

#: Which clients are contaminated: the last, as in the simulations, the first, or any.
PLACES = ("last", "first", "random")


@dataclass(frozen=True)
class Reference:
    """The data that a contamination can use: the training data of the good clients.

    Parameters
    ----------
    clients : Clients
        The good clients.
    labels : ndarray of shape (n,), optional
        The class of each of their points. Only ``single_class`` needs it.
    """

    clients: Clients
    labels: NDArray[np.int64] | None = None


def choose_contaminated(
    n_clients: int, n_contaminated: int, rng: np.random.Generator, place: str = "random"
) -> NDArray[np.int64]:
    """Choose the contaminated clients.

    Parameters
    ----------
    n_clients : int
        Number of clients K.
    n_contaminated : int
        Number of contaminated clients, at most one half.
    rng : numpy.random.Generator
        Source of randomness.
    place : {"random", "last", "first"}, default="random"
        "random" draws the clients with equal probability. "last" takes the last clients, like the
        simulations' outlier. The first client is then good, and pooled gradient EM starts from its
        initial values. "first" takes the first clients.

    Returns
    -------
    ndarray of shape (n_contaminated,)
        Their numbers, ascending.

    Raises
    ------
    ConfigurationError
        If the number is negative or more than one half, or if the place is unknown.
    """
    check_choice("the contaminated clients", "place", place, PLACES)
    if n_contaminated < 0 or 2 * n_contaminated > n_clients:
        raise ConfigurationError(
            f"{n_contaminated} of {n_clients} clients contaminated: expected 0 to "
            f"{n_clients // 2}, at most one half. Lower n_contaminated."
        )
    if place == "last":
        return np.arange(n_clients - n_contaminated, n_clients)
    if place == "first":
        return np.arange(n_contaminated)
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
        A name in ``CONTAMINATIONS["points"]``.
    rng : numpy.random.Generator
        Source of randomness.
    labels : array-like of shape (n,), optional
        Classes of all clients' points. Only ``single_class`` needs them.

    Returns
    -------
    Clients
        The same clients with the same sizes. The good clients are unchanged. Responses are kept, so
        that a contaminated client's points no longer fit them.

    Raises
    ------
    ConfigurationError
        If the kind is unknown, ``contaminated`` has something else than numbers of clients, or more
        than one half of the clients are contaminated.
    DataError
        If the kind needs labels and there are none, there is not one label per point, or no good
        client has a point.
    """
    check_choice("contaminate", "kind", kind, CONTAMINATIONS["points"])
    bad = _numbers_of(contaminated, len(clients))
    if 2 * len(bad) > len(clients):
        raise ConfigurationError(
            f"{len(bad)} of {len(clients)} clients contaminated: expected at most one half."
        )
    if len(bad) == 0:
        return clients
    good = np.setdiff1d(np.arange(len(clients)), bad)
    good_labels = None
    if labels is not None:
        labels = np.asarray(labels)
        if labels.shape != (clients.n_points,):
            raise DataError(
                f"Expected one label per point: {clients.n_points} points, labels of shape "
                f"{labels.shape}."
            )
        own_labels = clients.split(labels)
        good_labels = np.concatenate([own_labels[k] for k in good])
    reference = Reference(clients.subset(good), good_labels)
    arrays = list(clients)
    for k in bad:
        arrays[k] = CONTAMINATIONS["points"][kind](clients[k], rng, reference)
    return clients.with_points(arrays)


def _numbers_of(contaminated: Sequence[int] | NDArray, n_clients: int) -> NDArray[np.int64]:
    """Return the numbers of the contaminated clients, sorted, or raise ConfigurationError."""
    found = np.unique(contaminated)
    if found.size and (found.dtype.kind not in "iu" or found[0] < 0 or found[-1] >= n_clients):
        raise ConfigurationError(
            f"contaminated is {contaminated!r}: expected numbers of clients, 0 to {n_clients - 1}. "
            "np.flatnonzero(mask) gives the numbers of a mask."
        )
    return found.astype(np.int64)


def _noise_in_scale(
    points: FloatArray, rng: np.random.Generator, reference: Reference, shift: float, spread: float
) -> FloatArray:
    """Draw from N(m + shift s, (spread s)^2) in each column.

    m and s are the mean and the standard deviation of the good clients' pooled column.
    """
    pooled = reference.clients.points
    scale = column_scales(pooled)
    return pooled.mean(axis=0) + scale * (shift + spread * rng.standard_normal(points.shape))


def _noise(
    points: FloatArray, rng: np.random.Generator, reference: Reference, shift: float, spread: float
) -> FloatArray:
    """Draw from N(shift, spread^2) in every coordinate."""
    return shift + spread * rng.standard_normal(points.shape)


def _shuffled_coordinates(
    points: FloatArray, rng: np.random.Generator, reference: Reference
) -> FloatArray:
    """Reorder the client's coordinates by one random permutation, the same for all its points.

    Each coordinate moves to another position (a cyclic shift of a random order). The client still
    has clusters, but in the wrong places. A single coordinate cannot be shuffled and is an error.
    """
    if points.shape[1] < 2:
        raise DataError("Contamination 'shuffled_coordinates' needs two features or more.")
    order = rng.permutation(points.shape[1])
    shuffled = np.empty_like(points)
    shuffled[:, order] = points[:, np.roll(order, 1)]
    return shuffled


def _shift_points(points: FloatArray, rng: np.random.Generator, reference: Reference) -> FloatArray:
    """Move the client's points together, in a random direction.

    The distance is 2.5 standard deviations of the good clients' columns, as a root mean square over
    the coordinates.
    """
    direction = rng.standard_normal(points.shape[1])
    direction *= np.sqrt(points.shape[1]) / np.linalg.norm(direction)
    return points + SHIFT * direction * column_scales(reference.clients.points)


def _single_class(points: FloatArray, rng: np.random.Generator, reference: Reference) -> FloatArray:
    """Draw the good clients' points of one random class, with repeats if there are too few."""
    if reference.labels is None:
        raise DataError("Contamination 'single_class' needs labels, but the data set has none.")
    chosen = rng.choice(np.unique(reference.labels))
    return _draw(reference.clients.points[reference.labels == chosen], len(points), rng)


def _sign_flip_points(
    points: FloatArray, rng: np.random.Generator, reference: Reference
) -> FloatArray:
    """Draw the points of a random good client with all signs flipped."""
    donors = np.flatnonzero(reference.clients.sizes)
    return -_draw(reference.clients[rng.choice(donors)], len(points), rng)


def _draw(points: FloatArray, n_points: int, rng: np.random.Generator) -> FloatArray:
    """Draw rows without replacement, or with replacement if there are too few."""
    return points[rng.choice(len(points), size=n_points, replace=n_points > len(points))]


def _far_model(x: NDArray, y: NDArray, length: float, rng: np.random.Generator) -> NDArray:
    """Return the responses of one model of equal coefficients, three times as long as the truth."""
    return x.sum(axis=1) * 3 * length / np.sqrt(x.shape[1])


def _gaussian_responses(x: NDArray, y: NDArray, length: float, rng: np.random.Generator) -> NDArray:
    """Draw from N(2.5, 4) in units of the responses' standard deviation, ignoring the points."""
    return length * (SHIFT + SPREAD * rng.standard_normal(len(y)))


def _shuffled_responses(x: NDArray, y: NDArray, length: float, rng: np.random.Generator) -> NDArray:
    return rng.permutation(y)


def _shifted_responses(x: NDArray, y: NDArray, length: float, rng: np.random.Generator) -> NDArray:
    """Move all responses by 2.5 standard deviations."""
    return y + SHIFT * length


def _flipped_responses(x: NDArray, y: NDArray, length: float, rng: np.random.Generator) -> NDArray:
    return -y


#: All kinds, by the data that they replace and by name. A kind of "points" takes a client's points
#: (n_k, d), a generator and a :class:`Reference`, and returns n_k other points. A kind of
#: "responses" takes points (n_k, d), responses (n_k,), the true models' mean norm (a response's
#: standard deviation) and a generator, and returns n_k other responses.
CONTAMINATIONS: dict[str, dict[str, Callable[..., FloatArray]]] = {
    "points": {
        "gaussian": partial(_noise_in_scale, shift=SHIFT, spread=SPREAD),
        "wide_noise": partial(_noise_in_scale, shift=0.0, spread=WIDE_SPREAD),
        "far_outlier": partial(_noise_in_scale, shift=FAR_SHIFT, spread=1.0),
        "simulation": partial(_noise, shift=SHIFT, spread=SPREAD),
        "simulation_as_written": partial(_noise, shift=SHIFT_AS_WRITTEN, spread=SPREAD_AS_WRITTEN),
        "shuffled_coordinates": _shuffled_coordinates,
        "shift": _shift_points,
        "single_class": _single_class,
        "sign_flip": _sign_flip_points,
    },
    "responses": {
        "outlier": _far_model,
        "gaussian": _gaussian_responses,
        "shuffled": _shuffled_responses,
        "shift": _shifted_responses,
        "sign_flip": _flipped_responses,
    },
}

"""Scaling of the features, one function each, by name in :data:`SCALINGS`.

FedGrEM's paper does not report how real data are scaled (Section 4.2). Its authors' earlier study
of the pen digits standardises every client by its own data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fedmix.checks import check_choice
from fedmix.clients import Clients
from fedmix.errors import ConfigurationError, DataError

FloatArray = NDArray[np.float64]

JITTER = 0.01


def scale(
    train: Clients, test: Clients, scaling: str, rng: np.random.Generator
) -> tuple[Clients, Clients]:
    """Scale training and test data, both by statistics of the training data alone.

    Parameters
    ----------
    train, test : Clients
        The same K clients.
    scaling : str
        A name in :data:`SCALINGS`.
    rng : numpy.random.Generator
        Source of randomness. Only ``per_client`` uses it.

    Returns
    -------
    train, test : Clients

    Raises
    ------
    ConfigurationError
        If the scaling is unknown.
    DataError
        If the numbers of clients or features differ.
    """
    check_choice("the data", "scaling", scaling, SCALINGS)
    _check_same_clients(train, test)
    return SCALINGS[scaling](train, test, rng)


def _none(train: Clients, test: Clients, rng: np.random.Generator) -> tuple[Clients, Clients]:
    """Keep the data as they are."""
    return train, test


def _tenth(train: Clients, test: Clients, rng: np.random.Generator) -> tuple[Clients, Clients]:
    """Divide by ten, so that the pen digits' coordinates, 0 to 100, become 0 to 10."""
    return _shift_and_divide(train, test, np.zeros(train.n_features), 10.0)


def _per_client(train: Clients, test: Clients, rng: np.random.Generator) -> tuple[Clients, Clients]:
    """Jitter near-constant columns, then standardise every client by its own data."""
    return standardize_clients(jitter_constant_columns(train, rng), test)


def _global(train: Clients, test: Clients, rng: np.random.Generator) -> tuple[Clients, Clients]:
    """Standardise by the means and standard deviations of all clients' data together."""
    mean = train.points.mean(axis=0)
    return _shift_and_divide(train, test, mean, _or_one(column_scales(train.points), mean))


def _min_max(train: Clients, test: Clients, rng: np.random.Generator) -> tuple[Clients, Clients]:
    """Scale every feature to [0, 1] by its range over all clients' data together."""
    low = train.points.min(axis=0)
    return _shift_and_divide(train, test, low, _or_one(train.points.max(axis=0) - low, low))


SCALINGS: dict[str, Callable] = {
    "none": _none,
    "per_client": _per_client,
    "global": _global,
    "min_max": _min_max,
    "tenth": _tenth,
}


def standardize_clients(train: Clients, test: Clients) -> tuple[Clients, Clients]:
    """Standardise each client by the means and standard deviations of its own training data.

    A column that is constant within a client is centred but not scaled; see
    :func:`jitter_constant_columns`. A client without training data is not changed.

    Parameters
    ----------
    train, test : Clients
        The same K clients. The test data are transformed with the training data's statistics.

    Returns
    -------
    train, test : Clients

    Raises
    ------
    DataError
        If the numbers of clients or features differ.
    """
    _check_same_clients(train, test)
    scaled_train, scaled_test = [], []
    for own, new in zip(train, test, strict=True):
        mean, deviation = location_and_scale(own)
        scaled_train.append((own - mean) / deviation)
        scaled_test.append((new - mean) / deviation)
    return train.with_points(scaled_train), test.with_points(scaled_test)


def jitter_constant_columns(
    clients: Clients, rng: np.random.Generator, scale: float = JITTER
) -> Clients:
    """Add N(0, scale^2) to the near-constant columns of each client.

    Parameters
    ----------
    clients : Clients
        Usually the training data before standardisation.
    rng : numpy.random.Generator
        Source of randomness.
    scale : float, default=0.01
        Standard deviation of the jitter, in the data's units. A column with a smaller standard
        deviation counts as near-constant. The default is that of the authors' earlier study of the
        pen digits, whose coordinates run from 0 to 100. That study also counts columns with at most
        three different values. The pen digits have none: every writer has 28 or more in a column.

    Returns
    -------
    Clients

    Raises
    ------
    ConfigurationError
        If ``scale`` is not positive.
    """
    if not scale > 0.0:
        raise ConfigurationError(f"The jitter's scale must be positive, got {scale}.")
    jittered = []
    for own in clients:
        flat = column_scales(own) < scale
        noise = np.zeros_like(own)
        noise[:, flat] = rng.normal(0.0, scale, size=(len(own), np.count_nonzero(flat)))
        jittered.append(own + noise)
    return clients.with_points(jittered)


def column_scales(points: FloatArray) -> FloatArray:
    """Return the columns' standard deviations (with n - 1), of shape (d,); 0 below two points.

    Columns are first scaled to a largest value of one, so that squares do not overflow or vanish.
    """
    n, d = points.shape
    if n < 2:
        return np.zeros(d)
    centred = points - points.mean(axis=0)
    peak = np.abs(centred).max(axis=0)
    safe = np.where(peak > 0.0, peak, 1.0)
    return peak * (centred / safe).std(axis=0, ddof=1)


def _check_same_clients(train: Clients, test: Clients) -> None:
    if (len(train), train.n_features) != (len(test), test.n_features):
        raise DataError(f"Training and test data are not of the same clients: {train} and {test}.")


def location_and_scale(
    points: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the columns' means and standard deviations, (d,); 0 and 1 without points.

    The standard deviation of a column that is constant up to rounding is 1.
    """
    if len(points) == 0:
        return np.zeros(points.shape[1]), np.ones(points.shape[1])
    mean = points.mean(axis=0)
    return mean, _or_one(column_scales(points), mean)


def _or_one(scales: FloatArray, level: FloatArray) -> FloatArray:
    """Replace the scales (d,) of columns that are constant up to rounding by one."""
    constant = scales <= 1e-14 * np.abs(level)
    return np.where(constant | (scales == 0.0), 1.0, scales)


def _shift_and_divide(
    train: Clients, test: Clients, shift: FloatArray, divisor: FloatArray | float
) -> tuple[Clients, Clients]:
    return (
        train.with_points(train.split((train.points - shift) / divisor)),
        test.with_points(test.split((test.points - shift) / divisor)),
    )

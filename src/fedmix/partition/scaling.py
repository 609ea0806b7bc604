"""Every client's own standardisation, as the pen digits' study by FedGrEM's authors does it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.errors import ConfigurationError, DataError

JITTER = 0.01


def standardize_clients(train: Clients, test: Clients) -> tuple[Clients, Clients]:
    """Standardise each client by the means and standard deviations of its own training data.

    A column that is constant within a client is centred but not scaled; see
    :func:`jitter_constant_columns`. A client without training data is left as it is.

    Parameters
    ----------
    train, test : Clients
        The same K clients; the test data are transformed by the training data's numbers.

    Returns
    -------
    train, test : Clients

    Raises
    ------
    DataError
        If numbers of clients or features differ.
    """
    if (len(train), train.n_features) != (len(test), test.n_features):
        raise DataError(f"Training and test data are not of the same clients: {train} and {test}.")
    pairs = [_standardize(*own) for own in zip(train, test, strict=True)]
    scaled_train, scaled_test = zip(*pairs, strict=True)
    return train.with_points(scaled_train), test.with_points(scaled_test)


def jitter_constant_columns(
    clients: Clients, rng: np.random.Generator, scale: float = JITTER
) -> Clients:
    """Add N(0, scale^2) to the near-constant columns of each client.

    Parameters
    ----------
    clients : Clients
        Usually training data, before they are standardised.
    rng : numpy.random.Generator
        Source of randomness.
    scale : float, default=0.01
        Standard deviation of the jitter, in the data's unit. A column counts as near-constant if
        its own is smaller. The default is that of the authors' earlier study of the pen digits,
        whose coordinates run from 0 to 100.

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


def column_scales(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the columns' standard deviations (with n - 1), of shape (d,); 0 below two points.

    Columns are first brought to a largest value of one, lest squares overflow or vanish.
    """
    n, d = points.shape
    if n < 2:
        return np.zeros(d)
    centred = points - points.mean(axis=0)
    peak = np.abs(centred).max(axis=0)
    safe = np.where(peak > 0.0, peak, 1.0)
    return peak * (centred / safe).std(axis=0, ddof=1)


def _standardize(
    train: NDArray[np.float64], test: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(train) == 0:
        return train, test
    mean, scale = train.mean(axis=0), column_scales(train)
    # a column that differs from its mean by rounding alone is constant
    constant = scale <= 1e-14 * np.abs(mean)
    scale = np.where(constant | (scale == 0.0), 1.0, scale)
    return (train - mean) / scale, (test - mean) / scale

"""Checks of what an embedding is given: clear errors before any work is done."""

from __future__ import annotations

import numbers

import numpy as np

from fedmix.errors import ConfigurationError, DataError


def check_features(features: np.ndarray, min_points: int = 1) -> np.ndarray:
    """Return the features as a finite float64 array of shape (n, d), copied only if need be.

    Parameters
    ----------
    features : array-like of shape (n, d)
        Numbers; integers and single precision are converted.
    min_points : int, default=1
        Least number of points.

    Returns
    -------
    ndarray of float64, shape (n, d)

    Raises
    ------
    DataError
        Not two-dimensional, no columns, too few points, or values that are NaN or infinite.
    """
    try:
        features = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"features: expected an array of numbers ({error}).") from error
    if features.ndim != 2 or features.shape[1] == 0:
        raise DataError(f"features: expected shape (n, d) with d >= 1, got {features.shape}.")
    if len(features) < min_points:
        raise DataError(f"features: expected at least {min_points} points, got {len(features)}.")
    if not np.isfinite(features).all():
        row, column = np.argwhere(~np.isfinite(features))[0]
        raise DataError(
            f"features: {features[row, column]} at row {row}, column {column}; "
            "expected finite numbers. Drop or impute such values first."
        )
    return features


def check_integer(name: str, value: int, low: int, high: int | None = None) -> None:
    """Raise ConfigurationError unless ``value`` is an integer from ``low`` to ``high``."""
    wanted = f"an integer of at least {low}" if high is None else f"an integer, {low} to {high}"
    if (
        not isinstance(value, numbers.Integral)
        or isinstance(value, bool)
        or value < low
        or (high is not None and value > high)
    ):
        raise ConfigurationError(f"{name}: expected {wanted}, got {value!r}.")


def check_number(name: str, value: float, above: float) -> None:
    """Raise ConfigurationError unless ``value`` is a finite number greater than ``above``."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or value <= above:
        raise ConfigurationError(f"{name}: expected a number above {above:g}, got {value!r}.")

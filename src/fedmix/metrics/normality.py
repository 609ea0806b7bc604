"""A test of multivariate normality, for claims about data that need no method."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from fedmix.errors import DataError
from fedmix.inputs import as_matrix, check_finite


def henze_zirkler(points: ArrayLike) -> tuple[float, float]:
    """Test whether points are multivariate Gaussian (Henze and Zirkler 1990).

    A set of several classes is not Gaussian as a whole even where each class is. A mixture model is
    about its components, so that each class should be tested.

    Parameters
    ----------
    points : array of shape (n, d)
        More points than features, and no feature that depends linearly on others.

    Returns
    -------
    statistic, p_value : float
        The p value is that of the log-normal approximation in their Section 3.

    Raises
    ------
    DataError
        If the points are not finite numbers of shape (n, d), or their covariance is singular.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> henze_zirkler(rng.normal(size=(300, 3)))[1] > 0.01
    True
    >>> henze_zirkler(rng.exponential(size=(300, 3)))[1] > 0.01
    False
    """
    points = as_matrix(points, 0)
    n, d = points.shape
    check_finite(np.array([0, n]), points, "points")
    centred = points - points.mean(axis=0)
    covariance = centred.T @ centred / n
    deviations = np.sqrt(np.diag(covariance))  # features may have different units
    correlations = covariance / np.outer(*2 * [np.where(deviations > 0, deviations, 1.0)])
    if n <= d or np.linalg.matrix_rank(correlations) < d:
        raise DataError(
            f"{n} points with {d} features have a singular covariance, and the test of normality "
            "needs its inverse. Leave out features that depend linearly on others."
        )
    inner = centred @ np.linalg.solve(covariance, centred.T)
    squares = np.diag(inner)
    between = squares[:, None] + squares[None, :] - 2 * inner
    b = 0.5 * (n * (2 * d + 1) / 4) ** (2 / (d + 4))  # beta squared
    statistic = (
        np.exp(-b / 2 * between).sum() / n
        - 2 * (1 + b) ** (-d / 2) * np.exp(-b / (2 * (1 + b)) * squares).sum()
        + n * (1 + 2 * b) ** (-d / 2)
    )
    return float(statistic), _p_value(float(statistic), b, d)


def _p_value(statistic: float, b: float, d: int) -> float:
    from scipy.special import ndtr

    a, w = 1 + 2 * b, (1 + b) * (1 + 3 * b)
    mean = 1 - a ** (-d / 2) * (1 + d * b / a + d * (d + 2) * b**2 / (2 * a**2))
    variance = (
        2 * (1 + 4 * b) ** (-d / 2)
        + 2 * a**-d * (1 + 2 * d * b**2 / a**2 + 3 * d * (d + 2) * b**4 / (4 * a**4))
        - 4 * w ** (-d / 2) * (1 + 3 * d * b**2 / (2 * w) + d * (d + 2) * b**4 / (2 * w**2))
    )
    spread = sqrt(log(1 + variance / mean**2))
    centre = log(mean) - spread**2 / 2
    if statistic <= 0:
        return 1.0
    return float(ndtr((centre - log(statistic)) / spread))

"""Breiman's waveform generator (Breiman, Friedman, Olshen and Stone 1984, pages 49 to 55)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedmix.errors import ConfigurationError

N_FEATURES = 21
#: Positions (from 1) of the peaks of the three triangular base waves, each six high.
PEAKS = (7, 15, 11)
#: The two base waves that each class mixes, numbered as in ``PEAKS``.
PAIRS = ((0, 1), (0, 2), (1, 2))


def base_waves() -> NDArray[np.float64]:
    """Return the three base waves ``max(6 - |i - peak|, 0)``, of shape (3, 21)."""
    positions = np.arange(1, N_FEATURES + 1)
    return np.maximum(6.0 - np.abs(positions - np.array(PEAKS)[:, None]), 0.0)


def waveform(
    n_points: int = 5000, random_state: int | np.random.Generator = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw points of the waveform problem.

    A point of a class is ``u a + (1 - u) b + e``: a and b are the two base waves of the class, u is
    uniform on [0, 1] and e standard normal in each of the 21 coordinates. Classes are equally
    likely.

    Parameters
    ----------
    n_points : int, default=5000
        Number of points; the file in the UCI repository has 5,000.
    random_state : int or numpy.random.Generator, default=0
        Seed or generator.

    Returns
    -------
    points : ndarray of shape (n_points, 21)
    labels : ndarray of shape (n_points,)
        Class 0 mixes waves 1 and 2, class 1 waves 1 and 3, class 2 waves 2 and 3.

    Raises
    ------
    ConfigurationError
        If ``n_points`` is not positive.
    """
    if n_points < 1:
        raise ConfigurationError(f"n_points must be at least 1, got {n_points}.")
    rng = np.random.default_rng(random_state)
    labels = rng.integers(len(PAIRS), size=n_points)
    first, second = base_waves()[np.array(PAIRS)[labels].T]
    share = rng.uniform(size=(n_points, 1))
    noise = rng.standard_normal((n_points, N_FEATURES))
    return share * first + (1.0 - share) * second + noise, labels

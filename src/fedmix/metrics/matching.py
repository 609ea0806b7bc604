"""The best one-to-one matching of two sets, judged by its worst pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def bottleneck(costs: NDArray[np.float64]) -> float:
    """Return the smallest possible largest cost of a perfect matching.

    The answer is one of the costs: the smallest at which a full matching exists.

    Parameters
    ----------
    costs : ndarray of shape (k, k)
        Cost of matching row i with column j.

    Returns
    -------
    float
    """
    from scipy.optimize import linear_sum_assignment

    candidates = np.unique(costs)
    low, high = 0, len(candidates) - 1
    while low < high:
        middle = (low + high) // 2
        above = costs > candidates[middle]
        if above[linear_sum_assignment(above)].any():
            low = middle + 1
        else:
            high = middle
    return float(candidates[low])

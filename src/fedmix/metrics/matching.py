"""The best one-to-one matching of two sets: of labels by their counts, of models by their costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.errors import DataError


def clustering_accuracy(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of right labels under the best one-to-one matching of label sets.

    Parameters
    ----------
    labels : array of shape (n,)
        True labels, of any kind.
    predicted : array of shape (n,)
        Predicted labels; their names, and number, need not agree with the true ones. A label
        without a partner is wrong everywhere.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    DataError
        If lengths differ or there is no label.
    """
    from scipy.optimize import linear_sum_assignment

    labels, predicted = np.asarray(labels), np.asarray(predicted)
    if labels.shape != predicted.shape or labels.ndim != 1:
        raise DataError(
            f"Expected two label vectors of one length; got {labels.shape}, {predicted.shape}."
        )
    if len(labels) == 0:
        raise DataError("No labels: the mis-clustering error of no points is undefined.")
    rows = np.unique(labels, return_inverse=True)[1]
    columns = np.unique(predicted, return_inverse=True)[1]
    counts = np.zeros((rows.max() + 1, columns.max() + 1), dtype=np.int64)
    np.add.at(counts, (rows, columns), 1)
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return float(matched / len(labels))


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

"""Scores under the best matching, which do not depend on the order of labels or components.

Labels are matched by their counts, components and models by their distances.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.errors import DataError
from fedmix.inputs import point_labels, position


def clustering_accuracy(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of correct labels under the best one-to-one matching of label sets.

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
        If lengths differ, or if there is no label or a label is missing (NaN or None).
    """
    from pandas import factorize
    from scipy.optimize import linear_sum_assignment

    labels = point_labels(labels, "labels", "Remove these points.")
    predicted = point_labels(predicted, "predicted labels", "Remove these points.")
    if labels.shape != predicted.shape or labels.ndim != 1:
        raise DataError(
            f"Expected two label vectors of one length; got {labels.shape}, {predicted.shape}."
        )
    if len(labels) == 0:
        raise DataError("No labels: the mis-clustering error of no points is undefined.")
    rows, columns = factorize(labels)[0], factorize(predicted)[0]
    counts = np.zeros((rows.max() + 1, columns.max() + 1), dtype=np.int64)
    np.add.at(counts, (rows, columns), 1)
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return float(matched / len(labels))


def misclustering(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of wrong labels under the best one-to-one matching of label sets.

    Arguments and errors are those of :func:`clustering_accuracy`.
    """
    return 1.0 - clustering_accuracy(labels, predicted)


def estimation_error(
    weights: ArrayLike,
    means: ArrayLike,
    true_weights: ArrayLike,
    true_means: ArrayLike,
    clients: Sequence[int] | None = None,
) -> tuple[float, float]:
    """Return the largest errors of mixing weights and means over clients and components.

    For each client the order of components with the smallest maximal error counts, for weights and
    means separately (as the published code does).

    Parameters
    ----------
    weights : array of shape (K, R)
        Estimated mixing weights.
    means : array of shape (K, R, d)
        Estimated means.
    true_weights : array of shape (K, R)
        True ones. Clients beyond the last of the true arrays are left out: they are outliers, which
        have none.
    true_means : array of shape (K, R, d)
        True ones.
    clients : sequence of int, optional
        The clients to score, e.g. the good ones; by default all that have true values.

    Returns
    -------
    weight_error : float
        max_k min_pi max_r |w_pi(r) - w*_r|.
    mean_error : float
        max_k min_pi max_r |theta_pi(r) - theta*_r|.

    Raises
    ------
    DataError
        If the shapes do not agree, if a value is not finite, if a client with true values has no
        estimates, or if ``clients`` are not numbers of clients.
    """
    weights, true_weights = _stack(weights, 2), _stack(true_weights, 2)
    means, true_means = _stack(means, 3), _stack(true_means, 3)
    if weights.shape[1:] != true_weights.shape[1:] or means.shape[1:] != true_means.shape[1:]:
        raise DataError(
            f"Estimates {weights.shape}, {means.shape} and true values {true_weights.shape}, "
            f"{true_means.shape} differ in components or features."
        )
    known = min(len(true_weights), len(true_means))
    if len(means) != len(weights) or len(weights) < known:
        raise DataError(
            f"Estimates {weights.shape}, {means.shape} and true values {true_weights.shape}, "
            f"{true_means.shape} differ in clients."
        )
    chosen = range(known) if clients is None else [position(k, known) for k in clients]
    if not chosen:
        raise DataError("No clients were asked for: expected at least one.")
    weight_errors = [bottleneck(np.abs(weights[k][:, None] - true_weights[k])) for k in chosen]
    mean_errors = [
        bottleneck(np.linalg.norm(means[k][:, None] - true_means[k], axis=2)) for k in chosen
    ]
    return max(weight_errors), max(mean_errors)


def model_errors(models: ArrayLike, truth: ArrayLike) -> NDArray:
    """Return ``d(models, truth) = min_pi max_j ||models_pi(j) - truth_j||_2`` of every round.

    ``models`` are the estimated ones by round, of shape (rounds + 1, k, d). A single model (k = 1)
    is compared with all true ones. Raises DataError if the shapes do not agree or a value is not
    finite.

    Source: Su, Xu and Yang (2022), equation (6).
    """
    models, truth = np.asarray(models, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if models.ndim != 3 or truth.ndim != 2 or models.shape[2] != truth.shape[1]:
        raise DataError(
            f"Expected models of shape (k, d) and the same for the truth; got {models.shape[1:]} "
            f"and {truth.shape}."
        )
    if models.shape[1] not in (1, len(truth)):
        raise DataError(
            f"{models.shape[1]} models cannot be matched with {len(truth)} true ones: expected as "
            "many, or a single common model."
        )
    if not (np.isfinite(models).all() and np.isfinite(truth).all()):
        raise DataError("Models hold NaN or infinity: a diverged fit has no error.")
    distances = np.linalg.norm(models[:, :, None] - truth, axis=-1)
    if distances.shape[1] == 1:
        return distances[:, 0].max(axis=1)
    return np.array([bottleneck(one) for one in distances])


def bottleneck(costs: NDArray[np.float64]) -> float:
    """Return the smallest possible largest cost of a perfect matching of rows and columns (k, k).

    The answer is one of the costs: the smallest at which a full matching exists.
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


def _stack(values: ArrayLike, ndim: int) -> NDArray[np.float64]:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != ndim:
        raise DataError(f"Expected an array with {ndim} axes; got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise DataError("Estimates or true values hold NaN or infinity: such a fit has no error.")
    return values

"""Errors of mixtures, up to the order of the components."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.errors import DataError
from fedmix.metrics.matching import bottleneck, clustering_accuracy


def misclustering(labels: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of wrong labels under the best one-to-one matching of label sets.

    Arguments and errors are those of :func:`fedmix.metrics.matching.clustering_accuracy`.
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
        True ones; clients beyond the last of the true arrays (outliers, which have none) are left
        out.
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
    """
    weights, true_weights = _stack(weights, 2), _stack(true_weights, 2)
    means, true_means = _stack(means, 3), _stack(true_means, 3)
    if weights.shape[1:] != true_weights.shape[1:] or means.shape[1:] != true_means.shape[1:]:
        raise DataError(
            f"Estimates {weights.shape}, {means.shape} and true values {true_weights.shape}, "
            f"{true_means.shape} differ in components or features."
        )
    known = min(len(weights), len(true_weights), len(true_means))
    chosen = range(known) if clients is None else clients
    weight_errors = [bottleneck(np.abs(weights[k][:, None] - true_weights[k])) for k in chosen]
    mean_errors = [
        bottleneck(np.linalg.norm(means[k][:, None] - true_means[k], axis=2)) for k in chosen
    ]
    return max(weight_errors), max(mean_errors)


def _stack(values: ArrayLike, ndim: int) -> NDArray[np.float64]:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != ndim:
        raise DataError(f"Expected an array with {ndim} axes; got shape {values.shape}.")
    return values

"""How well a mixture of regressions over clients is recovered, whatever its labels' order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.errors import DataError
from fedmix.metrics.matching import bottleneck


def model_errors(models: ArrayLike, truth: ArrayLike) -> NDArray:
    """Return ``d(models, truth) = min_pi max_j ||models_pi(j) - truth_j||_2`` of every round.

    Source: Su, Xu and Yang (2022), equation (6).

    Parameters
    ----------
    models : array-like of shape (rounds + 1, k, d)
        Estimated models by round. A single model (k = 1) is compared with all true ones.
    truth : array-like of shape (k, d)
        True models.

    Returns
    -------
    ndarray of shape (rounds + 1,)
        In units of the models.

    Raises
    ------
    DataError
        If the shapes do not agree or a value is not finite.
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

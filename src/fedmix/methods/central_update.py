"""The central update of FedGrEM: pooling with a penalty on the distance to a common centre.

For each component the server minimises, over nu_1 .. nu_K and their centre nu_bar,

    sum_k  n_k / 2 |nu_k - theta_k|^2 + sqrt(n_k) lambda |nu_k - nu_bar|.

For a given centre nu_k is a group soft-threshold of theta_k at lambda / sqrt(n_k). Put in, this
leaves a Huber-type location problem for the centre, with weights n_k and thresholds
lambda / sqrt(n_k). The centre is optimal where the clients' pulls
n_k min(1, lambda / (sqrt(n_k) |theta_k - nu_bar|)) (theta_k - nu_bar) add up to zero.

References
----------
Tian, Weng and Feng (2024), Algorithm 1 and Section B.1, equation (6).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedmix.kernels.huber import huber_centres

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-12


def pool_towards_centre(
    means: FloatArray,
    sizes: NDArray[np.int64],
    penalty: float,
    central_steps: int | str = "exact",
) -> FloatArray:
    """Return the pooled means nu_k, of shape (K, R, d).

    Parameters
    ----------
    means : ndarray of shape (K, R, d)
        The clients' local estimates.
    sizes : ndarray of shape (K,)
        Points a client. A client without points takes the centre.
    penalty : float
        lambda of this round.
    central_steps : "exact" or int
        Solve for the centre to a tolerance, or alternate that many times between the centre and
        the soft-threshold, from no deviation.
    """
    if not sizes.any():
        return means
    thresholds = penalty_thresholds(penalty, sizes)
    if central_steps == "exact":
        centres = huber_centres(means, sizes.astype(np.float64), thresholds, TOLERANCE)
        return centres + soft_threshold(means - centres, thresholds)
    deviations = np.zeros_like(means)
    share = (sizes / sizes.sum())[:, None, None]
    for _ in range(int(central_steps)):
        centres = (share * (means - deviations)).sum(axis=0)
        deviations = soft_threshold(means - centres, thresholds)
    return centres + deviations


def penalty_thresholds(penalty: float, sizes: NDArray[np.int64]) -> FloatArray:
    """Return lambda / sqrt(n_k), of shape (K,); infinite for a client without points."""
    root = np.sqrt(sizes)
    return np.divide(penalty, root, out=np.full(len(sizes), np.inf), where=root > 0)


def soft_threshold(deviations: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Shorten each deviation (K, R, d) by its client's threshold (K,), to no less than zero."""
    lengths = np.sqrt(np.square(deviations).sum(axis=2, keepdims=True))
    cut = np.broadcast_to(thresholds[:, None, None], lengths.shape)
    ratio = np.divide(cut, lengths, out=np.ones_like(lengths), where=lengths > 0)
    return np.maximum(1.0 - ratio, 0.0) * deviations

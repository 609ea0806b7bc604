"""E-step of the joint mixture of covariates and regressions, for all clients in one pass."""

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.regression import add_normal, residuals_of
from fedmix.kernels.responsibilities import BELOW, BLOCK, FLOOR, NO_FLOOR, REORDER, normalise


@njit(cache=True, fastmath=REORDER)
def joint_expectation(columns, responses, offsets, weights, means, whiteners, coefficients, floor):
    """Sum the responsibilities, moments and normal matrices of the joint mixture.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        The covariates, one row a feature.
    responses : ndarray of shape (n,)
        The responses.
    offsets : ndarray of shape (K + 1,)
        Client k owns columns ``offsets[k]`` to ``offsets[k + 1]``.
    weights : ndarray of shape (K, M, R)
        Joint weights over the square roots of the covariances' determinants.
    means : ndarray of shape (K, M, d)
        Covariate means.
    whiteners : ndarray of shape (K, M, d, d)
        Inverses of the covariances' lower Cholesky factors.
    coefficients : ndarray of shape (K, R, d)
        Regression coefficients.
    floor : int
        ``ZEROS`` and ``BELOW`` raise normalised responsibilities that are 0, or up to 1e-8, to
        1e-8, as the published code does.

    Returns
    -------
    masses : ndarray of shape (K, M, R)
        Sums of responsibilities.
    deviations : ndarray of shape (K, M, d)
        Sums of responsibility times (x - mean).
    scatters : ndarray of shape (K, M, d, d)
        Sums of responsibility times (x - mean) (x - mean)', in the upper triangle.
    scores : ndarray of shape (K, R, d)
        Sums of responsibility times (y - x'theta) x.
    normal : ndarray of shape (K, R, d, d)
        Sums of responsibility times x x', in the upper triangle.
    """
    d = columns.shape[0]
    n_clients, n_covariate, n_components = weights.shape
    masses = np.zeros((n_clients, n_covariate, n_components))
    deviations = np.zeros((n_clients, n_covariate, d))
    scatters = np.zeros((n_clients, n_covariate, d, d))
    scores = np.zeros((n_clients, n_components, d))
    normal = np.zeros((n_clients, n_components, d, d))
    joint = np.empty((n_covariate * n_components, BLOCK))
    residuals = np.empty((n_components, BLOCK))
    squares = np.empty((n_components, BLOCK))
    centred = np.empty((n_covariate, d, BLOCK))
    mahalanobis = np.empty((n_covariate, BLOCK))
    share, scratch, total = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for k in range(n_clients):
        for start in range(offsets[k], offsets[k + 1], BLOCK):
            stop = min(start + BLOCK, offsets[k + 1])
            n = stop - start
            residuals_of(columns, responses, start, stop, coefficients[k], residuals, squares)
            for m in range(n_covariate):
                _centre(columns, start, stop, means[k, m], centred[m])
                _whitened_squares(centred[m], n, whiteners[k, m], mahalanobis[m])
                for r in range(n_components):
                    row = joint[m * n_components + r, :n]
                    for i in range(n):
                        row[i] = mahalanobis[m, i] + squares[r, i]
            normalise(joint, weights[k].reshape(-1), NO_FLOOR, scratch[:n], total[:n], False)
            _raise(joint, n, floor)
            for m in range(n_covariate):
                share[:n] = 0.0
                for r in range(n_components):
                    row = joint[m * n_components + r, :n]
                    summed = 0.0
                    for i in range(n):
                        summed += row[i]
                        share[i] += row[i]
                    masses[k, m, r] += summed
                for c in range(d):
                    summed = 0.0
                    for i in range(n):
                        summed += share[i] * centred[m, c, i]
                    deviations[k, m, c] += summed
                add_normal(centred[m], 0, n, share, scratch, scatters[k, m])
            for r in range(n_components):
                share[:n] = 0.0
                for m in range(n_covariate):
                    row = joint[m * n_components + r, :n]
                    for i in range(n):
                        share[i] += row[i]
                for c in range(d):
                    summed = 0.0
                    for i in range(n):
                        summed += share[i] * residuals[r, i] * columns[c, start + i]
                    scores[k, r, c] += summed
                add_normal(columns, start, stop, share, scratch, normal[k, r])
    return masses, deviations, scatters, scores, normal


@njit(inline="always")
def _centre(columns, start, stop, mean, centred):
    """Fill ``centred`` (d, BLOCK) with the block's points minus the mean (d,)."""
    for c in range(len(mean)):
        for i in range(stop - start):
            centred[c, i] = columns[c, start + i] - mean[c]


@njit(inline="always")
def _whitened_squares(centred, n, whitener, squares):
    """Fill ``squares`` (BLOCK,) with squared lengths of points whitened by (d, d)."""
    d = len(whitener)
    whitened = np.empty(n)
    squares[:n] = 0.0
    for c in range(d):
        whitened[:] = 0.0
        for e in range(c + 1):
            row = centred[e, :n]
            factor = whitener[c, e]
            for i in range(n):
                whitened[i] += factor * row[i]
        for i in range(n):
            squares[i] += whitened[i] * whitened[i]


@njit(cache=True)
def _raise(responsibilities, n, floor):
    """Raise small responsibilities (M R, BLOCK) to the published code's floor."""
    if floor == NO_FLOOR:
        return
    highest_raised = FLOOR if floor == BELOW else 0.0
    for row in responsibilities:
        for i in range(n):
            row[i] = row[i] if row[i] > highest_raised else FLOOR

"""E-step of a mixture of linear regressions with unit noise, for all clients in one pass."""

import math

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.responsibilities import BLOCK, REORDER, normalise


@njit(cache=True, fastmath=REORDER)
def regression_expectation(
    columns, responses, offsets, weights, coefficients, floor, with_normal, with_likelihood
):
    """Sum responsibilities, weighted scores and normal matrices over each client's points.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        The covariates, one row a feature.
    responses : ndarray of shape (n,)
        The responses.
    offsets : ndarray of shape (K + 1,)
        Client k owns columns ``offsets[k]`` to ``offsets[k + 1]``.
    weights : ndarray of shape (K, R)
        Mixing weights.
    coefficients : ndarray of shape (K, R, d)
        Regression coefficients.
    floor : int
        See :func:`fedmix.kernels.responsibilities.normalise`.
    with_normal : bool
        Whether to sum the normal matrices, which a gradient step does not need.
    with_likelihood : bool
        Whether to sum the log-likelihoods, which neither step needs.

    Returns
    -------
    responsibilities : ndarray of shape (K, R)
        Sums of responsibilities.
    scores : ndarray of shape (K, R, d)
        Sums of responsibility times (y - x'theta) x.
    normal : ndarray of shape (K, R, d, d)
        Sums of responsibility times x x', in the upper triangle; of shape (0, R, d, d) where not
        asked for.
    log_likelihoods : ndarray of shape (K,)
        Up to the density's constant; zeros where not asked for.
    """
    n_features = columns.shape[0]
    n_clients, n_components = weights.shape
    responsibilities = np.zeros((n_clients, n_components))
    scores = np.zeros((n_clients, n_components, n_features))
    n_normal = n_clients if with_normal else 0
    normal = np.zeros((n_normal, n_components, n_features, n_features))
    log_likelihoods = np.zeros(n_clients)
    squares = np.empty((n_components, BLOCK))
    residuals = np.empty((n_components, BLOCK))
    largest, total = np.empty(BLOCK), np.empty(BLOCK)
    for k in range(n_clients):
        for start in range(offsets[k], offsets[k + 1], BLOCK):
            stop = min(start + BLOCK, offsets[k + 1])
            n = stop - start
            residuals_of(columns, responses, start, stop, coefficients[k], residuals, squares)
            log_likelihoods[k] += normalise(
                squares, weights[k], floor, largest[:n], total[:n], with_likelihood
            )
            for r in range(n_components):
                row, residual = squares[r, :n], residuals[r, :n]
                summed = 0.0
                for i in range(n):
                    summed += row[i]
                    residual[i] *= row[i]
                responsibilities[k, r] += summed
                for c in range(n_features):
                    x = columns[c, start:stop]
                    summed = 0.0
                    for i in range(n):
                        summed += residual[i] * x[i]
                    scores[k, r, c] += summed
                if with_normal:
                    add_normal(columns, start, stop, row, total, normal[k, r])
    return responsibilities, scores, normal, log_likelihoods


@njit(cache=True, fastmath=REORDER)
def residuals_of(columns, responses, start, stop, coefficients, residuals, squares):
    """Fill ``residuals`` and ``squares`` (R, BLOCK) with y - x'theta and its square."""
    n_components, n_features = coefficients.shape
    n = stop - start
    y = responses[start:stop]
    for r in range(n_components):
        residual, row = residuals[r, :n], squares[r, :n]
        for i in range(n):
            residual[i] = y[i]
        for c in range(n_features):
            x = columns[c, start:stop]
            coefficient = coefficients[r, c]
            for i in range(n):
                residual[i] -= x[i] * coefficient
        for i in range(n):
            row[i] = residual[i] * residual[i]


@njit(cache=True, fastmath=REORDER)
def add_normal(columns, start, stop, responsibilities, scratch, normal):
    """Add responsibility times x x' of a block to the upper triangle of ``normal`` (d, d)."""
    n_features = columns.shape[0]
    n = stop - start
    for c in range(n_features):
        x = columns[c, start:stop]
        for i in range(n):
            scratch[i] = responsibilities[i] * x[i]
        for e in range(c, n_features):
            z = columns[e, start:stop]
            summed = 0.0
            for i in range(n):
                summed += scratch[i] * z[i]
            normal[c, e] += summed


@njit(cache=True, error_model="numpy")
def solve_normal(normal, right):
    """Solve symmetric positive definite systems by Cholesky's decomposition.

    Parameters
    ----------
    normal : ndarray of shape (m, d, d)
        The matrices; only their upper triangles are read.
    right : ndarray of shape (m, d)
        The right-hand sides.

    Returns
    -------
    solutions : ndarray of shape (m, d)
        Undefined where singular.
    singular : ndarray of shape (m,)
        Whether a pivot fell below d * 1e-13 of its diagonal entry.
    """
    m, d = right.shape
    solutions = np.zeros((m, d))
    singular = np.zeros(m, np.bool_)
    factor = np.empty((d, d))
    for a in range(m):
        for c in range(d):
            for e in range(c + 1):
                value = normal[a, e, c]
                for f in range(e):
                    value -= factor[c, f] * factor[e, f]
                if e < c:
                    factor[c, e] = value / factor[e, e]
                elif value > d * 1e-13 * normal[a, c, c]:
                    factor[c, c] = math.sqrt(value)
                else:
                    singular[a] = True
                    factor[c, c] = 1.0
        for c in range(d):
            value = right[a, c]
            for e in range(c):
                value -= factor[c, e] * solutions[a, e]
            solutions[a, c] = value / factor[c, c]
        for c in range(d - 1, -1, -1):
            value = solutions[a, c]
            for e in range(c + 1, d):
                value -= factor[e, c] * solutions[a, e]
            solutions[a, c] = value / factor[c, c]
    return solutions, singular

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

    Client k owns the ``columns`` (d, n), one row a feature, and ``responses`` (n,) from
    ``offsets[k]`` to ``offsets[k + 1]``. It has ``weights`` (K, R) and ``coefficients`` (K, R, d).
    ``floor`` is that of :func:`fedmix.kernels.responsibilities.normalise`.

    Returns the sums of responsibilities (K, R), of responsibility times (y - x'theta) x (K, R, d)
    and of responsibility times x x' (K, R, d, d), in the upper triangle, and the log-likelihoods
    (K,) up to the density's constant. Where not asked for, the normal matrices are of shape
    (0, R, d, d) and the log-likelihoods zeros.
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


@njit(inline="always")
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


@njit(inline="always")
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

    Only the upper triangles of ``normal`` (m, d, d) are read. Returns the solutions (m, d) for the
    right-hand sides (m, d), and whether a pivot fell below d * 1e-13 of its diagonal entry, (m,).
    The solution of such a singular system is undefined.
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

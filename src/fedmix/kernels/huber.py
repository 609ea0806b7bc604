"""Penalised pooling at the server: thresholds, shrinkage and Huber-type location problems."""

import math

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.regression import solve_normal

MAX_ITERATIONS = 200
MAX_TRIALS = 100  # of a line search
DAMPING = 1e-9  # of the sum of weights, added to the Hessian's diagonal
ROUNDING = 1e-3  # times a tolerance of 1e-12: a few units in the last place of the points


@njit(cache=True, error_model="numpy")
def huber_centres(points, weights, thresholds, tolerance):
    """Return the minimisers (R, d) of sum_k weights_k rho_k(|points_k - z|) over z.

    The points are (K, R, d). The weights (K,) are not negative and not all zero. rho_k is Huber's
    function: u^2 / 2 up to ``thresholds_k``, which may be infinite, and linear beyond.

    Newton's method with a line search stops at |sum_k g_k| <= tolerance * sum_k |g_k|, or at the
    rounding error of that sum, where g_k = weights_k min(1, thresholds_k / u_k) (points_k - z), u_k
    = |points_k - z|. A trace of curvature is added in directions that have none. Where minimisers
    are not unique (all points beyond their thresholds, on a line) it is the one that the iteration
    meets first from the weighted mean.
    """
    _, n_components, d = points.shape
    centres = np.empty((n_components, d))
    for r in range(n_components):
        z = _weighted_mean(points, weights, r)
        gradient, hessian, size = _derivatives(points, weights, thresholds, r, z)
        for _ in range(MAX_ITERATIONS):
            if math.sqrt(_dot(gradient[0], gradient[0])) <= tolerance * size:
                break
            step, _ = solve_normal(hessian, gradient)
            slope = _dot(step[0], gradient[0])
            z, gradient, hessian, size = _search(points, weights, thresholds, r, z, step[0], slope)
        centres[r] = z
    return centres


@njit(cache=True, error_model="numpy")
def _search(points, weights, thresholds, r, z, step, slope):
    """Move along a step until the slope has halved; return z and its derivatives.

    The objective is convex, so its slope changes sign once: the step is doubled up to there, or
    bisected.
    """
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(MAX_TRIALS):
        z_next = _moved(z, step, length)
        gradient, hessian, size = _derivatives(points, weights, thresholds, r, z_next)
        new_slope = _dot(step, gradient[0])
        if -0.01 * slope <= new_slope <= 0.5 * slope:
            break
        if new_slope > 0:
            low = length
        else:
            high = length
        length = 2 * length if high == np.inf else 0.5 * (low + high)
    return z_next, gradient, hessian, size


@njit(cache=True, error_model="numpy")
def _weighted_mean(points, weights, r):
    """Return the weighted mean of one component's points, (d,)."""
    n_clients, _, d = points.shape
    mean = np.zeros(d)
    total = 0.0
    for k in range(n_clients):
        total += weights[k]
    for k in range(n_clients):
        for c in range(d):
            mean[c] += weights[k] / total * points[k, r, c]
    return mean


@njit(cache=True, error_model="numpy")
def _dot(left, right):
    """Return the inner product of two vectors (d,)."""
    total = 0.0
    for c in range(len(left)):
        total += left[c] * right[c]
    return total


@njit(cache=True, error_model="numpy")
def _moved(z, step, scale):
    """Return z + scale * step, (d,)."""
    moved = np.empty(len(z))
    for c in range(len(z)):
        moved[c] = z[c] + scale * step[c]
    return moved


@njit(cache=True, error_model="numpy")
def _derivatives(points, weights, thresholds, r, z):
    """Return minus the gradient (1, d), the Hessian (1, d, d) and the sum of |g_k| at z.

    The sum is raised by what the rounding of the points amounts to.
    """
    n_clients, _, d = points.shape
    gradient, hessian = np.zeros((1, d)), np.zeros((1, d, d))
    mass = size = 0.0
    difference = np.empty(d)
    for k in range(n_clients):
        point = points[k, r]
        square = length = 0.0
        for c in range(d):
            difference[c] = point[c] - z[c]
            square += difference[c] * difference[c]
            length += abs(point[c])
        distance = math.sqrt(square)
        inside = distance <= thresholds[k]
        weight = weights[k] if inside else weights[k] * thresholds[k] / distance
        mass += weight
        size += weight * (distance + ROUNDING * length)
        for c in range(d):
            gradient[0, c] += weight * difference[c]
            hessian[0, c, c] += weight
        if not inside:
            _subtract_square(hessian[0], weight / square, difference)
    for c in range(d):
        hessian[0, c, c] += DAMPING * mass
    return gradient, hessian, size


@njit(cache=True, error_model="numpy")
def _subtract_square(matrix, scale, vector):
    """Subtract scale * vector vector' from a matrix (d, d), in whole rows, which vectorise."""
    for c in range(len(vector)):
        row, factor = matrix[c], scale * vector[c]
        for e in range(len(vector)):
            row[e] -= factor * vector[e]


@njit(cache=True, error_model="numpy")
def penalty_thresholds(penalty, sizes):
    """Return lambda / sqrt(n_k), (K,), from sizes (K,); infinite for a client without points."""
    thresholds = np.empty(len(sizes))
    for k in range(len(sizes)):
        thresholds[k] = penalty / math.sqrt(sizes[k]) if sizes[k] > 0 else np.inf
    return thresholds


@njit(cache=True)
def shorten(deviations, lengths, thresholds):
    """Shorten deviations (K, R, d) of lengths (K, R) by thresholds (K,), to no less than zero."""
    shortened = np.empty(deviations.shape)
    for k in range(lengths.shape[0]):
        for r in range(lengths.shape[1]):
            ratio = thresholds[k] / lengths[k, r] if lengths[k, r] > 0 else 1.0
            factor = max(1.0 - ratio, 0.0)
            for c in range(deviations.shape[2]):
                shortened[k, r, c] = factor * deviations[k, r, c]
    return shortened

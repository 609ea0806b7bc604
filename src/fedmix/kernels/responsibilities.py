"""From squared residuals to responsibilities, for one block of points of one client."""

import math

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.exponential import exp_of_nonpositive

BLOCK = 256  # points a block: the scratch of 10 components stays in the first-level cache
NO_FLOOR, ZEROS, BELOW = 0, 1, 2
FLOOR = 1e-8
# Sums may be reordered, so that they vectorise; infinities and NaN keep their meaning.
REORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True, fastmath=REORDER, error_model="numpy")
def normalise(squares, weights, floor, largest, total):
    """Turn squared residuals into responsibilities, in place.

    Parameters
    ----------
    squares : ndarray of shape (R, BLOCK)
        In its first b columns. In: squared residual of each point under each component.
        Out: responsibilities.
    weights : ndarray of shape (R,)
        Mixing weights.
    floor : int
        ``NO_FLOOR`` is log-sum-exp. ``ZEROS`` and ``BELOW`` raise weight times kernel to 1e-8
        before normalising, where it is exactly 0 or up to 1e-8.
    largest, total : ndarray of shape (b,)
        Scratch.

    Returns
    -------
    float
        The block's log-likelihood, up to the density's constant.
    """
    if floor == NO_FLOOR:
        _shifted_kernels(squares, weights, largest, total)
    else:
        _floored_kernels(squares, weights, floor, largest, total)
    n_components, n = len(weights), len(total)
    log_likelihood = 0.0
    for i in range(n):
        log_likelihood += largest[i] + math.log(total[i])
    if floor == NO_FLOOR:  # the total is at least 1, so that its reciprocal is safe, and faster
        for i in range(n):
            total[i] = 1.0 / total[i]
    for r in range(n_components):
        row = squares[r, :n]
        if floor == NO_FLOOR:
            for i in range(n):
                row[i] *= total[i]
        else:
            for i in range(n):
                row[i] /= total[i]
    return log_likelihood


@njit(cache=True, fastmath={"contract"})
def _shifted_kernels(squares, weights, largest, total):
    """Weight times kernel relative to each point's largest one: log-sum-exp."""
    n_components, n = len(weights), len(total)
    largest[:] = -np.inf
    total[:] = 0.0
    for r in range(n_components):
        row = squares[r, :n]
        log_weight = math.log(weights[r]) if weights[r] > 0.0 else -np.inf
        for i in range(n):
            value = log_weight - 0.5 * row[i]
            row[i] = value
            largest[i] = value if value > largest[i] else largest[i]
    for r in range(n_components):
        row = squares[r, :n]
        for i in range(n):
            kernel = exp_of_nonpositive(row[i] - largest[i])
            row[i] = kernel
            total[i] += kernel


@njit(cache=True)
def _floored_kernels(squares, weights, floor, largest, total):
    """Weight times kernel, raised to the published code's floor."""
    n_components, n = len(weights), len(total)
    largest[:] = 0.0
    total[:] = 0.0
    highest_raised = 0.0 if floor == ZEROS else FLOOR
    for r in range(n_components):
        row = squares[r, :n]
        for i in range(n):
            kernel = weights[r] * math.exp(-0.5 * row[i])
            row[i] = kernel if kernel > highest_raised else FLOOR
            total[i] += row[i]

"""From squared residuals to responsibilities, for one block of points of one client.

Without a vector mathematics library LLVM calls the scalar ``exp`` once a value. The exponential
below is plain arithmetic, so a loop over it becomes vector instructions.
"""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from fedmix.kernels.compiler import njit

BLOCK = 256  # points per block: the scratch of 10 components stays in the first-level cache
NO_FLOOR, ZEROS, BELOW = 0, 1, 2
FLOOR = 1e-8
# Sums may be reordered, so that they vectorise; infinities and NaN keep their meaning.
REORDER = {"reassoc", "contract", "nsz"}

LOG2_E = 1.4426950408889634
LOG_2_HIGH = 6.93147180369123816490e-01  # 33 bits: a product with an exponent is exact
LOG_2_LOW = 1.90821492927058770002e-10
ROUND_TO_INTEGER = 6755399441055744.0  # 1.5 * 2**52: adding it leaves an integer in the low bits
SMALLEST = -708.0  # below, the result would not be a normal number


# Without "reassoc", because compiled callers and the cache have copies of their own, which may
# reorder a sum in different ways.
@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def normalise(squares, weights, floor, largest, total, with_likelihood):
    """Turn squared residuals into responsibilities, in place.

    The first b columns of ``squares`` (R, BLOCK) hold the squared residual of each point under each
    component, and afterwards the responsibilities. ``weights`` (R,) are the mixing weights. The
    floor ``NO_FLOOR`` is log-sum-exp. ``ZEROS`` and ``BELOW`` raise weight times kernel to 1e-8
    before normalising, where it is exactly 0 or up to 1e-8. ``largest`` and ``total`` (b,) are
    scratch.

    Returns the block's log-likelihood, up to the density's constant; 0 where not asked for, because
    its logarithms take a third of the time.
    """
    if floor == NO_FLOOR:
        _shifted_kernels(squares, weights, largest, total)
    else:
        _floored_kernels(squares, weights, floor, largest, total)
    n_components, n = len(weights), len(total)
    log_likelihood = 0.0
    if with_likelihood:
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


@intrinsic
def _bits_of(typing_context, value):
    """Return the 64 bits of a float as an integer."""

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), code


@intrinsic
def _float_of(typing_context, bits):
    """Return the float with the given 64 bits."""

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), code


# Its callers must not reorder sums (fastmath "reassoc"): the rounding depends on their order.
@njit(inline="always")
def exp_of_nonpositive(x):
    """Return exp(x) for x <= 0, to about one unit in the last place; 0 below -708.

    x = k log 2 + r with an integer k and |r| <= log(2) / 2; exp(r) by its Taylor polynomial of
    degree 13 (the remainder is below 5e-18), times 2**k put together from its bits.
    """
    clipped = x if x > SMALLEST else SMALLEST
    shifted = clipped * LOG2_E + ROUND_TO_INTEGER
    k = shifted - ROUND_TO_INTEGER
    r = (clipped - k * LOG_2_HIGH) - k * LOG_2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = (p * r * r + r) + 1.0
    power_of_two = _float_of((_bits_of(shifted) + 1023) << 52)  # type: ignore[call-arg, var-annotated]
    return p * power_of_two if x > SMALLEST else 0.0

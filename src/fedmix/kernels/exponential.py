"""An exponential that the compiler can vectorise.

Without a vector mathematics library LLVM calls the scalar ``exp`` once a value. The function below
is plain arithmetic, so a loop over it becomes vector instructions.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from fedmix.kernels.compiler import njit

LOG2_E = 1.4426950408889634
LOG_2_HIGH = 6.93147180369123816490e-01  # 33 bits: a product with an exponent is exact
LOG_2_LOW = 1.90821492927058770002e-10
ROUND_TO_INTEGER = 6755399441055744.0  # 1.5 * 2**52: adding it leaves an integer in the low bits
SMALLEST = -708.0  # below, the result would not be a normal number


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

"""Checks of parameters that methods and embeddings share."""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite
from numbers import Integral, Real
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from fedmix.errors import ConfigurationError, nearest_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def check_integer(
    where: object, name: str, value: Any, least: int, most: int | None = None
) -> None:
    """Raise ConfigurationError unless a parameter is an integer from ``least`` to ``most``.

    ``where`` is the owner of the parameter, named in the message: an estimator or a string. A bool
    does not count as an integer.
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ConfigurationError(
            f"{_name_of(where)}: expected {name} to be an integer {wanted}, got {value!r}."
        )


def check_number(
    where: object,
    name: str,
    value: Any,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> None:
    """Raise ConfigurationError unless a parameter is a finite real number within bounds.

    ``least`` and ``most`` are themselves valid values, ``above`` and ``below`` are not.
    """
    bounds = [("at least", least, ge), ("above", above, gt), ("at most", most, le)]
    bounds = [bound for bound in [*bounds, ("below", below, lt)] if bound[1] is not None]
    real = isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    if not real or not all(holds(value, limit) for _, limit, holds in bounds):
        wanted = " and ".join(f"{word} {limit:g}" for word, limit, _ in bounds)
        raise ConfigurationError(
            f"{_name_of(where)}: expected {name} to be a finite number {wanted}, got {value!r}."
        )


def check_choice(where: object, name: str, value: Any, choices: Collection) -> None:
    """Raise ConfigurationError, with a hint, unless a parameter is one of the valid values."""
    if value not in list(choices):  # a mapping would need a hash, which not all values have
        hint = nearest_names(str(value), choices)
        raise ConfigurationError(f"{_name_of(where)}: unknown {name} {value!r}. {hint}")


def as_numbers(
    where: object, name: str, values: Any, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return a parameter as a new array of finite numbers, or raise ConfigurationError.

    It is C-contiguous float64 and must have the given shape.
    """
    import numpy as np

    wanted = f"{_name_of(where)}: expected {name} to be finite numbers of shape {shape}"
    try:
        array = np.array(as_real(values), order="C")
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{wanted}: {error}.") from None
    if array.shape != shape:
        raise ConfigurationError(f"{wanted}, got shape {array.shape}.")
    if not np.isfinite(array).all():
        count = np.count_nonzero(~np.isfinite(array))
        raise ConfigurationError(f"{wanted}, got {count} that are not finite.")
    return array


def as_real(values: Any) -> NDArray[np.float64]:
    """Return values as float64.

    Raises ValueError if they are not numbers, and TypeError if they are complex, masked, dates or
    durations: NumPy would silently drop imaginary parts and masks, and count days or nanoseconds.
    """
    import numpy as np

    if np.ma.isMaskedArray(values):
        raise TypeError("the array is masked: fill in or remove the masked values")
    kind = np.asarray(values).dtype.kind
    if kind == "c":
        raise TypeError("the values are complex")
    if kind in "mM":
        raise TypeError(
            "the values are dates or durations: convert them to numbers, or remove them"
        )
    return np.asarray(values, dtype=np.float64)


def _name_of(where: object) -> str:
    return where if isinstance(where, str) else type(where).__name__

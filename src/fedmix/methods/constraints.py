"""The valid values of a method's parameters, declared as literals and checked in one place.

Each method has a class variable ``constraints`` with a list of alternatives for each parameter, as
in scikit-learn's ``_parameter_constraints``. Scikit-learn's mechanism is not used because it is
private and needs objects that import all of scikit-learn. These alternatives are literals. Planning
a run can therefore read them from the source text
(:func:`fedmix.methods.capabilities.constraints_of`) and check a configuration before any numerical
library is imported.

An alternative is one of

- ``"integer"`` or ``"number"``, with bounds such as ``"integer >= 1"`` or
  ``"number > 0 and <= 1"``; ``"integers"`` for a sequence of integers;
- ``"boolean"``, ``"string"``, ``"array-like"``, ``"mapping"`` or ``"random_state"``;
- a set of strings, one of which the value must be;
- ``None``.
"""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any

from fedmix.errors import ConfigurationError, did_you_mean, nearest_names

Alternative = str | Collection[str] | None
Constraints = Mapping[str, Sequence[Alternative]]

_BOUND = re.compile(r"(>=|<=|>|<) ([-+.e\d]+)")
_HOLDS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def violation(method: str, name: str, value: Any, alternatives: Sequence[Alternative]) -> str:
    """Return what is wrong with a parameter's value, or an empty string.

    Parameters
    ----------
    method, name : str
        The method and its parameter.
    value : object
        The value to check.
    alternatives : sequence
        The valid values; see the module's description.
    """
    if any(_matches(value, alternative) for alternative in alternatives):
        return ""
    wanted = " or ".join(_describe(alternative) for alternative in alternatives)
    options = [o for a in alternatives if isinstance(a, set) for o in a]
    hint = did_you_mean(value, options) if isinstance(value, str) else ""
    return f"{method}: expected {name} to be {wanted}, got {value!r}. {hint}".rstrip()


def all_constraints(cls: type) -> Constraints:
    """Return the valid values of a method's parameters: its own and inherited constraints."""
    found: dict[str, Sequence[Alternative]] = {}
    taken = inspect.signature(cls).parameters
    for ancestor in reversed(cls.__mro__):
        found |= vars(ancestor).get("constraints", {})
    return {name: alternatives for name, alternatives in found.items() if name in taken}


def constraint_problems(cls: type) -> list[str]:
    """Return what is wrong with the constraints that a method declares, and with its defaults.

    A default may be None if the parameter is one that the method ``needs``.
    """
    found = []
    for name, alternatives in all_constraints(cls).items():
        if not isinstance(alternatives, list | tuple):
            wrong = [f"expected a list of alternatives, got {alternatives!r}"]
        else:
            wrong = [text for text in map(_misspelt, alternatives) if text]
        found += [f"{cls.__name__}.constraints[{name!r}]: {text}." for text in wrong]
        default = inspect.signature(cls).parameters[name].default
        needed = default is None and name in getattr(cls, "needs", ())
        if not (wrong or needed or default is inspect.Parameter.empty):
            found += filter(None, [violation(cls.__name__, name, default, alternatives)])
    return found


def _misspelt(alternative: Any) -> str:
    """Return what is wrong with an alternative, or an empty string."""
    if alternative is None:
        return ""
    if isinstance(alternative, set | frozenset) and all(isinstance(o, str) for o in alternative):
        return ""
    if not isinstance(alternative, str):
        return f"{alternative!r} is neither None, a text nor a set of texts"
    kind, _, bounds = alternative.partition(" ")
    known = [*_KINDS, "integers"]
    if kind not in known:
        return f"{alternative!r} begins with no known kind. {nearest_names(kind, known)}".rstrip(
            "."
        )
    one = _BOUND.pattern
    if bounds and not re.fullmatch(f"{one}( and {one})*", bounds):
        return f"{alternative!r} has bounds that are not like 'number > 0 and <= 1'"
    return ""


def check_parameters(method: str, values: Mapping[str, Any], constraints: Constraints) -> None:
    """Raise a ConfigurationError that lists all violations of a method's constraints."""
    found = [violation(method, name, value, constraints[name]) for name, value in values.items()]
    if any(found):
        raise ConfigurationError(" ".join(filter(None, found)))


def _matches(value: Any, alternative: Alternative) -> bool:
    if alternative is None:
        return value is None
    if not isinstance(alternative, str):
        return isinstance(value, str) and value in alternative
    kind, _, bounds = alternative.partition(" ")
    if kind == "integers":
        return _is_array_like(value) and all(_matches(v, f"integer {bounds}") for v in value)
    return _KINDS[kind](value) and all(
        _HOLDS[sign](value, float(limit)) for sign, limit in _BOUND.findall(bounds)
    )


def _describe(alternative: Alternative) -> str:
    if alternative is None:
        return "None"
    if not isinstance(alternative, str):
        return " or ".join(map(repr, sorted(alternative)))
    words = {"random_state": "a seed (an integer >= 0), a Generator, a RandomState or None"}
    if alternative.startswith("integers"):
        return f"a sequence of {alternative}"
    article = "an" if alternative[0] in "aeiou" else "a"
    return words.get(alternative, f"{article} {alternative}".replace("a number", "a finite number"))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_boolean(value: Any) -> bool:
    return type(value).__name__ in ("bool", "bool_")  # Python's and NumPy's


def _is_array_like(value: Any) -> bool:
    array = hasattr(value, "__array__") and getattr(value, "ndim", 1) > 0
    return array or isinstance(value, list | tuple | range)


def _is_random_state(value: Any) -> bool:
    seed = _is_integer(value) and value >= 0
    return value is None or seed or hasattr(value, "standard_normal")


_KINDS = {
    "integer": _is_integer,
    "number": _is_number,
    "boolean": _is_boolean,
    "string": lambda value: isinstance(value, str),
    "array-like": _is_array_like,
    "mapping": lambda value: isinstance(value, Mapping),
    "random_state": _is_random_state,
}

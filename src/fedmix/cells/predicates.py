"""Predicates by name: what a claim comes down to on our results.

A predicate is called once for each variant, with the places (settings) that the claim is about. It
yields a check for each place, or for each group of places that it compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from fedmix.errors import ConfigurationError, nearest_names

if TYPE_CHECKING:
    from fedmix.cells.evidence import Evidence, Place

    Predicate = Callable[..., Iterator["Check"]]

_MODULES = ("comparisons", "trends", "trajectories")
_REGISTRY: dict[str, Predicate] = {}


@dataclass(frozen=True)
class Check:
    """What a predicate found at one place.

    Parameters
    ----------
    variant, place : str
        Where; ``place`` is a setting's id or names a group of settings.
    answer : {"yes", "no", "unclear"}
        Whether the claim is borne out there, beyond Monte-Carlo noise.
    detail : str
        The numbers behind it.
    """

    variant: str
    place: str
    answer: str
    detail: str


def predicate(function: Predicate) -> Predicate:
    """Register a predicate under its function's name."""
    _REGISTRY[function.__name__] = function
    return function


def names() -> list[str]:
    """Return the names of all predicates."""
    _load()
    return sorted(_REGISTRY)


def get(name: str, parameters: Mapping[str, Any]) -> Predicate:
    """Return a predicate, checking that it takes the parameters.

    Raises
    ------
    ConfigurationError
        If the predicate or one of the parameters does not exist, or one is missing.
    """
    _load()
    if name not in _REGISTRY:
        raise ConfigurationError(f"Unknown predicate {name!r}. {nearest_names(name, _REGISTRY)}")
    function = _REGISTRY[name]
    taken = dict(list(signature(function).parameters.items())[2:])
    for key in parameters:
        if key not in taken:
            raise ConfigurationError(
                f"Predicate {name!r} takes no {key!r}. {nearest_names(key, taken)}"
            )
    for key, parameter in taken.items():
        if parameter.default is parameter.empty and key not in parameters:
            raise ConfigurationError(f"Predicate {name!r} needs {key!r}.")
    return function


def methods_at(evidence: Evidence, place: Place, chosen: str | list[str]) -> list[str]:
    """Return the chosen methods that were run at a place; ``"all"`` means every one."""
    present = evidence.methods(place)
    if chosen == "all":
        return present
    return [m for m in ([chosen] if isinstance(chosen, str) else chosen) if m in present]


def _load() -> None:
    for module in _MODULES:
        import_module(f"fedmix.cells.{module}")

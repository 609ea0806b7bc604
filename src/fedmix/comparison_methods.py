"""The methods that are compared: estimators, classes or names, and where each one starts."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from fedmix import methods as registry
from fedmix.errors import ConfigurationError
from fedmix.experiments.base import Method
from fedmix.methods.capabilities import able_methods, capabilities_of

#: Parameters that set a number of components or clusters.
_NUMBERS = ("n_components", "n_clusters", "components_per_client")


def chosen_methods(given: Iterable[Any]) -> list[Method]:
    """Return the methods to run, each with a name of its own."""
    given = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    listed = [_method_of(one) for one in given if not (isinstance(one, str) and one == "all")]
    kinds = [method.estimator for method in listed]
    listed = [m if kinds.count(m.estimator) == 1 else _named_in_full(m) for m in listed]
    if len(listed) < len(given):
        named = {method.estimator for method in listed}
        listed += [Method(name, name) for name in able_methods() if name not in named]
    for method in listed:
        can = capabilities_of(method.estimator)
        obstacle = can.obstacle("gaussian", "sample")
        if unknown := set(can.needs) - set(inspect.signature(method.kind).parameters):
            obstacle = f"its `needs` names {min(unknown)!r}, which its constructor does not take"
        if method.parameters.get("family") == "regression":
            obstacle = "its family is 'regression'"
        if obstacle:
            raise ConfigurationError(f"{method.estimator} cannot be compared here: {obstacle}.")
    names = [method.name for method in listed]
    if not names or len(set(names)) < len(names):
        twice = next((name for name in names if names.count(name) > 1), "")
        said = f"{twice} is given twice" if twice else "there is no method"
        said += ". Give at least one, and each only once; arrays are not part of a name."
        raise ConfigurationError(f"compare: {said}")
    return listed


def _method_of(given: Any) -> Method:
    """Return a configured method from an estimator, its class or its name."""
    if isinstance(given, str):
        return Method(given, registry.get(given).__name__)
    kind = given if isinstance(given, type) else type(given)
    if registry.index().get(kind.__name__) is None or registry.get(kind.__name__) is not kind:
        raise ConfigurationError(
            f"compare: {kind.__name__} is not registered. Decorate your own class with "
            "fedmix.methods.base.register. If you define it again, make its estimators again."
        )
    values = {} if isinstance(given, type) else given.get_params(deep=False)
    defaults = inspect.signature(kind).parameters
    changed = {n: v for n, v in values.items() if not _same(v, defaults[n].default)}
    return Method(kind.__name__, kind.__name__, changed)


def _named_in_full(method: Method) -> Method:
    """Return a method with its parameters in its name, beside others of the same class."""
    short = {n: v for n, v in method.parameters.items() if isinstance(v, str | int | float | None)}
    text = ", ".join(f"{name}={value}" for name, value in short.items())
    return replace(method, name=f"{method.name}({text})" if text else method.name)


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and np.array_equal(value, default)


def with_start(method: Method, n_clusters: int) -> Method:
    """Return the method, with its default start if it has its own number of components."""
    own = [method.parameters[name] for name in _NUMBERS if name in method.parameters]
    if not own or (np.array_equal(own, [n_clusters]) and method.kind.starts_from != "means"):
        return method
    init = inspect.signature(method.kind).parameters.get("init")
    start = {} if init is None else {"init": init.default}
    return replace(method, parameters={**start, **method.parameters})


def named_number(chosen: list[Method]) -> int:
    """Return the number of clusters that the estimators name."""
    given = [m.parameters.get(name) for m in chosen for name in _NUMBERS]
    found = {number for number in given if isinstance(number, int | np.integer)}
    if len(found) != 1:
        said = f"the estimators name {sorted(found)}" if found else "no estimator names one"
        raise ConfigurationError(
            f"compare: no number of clusters: there are no labels, and {said}. Give n_components."
        )
    return int(found.pop())

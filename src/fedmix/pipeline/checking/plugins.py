"""Check the methods of plug-ins, which are imported for it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from fedmix import plugins
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.methods import get, index
from fedmix.methods.capabilities import capabilities_of, constraints_of

#: Class variable of a method -> the values that mean something.
_DECLARED = {
    "families": ("gaussian", "regression"),
    "level": ("sample", "client"),
    "starts_from": (None, "mixtures", "means", "models", "model"),
}


def folder_of_plugins(given: str | None, root: Path) -> str | Path | None:
    """Return the folder of plug-ins, in the repository if there is none here."""
    if given and not Path(given).is_dir() and (root / given).is_dir():
        return root / given
    return given


def plugin_errors() -> Iterator[str]:
    """Yield why a module of plug-ins cannot be used, with its file and line.

    The decorator ``register`` checks each method's constraints at import.
    """
    for module, path in plugins.modules().items():
        try:
            import_module(module)
            own = sorted(name for name, place in index().items() if place == module)
            yield from (f"{path}: {error}" for name in own for error in _undeclared(name))
        except ConfigurationError as error:
            yield from (f"{path}: {problem}" for problem in error.problems)
        except (Exception, SystemExit) as error:  # whatever a file does when it is imported
            yield f"{_place(path, error)}: {type(error).__name__}: {error}"


def _undeclared(name: str) -> Iterator[str]:
    """Yield the class variables of a method that would keep it from running, without a word."""
    try:
        can, arguments = capabilities_of(name), list(constraints_of(name))
    except ConfigurationError:
        return  # reading the configuration reports it
    for variable, valid in {**_DECLARED, "needs": arguments}.items():
        value = getattr(can, variable)
        several = variable in ("families", "needs")
        if several and not isinstance(value, tuple | list):
            yield f"{name}.{variable}: expected a tuple of strings, got {value!r}."
            continue
        for one in value if several else [value]:
            if one not in valid:
                hint = nearest_names(str(one), [str(known) for known in valid])
                yield f"{name}.{variable}: {one!r} is not valid. {hint}"
    yield from _undefined(get(name))


def _undefined(method: type) -> Iterator[str]:
    """Yield the functions that a method does not define: those of the base class only raise."""
    from fedmix.methods.base import FederatedEstimator

    for function in ("_fit", "_predict"):
        if getattr(method, function, None) is getattr(FederatedEstimator, function):
            yield f"{method.__name__} has no {function}. Define it; `fit` and `predict` call it."


def _place(path: Path, error: BaseException) -> str:
    """Return the file and the last line of it that led to the error."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)

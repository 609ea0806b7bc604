"""The methods, one file each, found by their registered names.

A method is a class under ``@register`` in a module of this folder. Which module holds which method
is read off the source text, so that asking for one method imports that method alone.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

from fedmix.errors import ConfigurationError, nearest_names


@cache
def index() -> dict[str, str]:
    """Return the module of every registered method, ``{"FedGrEM": "fedmix.methods.fedgrem"}``."""
    found: dict[str, str] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and any(
                isinstance(d, ast.Name) and d.id == "register" for d in node.decorator_list
            ):
                found[node.name] = f"{__name__}.{path.stem}"
    return found


def get(name: str) -> type:
    """Return the class of a registered method.

    Raises
    ------
    ConfigurationError
        If no method has this name; the nearest valid names are listed.
    """
    if name not in index():
        raise ConfigurationError(f"Unknown method {name!r}. {nearest_names(name, index())}")
    return getattr(import_module(index()[name]), name)


def __getattr__(name: str) -> type:
    if name in index():
        return get(name)
    raise AttributeError(f"fedmix.methods has no method {name!r}. {nearest_names(name, index())}")


def __dir__() -> list[str]:
    return sorted([*globals(), *index()])

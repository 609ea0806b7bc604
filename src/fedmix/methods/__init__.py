"""The methods, one file each, found by their registered names.

A method is a class under ``@register`` in a module of this folder or of a plug-in
(:mod:`fedmix.plugins`). Which module holds which method is read off the source text, so that asking
for one method imports that method alone.
"""

from __future__ import annotations

import ast
import os
from functools import cache
from importlib import import_module
from pathlib import Path

from fedmix import plugins
from fedmix.errors import ConfigurationError, nearest_names


def use_plugins(folder: str | os.PathLike | None) -> None:
    """Take in the methods of a folder, and forget those of another.

    Raises
    ------
    ConfigurationError
        If there is no such folder, or it has no method.
    """
    from fedmix.methods import capabilities

    before = list(plugins.__path__)
    plugins.use_folder(folder)
    if list(plugins.__path__) != before:
        for remembered in (index, parsed, *capabilities.REMEMBERED):
            remembered.cache_clear()
    own = f"{plugins.__name__}."
    if plugins.__path__ and not any(module.startswith(own) for module in index().values()):
        raise ConfigurationError(
            f"The folder of plug-ins {plugins.__path__[0]} has no method: a class under @register "
            "in a file whose name is a module's, such as my_method.py."
        )


@cache
def index() -> dict[str, str]:
    """Return the module of every registered method, ``{"FedGrEM": "fedmix.methods.fedgrem"}``.

    Raises
    ------
    ConfigurationError
        If two methods have one name, or a plug-in is not Python.
    """
    found: dict[str, str] = {}
    for module, tree in parsed().items():
        for name in filter(None, map(_registered, tree.body)):
            if name in found:
                raise ConfigurationError(
                    f"Two methods are called {name}, in {found[name]} and {module}: rename one."
                )
            found[name] = module
    return found


@cache
def parsed() -> dict[str, ast.Module]:
    """Return the source of every module that may hold methods, parsed; see :func:`index`."""
    own = {f"{__name__}.{p.stem}": p for p in sorted(Path(__file__).parent.glob("[a-z]*.py"))}
    return {module: _parse(path) for module, path in {**own, **plugins.modules()}.items()}


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


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        line = getattr(error, "lineno", None) or 1
        raise ConfigurationError(f"{path}:{line}: this method is not Python: {error}") from error


def _registered(node: ast.stmt) -> str | None:
    """Return the name of a registered class, or None for anything else."""
    if not isinstance(node, ast.ClassDef):
        return None
    names = [getattr(d, "id", getattr(d, "attr", None)) for d in node.decorator_list]
    return node.name if "register" in names else None


def __getattr__(name: str) -> type:
    if name in index():
        return get(name)
    raise AttributeError(f"fedmix.methods has no method {name!r}. {nearest_names(name, index())}")


def __dir__() -> list[str]:
    return sorted([*globals(), *index()])

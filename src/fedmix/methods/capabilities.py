"""The registered methods and what they can do, read from their source text.

A method is a class decorated with ``@register`` in a module of this folder or of a plug-in
(:mod:`fedmix.plugins`). Planning a run imports none of them. Using a method imports only its
module.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from fedmix import plugins
from fedmix.errors import ConfigurationError, nearest_names, not_utf8
from fedmix.methods.constraints import all_constraints


def use_plugins(folder: str | os.PathLike | None) -> None:
    """Use the methods of a folder instead of those of an earlier folder.

    Parameters
    ----------
    folder : path-like or None
        The folder; see :func:`fedmix.plugins.use_folder`.

    Raises
    ------
    ConfigurationError
        If the folder does not exist or contains no method.
    """
    before = list(plugins.__path__)
    plugins.use_folder(folder)
    if list(plugins.__path__) != before:
        for function in _CACHED:
            function.cache_clear()
    own = f"{plugins.__name__}."
    if plugins.__path__ and not any(module.startswith(own) for module in index().values()):
        raise ConfigurationError(
            f"The folder of plug-ins {plugins.__path__[0]} has no method. A method is a class "
            "decorated with @register, in a file named like a module, such as my_method.py."
        )


#: Methods that are in no file of methods, such as classes of a notebook, by name.
_defined: dict[str, type] = {}


def define(cls: type) -> None:
    """Register a class that is in no file of methods. A class of the same name is replaced.

    Raises
    ------
    ConfigurationError
        If a file of methods has a method of this name.
    """
    if cls.__module__.startswith("fedmix.") or cls.__module__ in plugins.modules():
        return
    if cls.__name__ in _in_files():
        raise ConfigurationError(
            f"There is a method {cls.__name__} already, in {_in_files()[cls.__name__]}. Rename "
            "this one."
        )
    _defined[cls.__name__] = cls


def index() -> dict[str, str]:
    """Return the module of every registered method, ``{"FedGrEM": "fedmix.methods.fedgrem"}``.

    The errors are those of a file with methods that is not valid.
    """
    return {**_in_files(), **{name: cls.__module__ for name, cls in _defined.items()}}


@cache
def _in_files() -> dict[str, str]:
    """Return the module of every method in a file.

    A ConfigurationError is raised if two methods have the same name, or a plug-in's file is not
    valid Python.
    """
    found: dict[str, str] = {}
    for module, tree in _parsed().items():
        for name in filter(None, map(_registered, tree.body)):
            if name in found:
                raise ConfigurationError(
                    f"Two methods are called {name}, in {found[name]} and {module}. Rename one."
                )
            found[name] = module
    return found


def get(name: str) -> type:
    """Return the class of a registered method.

    Raises
    ------
    ConfigurationError
        If no method has this name. The message lists the most similar names.
    """
    _check_known(name)
    return _defined.get(name) or getattr(import_module(index()[name]), name)


@dataclass(frozen=True)
class Capabilities:
    """The class variables that declare which data a method can run on.

    Parameters
    ----------
    families, level, needs, starts_from
        See :class:`fedmix.methods.base.FederatedEstimator`.
    """

    families: tuple[str, ...]
    level: str
    needs: tuple[str, ...]
    starts_from: str | None

    def obstacle(self, family: str, level: str) -> str:
        """Return why a method cannot run on such data, or an empty string if it can.

        Parameters
        ----------
        family : str
            Family of the data, "gaussian" or "regression".
        level : str
            What the method should label: "sample" or "client".
        """
        if family not in self.families:
            return f"for {' or '.join(self.families)} data only"
        if level != self.level:
            return f"labels {self.level}s, not {level}s"
        return ""


def capabilities_of(name: str) -> Capabilities:
    """Return the capabilities of a registered method.

    Raises
    ------
    ConfigurationError
        If no method has this name, or a class variable is not written as a literal.
    """
    _check_known(name)
    if name in _defined:
        return Capabilities(
            **{f.name: getattr(_defined[name], f.name) for f in fields(Capabilities)}
        )
    return _capabilities_in_file(name)


@cache
def _capabilities_in_file(name: str) -> Capabilities:
    found = {f.name: list(_class_variables(name, f.name)) for f in fields(Capabilities)}
    missing = [variable for variable, values in found.items() if not values]
    if missing:
        raise ConfigurationError(f"{name} has no {missing[0]}: inherit FederatedEstimator.")
    return Capabilities(**{variable: values[0] for variable, values in found.items()})


def constraints_of(name: str) -> dict[str, Any]:
    """Return the valid values of each parameter of a registered method.

    The keys are the parameters of its constructor, inherited constraints included. Values are
    checked by :func:`fedmix.methods.constraints.violation`. The errors are those of
    :func:`capabilities_of`.
    """
    _check_known(name)
    if name in _defined:
        return dict(all_constraints(_defined[name]))
    return _constraints_in_file(name)


@cache
def _constraints_in_file(name: str) -> dict[str, list]:
    merged: dict[str, list] = {}
    for own in reversed(list(_class_variables(name, "constraints"))):
        merged |= own
    return {parameter: merged[parameter] for parameter in _arguments(name) if parameter in merged}


def able_methods(family: str = "gaussian", level: str = "sample") -> list[str]:
    """Return the names of all registered methods that can run on such data, sorted."""
    return sorted(name for name in index() if not capabilities_of(name).obstacle(family, level))


def obstacles(family: str = "gaussian", level: str = "sample") -> dict[str, str]:
    """Return the reason for each registered method that cannot run on such data."""
    reasons = {name: capabilities_of(name).obstacle(family, level) for name in sorted(index())}
    return {name: reason for name, reason in reasons.items() if reason}


def _check_known(name: str) -> None:
    if name not in index():
        raise ConfigurationError(f"Unknown method {name!r}. {nearest_names(name, index())}")


def _class_variables(class_name: str, variable: str) -> Iterator[Any]:
    """Yield the values that a class and its bases give a variable, its own first."""
    for ancestor in _ancestors(class_name):
        for node in _classes()[ancestor].body:
            if variable in _targets(node):
                try:
                    yield ast.literal_eval(node.value)  # type: ignore[attr-defined]
                except ValueError:
                    raise ConfigurationError(
                        f"{ancestor}.{variable} must be a literal, such as a tuple of strings, "
                        "because it is read from the source text."
                    ) from None


def _arguments(class_name: str) -> list[str]:
    """Return the constructor's parameters, from the first class that has a constructor."""
    for ancestor in _ancestors(class_name):
        for node in _classes()[ancestor].body:
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                return [a.arg for a in [*node.args.args[1:], *node.args.kwonlyargs]]
    return []


def _targets(node: ast.stmt) -> list[str]:
    """Return the names that a statement of a class body assigns to."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return [node.target.id] if isinstance(node.target, ast.Name) else []
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def _ancestors(name: str) -> list[str]:
    """Return a class and its bases among the methods' modules, in Python's order.

    The order is depth first, with each class at its last position.
    """
    return list(dict.fromkeys(list(_depth_first(name))[::-1]))[::-1]


def _depth_first(name: str) -> Iterator[str]:
    if name in _classes():
        yield name
        for base in _classes()[name].bases:
            yield from _depth_first(base.id if isinstance(base, ast.Name) else "")


@cache
def _classes() -> Mapping[str, ast.ClassDef]:
    """Return all classes by name.

    A ConfigurationError is raised if a plug-in's class has the name of a class of fedmix. The
    source text of a subclass would not show which of the two is its base.
    """
    found: dict[str, ast.ClassDef] = {}
    for module, tree in _parsed().items():
        own = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        taken = sorted(set(own) & set(found))
        if taken and not module.startswith("fedmix.methods."):
            raise ConfigurationError(
                f"{module}: there is a class {taken[0]} already. Rename this one."
            )
        found |= own
    return found


@cache
def _parsed() -> dict[str, ast.Module]:
    """Return the parsed source of every module that can contain methods; see :func:`index`."""
    own = {f"fedmix.methods.{p.stem}": p for p in sorted(Path(__file__).parent.glob("[a-z]*.py"))}
    return {module: _parse(path) for module, path in {**own, **plugins.modules()}.items()}


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8-sig"))  # some editors add the signature
    except UnicodeDecodeError as error:
        raise ConfigurationError(not_utf8(path, error)) from error
    except SyntaxError as error:
        line = error.lineno or 1
        raise ConfigurationError(f"{path}:{line}: not valid Python: {error.msg}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path}: not valid Python: {error}") from error


def _registered(node: ast.stmt) -> str | None:
    """Return the name of a registered class; None for any other statement."""
    if not isinstance(node, ast.ClassDef):
        return None
    names = [getattr(d, "id", getattr(d, "attr", None)) for d in node.decorator_list]
    return node.name if "register" in names else None


#: The functions whose results depend on the plug-ins.
_CACHED = (_in_files, _capabilities_in_file, _constraints_in_file, _parsed, _classes)

"""Experiments: each makes problems of one kind and scores a method on them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from fedmix.errors import ConfigurationError, nearest_names

_PARTS = ("base", "runner", "__init__")


def names() -> list[str]:
    """Return the names of all experiments."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in _PARTS)


@cache
def has_initial_values(experiment: str) -> bool:
    """Return whether the methods of an experiment share a start that is computed beforehand.

    It has one if its module has a function ``initial_values``, which is read off the source text,
    so that planning a run imports no numerical library.

    Raises
    ------
    ConfigurationError
        If there is no such experiment; the nearest valid names are listed.
    """
    if experiment not in names():
        raise ConfigurationError(
            f"Unknown experiment {experiment!r}. {nearest_names(experiment, names())}"
        )
    text = (Path(__file__).parent / f"{experiment}.py").read_text(encoding="utf-8")
    return any("initial_values" in _names_bound_by(node) for node in ast.parse(text).body)


def _names_bound_by(node: ast.stmt) -> list[str]:
    """Return what a function definition or an import adds to its module."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    return []

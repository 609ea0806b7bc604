"""Imports go downward only: pipeline and views stand on cells, cells on the library."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "fedmix"
LAYERS = ("cells", "views", "pipeline")
MAY_IMPORT = {"library": set(), "cells": {"cells"}, "views": {"cells", "views"}}


def layer_of(module: str) -> str:
    """Return the layer that a module of fedmix belongs to."""
    first = module.split(".")[1] if "." in module else ""
    return first if first in LAYERS else "library"


def imports_of(path: Path) -> set[str]:
    """Return every module of fedmix that a file imports, wherever it does so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where they lead"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "fedmix"}


MODULES = {
    path: "fedmix." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in sorted(SOURCE.rglob("*.py"))
    if path.name != "__main__.py"  # the command line stands above everything
}


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_a_layer_imports_nothing_of_those_above_it(layer):
    own = [path for path, module in MODULES.items() if layer_of(module) == layer]
    assert own
    for path in own:
        above = {m for m in imports_of(path) if layer_of(m) in set(LAYERS) - MAY_IMPORT[layer]}
        assert not above, f"{path.relative_to(SOURCE)} imports {sorted(above)}"


def test_every_layer_is_there():
    assert {layer_of(module) for module in MODULES.values()} == {"library", *LAYERS}

"""Imports go downward only, wherever in a file they stand, and never in a circle."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "fedmix"
#: From low to high; those of one layer do not import each other. "" is the package itself.
LAYERS = (
    {"", "errors", "conditions", "revision"},
    {"checks", "declarations", "plugins"},
    {"inputs", "theory"},
    {"configuration", "streams", "storage", "clients"},
    {"kernels", "fitted"},
    {"alignment", "families", "metrics", "partition", "embed"},
    {"simulate"},
    {"initialization", "data", "selection", "preprocessing"},
    {"methods"},
    {"experiments"},
    {"protocols"},
    {"plot"},
    {"cells"},
    {"views"},
    {"comparison_methods"},
    {"comparison"},
    {"pipeline"},
    {"__main__"},
)
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}


def name_of(path: Path) -> str:
    """Return the full name of a module."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def part_of(module: str) -> str:
    """Return the package or module directly in fedmix that a module belongs to."""
    return module.partition(".")[2].partition(".")[0]


def imports_of(module: str) -> set[str]:
    """Return the other modules of fedmix that a module imports, wherever it does so."""
    path = MODULES[module]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where they lead"
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in full}
    return (found & set(MODULES)) - {module}


def test_every_part_has_its_layer():
    assert {part_of(module) for module in MODULES} == set(HEIGHT)


@pytest.mark.parametrize("part", sorted(HEIGHT))
def test_a_part_imports_what_lies_below_it_alone(part):
    for module in (name for name in MODULES if part_of(name) == part):
        others = {name for name in imports_of(module) if part_of(name) != part}
        above = sorted(name for name in others if HEIGHT[part_of(name)] >= HEIGHT[part])
        assert not above, f"{module} imports {above}"


def test_no_module_imports_itself_by_way_of_others():
    TopologicalSorter({module: imports_of(module) for module in MODULES}).prepare()


def test_a_method_says_what_it_tunes_to_nobody_but_the_methods_and_their_selection():
    knowing = {part_of(name) for name, path in MODULES.items() if "tunes" in _words(path)}
    assert knowing <= {"methods", "selection"}


def _words(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {getattr(node, "attr", getattr(node, "id", None)) for node in ast.walk(tree)}

"""Hashes of the source code behind a result, so that changed code reruns what follows from it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from fedmix.storage import sha256_of

PACKAGE = "fedmix"
ROOT = Path(__file__).parents[1]
_RESOURCES = (".html", ".css", ".js", ".mplstyle")


@cache
def source_hash(*modules: str) -> str:
    """Return a hash of the modules' source and of all of fedmix that they import.

    Parameters
    ----------
    *modules : str
        Full names such as ``"fedmix.methods.fedgrem"``. A package counts with all of its files,
        templates too, for it may load them by name.

    Returns
    -------
    str
        16 hexadecimal digits. A comment changes it, code of another method does not.

    Raises
    ------
    ModuleNotFoundError
        If there is no such module: the hash of nothing would never change.
    """
    digest = hashlib.sha256()
    for name in source_files(*modules):
        digest.update(name.encode())
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()[:16]


def source_files(*modules: str) -> list[str]:
    """Return the modules' files and all of fedmix that they import, relative to the package."""
    for module in modules:
        if _path(module) is None:
            raise ModuleNotFoundError(f"no module {module!r} in {ROOT}: its code has no hash")
    asked = [name for module in modules for name in (module, *_modules_within(module))]
    files = set().union(*map(_closure, asked), *map(_other_files_within, modules))
    return sorted(path.relative_to(ROOT).as_posix() for path in files)


def content_hash(root: Path, *patterns: str) -> str:
    """Return a hash of files' names and contents, wherever they lie and however old they are.

    Parameters
    ----------
    root : path
        Names count relative to it.
    *patterns : str
        Files below it, by name or with wildcards.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in root.glob(pattern)}):
        digest.update(f"{path.relative_to(root).as_posix()} {sha256_of(path)}\n".encode())
    return digest.hexdigest()[:16]


@cache
def _closure(module: str) -> frozenset[Path]:
    """Return the files that importing a module may run, itself included."""
    seen: dict[Path, None] = {}
    waiting = [module]
    while waiting:
        path = _path(waiting.pop())
        if path is not None and path not in seen:
            seen[path] = None
            waiting += _imports(path)
    return frozenset(seen)


def _folder(package: str) -> Path:
    return ROOT.joinpath(*package.split(".")[1:])


def _modules_within(package: str) -> list[str]:
    """Return the modules directly in a package; none for a module."""
    return [f"{package}.{path.stem}" for path in sorted(_folder(package).glob("[a-z]*.py"))]


def _other_files_within(package: str) -> list[Path]:
    """Return what a package holds beside modules, such as templates."""
    found = _folder(package).rglob("*")
    return [p for p in found if p.is_file() and p.suffix in _RESOURCES]


@cache
def _imports(path: Path) -> tuple[str, ...]:
    found: list[str] = []
    for node in _run(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(n for n in found if n == PACKAGE or n.startswith(f"{PACKAGE}."))


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what running a file may reach: what only a type checker reads changes no result."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING"):
            yield from _run(child)


def _path(module: str) -> Path | None:
    """Return a module's file; None for a name that is not a module, such as a class."""
    base = ROOT.joinpath(*module.split(".")[1:])
    candidates = (base.with_suffix(".py"), base / "__init__.py")
    return next((p for p in candidates if p.is_file()), None)

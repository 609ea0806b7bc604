"""Hashes of code, data and configuration: Snakemake does not look into the modules of a script.

Rules have these hashes as parameters, so that a change reruns what depends on it. They are also in
the stamp of kept pages.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path
from typing import Any

from fedmix import plugins
from fedmix.storage import sha256_of

PACKAGE = "fedmix"
ROOT = Path(__file__).parents[1]
_RESOURCES = (".html", ".css", ".js", ".mplstyle")
# A new version number alone changes no result.
_VERSION = re.compile(r"^__version__ = .*$", re.MULTILINE)
_HOLD_STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
_BEGINS = {tokenize.ENCODING, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
#: The scripts that make kept pages from evidence.
SCRIPTS = (
    *("collect_results", "judge_results", "make_table", "draw_figures", "draw_claims"),
    *("score_protocols", "export_reproduction"),
)
#: Packages whose modules these scripts import by a name in the configuration.
LOADED_BY_NAME = ("fedmix.cells", "fedmix.experiments")


@cache
def source_hash(*modules: str) -> str:
    """Return a hash of the source of modules and of all modules of fedmix that they import.

    Comments, docstrings, blank lines and the code of other methods do not change it. Modules have
    full names such as ``"fedmix.methods.fedgrem"``. A package includes all its files, also
    templates, because it may load them by name.
    """
    return _hash_of(source_files(*modules))


@cache
def script_hash(script: Path, *modules: str) -> str:
    """Return a hash of a rule's script and of all modules of fedmix that it imports.

    ``modules`` are those that the script's modules import by a name in the configuration.
    """
    files = {script.name: script}
    for name in _imports("script", script):
        files |= _closure(name)
    return _hash_of(files | _resources_beside(files.values()) | source_files(*modules))


def _hash_of(files: Mapping[str, Path]) -> str:
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        digest.update(name.encode())
        text = path.read_text(encoding="utf-8-sig")
        digest.update((_code(text) if path.suffix == ".py" else text).encode())
    return digest.hexdigest()[:16]


def source_files(*modules: str) -> dict[str, Path]:
    """Return the files of modules and of all modules of fedmix and plug-ins that they import.

    Their names are relative to fedmix; a plug-in has its module's name.
    """
    files: dict[str, Path] = {}
    for module in modules:
        path = _path(module)
        if path is None:
            raise ModuleNotFoundError(f"no module {module!r} in {ROOT}: its code has no hash")
        files |= _closure(module)
        for within in path.parent.rglob("*") if path.stem == "__init__" else ():
            name = within.relative_to(path.parent)
            if within.match("[a-z]*.py"):
                files |= _closure(".".join([module, *name.with_suffix("").parts]))
            elif within.is_file() and within.suffix in _RESOURCES:
                files[f"{module}/{name.as_posix()}"] = within
    return files | _resources_beside(files.values())


def content_hash(root: Path, *patterns: str) -> str:
    """Return a hash of the names and contents of files that match patterns below a folder.

    It ignores the folder's place and the files' age. Hidden files are left out: a killed writer
    leaves some.
    """
    digest = hashlib.sha256()
    found = {path for pattern in patterns for path in root.glob(pattern)}
    for path in sorted(path for path in found if not path.name.startswith(".")):
        digest.update(f"{path.relative_to(root).as_posix()} {sha256_of(path)}\n".encode())
    return digest.hexdigest()[:16]


_ASKED = 12  # digits of a key that stand for the parameters


def key_of(*parts: Any) -> str:
    """Return the hash of everything that a replication depends on: parameters, code, data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def keys_of(
    scenario: Mapping[str, Any],
    experiment: str,
    data: str | None,
    methods: Iterable[Mapping[str, Any]],
    sources: Mapping[str, str],
) -> dict[str, str]:
    """Return the key of each method of a setting: what was asked, then by what it was made.

    ``scenario`` is the setting, ``experiment`` the hash of the code that makes a replication,
    ``data`` the sha256 of the embedded data set, if there is one, and ``sources`` has the hash of
    the code of each method.
    """
    keys = {}
    for method in methods:
        name = method["name"]
        made_by = key_of(experiment, data, sources[name])
        keys[name] = key_of(scenario, method)[:_ASKED] + made_by[_ASKED:]
    return keys


def asks_the_same(key: str, other: str) -> bool:
    """Return whether two keys are of the same parameters; code and data may differ."""
    return key[:_ASKED] == other[:_ASKED]


@cache
def _code(text: str) -> str:
    """Return a module's source without comments, docstrings, blank lines and version number."""
    lines = [*text.splitlines(), ""]
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type != tokenize.NL
    ]
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        begins = before is None or before.type in _BEGINS or before.type == tokenize.COMMENT
        ends = after is not None and after.type in (tokenize.NEWLINE, tokenize.COMMENT)
        alone = token.type == tokenize.STRING and begins and ends
        if token.type == tokenize.COMMENT or alone:
            _blank(lines, token.start, token.end)
    kept = (line.rstrip() for line in lines)
    return _VERSION.sub("", "\n".join(line for line in kept if line))


def _blank(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> None:
    """Replace a token by spaces; tokens count lines from 1."""
    for number in range(start[0], end[0] + 1):
        line = lines[number - 1]
        first = start[1] if number == start[0] else 0
        last = end[1] if number == end[0] else len(line)
        lines[number - 1] = line[:first] + " " * (last - first) + line[last:]


@cache
def _closure(module: str) -> dict[str, Path]:
    """Return the files that importing a module may run, including its own, by name."""
    files: dict[str, Path] = {}
    waiting, met = [module], {module}
    while waiting:
        name = waiting.pop()
        path = _path(name)
        if path is not None:
            files[_name(name, path)] = path
            others = set(_imports(name, path)) - met
            met |= others
            waiting += others
    return files


def _name(module: str, path: Path) -> str:
    """Return the name of a module's file for a hash."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else module


def _resources_beside(modules: Iterable[Path]) -> dict[str, Path]:
    """Return the other files in the folders of modules, and in their folders of templates."""
    found = [
        path
        for folder in {module.parent for module in modules}
        for pattern in ("*", "templates/*")
        for path in folder.glob(pattern)
    ]
    return {_name(path.stem, path): path for path in found if path.suffix in _RESOURCES}


@cache
def _imports(module: str, path: Path) -> tuple[str, ...]:
    """Return the modules of fedmix and of plug-ins that a module imports, and names in them."""
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    found: list[str] = []
    for node in _run(ast.parse(path.read_text(encoding="utf-8-sig"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            found += [source, *(f"{source}.{alias.name}" for alias in node.names)]
    followed = {PACKAGE, *plugins.packages()}
    own = [name for name in found if name.partition(".")[0] in followed]
    # The packages that a module is in run when it is imported.
    parents = (each for name in own for each in accumulate(name.split("."), "{}.{}".format))
    return tuple(dict.fromkeys(parents))


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements that running a file may reach, without those for type checkers only."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, _HOLD_STATEMENTS)
            and not (isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING")
        ]


def _path(module: str) -> Path | None:
    """Return a module's file; None for a name that is not a module, such as a class."""
    top, *rest = module.split(".")
    if top != PACKAGE or (rest[:1] == ["plugins"] and len(rest) > 1):
        return plugins.path_of(module)
    return _file_of(ROOT, *rest)


@cache
def _file_of(root: Path, *parts: str) -> Path | None:
    base = root.joinpath(*parts)
    candidates = (base.with_suffix(".py"), base / "__init__.py")
    return next((p for p in candidates if p.is_file()), None)


def stamp_of(repository: Path) -> str:
    """Return a sentence with the hashes of the evidence, the configuration and the judging code.

    Pages with another stamp are out of date: ``make kept`` writes them again.
    """
    scripts = [repository / "workflow" / "scripts" / f"{name}.py" for name in SCRIPTS]
    hashes = {
        "evidence": content_hash(
            repository,
            "data/evidence/*.parquet",
            "data/evidence/*.json",
            "docs/reproduction/protocols/*/*/*",  # kept searches, which verdicts are made from
        ),
        "configuration": content_hash(repository, "config/**/*.yaml", "data/published/*/*.csv"),
        "code": key_of(*(script_hash(script, *LOADED_BY_NAME) for script in scripts)),
    }
    return f"Stamp: {', '.join(f'{name} {value[:8]}' for name, value in hashes.items())}."


class Brief(dict):
    """A mapping that is recorded and printed by what it holds and the hash of its values.

    Examples
    --------
    >>> Brief("settings", {"a": {"h": 0.0}, "b": {"h": 1.0}})  # doctest: +ELLIPSIS
    settings (...)
    """

    def __init__(self, what: str, values: Mapping[str, Any]):
        super().__init__(values)
        self.what = what

    def __repr__(self) -> str:
        return f"{self.what} ({key_of(repr(dict(self)))})"

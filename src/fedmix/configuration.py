"""Read and validate configuration files strictly, and report all errors at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from fedmix.declarations import Keys, adapter, explained, fields_of, hidden_fields
from fedmix.errors import ConfigurationError, nearest_names, not_utf8

#: Returns the place of some keys as text, or None if the file does not have them.
Finder = Callable[[Keys], str | None]

_MERGE = "tag:yaml.org,2002:merge"
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C version is faster


class _StrictLoader(_SafeLoader):
    """A safe loader that rejects a repeated key, which YAML would silently overwrite."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen = set()
        for key, _ in node.value:
            if key.tag == _MERGE:
                continue
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigurationError(f"the key in line {line} is a list or a mapping")
            if key.value in seen:
                raise ConfigurationError(f"key {key.value!r} is given twice, again in line {line}")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: str | Path) -> Any:
    """Read a YAML file safely.

    Raises ConfigurationError, with the file and line, if the file is missing, is not YAML or
    repeats a key.
    """
    path = Path(path)
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except FileNotFoundError:
        hint = nearest_names(path.stem, [p.stem for p in path.parent.glob("*.yaml")])
        raise ConfigurationError(f"There is no file {path}. {hint}") from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(not_utf8(path, error)) from error
    except yaml.MarkedYAMLError as error:
        raise ConfigurationError(_not_yaml(path, error)) from error
    except yaml.reader.ReaderError as error:
        raise ConfigurationError(
            f"{path}: not valid YAML: character {error.position} is #x{error.character:04x}, "
            "which YAML does not allow. Remove it."
        ) from error
    except (ValueError, RecursionError, OSError) as error:
        raise ConfigurationError(f"{path}: {error}") from error


def _not_yaml(path: Path, error: yaml.MarkedYAMLError) -> str:
    """Return what is wrong with a file's syntax, and in which line."""
    before = ""
    if error.context and error.context_mark:
        before = f"{error.context} (line {error.context_mark.line + 1}): "
    line = error.problem_mark.line + 1 if error.problem_mark else 1
    text = path.read_text(encoding="utf-8").splitlines()[line - 1 : line]
    advice = ". Indent with spaces, not with tabs." if text and text[0].startswith("\t") else ""
    return f"{path}:{line}: not valid YAML: {before}{error.problem}{advice}"


@dataclass(frozen=True)
class Place:
    """The place of a value under some keys, found when a message needs it.

    ``finders`` are those of the files that may have it; the file with precedence comes first.
    """

    finders: tuple[Finder, ...]
    keys: Keys

    def __str__(self) -> str:
        """Return file, line and keys."""
        for depth in range(len(self.keys), -1, -1):
            for find in self.finders:
                if found := find(self.keys[:depth]):
                    return found
        raise AssertionError("every finder knows the place of its own document")


@dataclass(frozen=True)
class Document:
    """The content of a configuration file, maybe merged with others, and where it comes from.

    ``finders`` are those of the files; the file with precedence comes first.
    """

    content: Any
    finders: tuple[Finder, ...]

    def has(self, *keys: Any) -> bool:
        """Return whether the document has a value under some keys."""
        try:
            reduce(getitem, keys, self.content)
        except (KeyError, IndexError, TypeError):
            return False
        return True

    def place(self, *keys: Any) -> Place:
        """Return the place of a value, or of what encloses it: file, line and keys."""
        return Place(self.finders, keys)

    def part(self, *keys: Any) -> Document:
        """Return the part of the document under some keys."""
        finders = tuple(_below(find, keys) for find in self.finders)
        return Document(reduce(getitem, keys, self.content), finders)

    def under(self, change: Document) -> Document:
        """Return the document updated by another one (see :func:`merged`)."""
        return Document(merged(self.content, change.content), change.finders + self.finders)


def read_document(path: str | Path, empty: Any = None) -> Document:
    """Read a YAML file; ``empty`` is the content of an empty one. See :func:`read_yaml`."""
    path = Path(path)
    content = read_yaml(path)
    return Document(empty if content is None else content, (lambda keys: _find(path, keys),))


def name_of(path: Path) -> str:
    """Return a configuration file's path, starting with the folder ``config``."""
    parts = path.parts
    start = len(parts) - 1 - parts[::-1].index("config") if "config" in parts else -1
    return "/".join(parts[start:])


def _below(find: Finder, keys: Keys) -> Finder:
    """Return a finder for what is below some keys; without these, it finds their file."""
    return lambda more: find((*keys, *more)) or (None if more else find(()))


def _find(path: Path, keys: Keys) -> str | None:
    """Return a file, the line of the value under some keys, and the keys."""
    node = yaml.compose(path.read_text(encoding="utf-8"), Loader=_SafeLoader)
    line = 1
    for key in keys:
        found = _child(node, key)
        if found is None:
            return None
        line, node = found
    return f"{name_of(path)}:{line}: {'.'.join(map(str, keys)) or 'top level'}"


def _child(node: yaml.Node | None, key: Any) -> tuple[int, yaml.Node] | None:
    """Return the line and the node under one key, also from merge keys (``<<``)."""
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key].start_mark.line + 1, node.value[key]
    if not isinstance(node, yaml.MappingNode):
        return None
    for name, value in node.value:
        if name.tag != _MERGE and name.value == str(key):
            return name.start_mark.line + 1, value
    merges = [value for name, value in node.value if name.tag == _MERGE]
    found = (_child(value, key) for value in merges)
    return next((child for child in found if child), None)


def validate(document: Document, kind: Any, context: Any = None, /, **added: Any) -> Any:
    """Validate a document and return what it declares.

    ``kind`` is a model, or a type made of models; see :mod:`fedmix.declarations`. ``added`` holds
    fields of the model that are not in the file, such as its name. Raises ConfigurationError with
    the place of every error and, for wrong names, the nearest valid ones.
    """
    value, errors = checked(document, kind, context, **added)
    raise_all(errors)
    return value


def checked(
    document: Document, kind: Any, context: Any = None, /, **added: Any
) -> tuple[Any, list[str]]:
    """Return the validated document and no errors, or None and all errors; see `validate`."""
    values = document.content
    if isinstance(values, Mapping) and (unknown := values.keys() & hidden_fields(kind)):
        known = fields_of(kind)
        return None, [
            f"{document.place(key)}: unknown key {key!r}. {nearest_names(key, known)}"
            for key in unknown
        ]
    if added and isinstance(values, Mapping):
        values = {**values, **added}
    try:
        return adapter(kind).validate_python(values, context=context), []
    except ValidationError as error:
        found = _without_lists_of_wrong_items(dict(explained(error, kind, values)), values)
        return None, [f"{document.place(*keys)}: {message}" for keys, message in found.items()]


def _without_lists_of_wrong_items(found: dict[Keys, str], values: Any) -> dict[Keys, str]:
    """Leave out lists with a wrong item, because pydantic calls some of them too short."""
    around = {keys[:depth] for keys in found for depth in range(len(keys))}
    lists = {keys for keys in around if isinstance(reduce(getitem, keys, values), list)}
    return {keys: message for keys, message in found.items() if keys not in lists}


def raise_all(errors: Iterable[str]) -> None:
    """Raise one ConfigurationError that lists each message once; do nothing without any."""
    errors = list(dict.fromkeys(errors))
    if errors:
        listing = "\n".join(f"  - {e}" for e in errors)
        raise ConfigurationError(
            f"The configuration has {len(errors)} error{'s' * (len(errors) > 1)}:\n{listing}",
            errors,
        )


class Problems:
    """The problems that several independent checks raise, to be raised together."""

    def __init__(self) -> None:
        self.found: list[str] = []

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the problems of a ConfigurationError instead of raising it."""
        try:
            yield
        except ConfigurationError as error:
            self.found += error.problems

    def raise_all(self) -> None:
        """Raise what was kept, if there is anything."""
        raise_all(self.found)


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` updated by ``changes``: mappings merge, all other values replace."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merged(old, value) if both else value  # type: ignore[arg-type]
    return result

"""Read and validate configuration files strictly, all errors at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from fedmix.declarations import Keys, adapter, explained, fields_of, hidden_fields
from fedmix.errors import ConfigurationError, nearest_names

#: Returns where some keys stand, in words, or None if they do not stand there.
Finder = Callable[[Keys], str | None]

_MERGE = "tag:yaml.org,2002:merge"
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # C's is faster


class _StrictLoader(_SafeLoader):
    """A safe loader that refuses a key given twice, which YAML would quietly overwrite."""

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

    Raises
    ------
    ConfigurationError
        If the file is missing, is not YAML or gives a key twice; it names the file and line.
    """
    path = Path(path)
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except FileNotFoundError:
        hint = nearest_names(path.stem, [p.stem for p in path.parent.glob("*.yaml")])
        raise ConfigurationError(f"There is no file {path}. {hint}") from None
    except (yaml.YAMLError, ValueError, RecursionError, OSError) as error:
        raise ConfigurationError(f"{path}: {error}") from error


@dataclass(frozen=True)
class Place:
    """Where a value stands, looked up when a message is made of it.

    Parameters
    ----------
    finders : tuple of Finder
        Of the files it may be in; the one that wins first.
    keys : tuple
        Its keys.
    """

    finders: tuple[Finder, ...]
    keys: Keys

    def __str__(self) -> str:
        """Return file, line and keys."""
        for depth in range(len(self.keys), -1, -1):
            for find in self.finders:
                if found := find(self.keys[:depth]):
                    return found
        raise AssertionError("every finder knows where its own document stands")


@dataclass(frozen=True)
class Document:
    """What a configuration file says, perhaps with another laid over it, and where.

    Parameters
    ----------
    content : object
        Plain values.
    finders : tuple of Finder
        Of the files it comes from; the one that wins first.
    """

    content: Any
    finders: tuple[Finder, ...]

    def has(self, *keys: Any) -> bool:
        """Return whether there is a value under some keys."""
        node = self.content
        for key in keys:
            try:
                node = node[key]
            except (KeyError, IndexError, TypeError):
                return False
        return True

    def place(self, *keys: Any) -> Place:
        """Return where a value, or else what is around it, stands: file, line and keys."""
        return Place(self.finders, keys)

    def part(self, *keys: Any) -> Document:
        """Return what stands under some keys."""
        content = self.content
        for key in keys:
            content = content[key]
        return Document(content, tuple(_below(find, keys) for find in self.finders))

    def under(self, change: Document) -> Document:
        """Return the document with another laid over it (see :func:`merged`)."""
        return Document(merged(self.content, change.content), change.finders + self.finders)


def read_document(path: str | Path, empty: Any = None) -> Document:
    """Read a YAML file; ``empty`` is what an empty one holds. See :func:`read_yaml`."""
    path = Path(path)
    content = read_yaml(path)
    return Document(empty if content is None else content, (lambda keys: _find(path, keys),))


def name_of(path: Path) -> str:
    """Return a configuration file's name from the folder ``config`` on."""
    parts = path.parts
    start = len(parts) - 1 - parts[::-1].index("config") if "config" in parts else -1
    return "/".join(parts[start:])


def _below(find: Finder, keys: Keys) -> Finder:
    """Return a finder of what stands below some keys; where even these are not, of their file."""
    return lambda more: find((*keys, *more)) or (None if more else find(()))


def _find(path: Path, keys: Keys) -> str | None:
    """Return a file, the line in which the value under some keys stands, and the keys."""
    node = yaml.compose(path.read_text(encoding="utf-8"), Loader=_SafeLoader)
    line = 1
    for key in keys:
        found = _child(node, key)
        if found is None:
            return None
        line, node = found
    return f"{name_of(path)}:{line}: {'.'.join(map(str, keys)) or 'top level'}"


def _child(node: yaml.Node | None, key: Any) -> tuple[int, yaml.Node] | None:
    """Return the line and the node under one key; a mapping's merges are searched as well."""
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
    """Return what a document declares.

    Parameters
    ----------
    document : Document
        What was read.
    kind : type
        The model, or a type made of models; see :mod:`fedmix.declarations`.
    context : object, optional
        What the model's validators ask for.
    **added : object
        Fields of the model that no file gives, such as the name of the file.

    Raises
    ------
    ConfigurationError
        Listing every error with its place and, for wrong names, the nearest valid ones.
    """
    value, errors = checked(document, kind, context, **added)
    raise_all(errors)
    return value


def checked(
    document: Document, kind: Any, context: Any = None, /, **added: Any
) -> tuple[Any, list[str]]:
    """Return what a document declares and no errors, or None and all errors; see `validate`."""
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
        found = explained(error, kind, values)
        return None, [f"{document.place(*keys)}: {message}" for keys, message in found]


def raise_all(errors: Iterable[str]) -> None:
    """Raise one ConfigurationError that lists all messages once, or do nothing for none."""
    errors = list(dict.fromkeys(errors))
    if errors:
        listing = "\n".join(f"  - {e}" for e in errors)
        raise ConfigurationError(
            f"The configuration has {len(errors)} error{'s' * (len(errors) > 1)}:\n{listing}"
        )


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with ``changes`` laid over it: mappings merge, everything else replaces."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merged(old, value) if both else value  # type: ignore[arg-type]
    return result

"""Read and validate configuration files strictly, all errors at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from fedmix.errors import ConfigurationError, nearest_names

_MERGE = "tag:yaml.org,2002:merge"


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # C's is faster


class _StrictLoader(_SafeLoader):
    """A safe loader that refuses a key given twice, which YAML would quietly overwrite."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen = set()
        for key, _ in node.value:
            if key.tag == _MERGE:
                continue
            if key.value in seen:
                line = key.start_mark.line + 1
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
    except (yaml.YAMLError, ConfigurationError) as error:
        raise ConfigurationError(f"{path}: {error}") from error


@cache
def read_schema(path: Path) -> dict:
    """Read a JSON schema that is written as YAML."""
    return read_yaml(path)


def validate(document: Any, schema: Mapping[str, Any], where: str) -> None:
    """Check a document against a JSON schema.

    Parameters
    ----------
    document : object
        What was read.
    schema : mapping
        A JSON schema; objects in it should refuse additional properties.
    where : str
        The file's name, for the message.

    Raises
    ------
    ConfigurationError
        Listing every error with its place and, for wrong names, the nearest valid ones.
    """
    from jsonschema import Draft202012Validator

    found = sorted(Draft202012Validator(schema).iter_errors(document), key=lambda e: list(e.path))
    raise_all([_explain(error, where) for error in found])


def raise_all(errors: Iterable[str]) -> None:
    """Raise one ConfigurationError that lists all messages, or do nothing if there are none."""
    errors = list(errors)
    if errors:
        listing = "\n".join(f"  - {e}" for e in errors)
        raise ConfigurationError(
            f"The configuration has {len(errors)} error{'s' * (len(errors) > 1)}:\n{listing}"
        )


def _explain(error: Any, where: str) -> str:
    place = f"{where}: {'.'.join(map(str, error.path)) or 'top level'}"
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        unknown = sorted(set(error.instance) - set(known))
        hints = [f"unknown key {key!r}. {nearest_names(key, known)}" for key in unknown]
        return f"{place}: {' '.join(hints)}"
    if error.validator == "enum":
        return f"{place}: {error.instance!r} is not valid. " + nearest_names(
            error.instance, error.validator_value
        )
    return f"{place}: {error.message}"


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with ``changes`` laid over it.

    Mappings merge, everything else replaces; a null in place of a mapping removes it.
    """
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = merged(old, value)
        elif isinstance(old, Mapping) and value is None:
            del result[key]
        else:
            result[key] = value
    return result

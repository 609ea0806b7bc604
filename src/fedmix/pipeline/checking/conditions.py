"""Conditions on settings, held against what settings there are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from fedmix.configuration import Document, Place
from fedmix.errors import nearest_names
from fedmix.pipeline.plan import Setting


def condition_errors(where: Document, settings: Collection[Setting]) -> Iterator[str]:
    """Yield what no setting can satisfy: an unknown key, a value that never occurs, or all of it.

    Parameters
    ----------
    where : Document
        Key -> value, or a list of values of which any will do; or several such mappings, of which
        one must fit.
    settings : collection of Setting
        All that it may speak of.
    """
    if isinstance(where.content, list):
        for i in range(len(where.content)):
            yield from condition_errors(where.part(i), settings)
        return
    found = [
        error
        for key, value in where.content.items()
        for error in value_errors(where.place(key), key, value, settings)
    ]
    yield from found
    if not found and not any(setting.matches(where.content) for setting in settings):
        yield f"{where.place()}: no setting has all of these values"


def value_errors(
    place: Place, key: str, wanted: Any, settings: Collection[Setting]
) -> Iterator[str]:
    """Yield the values wanted under one key that no setting has."""
    occurring = [s.identity[key] for s in settings if key in s.identity]
    if not occurring:
        keys = {name for setting in settings for name in setting.identity}
        yield f"{place}: no setting has {key!r}. {nearest_names(key, keys)}"
        return
    if wanted == []:
        yield f"{place}: expected a value or several, got an empty list"
    # A list is one value where settings have lists, such as the sizes of clients.
    values = wanted if isinstance(wanted, list) and wanted not in occurring else [wanted]
    for value in values:
        if not any(value == other and type(value) in _kinds(other) for other in occurring):
            hint = nearest_names(str(value), {str(other) for other in occurring})
            yield f"{place}: no setting has {key} {value!r}. {hint}"


def _kinds(value: Any) -> tuple[type, ...]:
    """Return the types in which a value may be written: 1 is 1.0, but no truth value."""
    return (int, float) if type(value) in (int, float) else (type(value),)


def method_condition_errors(methods: Document, settings: Collection[Setting]) -> Iterator[str]:
    """Yield what is wrong with the conditions under which a study's methods run."""
    if isinstance(methods.content, list):
        for i, entry in enumerate(methods.content):
            if isinstance(entry, Mapping) and "where" in entry:
                yield from condition_errors(methods.part(i, "where"), settings)

"""Values held against a typed declaration, with what is wrong in the words of all other errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from fedmix.configuration import Keys
from fedmix.errors import nearest_names


def problems(
    model: type[BaseModel], values: Mapping[str, Any], context: Any = None
) -> Iterator[tuple[Keys, str]]:
    """Yield where in the values something is wrong, and what, once for each place.

    Parameters
    ----------
    model : type of BaseModel
        The declaration.
    values : mapping
        Plain values.
    context : object, optional
        What the model's validators ask for.
    """
    try:
        model.model_validate(values, context=context)
    except ValidationError as error:
        found: dict[Keys, list[Any]] = {}
        for problem in error.errors(include_url=False):
            found.setdefault(_within(values, problem), []).append(problem)
        for place, same in found.items():
            yield place, _in_words(model, same)


def _within(values: Any, problem: Mapping[str, Any]) -> Keys:
    """Return the part of a problem's place that the values have: pydantic adds names of types."""
    found: list[Any] = []
    for key in problem["loc"]:
        try:
            values = values[key]
        except (KeyError, IndexError, TypeError):
            break
        found.append(key)
    return tuple(found)


def _in_words(model: type[BaseModel], same: list[Any]) -> str:
    """Return what is wrong at one place.

    Each form that a value may take has a problem of its own: where the value has the type of one of
    them, that one's is the one to tell.
    """
    bounds = [problem for problem in same if not problem["type"].endswith("_type")]
    problem = (bounds or same)[0]
    key, given = problem["loc"][-1] if problem["loc"] else "", problem["input"]
    if problem["type"] == "extra_forbidden":
        return f"unknown key {key!r}. {nearest_names(key, model.model_fields)}"
    if problem["type"] == "missing":
        return f"lacks {', '.join(str(p['loc'][-1]) for p in same)}"
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    if problem["type"] == "literal_error":
        known = re.findall(r"'([^']*)'", problem["ctx"]["expected"])
        return f"{given!r} is not valid. {nearest_names(str(given), known)}"
    wanted = [p["msg"].removeprefix("Input should be ") for p in (bounds[:1] or same)]
    return f"expected {' or '.join(wanted)}, got {given!r}"

"""Declarations: pydantic models of the configuration, and the problems of invalid values.

A model is defined next to its subject and is its only declaration: this module checks values
against it, and the schemas for editors and the configuration reference are generated from it.
Checks are strict: integers must be written as integers, numbers must be finite, and unknown keys
are errors.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from reprlib import Repr
from string import Formatter
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import CoreSchema, core_schema

from fedmix.errors import nearest_names

Keys = tuple[Any, ...]
Count = Annotated[int, Field(ge=1)]
Number = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]

#: What texts with a pattern are, in words.
PATTERNS = {
    "^[0-9a-f]{64}$": "64 hexadecimal digits in lower case",
    "^[0-9a-f]{32}$": "32 hexadecimal digits in lower case",
    "^[a-z][a-z0-9_]*$": "a name of lower-case letters, digits and underscores, first a letter",
    "^[A-Za-z0-9._-]+$": "a name of letters, digits, dots, hyphens and underscores",
    "^[^/]+$": "a file's name without a folder",
    "^https://": "an address that begins with https://",
    "^https?://": "an address that begins with http:// or https://",
}

_short = Repr()
_short.maxstring = _short.maxother = 60


class Declared(BaseModel):
    """A mapping with fixed keys, checked strictly: no unknown key, no conversion, no NaN."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True
    )


@dataclass(frozen=True)
class Like:
    """Annotates plain values that are checked by a model and kept as they are written."""

    kind: Any

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        inner = handler.generate_schema(self.kind)
        return core_schema.no_info_wrap_validator_function(_unchanged, inner)


def _unchanged(value: Any, validate: Callable[[Any], Any]) -> Any:
    validate(value)
    return value


def _with_names(entries: Any) -> Any:
    if not isinstance(entries, Mapping):
        return entries
    for name, entry in entries.items():
        if isinstance(entry, Mapping) and "name" in entry:
            raise ValueError(f"{name}: unknown key 'name'")
    return {
        name: {**entry, "name": name} if isinstance(entry, Mapping) else entry
        for name, entry in entries.items()
    }


#: Annotates a mapping of models whose ``name`` is their key.
Named = BeforeValidator(_with_names)


def _each_once(values: list[Any]) -> list[Any]:
    for i, value in enumerate(values):
        if any(value == other and type(value) is type(other) for other in values[:i]):
            raise ValueError(f"{value!r} occurs twice")
    return values


#: Annotates a list without duplicates.
Unique = AfterValidator(_each_once)
#: A list of names without duplicates.
Names = Annotated[list[str], Field(min_length=1, json_schema_extra={"uniqueItems": True}), Unique]


def _template(text: str) -> str:
    for _, name, form, _ in Formatter().parse(text):
        if name is not None and not _FORM.fullmatch(form or ""):
            raise ValueError(f"{name!r} cannot be written as {form!r}; expected e.g. '.2f' or '>8'")
    return text


#: Annotates a format string with names, such as ``"h {setting_h:.1f}"``.
Template = Annotated[str, AfterValidator(_template)]

# Width and precision have at most two digits.
_FORM = re.compile(r"(.?[<>=^])?[+ -]?#?0?\d{0,2}[,_]?(\.\d{1,2})?[a-zA-Z%]?")


def _arithmetic(text: str) -> str:
    try:
        names_in(text)
    except (SyntaxError, RecursionError) as error:
        raise ValueError(f"{_short.repr(text)} is not an arithmetic expression: {error}") from None
    return text


#: Annotates an expression of names and numbers: ``"100 * bad / clients"``.
Arithmetic = Annotated[str, AfterValidator(_arithmetic)]

_ALLOWED = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.Name, ast.Load, ast.Constant),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub),
)


def names_in(expression: str) -> list[str]:
    """Return the names in an arithmetic expression.

    Raises SyntaxError if it has anything but names, numbers, parentheses and ``+ - * / **``.
    """
    nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    numbers = (type(node.value) in (int, float) for node in nodes if isinstance(node, ast.Constant))
    if not all(isinstance(node, _ALLOWED) for node in nodes) or not all(numbers):
        raise SyntaxError("expected names, numbers, parentheses and + - * / **")
    return [node.id for node in nodes if isinstance(node, ast.Name)]


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the validator of a kind: a model, or a type made of models."""
    return TypeAdapter(kind)


def problems(kind: Any, values: Any, context: Any = None) -> Iterator[tuple[Keys, str]]:
    """Yield the place and description of each problem of some values, one per place.

    ``kind`` is a model, or a type made of models.
    """
    try:
        adapter(kind).validate_python(values, context=context)
    except ValidationError as error:
        yield from explained(error, kind, values)


def explained(error: ValidationError, kind: Any, values: Any) -> Iterator[tuple[Keys, str]]:
    """Yield the places and descriptions of an error's problems; see :func:`problems`."""
    found: dict[Keys, list[Any]] = {}
    for problem in error.errors(include_url=False):
        if problem["type"] == "default_factory_not_called":
            continue  # because of another problem
        found.setdefault(_within(values, problem["loc"]), []).append(problem)
    for place, same in found.items():
        # If a value matches one form but is wrong inside, problems of the other forms are dropped.
        inside = any(other[: len(place)] == place != other for other in found)
        if not (inside and all(_of_type(problem) for problem in same)):
            yield place, _in_words(kind, same)


def _within(values: Any, loc: Keys) -> Keys:
    """Return the keys of a problem's place, without the names of types that pydantic adds."""
    found: list[Any] = []
    for key in loc:
        try:
            values = values[key]
        except (KeyError, IndexError, TypeError):
            continue
        found.append(key)
    return tuple(found)


def _of_type(problem: Mapping[str, Any]) -> bool:
    """Return whether a problem is that the value does not have the type of one of its forms."""
    of_other_type = problem["type"] == "literal_error" and not isinstance(problem["input"], str)
    return of_other_type or problem["type"].endswith("_type")


def _in_words(kind: Any, same: list[Any]) -> str:
    """Return the description of the problem at one place.

    Each form that a value may take has its own problem. If the value has the type of one form, the
    problem of this form is reported.
    """
    bounds = [problem for problem in same if not _of_type(problem)]
    problem = (bounds or same)[0]
    key, given = problem["loc"][-1] if problem["loc"] else "", problem["input"]
    details = problem.get("ctx", {})
    match problem["type"]:
        case "extra_forbidden":
            return f"unknown key {key!r}. {nearest_names(key, _keys_at(kind, problem['loc'][:-1]))}"
        case "missing":
            lacking = [p["loc"][-1] for p in same if p["type"] == "missing"]
            return f"missing {', '.join(map(str, dict.fromkeys(lacking)))}"
        case "union_tag_not_found":
            return f"missing {_quoted(details['discriminator'])[0]}"
        case "union_tag_invalid":
            known = _quoted(details["expected_tags"])
            return f"{details['tag']!r} is not valid. {nearest_names(details['tag'], known)}"
        case "literal_error":
            known = _quoted(details["expected"])
            return f"{_short.repr(given)} is not valid. {nearest_names(str(given), known)}"
        case "value_error":
            return str(details["error"])
    wanted = dict.fromkeys(_wanted(p["msg"]) for p in (bounds[:1] or same))
    return f"expected {' or '.join(wanted)}, got {_short.repr(given)}"


def _quoted(names: str) -> list[str]:
    return re.findall(r"'([^']*)'", names)


def _wanted(message: str) -> str:
    """Return what a message of pydantic expects, such as ``"a mapping"``."""
    message = message.removeprefix("Input should be ")
    message = re.sub(r"a valid dictionary( or instance of \w+)?", "a mapping", message)
    if found := re.fullmatch(r"String should match pattern '(.*)'", message):
        return PATTERNS.get(found[1], f"a text that matches {found[1]}")
    if found := re.fullmatch(r"(\w+) should (.*?)( after validation, not \d+)?", message):
        thing = {"Dictionary": "mapping", "String": "text"}.get(found[1], found[1].lower())
        return f"a {thing} to {found[2]}"
    return message


def _keys_at(kind: Any, loc: Keys) -> list[str]:
    """Return the keys of the models at a place of a kind."""
    kinds = list(_forms(kind))
    for key in loc:
        inner = [form for one in kinds for form in _forms_inside(one, key)]
        kinds = inner or [one for one in kinds if key in _tags(one)] or kinds
    return [name for one in kinds for name in fields_of(one)]


def fields_of(kind: Any) -> dict[str, FieldInfo]:
    """Return a model's fields by their keys in a file; none for any other type."""
    hidden = hidden_fields(kind)
    fields = kind.model_fields.items() if _is_model(kind) else ()
    return {field.alias or name: field for name, field in fields if name not in hidden}


def hidden_fields(kind: Any) -> set[str]:
    """Return a model's fields that are not in files: those that its schema does not have."""
    fields = kind.model_fields.items() if _is_model(kind) else ()
    return {name for name, field in fields if any(map(_is_hidden, field.metadata))}


def _is_hidden(note: Any) -> bool:
    return isinstance(note, SkipJsonSchema)  # type: ignore[misc]


def _is_model(kind: Any) -> bool:
    """Return whether a kind is a model, not an alias such as ``dict[str, Any]``."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _forms(kind: Any, notes: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Yield the types that an annotation allows."""
    if get_origin(kind) is Annotated:
        kind, *more = get_args(kind)
        notes = (*notes, *more)
    if like := next((note for note in notes if isinstance(note, Like)), None):
        yield from _forms(like.kind)
    elif get_origin(kind) in (Union, UnionType):
        for one in get_args(kind):
            yield from _forms(one)
    else:
        yield kind


def _forms_inside(kind: Any, key: Any) -> Iterator[Any]:
    """Yield the types that a value under a key of a kind may have."""
    if field := fields_of(kind).get(key):
        yield from _forms(field.annotation, tuple(field.metadata))
    elif get_origin(kind) is dict:
        yield from _forms(get_args(kind)[1])
    elif get_origin(kind) in (list, tuple) and isinstance(key, int):
        yield from _forms(get_args(kind)[0])


def _tags(kind: Any) -> set[Any]:
    """Return pydantic's name of a model that is one of several."""
    found = {getattr(kind, "__name__", kind)}
    for field in fields_of(kind).values():
        if get_origin(field.annotation) is Literal:
            found.update(get_args(field.annotation))
    return found


def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a kind, for editors and for the configuration reference."""
    schema = adapter(kind).json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_without_titles(schema)}


def _without_titles(node: Any) -> Any:
    """Return a schema without the titles that pydantic derives from names."""
    if isinstance(node, list):
        return [_without_titles(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_titles(value)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str))
    }

"""Settings of studies, held against what the experiment and the data sets allow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from fedmix.configuration import Document, Keys
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.experiments.settings import declared
from fedmix.pipeline.plan import combinations


def setting_errors(document: Document, datasets: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the settings of a study.

    Parameters
    ----------
    document : Document
        The study's configuration, which its schema has passed.
    datasets : mapping
        Entries of ``config/datasets.yaml``.
    """
    try:
        settings, _ = declared(document.content["experiment"])
    except ConfigurationError as error:
        yield f"{document.place('experiment')}: {error}"
        return
    for variant, entry, values in combinations(document.content):
        try:
            settings(**values)
        except ValidationError as error:
            for place, problem in _problems(error, values):
                where = _origin(document, variant, entry, place)
                yield f"{where}: {_explained(problem, settings)}"
        else:
            for key, message in _dataset_errors(values, datasets):
                yield f"{_origin(document, variant, entry, (key,))}: {message}"


def _problems(error: ValidationError, values: Mapping) -> Iterator[tuple[Keys, Any]]:
    """Yield where in the values something is wrong, and the first thing that is, for each place.

    The forms that a value may take each have a problem; where the value has the right type but is
    out of bounds, that is the one to tell.
    """
    found: dict[Keys, list[Any]] = {}
    for problem in error.errors(include_url=False):
        found.setdefault(_within(values, problem["loc"], problem["type"]), []).append(problem)
    for place, problems in found.items():
        bounds = [p for p in problems if not p["type"].endswith("_type")]
        if bounds or len(problems) == 1:
            yield place, (bounds or problems)[0]
        else:
            wanted = " or ".join(p["msg"].removeprefix("Input should be ") for p in problems)
            yield place, {**problems[0], "msg": f"Input should be {wanted}"}


def _within(values: Any, loc: Keys, kind: str) -> Keys:
    """Return the part of a place that the values have: pydantic adds the names of types."""
    found: list[Any] = []
    for key in loc:
        try:
            values = values[key]
        except (KeyError, IndexError, TypeError):
            return (*found, key) if kind == "missing" else tuple(found)
        found.append(key)
    return tuple(found)


def _origin(document: Document, variant: str, entry: Keys, place: Keys) -> str:
    """Return where a setting's value stands: in its entry, its grid or the constants."""
    for keys in (
        (*entry, "grid", *place),
        (*entry, *place),
        ("variants", variant, "constants", *place),
        ("constants", *place),
    ):
        if place and document.has(*keys):
            # The grid's list, rather than one of its values, stands for a value out of it.
            return document.place(*keys)
    return document.place(*entry)


def _explained(problem: Mapping[str, Any], settings: Any) -> str:
    """Return pydantic's message in the words of all other errors."""
    key, given = problem["loc"][-1] if problem["loc"] else "", problem["input"]
    if problem["type"] == "extra_forbidden":
        return f"unknown setting {key!r}. {nearest_names(key, settings.model_fields)}"
    if problem["type"] == "missing":
        return f"lacks {key!r}, which {settings.__module__.rpartition('.')[2]} needs"
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    if problem["type"] == "literal_error":
        known = re.findall(r"'([^']*)'", problem["ctx"]["expected"])
        return f"{given!r} is not valid. {nearest_names(str(given), known)}"
    wanted = problem["msg"].removeprefix("Input should be ")
    return f"expected {wanted}, got {given!r}"


def _dataset_errors(
    values: Mapping[str, Any], datasets: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield the key, and what is wrong, of values that do not fit the data set."""
    if "dataset" not in values:
        return
    name, embedding = values["dataset"], values["embedding"]
    if name not in datasets:
        yield "dataset", f"unknown data set {name!r}. {nearest_names(name, datasets)}"
        return
    entry = datasets[name]
    known = entry["embeddings"]
    if embedding not in known:
        hint = nearest_names(embedding, known)
        yield "embedding", f"data set {name!r} has no embedding {embedding!r}. {hint}"
    if values["n_clients"] > entry["n_points"]:
        yield "n_clients", f"{values['n_clients']} clients for {entry['n_points']} points of {name}"
    if values["partition"] == "group":
        groups = entry.get("n_groups")
        if groups is None:
            yield "partition", f"data set {name!r} has no groups; use uniform"
        elif groups != values["n_clients"]:
            message = f"data set {name!r} has {groups} groups, not {values['n_clients']}"
            yield "n_clients", message

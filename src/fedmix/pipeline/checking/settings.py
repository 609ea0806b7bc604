"""Settings of studies, held against what the experiment and the data sets allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fedmix.configuration import Document, Keys, Place
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.experiments.settings import declared
from fedmix.pipeline.checking.typed import problems
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
        found = list(problems(settings, values)) or list(_dataset_errors(values, datasets))
        for keys, message in found:
            yield f"{_origin(document, variant, entry, keys)}: {message}"


def _origin(document: Document, variant: str, entry: Keys, place: Keys) -> Place:
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


def _dataset_errors(
    values: Mapping[str, Any], datasets: Mapping[str, Any]
) -> Iterator[tuple[Keys, str]]:
    """Yield the place, and what is wrong, of values that do not fit the data set."""
    if "dataset" not in values:
        return
    name, embedding = values["dataset"], values["embedding"]
    if name not in datasets:
        yield ("dataset",), f"unknown data set {name!r}. {nearest_names(name, datasets)}"
        return
    entry = datasets[name]
    known = entry["embeddings"]
    if embedding not in known:
        hint = nearest_names(embedding, known)
        yield ("embedding",), f"data set {name!r} has no embedding {embedding!r}. {hint}"
    n_points = entry.get("n_points")
    if n_points is not None and values["n_clients"] > n_points:
        yield ("n_clients",), f"{values['n_clients']} clients for {n_points} points of {name}"
    if values["partition"] == "group":
        groups = entry.get("n_groups")
        if groups is None:
            yield ("partition",), f"data set {name!r} has no groups; use uniform"
        elif groups != values["n_clients"]:
            message = f"data set {name!r} has {groups} groups, not {values['n_clients']}"
            yield ("n_clients",), message

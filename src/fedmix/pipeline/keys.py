"""What the replications of a setting depend on: parameters, data and code, as planned now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fedmix.methods import index
from fedmix.pipeline.plan import Setting, Study
from fedmix.pipeline.provenance import key_of, keys_of, source_hash

# The parts of a data set's registry entry that change no byte of its data.
_TEXTS = {"embeddings", "licence", "citation", "homepage", "note", "allow_unverified"}


def scenario_of(study: Study, setting: Setting) -> dict[str, Any]:
    """Return the part of the configuration that a job needs for a setting, sorted."""
    return {
        "study": study.name,
        "variant": setting.variant,
        "setting": setting.name,
        "experiment": study.experiment,
        "values": dict(sorted(setting.values.items())),
    }


def methods_in(
    study: Study, setting: Setting, names: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """Return methods of a setting with their parameters there; by default all of them."""
    planned = [study.method_in(name, setting) for name in names or study.methods_of(setting)]
    return [
        {
            "name": method.name,
            "estimator": method.estimator,
            "parameters": dict(sorted(method.parameters.items())),
        }
        for method in planned
    ]


def experiment_hash(study: Study) -> str:
    """Return the hash of the code that creates and starts a replication."""
    return source_hash(f"fedmix.experiments.{study.experiment}", "fedmix.experiments.runner")


def method_hashes(methods: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the hash of the code behind each method, so that a change reruns only this method."""
    known = index()
    return {method["name"]: source_hash(known[method["estimator"]]) for method in methods}


def planned_keys(study: Study, setting: Setting, data: str | None) -> dict[str, str]:
    """Return the key of each method of a setting.

    Parameters
    ----------
    study : Study
    setting : Setting
    data : str or None
        The sha256 of the embedded data set, if the setting has one.
    """
    methods = methods_in(study, setting)
    scenario = scenario_of(study, setting)
    return keys_of(scenario, experiment_hash(study), data, methods, method_hashes(methods))


def raw_parameters(dataset: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a data set's registry entry that determines its raw data."""
    named = {**entry, "title": dataset}
    return {key: value for key, value in sorted(named.items()) if key not in _TEXTS}


def embedding_request(dataset: str, embedding: str, entry: Mapping[str, Any]) -> str:
    """Return the key of what is asked of an embedding: raw data and parameters, not code."""
    return key_of(raw_parameters(dataset, entry), entry["embeddings"][embedding])


def embedding_hash(spec: Mapping[str, Any]) -> str:
    """Return the hash of an embedding's code. t-SNE has its own, because it takes the longest."""
    return source_hash("fedmix.embed.tsne" if spec["kind"] == "tsne" else "fedmix.embed")


def embedding_key(dataset: str, embedding: str, entry: Mapping[str, Any]) -> str:
    """Return the key of an embedded data set: its raw data, parameters and code."""
    spec = entry["embeddings"][embedding]
    return key_of(raw_parameters(dataset, entry), spec, embedding_hash(spec))

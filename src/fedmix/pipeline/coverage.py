"""The keys of planned replications, and which of them the evidence holds, so that no job runs.

A key is the hash of what a replication depends on: parameters, data and code, as planned now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedmix.cells.measured import identity_of
from fedmix.methods import index
from fedmix.pipeline.evidence import Evidence
from fedmix.pipeline.kept_embeddings import embedding_key, kept_embedding
from fedmix.pipeline.plan import Block, Setting, Study, block_paths, replications_of
from fedmix.pipeline.provenance import keys_of, source_hash
from fedmix.storage import sha256_of


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
    planned = (study.method_in(name, setting) for name in names or study.methods_of(setting))
    return [
        {"name": m.name, "estimator": m.estimator, "parameters": dict(sorted(m.parameters.items()))}
        for m in planned
    ]


def identity_in(study: Study, setting: Setting, name: str) -> dict[str, Any]:
    """Return what identifies a method in a setting, under the names of the cells' columns."""
    method = study.method_in(name, setting)
    place = {"variant": setting.variant, "setting": setting.name}
    parameters = {f"method_{key}": value for key, value in method.parameters.items()}
    return identity_of(setting.values, name, method.label) | parameters | place


def experiment_hash(study: Study) -> str:
    """Return the hash of the code that creates and starts a replication."""
    return source_hash(f"fedmix.experiments.{study.experiment}", "fedmix.experiments.runner")


def method_hashes(methods: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the hash of the code behind each method, so that a change reruns only this method."""
    known = index()
    return {method["name"]: source_hash(known[method["estimator"]]) for method in methods}


@dataclass(frozen=True)
class Coverage:
    """The evidence beside the planned keys.

    ``datasets`` are the entries of ``config/datasets.yaml``. Snakemake works in ``workdir``: the
    keys depend on the embedded data there, or else on those that the evidence used, if the present
    code makes the same. ``limit`` is in seconds that a replication may take: one that was stopped
    earlier is not held.
    """

    evidence: Evidence
    datasets: Mapping[str, Any]
    workdir: Path = Path()
    limit: float | None = None
    _data: dict[tuple[str, str], str | None] = field(default_factory=dict, repr=False)
    _keys: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict, repr=False)

    def data_hash(self, study: Study, setting: Setting) -> str | None:
        """Return the sha256 of a setting's embedded data; None if unknown, or without data."""
        path = setting.embedded
        if not path:
            return None
        if (study.name, path) not in self._data:
            there = self.workdir / path
            self._data[study.name, path] = (
                sha256_of(there)
                if there.is_file()
                else self.kept_embedding(setting.dataset, setting.values["embedding"])
                or self.evidence.data_hash(study.name, path, self._made_by(setting))
            )
        return self._data[study.name, path]

    def has_data(self, study: Study, setting: Setting) -> bool:
        """Return whether a setting is not optional, or its embedding is there or kept."""
        return not setting.values.get("optional") or bool(self.data_hash(study, setting))

    def has_started(self, study: Study, setting: Setting) -> bool:
        """Return whether a setting has finished replications.

        If its embedding is missing, results under its name belong to another preset.
        """
        if any(self.held(study, setting).values()):
            return True
        blocks = block_paths(self.workdir / "results" / study.name / setting.folder)
        return bool(blocks) and (not setting.embedded or bool(self.data_hash(study, setting)))

    def kept_embedding(self, dataset: str, embedding: str) -> str | None:
        """Return the sha256 of an embedding that the evidence keeps, if it is the one asked for."""
        return kept_embedding(self.evidence.folder, dataset, embedding, self.datasets[dataset])

    def keys(self, study: Study, setting: Setting) -> dict[str, str]:
        """Return the planned key of each method; none while the data are unknown."""
        place = study.name, setting.folder
        if place not in self._keys:
            data, keys = self.data_hash(study, setting), {}
            if data is not None or not setting.embedded:
                methods = methods_in(study, setting)
                made_by = experiment_hash(study), data, methods, method_hashes(methods)
                keys = keys_of(scenario_of(study, setting), *made_by)
            self._keys[place] = keys
        return self._keys[place]

    def held(self, study: Study, setting: Setting) -> dict[str, frozenset[int]]:
        """Return the replications of each method that the evidence holds with the planned key."""
        held = self.evidence.index(study.name).fits.get(setting.folder)
        if not held:
            return {}
        keys = self.keys(study, setting)
        current = {method: own for method, own in held.items() if own.key == keys.get(method)}
        return {
            method: current[method].within(self.limit) if method in current else frozenset()
            for method in study.methods_of(setting)
        }

    def counts(self, study: Study, setting: Setting) -> dict[str, int]:
        """Return how many of the planned replications of each method the evidence holds."""
        held = self.held(study, setting)
        return {
            method: sum(replication < planned for replication in held.get(method, ()))
            for method, planned in study.replications_in(setting).items()
        }

    def lacking(self, study: Study, setting: Setting) -> dict[Block, dict[str, set[int]]]:
        """Return the replications of each method of a block that the evidence lacks.

        Blocks that it holds whole are left out.
        """
        held = self.held(study, setting)
        found = {
            block: {
                method: set(replications_of(block.name)) - held.get(method, frozenset())
                for method in block.methods
            }
            for block in study.blocks(setting)
        }
        return {block: own for block, own in found.items() if any(own.values())}

    def data_used(self, study: Study) -> dict[str, dict[str, str]]:
        """Return the embedded data of a study that are at hand: their sha256 and key by path."""
        return {
            setting.embedded: {"sha256": found, "key": self._made_by(setting)}
            for setting in study.settings.values()
            if setting.embedded and (found := self.data_hash(study, setting))
        }

    def accept(self, study: Study, data: Mapping[str, Mapping[str, str]]) -> None:
        """Use embedded data of evidence from outside where there are none here.

        ``data`` is as in :class:`fedmix.pipeline.evidence.Index`. Data that other code made are
        ignored.
        """
        for setting in study.settings.values():
            given = data.get(setting.embedded, {})
            unknown = setting.embedded and self.data_hash(study, setting) is None
            if unknown and "sha256" in given and given.get("key") == self._made_by(setting):
                self._data[study.name, setting.embedded] = str(given["sha256"])
        self._keys.clear()

    def _made_by(self, setting: Setting) -> str:
        dataset = setting.dataset
        return embedding_key(dataset, setting.values["embedding"], self.datasets[dataset])

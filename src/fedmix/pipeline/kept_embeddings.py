"""The keys of embedded data, and those that the evidence keeps beside results computed from them.

t-SNE of an image set takes an hour of a core, and an autoencoder half an hour. Another processor
gives another embedding, because the descent magnifies rounding errors. So the evidence keeps them,
in half precision (1.4 MB of t-SNE, 9 MB of 64 dimensions). Of those whose seed is given, it keeps
only what a search runs on: the others show what other draws change, as another machine's draws do.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from fedmix.errors import DataError
from fedmix.pipeline.provenance import key_of, source_hash
from fedmix.revision import origin
from fedmix.storage import atomic_path, sha256_of, write_text

#: The kinds of embedding that are kept.
KEPT = frozenset({"tsne", "vae"})
_FOLDER, _INDEX = "embedded", "index.json"
# The parts of a data set's registry entry that change no byte of its data.
_TEXTS = {"embeddings", "licence", "citation", "homepage", "note", "allow_unverified"}


def raw_parameters(dataset: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a data set's registry entry that determines its raw data."""
    named = {**entry, "title": dataset}
    return {key: value for key, value in sorted(named.items()) if key not in _TEXTS}


def embedding_request(dataset: str, embedding: str, entry: Mapping[str, Any]) -> str:
    """Return the key of what is asked of an embedding: raw data and parameters, not code."""
    return key_of(raw_parameters(dataset, entry), entry["embeddings"][embedding])


def embedding_hash() -> str:
    """Return the hash of the embeddings' code.

    It is the same for all kinds: other code of an autoencoder makes t-SNE out of date as well,
    unless the evidence keeps its result.
    """
    return source_hash("fedmix.embed")


def embedding_key(dataset: str, embedding: str, entry: Mapping[str, Any]) -> str:
    """Return the key of an embedded data set: its raw data, parameters and code."""
    spec = entry["embeddings"][embedding]
    return key_of(raw_parameters(dataset, entry), spec, embedding_hash())


def kept_embedding(
    evidence: Path | None, dataset: str, embedding: str, entry: Mapping[str, Any]
) -> str | None:
    """Return the sha256 of a kept embedding that was made as the registry's ``entry`` asks.

    None if there is no such embedding, or one of other raw data or parameters. The code that made
    it does not count: another run of the same code need not give the same file.
    """
    held = _index(evidence).get(f"{dataset}/{embedding}") if evidence else None
    if not held or held["request"] != embedding_request(dataset, embedding, entry):
        return None
    path = kept_path(evidence, dataset, embedding)
    if not path.is_file() or sha256_of(path) != held["sha256"]:
        raise DataError(
            f"{path} is missing or damaged: the index beside it names another file. Take it from "
            "the repository again, or run with `--config evidence=false`."
        )
    return held["sha256"]


def kept_path(evidence: Path, dataset: str, embedding: str) -> Path:
    """Return the file of a kept embedding."""
    return evidence / _FOLDER / dataset / f"{embedding}.npz"


def keep_embeddings(
    evidence: Path,
    embedded: Mapping[tuple[str, str], Path],
    datasets: Mapping[str, Any],
    searched: Collection[tuple[str, str]] = (),
) -> Iterator[str]:
    """Add embeddings that results were computed from to the evidence; say so of each.

    ``embedded`` has the file of each pair of a data set and an embedding. ``searched`` are the
    pairs that a search runs on.
    """
    for (dataset, embedding), path in embedded.items():
        entry = datasets[dataset]
        spec = entry["embeddings"][embedding]
        of_no_seed = "random_state" not in spec
        is_kept = spec["kind"] in KEPT and (of_no_seed or (dataset, embedding) in searched)
        if not is_kept or kept_embedding(evidence, dataset, embedding, entry):
            continue
        target = kept_path(evidence, dataset, embedding)
        with atomic_path(target) as temporary:
            shutil.copyfile(path, temporary)
        held = {
            "request": embedding_request(dataset, embedding, entry),
            "sha256": sha256_of(target),
            "added": json.loads(origin()),
        }
        index = {**_index(evidence), f"{dataset}/{embedding}": held}
        write_text(evidence / _FOLDER / _INDEX, json.dumps(index, indent=1, sort_keys=True) + "\n")
        yield f"{dataset}, {embedding}: the embedding is added"


def _index(evidence: Path) -> dict[str, dict[str, Any]]:
    path = evidence / _FOLDER / _INDEX
    if not path.is_file():
        return {}
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
        if not all({"request", "sha256"} <= set(held) for held in index.values()):
            raise ValueError("an entry lacks its request or sha256")
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise DataError(
            f"{path} is damaged ({error}). Take it from the repository again, or run with "
            "`--config evidence=false`."
        ) from None
    return index

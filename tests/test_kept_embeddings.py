"""The evidence keeps embeddings that another processor would not give again."""

import json

import numpy as np
import pytest

from fedmix.configuration import read_yaml
from fedmix.errors import DataError
from fedmix.pipeline.kept_embeddings import (
    embedding_key,
    keep_embeddings,
    kept_embedding,
    kept_path,
)
from fedmix.storage import sha256_of, write_arrays
from small_run import ROOT

DATASETS = read_yaml(ROOT / "config" / "datasets.yaml")
ENTRY = DATASETS["mnist"]


@pytest.fixture
def evidence(tmp_path):
    """A folder of evidence with a small file in place of the embedding of MNIST."""
    features, labels = np.zeros((3, 10), dtype=np.float16), np.arange(3)
    write_arrays(tmp_path / "tsne10.npz", {"features": features, "labels": labels})
    embedded = {("mnist", "tsne10"): tmp_path / "tsne10.npz"}
    lines = list(keep_embeddings(tmp_path / "evidence", embedded, DATASETS))
    assert lines == ["mnist, tsne10: the embedding is added"]
    assert list(keep_embeddings(tmp_path / "evidence", embedded, DATASETS)) == []
    return tmp_path / "evidence"


def test_a_kept_embedding_is_the_file_that_was_added(evidence):
    digest = sha256_of(evidence.parent / "tsne10.npz")
    assert kept_embedding(evidence, "mnist", "tsne10", ENTRY) == digest
    assert sha256_of(kept_path(evidence, "mnist", "tsne10")) == digest


def test_a_kept_embedding_of_other_parameters_or_data_is_not_used(evidence):
    other = {**ENTRY["embeddings"], "tsne10": {"kind": "tsne", "n_components": 9}}
    assert kept_embedding(evidence, "mnist", "tsne10", {**ENTRY, "embeddings": other}) is None
    assert kept_embedding(evidence, "mnist", "tsne10", {**ENTRY, "content_sha256": "0"}) is None
    without = {**ENTRY["embeddings"], "pca10": {"kind": "pca", "n_components": 9}}
    told = ("title", "licence", "citation", "homepage", "note", "allow_unverified")
    for same in ({"embeddings": without}, *({key: "other"} for key in told)):
        assert kept_embedding(evidence, "mnist", "tsne10", {**ENTRY, **same}) is not None


def test_the_key_of_an_embedding_changes_with_its_data_parameters_and_code(monkeypatch):
    key = embedding_key("mnist", "tsne10", ENTRY)
    assert embedding_key("mnist", "tsne10", {**ENTRY, "homepage": "other"}) == key
    assert embedding_key("mnist", "tsne10", {**ENTRY, "content_sha256": "0"}) != key
    other = {**ENTRY, "embeddings": {"tsne10": {**ENTRY["embeddings"]["tsne10"], "seed": 9}}}
    assert embedding_key("mnist", "tsne10", other) != key
    monkeypatch.setattr("fedmix.pipeline.kept_embeddings.source_hash", lambda module: "other")
    assert embedding_key("mnist", "tsne10", ENTRY) != key


def test_only_embeddings_that_depend_on_the_processor_are_kept(evidence):
    names = ("pca10", "tsne10_sampled", "tsne10")
    embedded = {("mnist", name): evidence.parent / "tsne10.npz" for name in names}
    [told] = keep_embeddings(evidence, embedded, DATASETS)
    assert told == "mnist, tsne10_sampled: the embedding is added"
    kept = [name for name in names if kept_embedding(evidence, "mnist", name, ENTRY)]
    assert kept == ["tsne10_sampled", "tsne10"]
    index = json.loads((evidence / "embedded" / "index.json").read_text())
    assert {"date", "commit"} <= set(index["mnist/tsne10"]["added"])


def test_without_evidence_nothing_is_kept(tmp_path):
    assert kept_embedding(None, "mnist", "tsne10", ENTRY) is None
    assert kept_embedding(tmp_path, "mnist", "tsne10", ENTRY) is None


@pytest.mark.parametrize("damage", [b"", None])
def test_a_damaged_or_missing_file_is_named(evidence, damage):
    path = kept_path(evidence, "mnist", "tsne10")
    path.unlink() if damage is None else path.write_bytes(damage)
    with pytest.raises(DataError, match=r"tsne10\.npz is missing or damaged"):
        kept_embedding(evidence, "mnist", "tsne10", ENTRY)


_HALF = '{"a/b": {"request": "", "sha256": ""}, "mnist/tsne10": {"request": ""}}'


@pytest.mark.parametrize("text", ["{", "[]", '{"mnist/tsne10": {}}', '{"mnist/tsne10": 3}', _HALF])
def test_a_damaged_index_is_named(evidence, text):
    (evidence / "embedded" / "index.json").write_text(text)
    with pytest.raises(DataError, match=r"index\.json is damaged"):
        kept_embedding(evidence, "mnist", "tsne10", ENTRY)

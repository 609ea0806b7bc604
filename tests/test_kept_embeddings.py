"""The evidence keeps embeddings, and results of embedded data from elsewhere."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from fedmix.configuration import read_yaml
from fedmix.errors import DataError
from fedmix.pipeline.evidence import COLUMNS, Evidence, write_evidence
from fedmix.pipeline.keep import add, searched_data
from fedmix.pipeline.kept_embeddings import (
    embedding_key,
    keep_embeddings,
    kept_embedding,
    kept_path,
)
from fedmix.revision import origin
from fedmix.storage import sha256_of, write_arrays
from small_run import ROOT, request_in

DATASETS = read_yaml(ROOT / "config" / "datasets.yaml")
ENTRY = DATASETS["mnist"]
REAL = "fedgrem_real"


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


def test_an_embedding_of_a_given_seed_is_kept_only_if_a_search_runs_on_it(evidence, tmp_path):
    searched = searched_data(request_in(tmp_path, preset="paper"))
    assert ("fashion_mnist", "tsne10_random1") in searched
    names = [("mnist", "tsne10_seed1"), ("fashion_mnist", "tsne10_random1")]
    others = dict.fromkeys(names, tmp_path / "tsne10.npz")
    added = list(keep_embeddings(evidence, others, DATASETS, searched))
    assert added == ["fashion_mnist, tsne10_random1: the embedding is added"]
    assert kept_embedding(evidence, "mnist", "tsne10_seed1", ENTRY) is None


def test_an_autoencoder_s_embedding_is_kept(tmp_path):
    write_arrays(tmp_path / "vae64.npz", {"features": np.zeros((3, 64), dtype=np.float16)})
    names = [("fashion_mnist", "vae64"), ("fashion_mnist", "vae64_seed1")]
    embedded = dict.fromkeys(names, tmp_path / "vae64.npz")
    lines = list(keep_embeddings(tmp_path / "evidence", embedded, DATASETS))
    assert lines == ["fashion_mnist, vae64: the embedding is added"]


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


def file_of_real_data(folder, request, setting, sha256, made_by):
    """Write a file of evidence of one replication, as made from embedded data elsewhere."""
    study = request.studies[REAL]
    data = {setting.embedded: {"sha256": sha256, "key": made_by}}
    request.coverage.accept(study, data)
    values = dict.fromkeys(COLUMNS, 0) | {
        **{"setting": setting.folder, "method": "FedEM", "metric": "misclustering"},
        **{"status": "ok", "message": "", "made": origin(), "round": None, "warm": True},
        "key": request.coverage.keys(study, setting).get("FedEM", "unknown"),
    }
    write_evidence(folder, REAL, pd.DataFrame([values]).astype({"value": float}), data)
    return folder / f"{REAL}.parquet"


def test_evidence_of_data_from_elsewhere_is_added_if_this_code_made_them(tmp_path):
    request = request_in(tmp_path)
    settings = request.studies[REAL].settings.values()
    setting = next(s for s in settings if s.values["embedding"] == "tsne10")
    data = setting.dataset, setting.values["embedding"], request.datasets[setting.dataset]
    study, unhashed = request.studies[REAL], {setting.embedded: {"key": embedding_key(*data)}}
    request.coverage.accept(study, unhashed)
    assert request.coverage.data_hash(study, setting) is None
    file = file_of_real_data(tmp_path, request, setting, "0", embedding_key(*data))
    assert list(add(request_in(tmp_path), tmp_path, [file])) == [f"{REAL}: 1 replication added"]
    index = Evidence(tmp_path / "evidence").index(REAL)
    assert index.data == {setting.embedded: {"sha256": "0", "key": embedding_key(*data)}}
    assert request_in(tmp_path).coverage.data_hash(request.studies[REAL], setting) == "0"
    shutil.rmtree(tmp_path / "evidence")
    own = tmp_path / setting.embedded
    own.parent.mkdir(parents=True)
    own.write_bytes(b"other data")
    left_out = f"{REAL}: 0 replications added, 1 of other code, data or settings left out"
    assert list(add(request_in(tmp_path), tmp_path, [file])) == [left_out]
    own.unlink()
    file = file_of_real_data(tmp_path, request_in(tmp_path), setting, "0", "of other code")
    assert list(add(request_in(tmp_path), tmp_path, [file])) == [left_out]


def test_an_embedding_is_kept_with_the_first_results_of_it(tmp_path):
    settings = request_in(tmp_path).studies[REAL].settings.values()
    setting = next(s for s in settings if s.values["embedding"] == "tsne10")
    own = tmp_path / setting.embedded
    own.parent.mkdir(parents=True)
    own.write_bytes(b"an embedding")
    file = file_of_real_data(tmp_path, request_in(tmp_path), setting, "0", "k")
    assert list(add(request_in(tmp_path), tmp_path, [file])) == [
        f"{setting.dataset}, tsne10: the embedding is added",
        f"{REAL}: 1 replication added",
    ]
    own.unlink()
    study = request_in(tmp_path).studies[REAL]
    assert len(request_in(tmp_path).coverage.held(study, setting)["FedEM"]) == 1
    for suffix in ("json", "parquet"):
        (tmp_path / "evidence" / f"{REAL}.{suffix}").unlink()
    kept = kept_path(tmp_path / "evidence", setting.dataset, "tsne10")
    assert request_in(tmp_path).coverage.data_hash(study, setting) == sha256_of(kept)

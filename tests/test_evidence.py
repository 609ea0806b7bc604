"""Evidence keeps finished replications and embeddings, and gives back only what is planned."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pyarrow.parquet import ParquetFile

from fedmix.configuration import read_yaml
from fedmix.errors import DataError
from fedmix.pipeline.evidence import FIT, Evidence, write_evidence
from fedmix.pipeline.keep import add
from fedmix.pipeline.kept_embeddings import keep_embeddings, kept_embedding, kept_path
from fedmix.pipeline.provenance import content_hash
from fedmix.pipeline.status import evidence_lines
from fedmix.storage import sha256_of, write_arrays
from small_run import METHODS, ROOT, STUDY, current, finish, kept, planned, request_in


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a folder with two finished replications, and the evidence of them."""
    return kept(tmp_path_factory.mktemp("run"))


@pytest.fixture
def work(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "work")


def rows_in(work):
    return Evidence(work / "evidence").rows(STUDY)


def test_the_same_content_gives_the_same_bytes(work):
    evidence = work / "evidence" / f"{STUDY}.parquet"
    before, rows = evidence.read_bytes(), rows_in(work)
    by_fit = [own for _, own in rows.groupby(["method", "replication"])]
    write_evidence(work / "evidence", STUDY, pd.concat(reversed(by_fit)), {})
    assert evidence.read_bytes() == before
    data = {path: {"sha256": "0", "key": path} for path in ("b.npz", "a.npz")}
    for name, given in (("one", data), ("two", dict(sorted(data.items())))):
        write_evidence(work / name, STUDY, rows, given)
    one, two = ((work / name / evidence.name).read_bytes() for name in ("one", "two"))
    assert one == two


def test_the_order_of_what_is_said_of_the_data_changes_no_byte(work):
    evidence, rows = work / "evidence" / f"{STUDY}.parquet", rows_in(work)
    written = set()
    for said in ({"key": "k", "sha256": "s"}, {"sha256": "s", "key": "k"}):
        write_evidence(work / "evidence", STUDY, rows, {"data/embedded/a.npz": said})
        written.add(evidence.read_bytes())
    assert len(written) == 1


def test_a_setting_is_read_from_a_file_of_several_parts(work, monkeypatch):
    rows = pd.concat([rows_in(work).assign(setting=name) for name in ("a", "b", "c")])
    monkeypatch.setattr("fedmix.pipeline.evidence.ROWS_TOGETHER", 4)
    write_evidence(work / "evidence", STUDY, rows, {})
    evidence = Evidence(work / "evidence")
    assert ParquetFile(work / "evidence" / f"{STUDY}.parquet").num_row_groups > 3
    own = evidence.rows(STUDY, ["b"])
    assert len(own) == len(rows) / 3
    assert set(own["setting"]) == {"b"}


def test_every_replication_says_by_what_it_was_made(work):
    for made in rows_in(work)["made"].unique():
        assert {"date", "commit", "python", "numpy", "numba", "processor"} <= set(json.loads(made))


def test_adding_twice_adds_nothing(work):
    assert list(add(request_in(work), work)) == [f"{STUDY}: 0 replications added"]


def test_later_replications_join_the_earlier_ones(work):
    finish(work, range(2, 3))
    assert list(add(request_in(work), work)) == [f"{STUDY}: 2 replications added"]
    assert current(work) == dict.fromkeys(METHODS, 3)
    [fits] = json.loads((work / "evidence" / f"{STUDY}.json").read_text())["fits"].values()
    assert [held[1] for held in fits.values()] == ["0-2", "0-2"]


def test_blocks_that_are_held_are_not_planned_and_longer_runs_plan_the_rest(work):
    request = request_in(work)
    study, setting = planned(request)
    only = replace(study, methods={m: study.methods[m] for m in METHODS}, block=1)
    shorter, longer = (replace(only, replications=n) for n in (2, 4))
    assert request.coverage.missing(shorter, setting) == []
    names = [block.name for block in request.coverage.missing(longer, setting)]
    assert names == ["2-2", "3-3"]


def test_another_parameter_is_another_replication(work):
    request = request_in(work)
    study, setting = planned(request)
    other = {**study.methods["FedEM"].parameters, "max_rounds": 7}
    methods = {**study.methods, "FedEM": replace(study.methods["FedEM"], parameters=other)}
    held = request.coverage.held(replace(study, methods=methods), setting)
    assert len(held["LocalEM"]) == 2
    assert len(request_in(work).coverage.held(study, setting)["FedEM"]) == 2
    fresh = request_in(work).coverage.held(replace(study, methods=methods), setting)
    assert not fresh["FedEM"]


def test_a_kept_replication_stays_if_another_run_differs(work):
    rows = rows_in(work)
    own = (rows["method"] == "FedEM") & (rows["replication"] == 1)
    changed = rows.assign(value=rows["value"].where(~own, rows["value"] * 1.001))
    write_evidence(work / "evidence", STUDY, changed, {})
    [differ, added] = add(request_in(work), work)
    assert "1 replications differ from the kept ones, which stay: first" in differ
    assert "FedEM/1" in differ
    assert added == f"{STUDY}: 0 replications added"
    assert rows_in(work)["value"].equals(changed["value"])


def test_results_of_new_code_replace_those_of_old_code(work):
    rows = rows_in(work)
    write_evidence(work / "evidence", STUDY, rows.assign(key="old"), {})
    assert current(work) == dict.fromkeys(METHODS, 0)
    assert list(add(request_in(work), work)) == [f"{STUDY}: 4 replications added"]
    assert current(work) == dict.fromkeys(METHODS, 2)
    assert set(rows_in(work)["key"]) == set(rows["key"])


def test_a_kill_between_file_and_index_is_an_error_until_add_repairs_it(work):
    finish(work, range(2, 3))
    index = work / "evidence" / f"{STUDY}.json"
    before = index.read_text()
    list(add(request_in(work), work))
    index.write_text(before)
    with pytest.raises(DataError, match=r"fedgrem_simulation\.json is not the index of .* add"):
        current(work)
    assert list(add(request_in(work), work)) == [f"{STUDY}: 0 replications added"]
    assert current(work) == dict.fromkeys(METHODS, 3)
    index.unlink()
    with pytest.raises(DataError, match="is not the index of"):
        current(work)


def test_a_temporary_file_of_a_killed_writer_is_no_evidence(work):
    before = content_hash(work / "evidence", "*.parquet")
    (work / "evidence" / f".{STUDY}.deadbeef.parquet").write_bytes(b"PAR1")
    assert content_hash(work / "evidence", "*.parquet") == before
    assert list(add(request_in(work), work)) == [f"{STUDY}: 0 replications added"]


def test_status_counts_what_is_current_stale_and_missing(work):
    lines = {line.partition(":")[0]: line for line in evidence_lines(request_in(work))}
    assert ": 4 of " in lines[STUDY]
    write_evidence(work / "evidence", STUDY, rows_in(work).assign(key="old"), {})
    lines = {line.partition(":")[0]: line for line in evidence_lines(request_in(work))}
    assert ": 0 of " in lines[STUDY]
    assert ", 4 stale" in lines[STUDY]


def under(limit, work):
    request = request_in(work)
    return replace(request, coverage=replace(request.coverage, limit=limit))


@pytest.mark.parametrize(
    ("limit", "held"), [(100, 2), (1234, 2), (1234.4, 2), (1300, 1), (None, 1)]
)
def test_a_replication_stopped_before_the_limit_is_not_held(work, limit, held):
    rows = rows_in(work)
    stopped = (rows["method"] == "FedEM") & (rows["replication"] == 1)
    failed = {"status": "timeout", "seconds": 1234.4, "metric": "", "value": float("nan")}
    rows.loc[stopped, list(failed)] = list(failed.values())
    rows = rows.drop_duplicates([*FIT, "metric", "round"])
    write_evidence(work / "evidence", STUDY, rows, {})
    request = under(limit, work)
    assert request.coverage.held(*planned(request))["FedEM"] == set(range(held))
    assert len(request.coverage.held(*planned(request))["LocalEM"]) == 2
    added = 2 - held  # the work folder has a finished one, which replaces what was stopped early
    assert list(add(request, work))[-1] == f"{STUDY}: {added} replications added"
    assert ("timeout" in set(rows_in(work)["status"])) == (not added)


def test_a_replication_that_diverged_is_held_under_any_limit(work):
    rows = rows_in(work).drop_duplicates(FIT)
    failed = {"status": "diverged", "metric": "", "value": float("nan"), "seconds": 1.0}
    write_evidence(work / "evidence", STUDY, rows.assign(**failed), {})
    for limit in (100, None):
        request = under(limit, work)
        assert len(request.coverage.held(*planned(request))["FedEM"]) == 2


def test_embedded_data_that_other_code_made_are_not_used(work):
    data = {"data/embedded/mnist/tsne10.npz": {"sha256": "0", "key": "now"}}
    write_evidence(work / "evidence", STUDY, rows_in(work), data)
    evidence = Evidence(work / "evidence")
    assert evidence.data_hash(STUDY, *data, "now") == "0"
    assert evidence.data_hash(STUDY, *data, "before") is None
    assert evidence.data_hash(STUDY, "another.npz", "now") is None


def test_rows_are_those_of_some_settings(work):
    rows = rows_in(work)
    every = pd.concat([rows.assign(setting=name) for name in "abc"])
    write_evidence(work / "evidence", STUDY, every, {})
    found = Evidence(work / "evidence").rows(STUDY, ["c", "a", "none"])
    assert found["setting"].value_counts().to_dict() == dict.fromkeys("ac", len(rows))
    assert Evidence(work / "nowhere").rows(STUDY).empty
    assert Evidence(work / "nowhere").index(STUDY).fits == {}


def test_there_is_nowhere_to_add_without_a_folder(work):
    request = request_in(work)
    nowhere = replace(request, coverage=replace(request.coverage, evidence=Evidence()))
    with pytest.raises(DataError, match="evidence is false"):
        list(add(nowhere, work))


def test_the_repository_holds_no_evidence_that_is_not_indexed():
    for path in (ROOT / "data" / "evidence").glob("*.parquet"):
        assert Evidence(path.parent).index(path.stem).fits


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
    assert kept_embedding(evidence, "mnist", "tsne10", {**ENTRY, "title": "other"}) is not None


def test_only_embeddings_that_depend_on_the_processor_are_kept(evidence):
    embedded = {("mnist", "pca10"): evidence.parent / "tsne10.npz"}
    assert list(keep_embeddings(evidence, embedded, DATASETS)) == []
    assert kept_embedding(evidence, "mnist", "pca10", ENTRY) is None


def test_without_evidence_nothing_is_kept(tmp_path):
    assert kept_embedding(None, "mnist", "tsne10", ENTRY) is None
    assert kept_embedding(tmp_path, "mnist", "tsne10", ENTRY) is None


@pytest.mark.parametrize("damage", [b"", None])
def test_a_damaged_or_missing_file_is_named(evidence, damage):
    path = kept_path(evidence, "mnist", "tsne10")
    path.unlink() if damage is None else path.write_bytes(damage)
    with pytest.raises(DataError, match=r"tsne10\.npz is missing or damaged"):
        kept_embedding(evidence, "mnist", "tsne10", ENTRY)


@pytest.mark.parametrize("text", ["{", "[]", '{"mnist/tsne10": {}}', '{"mnist/tsne10": 3}'])
def test_a_damaged_index_is_named(evidence, text):
    (evidence / "embedded" / "index.json").write_text(text)
    with pytest.raises(DataError, match=r"index\.json is damaged"):
        kept_embedding(evidence, "mnist", "tsne10", ENTRY)

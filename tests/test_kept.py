"""Finished replications are taken over, and only by what they were made from."""

import sys
import time
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest

from fedmix.errors import DataError
from fedmix.experiments import settings
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.runner import Scenario, run_block
from fedmix.pipeline.blocks import KeptFits, finished, write_block
from fedmix.pipeline.collect import collect_settings, read_blocks
from fedmix.pipeline.evidence import ROUNDED, Evidence, write_evidence
from fedmix.pipeline.provenance import key_of, keys_of
from fedmix.storage import read_table, sha256_of, write_table

METHODS = [Method("a", "Toy"), Method("b", "Toy")]
PLANNED = {
    "scenario": {
        "study": "study",
        "variant": "default",
        "setting": "h0",
        "experiment": "toy",
        "values": {"h": 0.0},
    },
    "experiment": "hash of the experiment",
    "methods": [{"name": m.name, "estimator": "Toy", "parameters": {}} for m in METHODS],
    "sources": {"a": "hash of a", "b": "hash of b"},
}
KEYS = keys_of(data=None, **PLANNED)


@pytest.fixture
def scenario(monkeypatch):
    """A study that counts its fits in ``scenario.module.fits`` and can be killed in one."""
    module = ModuleType("fedmix.experiments.toy")
    module.fits, module.deadly = [], None

    def run(method, setting, problem, data, streams):
        if (method.name, streams.replication) == module.deadly:
            raise KeyboardInterrupt
        module.fits.append((method.name, streams.replication))
        score = float(streams.generator(method.name).standard_normal())
        if streams.replication == 2:
            raise RuntimeError("no luck")
        return Outcome({"error": score, "other": 0.1 + 0.2}, 3, True, 4, 5, {"error": [score, 1]})

    module.Settings, module.run = SimpleNamespace, run
    module.METRICS = {"error": "", "other": ""}
    module.make_problem = lambda *arguments: {}
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(settings, "names", lambda: ["toy"])
    return Scenario("study", "default", "h0", "toy", {"h": 0.0})


def run(scenario, folder, block, keys=KEYS, methods=METHODS):
    """Do what a job does; return the replications that it ran."""
    scenario.module.fits.clear()
    first, last = map(int, block.split("-"))
    replications = range(first, last + 1)
    fits = KeptFits(folder, block, keys)
    run_block(scenario, methods, replications, fits=fits)
    write_block(folder / f"{block}.parquet", scenario, methods, fits, keys)
    fits.close()
    return list(scenario.module.fits)


def kill(scenario, folder, block, cell, keys=KEYS):
    """Do what a job does that is killed in a replication of a method."""
    scenario.module.deadly = cell
    with pytest.raises(KeyboardInterrupt):
        run(scenario, folder, block, keys)
    scenario.module.deadly = None


def cut_last_line(partial):
    partial.write_text(partial.read_text()[:-20])


def bytes_of(folder, block):
    return (folder / f"{block}.parquet").read_bytes()


def test_a_killed_block_costs_one_replication_and_ends_in_the_same_bytes(scenario, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    everything = run(scenario, whole, "0-4")
    kill(scenario, killed, "0-4", ("b", 3))
    done = list(scenario.module.fits)
    assert run(scenario, killed, "0-4") == everything[len(done) :]
    assert bytes_of(killed, "0-4") == bytes_of(whole, "0-4")


def test_a_line_that_was_cut_off_is_run_again(scenario, tmp_path):
    kill(scenario, tmp_path, "0-4", ("a", 2))
    cut_last_line(tmp_path / "0-4.partial.jsonl")
    assert run(scenario, tmp_path, "0-4")[0] == ("b", 1)


def test_a_line_that_was_cut_off_costs_no_second_replication(scenario, tmp_path):
    kill(scenario, tmp_path, "0-4", ("a", 1))
    cut_last_line(tmp_path / "0-4.partial.jsonl")
    kill(scenario, tmp_path, "0-4", ("b", 2))
    assert run(scenario, tmp_path, "0-4")[0] == ("b", 2)


def test_the_partial_file_goes_when_the_block_is_done(scenario, tmp_path):
    run(scenario, tmp_path, "0-1")
    assert not list(tmp_path.glob("*.partial.jsonl"))


def test_what_other_code_has_finished_is_never_taken(scenario, tmp_path):
    run(scenario, tmp_path, "0-1")
    changed = {**KEYS, "b": key_of("b, changed")}
    assert run(scenario, tmp_path, "0-1", changed) == [("b", 0), ("b", 1)]
    kill(scenario, tmp_path, "2-4", ("b", 3), changed)
    unfinished = [("b", 2), ("b", 3), ("a", 4), ("b", 4)]
    assert run(scenario, tmp_path, "2-4") == unfinished


def test_blocks_of_another_size_run_nothing_again_and_hold_the_same_bytes(scenario, tmp_path):
    small, large = tmp_path / "small", tmp_path / "large"
    run(scenario, large, "0-5")
    for block in ("0-2", "3-5"):
        run(scenario, small, block)
    assert run(scenario, small, "0-5") == []
    assert bytes_of(small, "0-5") == bytes_of(large, "0-5")
    assert run(scenario, small, "0-6") == [("a", 6), ("b", 6)]


@pytest.mark.parametrize("name", ["0-1.parquet", "0-1.timings.parquet"])
def test_a_block_with_a_missing_or_damaged_file_is_run_again(scenario, tmp_path, name):
    everything = run(scenario, tmp_path, "0-1")
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:50])
    assert run(scenario, tmp_path, "0-1") == everything
    (tmp_path / name).unlink()
    assert run(scenario, tmp_path, "0-1") == everything


def test_results_without_a_key_are_run_again(scenario, tmp_path):
    everything = run(scenario, tmp_path, "0-1")
    results = read_table(tmp_path / "0-1.parquet")
    assert results.attrs.pop("keys") == KEYS
    write_table(tmp_path / "0-1.parquet", results)
    assert run(scenario, tmp_path, "0-1") == everything


def test_the_key_changes_no_row(scenario, tmp_path):
    run(scenario, tmp_path / "one", "0-1")
    run(scenario, tmp_path / "two", "0-1", {"a": key_of(1), "b": key_of(2)})
    one, two = (read_table(tmp_path / name / "0-1.parquet") for name in ("one", "two"))
    assert one.attrs["keys"] == KEYS
    assert one.equals(two)


def test_a_run_of_fewer_methods_loses_nothing_of_the_others(scenario, tmp_path):
    folder = tmp_path / "results/study/h0"
    run(scenario, folder, "0-1")
    changed = {"a": key_of("a, changed")}
    assert run(scenario, folder, "0-1", changed, METHODS[:1]) == [("a", 0), ("a", 1)]
    results, timings = read_blocks([folder / "0-1.parquet"], {"a": 2}, changed)
    assert set(results["method"]) == set(timings["method"]) == {"a"}
    both = {**changed, "b": KEYS["b"]}
    assert run(scenario, folder, "0-1", both) == []
    results, _ = read_blocks([folder / "0-1.parquet"], {"a": 2, "b": 2}, both)
    assert set(results["method"]) == {"a", "b"}


def test_what_other_code_has_made_is_not_collected(scenario, tmp_path):
    folder = tmp_path / "results/study/h0"
    run(scenario, folder, "0-1")
    changed = {**KEYS, "b": key_of("b, changed")}
    block, n = [folder / "0-1.parquet"], {"a": 2, "b": 2}
    with pytest.raises(DataError, match=r"0-1\.parquet: other code .* results of b, and the job"):
        read_blocks(block, n, changed)
    for rows in read_blocks(block, n, changed, partial=True):
        assert set(rows["method"]) == {"a"}


def collected(folder, blocks, n, evidence=None, partial=False, **changes):
    """Return the results and timings of the methods' first ``n`` replications."""
    held = dict.fromkeys(KEYS, 1 if evidence else 0)
    setting = {
        **PLANNED,
        "replications": dict.fromkeys(KEYS, n),
        "blocks": [folder / f"{block}.parquet" for block in blocks],
        "data": None,
        "data_hash": None,
        "held": held,
        **changes,
    }
    [tables] = collect_settings({"h0": setting}, evidence, partial)
    return tables


def test_collected_rows_do_not_depend_on_the_size_of_the_blocks(scenario, tmp_path):
    one, two = tmp_path / "one/study/h0", tmp_path / "two/study/h0"
    run(scenario, one, "0-5")
    run(scenario, two, "0-2")
    run(scenario, two, "3-5")
    whole, timings = collected(one, ["0-5"], 6)
    parts, _ = collected(two, ["3-5", "0-2"], 6)
    pd.testing.assert_frame_equal(whole, parts)
    fits = whole[["method", "replication"]].drop_duplicates()
    assert [*zip(*fits.to_numpy().T, strict=True)] == [(m, r) for m in "ab" for r in range(6)]
    assert not whole.attrs
    assert len(timings) == 12


def test_a_missing_replication_is_an_error_unless_parts_will_do(scenario, tmp_path):
    folder = tmp_path / "study/h0"
    run(scenario, folder, "0-2")
    with pytest.raises(DataError, match="study, default, h0: a lacks replications 3, 4 of 5"):
        collected(folder, ["0-2"], 5)
    for n, lost in ((8, "3, 4, 5, 6, 7 of 8"), (9, "3, 4, 5, 6, 7, ... of 9")):
        with pytest.raises(DataError, match=f"a lacks replications {lost}"):
            collected(folder, ["0-2"], n)
    with pytest.raises(DataError, match="a lacks replications 0, 1 of 2"):
        collected(folder, [], 2)
    results, _ = collected(folder, ["0-2"], 5, partial=True)
    assert set(results["replication"]) == {0, 1, 2}


def test_a_method_may_have_fewer_replications_than_a_block_starts_with(scenario, tmp_path):
    folder = tmp_path / "study/h0"
    run(scenario, folder, "0-1")
    run(scenario, folder, "2-3", methods=METHODS[:1])
    fewer = {"replications": {"a": 4, "b": 2}}
    _, timings = collected(folder, ["0-1", "2-3"], 4, **fewer)
    assert timings.groupby("method").size().to_dict() == fewer["replications"]


def test_a_block_is_of_the_data_that_are_there(scenario, tmp_path):
    folder, data = tmp_path / "study/h0", tmp_path / "tsne10.npz"
    data.write_bytes(b"features")
    run(scenario, folder, "0-1", keys_of(data=sha256_of(data), **PLANNED))
    for there in ({"data": data}, {"data_hash": sha256_of(data)}):
        _, timings = collected(folder, ["0-1"], 2, **there)
        assert len(timings) == 4
    data.write_bytes(b"other features")
    with pytest.raises(DataError, match="other code or other data made the results of a, b"):
        collected(folder, ["0-1"], 2, data=data)


def kept(scenario, folder, blocks, evidence):
    """Keep what blocks hold as evidence."""
    rows = [
        {"setting": "h0", "method": method, "replication": r, **fit.timing, **row, "key": key}
        for key, method, r, fit in finished(folder)
        for row in fit.rows
    ]
    write_evidence(evidence, scenario.study, pd.DataFrame(rows), {})


def test_evidence_gives_the_rows_of_the_blocks_that_it_was_made_from(scenario, tmp_path):
    folder, evidence = tmp_path / "study/h0", tmp_path / "evidence"
    run(scenario, folder, "0-5")
    kept(scenario, folder, ["0-5"], evidence)
    results, timings = collected(folder, ["0-5"], 6)
    again, times = (
        rows.astype(own.dtypes)  # the evidence is read with text as categories
        for rows, own in zip(collected(folder, [], 6, evidence), (results, timings), strict=True)
    )
    by_round = results["round"].notna()
    pd.testing.assert_frame_equal(results[~by_round], again[~by_round])
    pd.testing.assert_frame_equal(results[by_round], again[by_round], rtol=ROUNDED)
    pd.testing.assert_frame_equal(timings, times, rtol=1e-2)
    for numbers in ({"a": 4, "b": 4}, {"a": 5, "b": 1}):
        _, times = collected(folder, [], 6, evidence, replications=numbers)
        assert times.groupby("method")["replication"].agg(set).to_dict() == {
            method: set(range(n)) for method, n in numbers.items()
        }


def test_an_unsound_replication_of_the_evidence_is_told_and_left_out(scenario, tmp_path, caplog):
    folder, evidence = tmp_path / "study/h0", tmp_path / "evidence"
    run(scenario, folder, "0-1")
    kept(scenario, folder, ["0-1"], evidence)
    rows = Evidence(evidence).rows("study")
    wrong = (rows["method"] == "b") & (rows["replication"] == 1)
    write_evidence(evidence, "study", rows.assign(floats_up=rows["floats_up"].mask(wrong, -1)), {})
    _, timings = collected(folder, [], 2, evidence, partial=True, held={"a": 2, "b": 0})
    assert timings.groupby("method").size().to_dict() == {"a": 2, "b": 1}
    assert "because a count is negative: first h0/b/1" in caplog.text


def test_with_partial_a_block_of_other_code_alone_gives_no_rows(scenario, tmp_path):
    folder = tmp_path / "study/h0"
    run(scenario, folder, "0-2")
    others = {method: key_of(f"{method}, changed") for method in KEYS}
    tables = read_blocks([folder / "0-2.parquet"], dict.fromkeys(KEYS, 3), others, partial=True)
    assert [len(table) for table in tables] == [0, 0]


def test_evidence_of_other_methods_alone_gives_no_rows(scenario, tmp_path):
    folder, evidence = tmp_path / "study/h0", tmp_path / "evidence"
    run(scenario, folder, "0-2")
    kept(scenario, folder, ["0-2"], evidence)
    file = evidence / "study.parquet"
    rows = Evidence(evidence).rows("study")
    write_evidence(file.parent, "study", rows.assign(method="another"), {})
    results, timings = collected(folder, ["0-2"], 3, evidence)
    assert set(results["method"]) == set(timings["method"]) == set(KEYS)


def test_a_block_and_evidence_of_the_same_replication_count_once(scenario, tmp_path):
    folder, evidence = tmp_path / "study/h0", tmp_path / "evidence"
    run(scenario, folder, "0-2")
    kept(scenario, folder, ["0-2"], evidence)
    run(scenario, folder, "3-5")
    results, timings = collected(folder, ["3-5"], 6, evidence)
    assert len(timings) == 12
    overlapping, _ = collected(folder, ["0-2", "3-5"], 6, evidence)
    assert len(overlapping) == len(results)


def test_a_job_takes_over_what_the_evidence_holds(scenario, tmp_path):
    here, there, evidence = tmp_path / "here/h0", tmp_path / "there/h0", tmp_path / "evidence"
    run(scenario, here, "0-2")
    kept(scenario, here, ["0-2"], evidence)
    fits = KeptFits(there, "0-4", KEYS, Evidence(evidence).rows("study", ["h0"]))
    assert set(fits) == {(method, r) for method in KEYS for r in range(3)}
    changed = {**KEYS, "b": key_of("b, changed")}
    fits = KeptFits(there, "0-4", changed, Evidence(evidence).rows("study", ["h0"]))
    assert set(fits) == {("a", r) for r in range(3)}


@pytest.mark.parametrize(("limit", "again"), [(0.05, 0), (60, 1), (None, 1)])
def test_a_replication_that_was_stopped_before_the_limit_runs_again(
    scenario, tmp_path, limit, again
):
    def stopped(method, *arguments):
        if method.name == "b":
            time.sleep(5)
        return finishes(method, *arguments)

    finishes, scenario.module.run = scenario.module.run, stopped
    fits = KeptFits(tmp_path, "0-0", KEYS)
    run_block(scenario, METHODS, range(1), 0.05, fits)
    assert fits["b", 0].rows[0]["status"] == "timeout"
    for _ in ("from the partial file", "from the block"):
        kept = KeptFits(tmp_path, "0-0", KEYS, limit=limit)
        assert {("a", 0), ("b", 0)} - set(kept) == ({("b", 0)} if again else set())
        write_block(tmp_path / "0-0.parquet", scenario, METHODS, fits, KEYS)
        fits.close()

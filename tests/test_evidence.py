"""Evidence keeps finished replications, and gives back only what is planned."""

import json
import re
import shutil
from dataclasses import replace

import pandas as pd
import pytest
from pyarrow.parquet import ParquetFile

from fedmix.errors import DataError
from fedmix.pipeline.costs import SHARED, Cost, Costs, Machine
from fedmix.pipeline.coverage import experiment_hash
from fedmix.pipeline.evidence import FIT, Evidence, write_evidence
from fedmix.pipeline.forecast import forecast
from fedmix.pipeline.keep import _differing, add
from fedmix.pipeline.provenance import content_hash
from fedmix.pipeline.status import evidence_lines, read_status, status_lines
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


def test_the_order_of_what_is_said_of_the_data_changes_no_byte(work):
    evidence, rows = work / "evidence" / f"{STUDY}.parquet", rows_in(work)
    said = {path: {"sha256": "0", "key": path} for path in ("b.npz", "a.npz")}
    swapped = {path: dict(sorted(said[path].items())) for path in sorted(said)}
    written = set()
    for data in (said, dict(sorted(said.items())), swapped):
        write_evidence(work / "evidence", STUDY, rows, data)
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


def test_that_nothing_is_finished_is_told(tmp_path):
    [told] = add(request_in(tmp_path), tmp_path)
    assert told == (
        f"{tmp_path / 'results'}: nothing is finished of the studies of the preset quick."
    )


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
    assert request.coverage.lacking(shorter, setting) == {}
    names = [block.name for block in request.coverage.lacking(longer, setting)]
    assert names == ["2-2", "3-3"]


def test_what_is_left_costs_what_the_evidence_lacks(work):
    request = request_in(work)
    study, setting = planned(request)
    cells = read_status(request, work)
    told = next(line for line in status_lines(cells, "") if line.startswith(STUDY))
    assert re.match(rf"{STUDY}: 0 of \d+ blocks done, 4 replications in the evidence, 0 core", told)
    own = [cell for cell in cells if (cell.study, cell.setting) == (STUDY, setting.folder)]
    part = 5 * study.seconds(SHARED, setting) / len(own)
    left = {cell.method: cell.hours_left for cell in own if cell.held == 2}
    assert left == {
        m: pytest.approx((3 * study.seconds(m, setting) + part) / 3600) for m in METHODS
    }
    only = replace(study, settings={setting.folder: setting}, methods=dict(study.methods))
    [whole] = forecast(replace(request, studies={STUDY: only}), work).studies
    each = {method: study.seconds(method, setting) for method in study.methods_of(setting)}
    seconds = 5 * sum(each.values()) - 2 * sum(each[method] for method in METHODS)
    shared = study.seconds(SHARED, setting)
    assert whole.hours.typical == pytest.approx((seconds + 5 * shared) / 3600)
    assert sum(cell.hours_left for cell in own) == pytest.approx(whole.hours.typical)
    both = replace(only, methods={method: study.methods[method] for method in METHODS})
    [whole] = forecast(replace(request, studies={STUDY: both}), work).studies
    assert whole.hours.typical == pytest.approx(3 * (sum(map(each.get, METHODS)) + shared) / 3600)


def test_methods_whose_replications_are_all_held_are_told_so(work):
    request = request_in(work)
    study, setting = planned(request)
    only = replace(study, methods={m: study.methods[m] for m in METHODS}, replications=2)
    only = replace(only, settings={setting.folder: setting})
    cells = read_status(replace(request, studies={STUDY: only}), work)
    [whole, first, second] = status_lines(cells, "", STUDY)
    assert whole == f"{STUDY}: all 4 replications are in the evidence"
    assert first.endswith("LocalEM  2 replications in the evidence")
    assert second.endswith("FedEM    2 replications in the evidence")
    # The evidence has more than a shorter run asks for.
    shorter = replace(only, replications=1)
    cells = read_status(replace(request, studies={STUDY: shorter}), work)
    [whole, first, _] = status_lines(cells, "", STUDY)
    assert whole == f"{STUDY}: all 2 replications are in the evidence"
    assert first.endswith("LocalEM  1 replication in the evidence")
    [whole, *_] = status_lines(cells[:1], "")
    assert whole == f"{STUDY}: its only replication is in the evidence"


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


def test_another_variant_and_another_experiment_have_other_keys(tmp_path):
    request = request_in(tmp_path)
    study, setting = planned(request)
    two = replace(study, variants={**study.variants, "other": study.variants[setting.variant]})
    keys = request.coverage.keys(study, setting)
    others = request.coverage.keys(two, replace(setting, variant="other"))
    assert keys.keys() == others.keys()
    assert not set(keys.values()) & set(others.values())
    assert experiment_hash(study) != experiment_hash(request.studies["fedgrem_real"])


def test_a_kept_replication_stays_if_another_run_differs(work):
    rows = rows_in(work)
    own = (rows["method"] == "FedEM") & (rows["replication"] == 1)
    changed = rows.assign(value=rows["value"].where(~own, rows["value"] * 1.001))
    write_evidence(work / "evidence", STUDY, changed, {})
    [differ, added] = add(request_in(work), work)
    assert "1 replication with other values than those kept, which stay: first" in differ
    assert "FedEM/1" in differ
    assert added == f"{STUDY}: 0 replications added"
    assert rows_in(work)["value"].equals(changed["value"])


@pytest.mark.parametrize(
    ("number", "value", "gap", "differs"),
    [
        (None, 1e3, 1e-10, False),
        (None, 1e-3, 1e-8, True),
        (7, 1e3, 2e-4, False),
        (7, 1e-3, 3e-4, True),
    ],
)
def test_values_differ_beyond_the_digits_that_are_kept(number, value, gap, differs):
    rows = pd.DataFrame({"replication": [10, 9], "value": value, "status": "ok", "metric": "m"})
    rows = rows.assign(setting="s", method="m", round=pd.array([number] * 2, dtype="Int64"))
    found = _differing(rows, rows.assign(value=value * (1 + gap)))
    assert found == (["s/m/9", "s/m/10"] if differs else [])


def test_a_kept_replication_that_failed_differs_from_one_that_did_not(work):
    rows = rows_in(work)
    own = (rows["method"] == "FedEM") & (rows["replication"] == 1)
    failed = {"status": "error", "message": "no", "metric": "", "value": float("nan")}
    rows.loc[own, list(failed)] = list(failed.values())
    rows = rows.drop_duplicates([*FIT, "metric", "round"])
    write_evidence(work / "evidence", STUDY, rows, {})
    differ, added = add(request_in(work), work)
    assert "1 replication with other values" in differ
    assert added == f"{STUDY}: 0 replications added"


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


def test_a_file_changed_by_hand_is_checked_before_add_repairs_its_index(work):
    path, rows = work / "evidence" / f"{STUDY}.parquet", rows_in(work)
    twice = rows[(rows["method"] == "FedEM") & (rows["replication"] == 1)]
    pd.concat([rows, twice]).to_parquet(path, index=False)
    shutil.rmtree(work / "results")
    assert "1 replications left out, because a value occurs twice" in next(
        add(request_in(work), work)
    )
    assert current(work) == dict.fromkeys(METHODS, 2) | {"FedEM": 1}
    rows.drop(columns="made").to_parquet(path, index=False)
    with pytest.raises(DataError, match="is not evidence: missing or unknown columns: made"):
        list(add(request_in(work), work))


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


def test_replications_that_a_shorter_limit_stopped_are_missing_and_not_stale(work):
    rows = rows_in(work)
    stopped = rows["method"] == "FedEM"
    rows.loc[stopped, ["status", "seconds"]] = ["timeout", 10.0]
    write_evidence(work / "evidence", STUDY, rows, {})
    lines = {line.partition(":")[0]: line for line in evidence_lines(under(100, work))}
    assert ": 2 of " in lines[STUDY]
    assert "stale" not in lines[STUDY]


def test_status_counts_planned_replications_and_the_seconds_of_those_that_are_missing(work):
    request = request_in(work)
    study, setting = planned(request)
    methods = {method: replace(study.methods[method], replications=None) for method in METHODS}
    only = replace(study, settings={setting.folder: setting}, methods=methods)
    cost = Cost(900.0, 0.0, Machine(1.0, 1.0, 1.0))
    costs = Costs({(STUDY, "", "", name): cost for name in ("LocalEM", SHARED)})
    for replications, says in (
        (1, "2 of 2 replications current; about 0 core-seconds are missing"),
        (4, "4 of 8 replications current; about 1.50 core-hours are missing"),
    ):
        asked = replace(only, replications=replications, costs=costs)
        [line] = evidence_lines(replace(request, studies={STUDY: asked}))
        assert line == f"{STUDY}: {says}"


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
    assert list(add(request, work))[-1].startswith(f"{STUDY}: {added} replication")
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


def test_results_of_older_code_beside_those_of_the_present_code_do_no_harm(work):
    shutil.rmtree(work / "evidence")
    [partial] = (work / "results").rglob("*.partial.jsonl")
    lines = [json.loads(line) for line in partial.read_text().splitlines() if line]
    old = "\n".join(json.dumps(["old", *line[1:]]) for line in lines)
    partial.with_name("0-0.partial.jsonl").write_text(old)
    partial.with_name("1-1.partial.jsonl").write_text(partial.read_text())
    [line] = add(request_in(work), work)
    assert line == f"{STUDY}: 4 replications added, 4 of other code, data or settings left out"
    assert current(work) == dict.fromkeys(METHODS, 2)


def test_adding_one_method_leaves_the_others_and_the_records_as_they_are(work, tmp_path):
    rows, folder = rows_in(work), work / "evidence"
    own = rows["method"] == "FedEM"
    records = [{"method": "LocalEM", "run_again": 3}]
    write_evidence(tmp_path / "file", STUDY, rows[own], {})
    write_evidence(folder, STUDY, rows[~own], {"a.npz": {"sha256": "0", "key": "k"}}, records)
    request, file = request_in(work), tmp_path / "file" / f"{STUDY}.parquet"
    assert list(add(request, work, [file])) == [f"{STUDY}: 2 replications added"]
    assert current(work) == dict.fromkeys(METHODS, 2)
    assert Evidence(folder).index(STUDY).adoptions == records
    assert set(Evidence(folder).index(STUDY).data) == {"a.npz"}
    before = (folder / f"{STUDY}.parquet").stat().st_mtime_ns
    assert list(add(request_in(work), work, [file])) == [f"{STUDY}: 0 replications added"]
    assert (folder / f"{STUDY}.parquet").stat().st_mtime_ns == before


def test_what_was_stopped_early_is_not_added_and_stays_until_it_has_run_again(work, tmp_path):
    rows, folder = rows_in(work), work / "evidence"
    stopped = rows["replication"] == 1
    rows.loc[stopped, ["status", "metric"]] = ["timeout", ""]
    rows = rows.assign(value=rows["value"].mask(stopped), seconds=5.0)
    rows = rows.drop_duplicates([*FIT, "metric", "round"])
    write_evidence(tmp_path / "file", STUDY, rows, {})
    shutil.rmtree(folder)
    [told] = add(under(10, work), work, [tmp_path / "file" / f"{STUDY}.parquet"])
    assert told == f"{STUDY}: 2 replications added"
    write_evidence(folder, STUDY, rows, {})
    shutil.rmtree(work / "results")
    finish(work, range(2, 3))
    assert list(add(under(10, work), work)) == [f"{STUDY}: 2 replications added"]
    assert len(rows_in(work).query("status == 'timeout'")) == 2

"""What a run says of itself: its status, and what it has made at its end."""

import json
import os
import time
from contextlib import suppress
from dataclasses import replace

import pandas as pd
import pytest

from fedmix.cells.verdicts import COUNTED
from fedmix.configuration import Document
from fedmix.errors import DataError
from fedmix.pipeline.collect import count_outcomes
from fedmix.pipeline.plan import plan_study
from fedmix.pipeline.request import Request
from fedmix.pipeline.status import (
    error_in,
    failed_jobs,
    failed_throughout,
    failure_lines,
    lacking,
    read_status,
    remove_temporary,
    require_past,
    status_lines,
    summary_lines,
)
from fedmix.storage import atomic_path, write_table


def request_of(study, **document):
    """Return a request of one study with one method."""
    document |= {"experiment": "mixture_simulation", "block": 2, "setting_id": "h{h}"}
    document = {"methods": ["FedEM"], **document}
    methods = {name: {"estimator": name, "label": name} for name in ("FedEM", "TGMM")}
    plan = plan_study(study, "p", Document(document, (lambda keys: "study.yaml",)), methods)
    return Request({"preset": "p"}, {study: plan}, {}, {}, {})


@pytest.fixture
def two_variants():
    variants = {"as_written": {}, "as_coded": {}}
    return request_of("s", replications=2, settings=[{"grid": {"h": [0, 1]}}], variants=variants)


def collect(workdir, setting, statuses, method="FedEM"):
    rows = pd.DataFrame({"replication": range(len(statuses)), "status": statuses})
    rows["message"] = [f"{status} {r}." for r, status in enumerate(statuses)]
    path = workdir / "results/p/collected/s/rest/outcomes.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    others = json.loads(path.read_text()) if path.exists() else []
    variant, _, name = setting.rpartition(".")
    place = {"variant": variant or "default", "setting": name, "method": method}
    outcomes = count_outcomes(pd.concat([rows, rows]).assign(**place))
    found = {"setting": setting, "variant": setting.partition(".")[0], "methods": outcomes[setting]}
    path.write_text(json.dumps([*others, found]))


def test_outcomes_count_replications_and_keep_the_first_error():
    rows = pd.DataFrame(
        {
            "method": ["A", "A", "A", "B"],
            "replication": [0, 0, 1, 0],
            "status": ["ok", "ok", "error", "diverged"],
            "message": ["", "", "ValueError: no", "DivergenceError: far"],
        }
    ).assign(variant="default")
    first = {
        "A": {"replications": {"ok": 1, "error": 1}, "error": "ValueError: no"},
        "B": {"replications": {"diverged": 1}, "error": ""},
    }
    second = {"A": {"replications": {"ok": 2}, "error": ""}}
    later = rows[:3].assign(variant="v", status="ok", message="")
    both = pd.concat([rows.assign(setting="s"), later.assign(setting="s")])
    assert count_outcomes(both) == {"s": first, "v.s": second}
    assert count_outcomes(pd.DataFrame()) == {}


def test_a_method_that_only_raised_errors_in_a_variant_is_named_with_the_first(
    two_variants, tmp_path
):
    collect(tmp_path, "as_written.h0", ["error", "error"])
    collect(tmp_path, "as_written.h1", ["error", "error"])
    collect(tmp_path, "as_coded.h0", ["ok", "ok"])
    [told] = failed_throughout(two_variants, tmp_path / "results/p")
    assert told == (
        "s, variant as_written: every replication of FedEM failed, the first with error 0. To see "
        "the whole error: python -m fedmix rerun s as_written.h0 FedEM 0 --config preset=p"
    )


def test_the_command_that_shows_an_error_quotes_a_name_for_a_shell(tmp_path):
    request = request_of("s", replications=1, settings=[{"h": 0}], methods=["FedEM"])
    collect(tmp_path, "h0", ["error"], method="FedEM (mine)")
    [told] = failed_throughout(request, tmp_path / "results/p")
    assert "python -m fedmix rerun s h0 'FedEM (mine)' 0 --config" in told


def test_failed_replications_are_counted_by_how_they_failed(two_variants, tmp_path):
    shown = tmp_path / "results/p"
    assert list(failure_lines(two_variants, shown)) == []
    collect(tmp_path, "as_coded.h0", ["ok", "ok"])
    assert list(failure_lines(two_variants, shown)) == []
    collect(tmp_path, "as_written.h0", ["error", "error"])
    [told] = failure_lines(two_variants, shown)
    assert told.startswith("s: 2 of 4 replications failed (2 error).")
    collect(tmp_path, "as_written.h1", ["ok", "diverged"])
    [told] = failure_lines(two_variants, shown)
    assert told.startswith("s: 3 of 6 replications failed (2 error, 1 diverged).")


def test_the_options_of_a_request_are_quoted_for_a_shell(two_variants):
    options = {"preset": "p", "plugins": "my methods", "mirror": None}
    assert replace(two_variants, options=options).asked == "--config preset=p 'plugins=my methods'"


@pytest.mark.parametrize("result", ["ok", "diverged", "timeout"])
def test_one_result_anywhere_in_the_variant_is_enough(two_variants, tmp_path, result):
    (tmp_path / "results/p/collected/s/rest").mkdir(parents=True)  # as a killed job leaves it
    assert failed_throughout(two_variants, tmp_path / "results/p") == [], "nothing is collected"
    collect(tmp_path, "as_written.h0", ["error", "error"])
    collect(tmp_path, "as_written.h1", ["error", result])
    assert failed_throughout(two_variants, tmp_path / "results/p") == []


def test_a_requested_method_that_collected_results_lack_is_named(two_variants, tmp_path):
    collect(tmp_path, "as_written.h0", ["ok", "diverged"])
    collect(tmp_path, "as_written.h1", ["ok"])
    collect(tmp_path, "as_coded.h0", ["ok", "ok"], method="LocalEM")
    collect(tmp_path, "as_coded.h1", ["ok", "ok", "ok"])
    assert lacking(two_variants, tmp_path / "results/p") == [
        "s, as_written.h1: FedEM has 1 of 2 replications.",
        "s, as_coded.h0: FedEM has 0 of 2 replications.",
    ]
    assert lacking(two_variants, tmp_path / "results/quick") == []


def test_a_requested_setting_that_collected_results_lack_is_named(two_variants, tmp_path):
    for setting in ("as_written.h0", "as_coded.h0", "as_coded.h1"):  # as partial=true leaves it
        collect(tmp_path, setting, ["ok", "ok"])
    assert lacking(two_variants, tmp_path / "results/p") == [
        "s, as_written.h1: FedEM has 0 of 2 replications."
    ]


def test_the_error_of_a_failed_job_is_found_in_its_log(tmp_path):
    logs = tmp_path / "logs/rule"
    logs.mkdir(parents=True)
    said = "Traceback\nValueError: too small\n"
    for name in ("old", "bad"):
        (logs / f"{name}.log").write_text(f"ERROR fedmix: the job failed\n{said}")
    (logs / "good.log").write_text("INFO fedmix: ok\n")
    os.utime(logs / "old.log", (1000.0, 1000.0))
    assert failed_jobs(tmp_path, 2000.0) == [f"{logs}/bad.log: ValueError: too small"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("numpy._core._exceptions._ArrayMemoryError: no 8 GiB", "_ArrayMemoryError: no 8 GiB"),
        ("zipfile.BadZipFile: no zip\nsecond line: of it", "BadZipFile: no zip"),
        (
            "pydantic.ValidationError: 2 errors\na\n  Field required\nb\n  Field required",
            "ValidationError: 2 errors",
        ),
        ("StopIteration", "StopIteration"),
        ("SystemExit: 2", "SystemExit: 2"),
    ],
)
def test_the_last_error_of_any_kind_is_found(tmp_path, line, says):
    stack = 'Traceback (most recent call last):\n  File "run.py", line 1, in run\n    work()\n'
    first = f"{stack}KeyError: 'a'\n\nDuring handling of the above exception, another occurred:\n\n"
    (tmp_path / "a.log").write_text(f"ERROR fedmix: the job failed\n{first}{stack}{line}\n")
    assert error_in(tmp_path / "a.log") == says
    (tmp_path / "a.log").write_text(f"ERROR fedmix: replication 3 of FedEM failed\n{stack}{line}\n")
    assert error_in(tmp_path / "a.log") == "", "the job goes on"


def test_a_group_of_errors_is_an_error_of_the_job(tmp_path):
    stack = '  + Exception Group Traceback (most recent call last):\n  |   File "run.py"\n'
    group = f"{stack}  | ExceptionGroup: several (2 sub-exceptions)\n"
    earlier = "replication 3 of FedEM failed\nTraceback:\n  work()\nKeyError: 'a'\n"
    (tmp_path / "a.log").write_text(f"{earlier}ERROR fedmix: the job failed\n{group}")
    assert error_in(tmp_path / "a.log") == "an error that its log shows"


def test_a_job_that_wrote_neither_a_block_nor_an_error_was_killed(tmp_path):
    for place in ("logs/run_methods", "results"):
        (tmp_path / place / "study/h0").mkdir(parents=True)
    for block in ("0-1", "2-3", "6-7"):
        (tmp_path / f"logs/run_methods/study/h0/{block}.log").touch()
    for block in ("0-1", "6-7"):
        (tmp_path / f"results/study/h0/{block}.parquet").touch()
    os.utime(tmp_path / "results/study/h0/6-7.parquet", (1000.0, 1000.0))  # of an earlier run
    failed = tmp_path / "logs/run_methods/study/h0/4-5.log"
    failed.write_text(FAILURE)
    error, told = failed_jobs(tmp_path, 2000.0)
    assert error == f"{failed}: DataError: client 3 is empty"
    assert told.startswith(f"{tmp_path}/logs/run_methods/study/h0/2-3.log: the job was killed")
    assert "(2 jobs in all)" in told
    assert "memory ran out" in told
    assert "mem_mb" in told


def test_files_that_a_killed_job_was_writing_are_removed(tmp_path):
    folder = tmp_path / "results/study/h0"
    folder.mkdir(parents=True)
    with suppress(KeyboardInterrupt), atomic_path(folder / "0-1.parquet") as temporary:
        raise KeyboardInterrupt
    names = ["0-1.parquet", "0-1.partial.jsonl", ".hidden.parquet", ".a.0123abcdef.parquet"]
    kept = [folder / name for name in [*names, ".folder.0123abcd"]]
    kept[-1].mkdir()
    raw = tmp_path / "data/raw/.digits.0123abcd"
    raw.parent.mkdir(parents=True)
    for path in [temporary, raw, *kept]:
        path.touch()
        os.utime(path, (time.time() - 7200,) * 2)
    being_written = folder / ".2-3.0123abcd.parquet"
    being_written.touch()
    remove_temporary(tmp_path)
    assert sorted(folder.iterdir()) == sorted([*kept, being_written])
    assert not raw.exists()


def test_a_run_ends_with_its_files_and_verdicts(tmp_path):
    shown = tmp_path / "results/p"
    made = ["tables/t1.md", "tables/t1.csv", "figures/f.svg", "index.html", "pages/t1.html"]
    made += ["cells.parquet", "audit/scores.csv", "audit/claims.csv", "audit/differences.md"]
    for name in ["tables/old.md", "archive.zip", *made]:
        (shown / name).parent.mkdir(parents=True, exist_ok=True)
        (shown / name).touch()
    counted = dict.fromkeys(COUNTED, 0)
    tables = [{"paper": "one", **counted, "agrees": 3}, {"paper": "one", **counted, "differs": 1}]
    pd.DataFrame(tables).to_csv(shown / "audit/scores.csv")
    claims = pd.DataFrame({"paper": ["one", "two", "two"], "verdict": ["holds", "mixed", "mixed"]})
    claims.to_csv(shown / "audit/claims.csv")
    for old in ("tables/old.md", "archive.zip"):
        os.utime(shown / old, (1000.0, 1000.0))
    assert list(summary_lines(shown, 2000.0)) == [
        f"tables in {shown}/tables: t1",
        f"figures in {shown}/figures: f",
        "one, published values: 3 agree, 1 differs",
        "one, claims: 1 holds",
        "two, claims: 2 mixed",
        f"the scorecard, to open: {shown}/index.html",
        f"a page for every published table: {shown}/pages",
        f"every number, for programs: {shown}/cells.parquet",
    ]
    assert list(summary_lines(shown, time.time() + 60)) == []


def test_a_file_from_the_future_is_named_with_what_to_do(tmp_path):
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for file in files:
        file.touch()
    os.utime(files[0], (time.time() + 30,) * 2)
    require_past(files)
    os.utime(files[1], (time.time() + 120,) * 2)
    with pytest.raises(DataError, match=r"b\.npz was changed later than now .*\(1 file .* touch"):
        require_past(files)
    os.utime(files[0], (time.time() + 120,) * 2)
    with pytest.raises(DataError, match=r"a\.npz was changed .*\(2 files in all\)"):
        require_past(reversed(files))


SETTING = "study/h0"


@pytest.fixture
def request_of_one_method():
    return request_of("study", replications=6, settings=[{"h": 0}])


def finish(workdir, request, block, statuses=("ok", "ok"), message=""):
    path = workdir / "results" / SETTING / f"{block}.parquet"
    rows = pd.DataFrame({"method": "FedEM", "status": statuses})
    results = rows.assign(message=message)
    study = request.studies["study"]
    results.attrs = {"keys": request.coverage.keys(study, study.settings["h0"])}
    write_table(path, results)
    timings = rows.assign(replication=range(len(rows)), cpu_seconds=1800.0, shared_seconds=360.0)
    write_table(path.with_suffix(".timings.parquet"), timings)


def start(workdir, block, text=""):
    path = workdir / "logs/run_methods/study/h0" / f"{block}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


FAILURE = """2026-01-01 00:00:00 ERROR fedmix: the job failed
Traceback (most recent call last):
  File "run.py", line 1, in <module>
fedmix.errors.DataError: client 3 is empty
"""


def test_nothing_is_done_before_a_run(request_of_one_method, tmp_path):
    [cell] = read_status(request_of_one_method, tmp_path)
    assert (cell.blocks, cell.done, cell.started, cell.failed) == (3, 0, 0, 0)
    assert cell.hours_used == 0 < cell.hours_left


def test_finished_started_and_failed_blocks_are_told_apart(request_of_one_method, tmp_path):
    finish(tmp_path, request_of_one_method, "0-1")
    start(tmp_path, "0-1")
    start(tmp_path, "2-3")
    start(tmp_path, "4-5", FAILURE)
    [cell] = read_status(request_of_one_method, tmp_path)
    assert (cell.done, cell.started, cell.failed) == (1, 1, 1)
    assert cell.message == "DataError: client 3 is empty"
    assert cell.hours_used == pytest.approx(1.2)  # two half hours, and 6 minutes shared, each
    assert cell.hours_left == pytest.approx(4 / 3600)  # of a second each, as what is unknown


def test_a_method_of_fewer_replications_waits_for_the_blocks_that_run_it(tmp_path):
    methods = ["FedEM", {"name": "TGMM", "replications": 2}]
    request = request_of("study", replications=6, settings=[{"h": 0}], methods=methods)
    start(tmp_path, "0-1")
    start(tmp_path, "4-5", FAILURE)
    cells = {cell.method: cell for cell in read_status(request, tmp_path)}
    assert (cells["FedEM"].blocks, cells["FedEM"].started, cells["FedEM"].failed) == (3, 1, 1)
    assert (cells["TGMM"].blocks, cells["TGMM"].started, cells["TGMM"].failed) == (1, 1, 0)


def test_a_block_of_other_code_is_not_done(request_of_one_method, tmp_path):
    finish(tmp_path, request_of_one_method, "0-1")
    start(tmp_path, "0-1")
    path = tmp_path / "results" / SETTING / "0-1.parquet"
    old = pd.read_parquet(path)
    old.attrs = {"keys": {"FedEM": "of other code"}}
    write_table(path, old)
    [cell] = read_status(request_of_one_method, tmp_path)
    assert (cell.blocks, cell.done, cell.started) == (3, 0, 0)


def test_a_damaged_block_or_one_without_its_timings_is_not_done(request_of_one_method, tmp_path):
    finish(tmp_path, request_of_one_method, "0-1")
    finish(tmp_path, request_of_one_method, "2-3")
    (tmp_path / "results" / SETTING / "0-1.timings.parquet").unlink()
    (tmp_path / "results" / SETTING / "2-3.parquet").write_bytes(b"PAR1")
    [cell] = read_status(request_of_one_method, tmp_path)
    assert (cell.blocks, cell.done) == (3, 0)


def test_methods_of_a_block_have_their_own_errors_and_are_done_together(tmp_path):
    methods = ["FedEM", "TGMM"]
    request = request_of("study", replications=2, settings=[{"h": 0}], methods=methods)
    rows = pd.DataFrame({"method": methods, "status": "error", "message": methods})
    path = tmp_path / "results" / SETTING / "0-1.parquet"
    timings = rows.assign(replication=0, cpu_seconds=1.0, shared_seconds=0.0)
    write_table(path.with_suffix(".timings.parquet"), timings)
    keys = request.coverage.keys(request.studies["study"], request.studies["study"].settings["h0"])
    rows.attrs = {"keys": keys}
    write_table(path, rows)
    assert [cell.message for cell in read_status(request, tmp_path)] == methods
    rows.attrs = {"keys": keys | {"TGMM": "of other code"}}
    write_table(path, rows)
    assert [cell.done for cell in read_status(request, tmp_path)] == [0, 0]


def test_replications_that_failed_within_a_block_are_counted(request_of_one_method, tmp_path):
    finish(tmp_path, request_of_one_method, "0-1", ("ok", "diverged"), "DivergenceError: round 3")
    [cell] = read_status(request_of_one_method, tmp_path)
    assert (cell.done, cell.replications_failed) == (1, 1)
    lines = list(status_lines([cell], "--config preset=quick"))
    assert lines[0].startswith("study: 1 of 3 blocks done, 1 replication failed, ")
    assert lines[1] == "  first error: h0  FedEM: DivergenceError: round 3"
    detailed = list(status_lines([cell], "--config preset=quick", "study"))
    assert detailed[0] == lines[0]
    assert detailed[1] == "  h0  FedEM  1/3 done, 1 replication failed: DivergenceError: round 3"


def test_the_summary_is_a_line_a_study_and_says_how_to_see_more(request_of_one_method, tmp_path):
    [cell] = read_status(request_of_one_method, tmp_path)
    others = [replace(cell, study=name, setting=f"h{i}") for name in "ab" for i in range(9)]
    *summary, hint = status_lines(others, "--config preset=paper")
    counts = "0 of 27 blocks done, 0 core-seconds used, about 0.02 core-hours left"
    assert summary == [f"a: {counts}", f"b: {counts}"]
    assert list(status_lines([], "--config preset=paper")) == []
    [nothing] = status_lines([], "--config preset=paper", "a")
    assert nothing.startswith("a: 0 of 0 blocks done, ")
    head, *listed = status_lines(others, "--config preset=paper", "a")
    assert (head, listed) == (summary[0], [f"  h{i}  FedEM  0/3 done" for i in range(9)])
    assert hint.endswith("python -m fedmix status a --config preset=paper")


def test_a_block_counts_once_although_every_method_has_it(request_of_one_method, tmp_path):
    finish(tmp_path, request_of_one_method, "0-1")
    [cell] = read_status(request_of_one_method, tmp_path)
    fewer = replace(cell, method="slow", blocks=1, done=0)
    assert next(status_lines([cell, fewer], "--config preset=quick")).startswith(
        "study: 1 of 3 blocks done"
    )

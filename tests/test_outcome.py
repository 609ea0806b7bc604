import json
import os
import time
from contextlib import suppress

import pandas as pd
import pytest

from fedmix.cells.verdicts import COUNTED
from fedmix.configuration import Document
from fedmix.errors import DataError
from fedmix.pipeline.collect import count_outcomes
from fedmix.pipeline.outcome import (
    failed_jobs,
    failed_throughout,
    lacking,
    remove_temporary,
    require_past,
    summary_lines,
)
from fedmix.pipeline.plan import plan_study
from fedmix.pipeline.request import Request
from fedmix.storage import atomic_path


@pytest.fixture
def two_variants():
    document = {
        "experiment": "mixture_simulation",
        "replications": 2,
        "block": 2,
        "settings": [{"grid": {"h": [0, 1]}}],
        "setting_id": "h{h}",
        "variants": {"as_written": {}, "as_coded": {}},
        "methods": ["FedEM"],
    }
    methods = {"FedEM": {"estimator": "FedEM", "label": "FedEM"}}
    study = plan_study("s", "p", Document(document, (lambda keys: "study.yaml",)), methods)
    return Request({"preset": "p"}, {"s": study}, {}, {}, {})


def collect(workdir, setting, statuses, method="FedEM"):
    rows = pd.DataFrame({"replication": range(len(statuses)), "status": statuses})
    rows["message"] = [f"{status} {r}" for r, status in enumerate(statuses)]
    path = workdir / "results/p/collected/s/rest/outcomes.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    others = json.loads(path.read_text()) if path.exists() else []
    outcomes = count_outcomes(pd.concat([rows, rows]).assign(method=method))
    found = {"setting": setting, "variant": setting.partition(".")[0], "methods": outcomes}
    path.write_text(json.dumps([*others, found]))


def test_outcomes_count_replications_and_keep_the_first_error():
    rows = pd.DataFrame(
        {
            "method": ["A", "A", "A", "B"],
            "replication": [0, 0, 1, 0],
            "status": ["ok", "ok", "error", "diverged"],
            "message": ["", "", "ValueError: no", "DivergenceError: far"],
        }
    )
    assert count_outcomes(rows) == {
        "A": {"replications": {"ok": 1, "error": 1}, "error": "ValueError: no"},
        "B": {"replications": {"diverged": 1}, "error": ""},
    }
    assert count_outcomes(pd.DataFrame()) == {}


def test_a_method_that_only_raised_errors_in_a_variant_is_named_with_the_first(
    two_variants, tmp_path
):
    collect(tmp_path, "as_written.h0", ["error", "error"])
    collect(tmp_path, "as_written.h1", ["error", "error"])
    collect(tmp_path, "as_coded.h0", ["ok", "ok"])
    [told] = failed_throughout(two_variants, tmp_path / "results/p")
    assert told == (
        "s, variant as_written: every replication of FedEM failed, the first with error 0. "
        "`python -m fedmix rerun` runs one replication and shows the whole error."
    )


@pytest.mark.parametrize("result", ["ok", "diverged", "timeout"])
def test_one_result_anywhere_in_the_variant_is_enough(two_variants, tmp_path, result):
    collect(tmp_path, "as_written.h0", ["error", "error"])
    collect(tmp_path, "as_written.h1", ["error", result])
    assert failed_throughout(two_variants, tmp_path / "results/p") == []


def test_a_requested_method_that_collected_results_lack_is_named(two_variants, tmp_path):
    collect(tmp_path, "as_written.h0", ["ok", "diverged"])
    collect(tmp_path, "as_written.h1", ["ok"])
    collect(tmp_path, "as_coded.h0", ["ok", "ok"], method="LocalEM")
    collect(tmp_path, "as_coded.h1", ["ok", "ok"])
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


def test_a_job_that_wrote_neither_a_block_nor_an_error_was_killed(tmp_path):
    for place in ("logs/run_methods", "results"):
        (tmp_path / place / "study/h0").mkdir(parents=True)
    for block in ("0-1", "2-3"):
        (tmp_path / f"logs/run_methods/study/h0/{block}.log").touch()
    (tmp_path / "results/study/h0/0-1.parquet").touch()
    [told] = failed_jobs(tmp_path, 0.0)
    assert told.startswith(f"{tmp_path}/logs/run_methods/study/h0/2-3.log: the job was killed")
    assert "memory ran out" in told
    assert "mem_mb" in told


def test_files_that_a_killed_job_was_writing_are_removed(tmp_path):
    folder = tmp_path / "results/study/h0"
    folder.mkdir(parents=True)
    with suppress(KeyboardInterrupt), atomic_path(folder / "0-1.parquet") as temporary:
        raise KeyboardInterrupt
    kept = [folder / "0-1.parquet", folder / "0-1.partial.jsonl", folder / ".hidden.parquet"]
    for path in [temporary, *kept]:
        path.touch()
        os.utime(path, (time.time() - 7200,) * 2)
    being_written = folder / ".2-3.0123abcd.parquet"
    being_written.touch()
    remove_temporary(tmp_path)
    assert sorted(folder.iterdir()) == sorted([*kept, being_written])


def test_nothing_collected_is_no_failure(two_variants, tmp_path):
    assert failed_throughout(two_variants, tmp_path / "results/p") == []


def test_a_run_ends_with_its_files_and_verdicts(tmp_path):
    shown = tmp_path / "results/p"
    made = ["tables/t1.md", "tables/t1.csv", "figures/f.svg", "index.html", "pages/t1.html"]
    made += ["cells.parquet", "audit/scores.csv", "audit/claims.csv"]
    for name in ["tables/old.md", *made]:
        (shown / name).parent.mkdir(parents=True, exist_ok=True)
        (shown / name).touch()
    counted = dict.fromkeys(COUNTED, 0)
    tables = [{"paper": "one", **counted, "agrees": 3}, {"paper": "one", **counted, "differs": 1}]
    pd.DataFrame(tables).to_csv(shown / "audit/scores.csv")
    claims = pd.DataFrame({"paper": ["one", "two", "two"], "verdict": ["holds", "mixed", "mixed"]})
    claims.to_csv(shown / "audit/claims.csv")
    os.utime(shown / "tables/old.md", (1000.0, 1000.0))
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


def test_a_file_from_the_future_is_named_with_what_to_do(tmp_path):
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for file in files:
        file.touch()
    require_past(files)
    os.utime(files[1], (time.time() + 86_400,) * 2)
    with pytest.raises(DataError, match=r"b\.npz was changed later than now .* touch"):
        require_past(files)

"""What a run has come to: its files and verdicts, and methods that failed throughout."""

import json

import pandas as pd
import pytest

from fedmix.configuration import Document
from fedmix.pipeline.outcome import count_outcomes, failed_throughout, summary_lines
from fedmix.pipeline.plan import plan_study


@pytest.fixture
def study():
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
    return plan_study("s", "p", Document(document, (lambda keys: "study.yaml",)), methods)


def collect(workdir, setting, statuses, method="FedEM"):
    rows = pd.DataFrame({"replication": range(len(statuses)), "status": statuses})
    rows["message"] = [f"{status} {r}" for r, status in enumerate(statuses)]
    folder = workdir / "results/s" / setting
    folder.mkdir(parents=True)
    outcomes = count_outcomes(pd.concat([rows, rows]).assign(method=method))
    (folder / "outcomes.json").write_text(json.dumps(outcomes))


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


def test_a_method_that_only_raised_errors_in_a_variant_is_named_with_the_first(study, tmp_path):
    collect(tmp_path, "as_written.h0", ["error", "error"])
    collect(tmp_path, "as_written.h1", ["error", "error"])
    collect(tmp_path, "as_coded.h0", ["ok", "ok"])
    [told] = failed_throughout([study], tmp_path)
    assert told == (
        "s, variant as_written: every replication of FedEM failed, the first with error 0"
    )


@pytest.mark.parametrize("result", ["ok", "diverged", "timeout"])
def test_one_result_anywhere_in_the_variant_is_enough(study, tmp_path, result):
    collect(tmp_path, "as_written.h0", ["error", "error"])
    collect(tmp_path, "as_written.h1", ["error", result])
    assert failed_throughout([study], tmp_path) == []


def test_nothing_collected_is_no_failure(study, tmp_path):
    assert failed_throughout([study], tmp_path) == []


def test_a_run_ends_with_its_files_and_verdicts(tmp_path):
    made = ["results/p/tables/t1.md", "results/p/tables/t1.csv", "results/p/figures/f.svg"]
    made += ["results/p/index.html", "results/p/pages", "results/p/cells.parquet"]
    made += ["results/p/audit/cells.csv", "results/p/audit/claims.csv"]
    for name in made:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("id,verdict\n1,reproduced\n2,close\n3,reproduced\n")
    assert list(summary_lines([*made, "results/p/tables/never.md"], tmp_path)) == [
        "tables in results/p/tables: t1",
        "figures in results/p/figures: f",
        "printed numbers, each in every variant: 2 reproduced, 1 close",
        "claims: 2 reproduced, 1 close",
        "the scorecard, to open: results/p/index.html",
        "behind it, a page for every printed table: results/p/pages",
        "every number, for programs: results/p/cells.parquet",
    ]

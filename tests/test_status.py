import signal
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest

from fedmix.__main__ import main
from fedmix.configuration import Document
from fedmix.pipeline.plan import plan_study
from fedmix.pipeline.request import Request
from fedmix.pipeline.status import read_status, status_lines
from fedmix.storage import write_table
from pipeline import ROOT

SETTING = "study/h0"


@pytest.fixture
def request_of_one_method():
    document = {
        "experiment": "mixture_simulation",
        "replications": 6,
        "block": 2,
        "settings": [{"h": 0}],
        "setting_id": "h{h}",
        "methods": ["FedEM"],
    }
    methods = {"FedEM": {"estimator": "FedEM", "label": "FedEM"}}
    return Request(
        {},
        {
            "study": plan_study(
                "study", "p", Document(document, (lambda keys: "study.yaml",)), methods
            )
        },
        {},
        {},
        {},
    )


def finish(workdir, request, block, statuses=("ok", "ok"), message=""):
    path = workdir / "results" / SETTING / f"{block}.parquet"
    rows = pd.DataFrame({"method": "FedEM", "status": statuses})
    results = rows.assign(message=message)
    study = request.studies["study"]
    results.attrs = {"keys": request.coverage.keys(study, study.settings["h0"])}
    write_table(path, results)
    write_table(path.with_suffix(".timings.parquet"), rows.assign(cpu_seconds=1800.0))


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
    assert cell.hours_used == 1.0


def test_a_block_of_other_code_is_not_done(request_of_one_method, tmp_path):
    finish(tmp_path, request_of_one_method, "0-1")
    start(tmp_path, "0-1")
    path = tmp_path / "results" / SETTING / "0-1.parquet"
    old = pd.read_parquet(path)
    old.attrs = {"keys": {"FedEM": "of other code"}}
    write_table(path, old)
    [cell] = read_status(request_of_one_method, tmp_path)
    assert (cell.blocks, cell.done, cell.started) == (3, 0, 0)


def test_replications_that_failed_within_a_block_are_counted(request_of_one_method, tmp_path):
    finish(tmp_path, request_of_one_method, "0-1", ("ok", "diverged"), "DivergenceError: round 3")
    [cell] = read_status(request_of_one_method, tmp_path)
    assert (cell.done, cell.replications_failed) == (1, 1)
    lines = list(status_lines([cell], "quick"))
    assert lines[0].startswith("study: 1 of 3 blocks done, 1 replications failed, ")
    assert lines[1] == "  first error: h0  FedEM: DivergenceError: round 3"
    detailed = list(status_lines([cell], "quick", "study"))
    assert detailed[0] == lines[0]
    assert detailed[1] == "  h0  FedEM  1/3 done, 1 replications failed: DivergenceError: round 3"


def test_the_summary_is_a_line_a_study_and_says_how_to_see_more(request_of_one_method, tmp_path):
    [cell] = read_status(request_of_one_method, tmp_path)
    others = [replace(cell, study=name, setting=f"h{i}") for name in "ab" for i in range(9)]
    *summary, hint = status_lines(others, "paper")
    assert [line.partition(":")[0] for line in summary] == ["a", "b"]
    assert hint.endswith("python -m fedmix status a --config preset=paper")


def test_a_block_counts_once_although_every_method_has_it(request_of_one_method, tmp_path):
    finish(tmp_path, request_of_one_method, "0-1")
    [cell] = read_status(request_of_one_method, tmp_path)
    fewer = replace(cell, method="slow", blocks=1, done=0)
    assert next(status_lines([cell, fewer], "quick")).startswith("study: 1 of 3 blocks done")


SMOKE = ["--workflow", str(ROOT), "--config", "preset=smoke", "replications=1"]


@pytest.mark.slow
def test_the_commands_print_what_there_is_to_say(tmp_path, capsys):
    for command, says in {
        "status": "0 of 2 blocks done",
        "forecast": "MB on disk",
    }.items():
        assert main([command, "--directory", str(tmp_path), *SMOKE]) == 0
        assert says in capsys.readouterr().out


def test_a_wrong_preset_is_told_without_a_traceback(capsys):
    wrong = ["--workflow", str(ROOT), "--config", "preset=smok"]
    assert main(["status", *wrong]) == 1
    assert "Did you mean 'smoke'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (
            ["fedgrem_reel", "x", "FedEM", "0"],
            "Did you mean 'fedgrem_real'",
        ),
        (["fedgrem_real", "x", "FedEM", "0"], "There is no setting 'x'"),
        (
            ["fedgrem_real", "paper_like.digits-contaminated0", "LocalEM", "0"],
            "pca10.npz does not exist: "
            "`snakemake --cores 1 data/embedded/digits/pca10.npz` makes it",
        ),
    ],
)
def test_a_rerun_of_what_is_not_there_is_told_without_a_traceback(tmp_path, capsys, names, says):
    assert main(["rerun", *names, "--directory", str(tmp_path), *SMOKE]) == 1
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("number", ["1.5", "first", "-1"])
def test_a_replication_that_is_no_number_is_told(capsys, number):
    with pytest.raises(SystemExit):
        main(["rerun", "fedgrem_real", "x", "FedEM", number, *SMOKE])
    assert "expected a whole number from 0" in capsys.readouterr().err


def test_a_reader_that_stops_reading_ends_a_command_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "fedmix", "status", "--directory", str(tmp_path), *SMOKE]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()  # before a line was written, as `head` does after some
        assert process.stderr.read() == ""
    assert process.returncode == -signal.SIGPIPE

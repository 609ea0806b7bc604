import pandas as pd
import pytest

from fedmix.__main__ import main
from fedmix.pipeline.locking import lock_folder
from fedmix.pipeline.plan import plan_study
from fedmix.pipeline.request import Request
from fedmix.pipeline.status import read_status, status_lines
from fedmix.storage import write_table
from pipeline import ROOT

CELL = "study/h0/FedEM"


@pytest.fixture
def request_of_one_method():
    document = {
        "paper": "fedgrem",
        "experiment": "mixture_simulation",
        "replications": 6,
        "block": 2,
        "settings": [{"h": [0]}],
        "setting_id": "h{h}",
        "methods": ["FedEM"],
    }
    methods = {"FedEM": {"estimator": "FedEM", "label": "FedEM"}}
    return Request({}, {"study": plan_study("study", document, methods)}, {}, {})


def finish(workdir, block, statuses=("ok", "ok"), message=""):
    path = workdir / "results" / CELL / f"{block}.parquet"
    write_table(path, pd.DataFrame({"status": statuses, "message": message}))
    write_table(path.with_suffix(".timings.parquet"), pd.DataFrame({"status": statuses}))


def start(workdir, block, text=""):
    path = workdir / "logs/run_method" / CELL / f"{block}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


FAILURE = """2026-01-01 00:00:00 ERROR fedmix: the job failed
Traceback (most recent call last):
  File "run.py", line 1, in <module>
fedmix.errors.DataError: client 3 is empty
"""


def test_nothing_is_done_before_a_run(request_of_one_method, tmp_path):
    [cell] = read_status(request_of_one_method, tmp_path)
    assert (cell.blocks, cell.done, cell.running, cell.failed) == (3, 0, 0, 0)
    assert cell.hours_used == 0 < cell.hours_left


def test_finished_running_and_failed_blocks_are_told_apart(request_of_one_method, tmp_path):
    lock_folder(tmp_path)  # a run is at work
    finish(tmp_path, "0-1")
    start(tmp_path, "0-1")
    start(tmp_path, "2-3")
    start(tmp_path, "4-5", FAILURE)
    [cell] = read_status(request_of_one_method, tmp_path)
    assert (cell.done, cell.running, cell.failed) == (1, 1, 1)
    assert cell.message == "DataError: client 3 is empty"


def test_a_block_that_started_and_no_run_at_work_has_been_killed(request_of_one_method, tmp_path):
    start(tmp_path, "0-1")
    [cell] = read_status(request_of_one_method, tmp_path)
    assert (cell.running, cell.failed) == (0, 1)
    assert "killed, or out of memory" in cell.message


def test_replications_that_failed_within_a_block_are_counted(request_of_one_method, tmp_path):
    finish(tmp_path, "0-1", ("ok", "diverged"), "DivergenceError: round 3")
    [cell] = read_status(request_of_one_method, tmp_path)
    assert (cell.done, cell.replications_failed) == (1, 1)
    lines = list(status_lines([cell]))
    assert lines[0].startswith("study: 1 of 3 blocks done")
    assert lines[1] == ("  h0  FedEM  1/3 done, 1 replications failed: DivergenceError: round 3")


SMOKE = ["--workflow", str(ROOT), "--config", "preset=smoke", "replications=1"]


def test_the_commands_print_what_there_is_to_say(tmp_path, capsys):
    for command, says in {
        "status": "0 of 6 blocks done",
        "forecast": "core-hours in 6 jobs",
    }.items():
        assert main([command, "--directory", str(tmp_path), *SMOKE]) == 0
        assert says in capsys.readouterr().out


def test_a_wrong_preset_is_told_without_a_traceback(capsys):
    wrong = ["--workflow", str(ROOT), "--config", "preset=smok"]
    assert main(["status", *wrong]) == 1
    assert "Did you mean 'smoke'?" in capsys.readouterr().err

"""Commands say what is wrong in a sentence, and end quietly if nobody reads on."""

import signal
import subprocess
import sys

import pytest

from fedmix.__main__ import main
from fedmix.pipeline.costs import benchmark
from pipeline import ROOT

SMOKE = ["--workflow", str(ROOT), "--config", "preset=smoke", "replications=1"]


@pytest.mark.slow
def test_the_commands_print_what_there_is_to_say(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fedmix.__main__.benchmark", lambda: benchmark(seconds=0))
    for command, says in {"status": "0 of 2 blocks done", "forecast": "MB on disk"}.items():
        assert main([command, "--directory", str(tmp_path), *SMOKE]) == 0
        assert says in capsys.readouterr().out


def test_files_that_a_command_would_not_read_are_told(capsys):
    assert main(["evidence", "status", "a.zip", *SMOKE]) == 1
    assert "To add it: python -m fedmix evidence add a.zip" in capsys.readouterr().err


def test_a_wrong_preset_is_told_without_a_traceback(capsys):
    wrong = ["--workflow", str(ROOT), "--config", "preset=smok"]
    assert main(["status", *wrong]) == 1
    assert "Did you mean 'smoke'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["fedgrem_reel", "x", "FedEM", "0"], "Did you mean 'fedgrem_real'"),
        (["fedgrem_real", "x", "FedEM", "0"], "There is no setting 'x'"),
        (
            ["fedgrem_real", "paper_like.digits-contaminated0", "FedGREM", "0"],
            "There is no method 'FedGREM'. Did you mean 'FedGrEM'",
        ),
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

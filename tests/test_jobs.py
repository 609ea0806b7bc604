"""A job ends with its body, whatever a method leaves behind."""

import subprocess
import sys

import pytest

LEAVES_A_THREAD = """
import sys, threading, time
from fedmix.pipeline.jobs import job

with job(sys.argv[1]):
    threading.Thread(target=time.sleep, args=(1000,), daemon={daemon}).start()
    if {fails}:
        raise RuntimeError("no luck")
"""


@pytest.mark.parametrize("daemon", [False, True])
def test_a_thread_that_is_left_does_not_keep_a_finished_job_from_ending(tmp_path, daemon):
    code = LEAVES_A_THREAD.format(daemon=daemon, fails=False)
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "log"], timeout=60)
    assert done.returncode == 0


@pytest.mark.parametrize("daemon", [False, True])
def test_a_failed_job_says_why_and_ends_with_its_status(tmp_path, daemon):
    code = LEAVES_A_THREAD.format(daemon=daemon, fails=True)
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "log"], timeout=60, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "RuntimeError: no luck" in done.stderr
    assert "no luck" in (tmp_path / "log").read_text()

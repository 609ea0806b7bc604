"""One finished run for all workflow tests, also where they are spread over processes."""

import fcntl
import os
from pathlib import Path

import pytest

from pipeline import Pipeline

QSUB = """#!/bin/sh
echo "$@" >> "$QUEUE/requests"
number=$(wc -l < "$QUEUE/requests")
for script; do :; done  # the last argument
sh "$script" > "$QUEUE/log" 2>&1
printf 'job_state = F\\nExit_status = %s\\n' $? > "$QUEUE/$number"
echo "$number"
"""
QSTAT = """#!/bin/sh
cat "$QUEUE/$3"
"""


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Pipeline:
    """Table 1 of the smoke preset with one replication; copy it, do not change it."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with open(shared / "finished.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _finished(shared / "finished")


def _finished(folder: Path) -> Pipeline:
    if (folder / "done").exists():
        return Pipeline(folder)
    pipeline = Pipeline.new(folder)
    pipeline.run("fedgrem_table1")
    (folder / "done").touch()
    return pipeline


@pytest.fixture
def pipeline(finished, tmp_path) -> Pipeline:
    """A copy of the finished run for one test."""
    return finished.copy(tmp_path)


@pytest.fixture
def queue(tmp_path_factory) -> Path:
    """A folder with a stand-in for PBS that runs a job as it is submitted."""
    folder = tmp_path_factory.mktemp("queue")
    for name, script in {"qsub": QSUB, "qstat": QSTAT}.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    return folder

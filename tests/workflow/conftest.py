"""One finished run for all workflow tests, also where they are spread over processes."""

import fcntl
import os
from pathlib import Path

import pytest

from pipeline import Pipeline

TARGETS = ("fedgrem_table1", "fedgrem_table1_figure", "results/smoke/index.html", "archive")
# Written to a folder on the path: Python runs it at its start.
RECORD = """
import atexit, os, pathlib, sys

def record():
    script = pathlib.Path(sys.argv[0] if sys.argv else "").name.split(".")
    names = sorted(name for name in sys.modules if name.partition(".")[0] == "fedmix")
    if names and len(script) == 3:
        path = pathlib.Path(os.environ["LOADED"], script[1])
        path.write_text("\\n".join(names))

atexit.register(record)
"""
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
    """The smoke preset with one replication; copy it, do not change it.

    The folder ``loaded`` beside it has the modules of fedmix that each script has loaded, the file
    ``output`` what Snakemake has printed.
    """
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with open(shared / "finished.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _finished(shared / "finished")


def _finished(folder: Path) -> Pipeline:
    if (folder / "done").exists():
        return Pipeline(folder)
    pipeline, loaded = Pipeline.new(folder), folder / "loaded"
    loaded.mkdir()
    (loaded / "sitecustomize.py").write_text(RECORD)
    path = os.pathsep.join([str(loaded), str(pipeline.project / "src")])
    done = pipeline.run(*TARGETS, environment={"PYTHONPATH": path, "LOADED": str(loaded)})
    (folder / "output").write_text(done.stdout)
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

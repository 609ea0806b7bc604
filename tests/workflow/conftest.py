"""One finished run for all workflow tests, also where they are spread over processes."""

import fcntl
import os
from pathlib import Path

import pytest

from pipeline import Pipeline


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

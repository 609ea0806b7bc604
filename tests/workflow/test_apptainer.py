"""`--sdm apptainer`: the jobs in the image that FEDMIX_IMAGE names, and in no other.

A stand-in for Apptainer notes the image that it is given and runs the command without one.
"""

import os
import sys
from pathlib import Path

import pytest

from pipeline import Pipeline

pytestmark = pytest.mark.workflow

EMBEDDED = "data/embedded/digits/pca10.npz"

APPTAINER = """#!/bin/sh
if [ "$1" = --version ]; then echo "apptainer version 1.3.6"; exit; fi
for argument; do
    case "$argument" in *.sif) echo "$argument" >> {log} ;; esac
    command=$argument  # the last argument
done
exec bash -c "$command"
"""


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Put the stand-in first on the path; return the list of images that it is given."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "apptainer").write_text(APPTAINER.format(log=tmp_path / "images"))
    (programs / "apptainer").chmod(0o755)
    path = [str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    return tmp_path / "images"


def test_jobs_run_in_the_image_that_the_environment_names(log, tmp_path):
    pipeline = Pipeline.new(tmp_path)
    image = tmp_path / "fedmix.sif"
    image.touch()
    pipeline.run("--sdm=apptainer", EMBEDDED, environment={"FEDMIX_IMAGE": str(image)})
    assert (pipeline.work / EMBEDDED).exists()
    assert set(log.read_text().split()) == {str(image)}


def test_without_the_variable_there_is_no_image(log, tmp_path):
    pipeline = Pipeline.new(tmp_path)
    pipeline.run("--sdm=apptainer", "-n", EMBEDDED)
    assert not log.exists()

"""The profile for any scheduler, on a stand-in for PBS that runs a job as it is submitted."""

import os

import pytest

from pipeline import SETTING

pytestmark = pytest.mark.workflow

BLOCK = f"{SETTING}/LocalEM/0-0.parquet"

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


@pytest.fixture
def queue(tmp_path_factory):
    folder = tmp_path_factory.mktemp("queue")
    for name, script in {"qsub": QSUB, "qstat": QSTAT}.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    return folder


def submit(pipeline, queue, monkeypatch, **options):
    monkeypatch.setenv("QUEUE", str(queue))
    monkeypatch.setenv("PATH", f"{queue}{os.pathsep}{os.environ['PATH']}")
    profile = f"--workflow-profile={pipeline.project}/profiles/cluster-generic"
    fast = ["--seconds-between-status-checks=1", "--latency-wait=2", "--retries=1"]
    return pipeline.run(profile, *fast, BLOCK, cores=None, **options)


def test_a_job_is_submitted_with_its_request_and_gives_the_same_bytes(pipeline, queue, monkeypatch):
    expected = pipeline.results()
    (pipeline.work / BLOCK).unlink()
    submit(pipeline, queue, monkeypatch)
    assert pipeline.results() == expected
    request = (queue / "requests").read_text()
    assert "-N fedmix.run_fedgrem_real_1" in request
    assert "select=1:ncpus=1:mem=2000mb -l walltime=120:00" in request


def test_a_failed_job_is_submitted_again_with_more_memory_and_time(pipeline, queue, monkeypatch):
    (pipeline.work / BLOCK).unlink()
    (pipeline.work / "data/embedded/digits/pca10.npz").write_bytes(b"not an archive")
    failed = submit(pipeline, queue, monkeypatch, check=False)
    assert failed.returncode != 0
    first, second = (queue / "requests").read_text().splitlines()
    assert "mem=2000mb -l walltime=120:00" in first
    assert "mem=4000mb -l walltime=240:00" in second

"""The profile for any scheduler, on a stand-in for PBS that runs a job as it is submitted."""

import pytest

from pipeline import SETTING

pytestmark = pytest.mark.workflow

BLOCK = f"{SETTING}/0-0.parquet"


def test_a_job_is_submitted_with_its_request_and_gives_the_same_bytes(pipeline, queue):
    expected = pipeline.results()
    (pipeline.work / BLOCK).unlink()
    pipeline.submit(queue, BLOCK)
    assert pipeline.results() == expected
    request = (queue / "requests").read_text()
    assert "-N fedmix.run_methods" in request
    assert "select=1:ncpus=1:mem=2000mb -l walltime=120:00" in request


def test_a_failed_job_is_submitted_again_with_more_memory_and_time(pipeline, queue):
    (pipeline.work / BLOCK).unlink()
    (pipeline.work / "data/embedded/digits/pca10.npz").write_bytes(b"not an archive")
    failed = pipeline.submit(queue, BLOCK, check=False)
    assert failed.returncode != 0
    first, second = (queue / "requests").read_text().splitlines()
    assert "mem=2000mb -l walltime=120:00" in first
    assert "mem=4000mb -l walltime=240:00" in second

"""The pipeline on a real SLURM of one node: ``make test-cluster``.

Not collected by a plain ``pytest``: it needs Debian's slurm-wlm and munge.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from pipeline import SETTING, Pipeline

HERE = Path(__file__).parent
# The profile as it is shipped; the node is near and fast: ask often, wait for no file system.
ON_SLURM = [
    "--workflow-profile=profiles/slurm",
    "--slurm-init-seconds-before-status-checks=1",
    "--seconds-between-status-checks=2",
    "--latency-wait=5",
]
BLOCK = f"{SETTING}/PooledEM/0-0.parquet"


def jobs():
    """Return (state, requested memory in MB) of every job so far, by its number, oldest first."""
    command = ["squeue", "--states=all", "--array", "--noheader", "--sort=i", "--format=%i %T %m"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {}
    for line in listing.splitlines():
        number, state, memory = line.split()
        found[number] = (state, int(memory.removesuffix("M")))
    return found


@pytest.fixture(scope="session", autouse=True)
def cluster():
    """A cluster for these tests, stopped after them whatever happens."""
    # Not in pytest's own folder: munge wants one that others may enter.
    with tempfile.TemporaryDirectory(prefix="fedmix-slurm-") as state:
        try:
            subprocess.run([HERE / "start.sh", state], check=True)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("SLURM_CONF", f"{state}/slurm.conf")
                patch.setenv("PATH", f"{state}/bin{os.pathsep}{os.environ['PATH']}")
                yield
        finally:
            subprocess.run([HERE / "stop.sh", state], check=True)


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """The smoke preset, run without the cluster."""
    pipeline = Pipeline.new(tmp_path_factory.mktemp("local"))
    pipeline.run("all", config={"replications": 2})
    return pipeline


@pytest.fixture
def started(local, tmp_path):
    """A copy of the local run in which one block is not yet made."""
    pipeline = local.copy(tmp_path)
    (pipeline.work / BLOCK).unlink()
    return pipeline


def submit(pipeline, *arguments, **options):
    """Run on the cluster; return what happened and the jobs that it took."""
    before = set(jobs())
    done = pipeline.run(*ON_SLURM, *arguments, cores=None, **options)
    return done, [job for number, job in jobs().items() if number not in before]


def test_the_smoke_preset_gives_the_same_bytes_on_the_cluster(local, tmp_path):
    pipeline = Pipeline.new(tmp_path)
    begun = time.time()
    _, taken = submit(pipeline, "all", config={"replications": 2})
    print(f"\n{len(taken)} jobs on SLURM in {time.time() - begun:.0f} s")
    assert {state for state, _ in taken} == {"COMPLETED"}
    assert pipeline.results() == local.results()


def test_a_cancelled_job_is_submitted_again(local, started):
    before = set(jobs())
    with started.start(*ON_SLURM, BLOCK, cores=None) as process:
        running = []
        while not running and process.poll() is None:
            time.sleep(0.5)
            running = [
                n for n, (state, _) in jobs().items() if n not in before and state == "RUNNING"
            ]
        subprocess.run(["scancel", running[0].split("_")[0]], check=True)
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    states = [state for number, (state, _) in jobs().items() if number not in before]
    assert sorted(states) == ["CANCELLED", "COMPLETED"]
    assert started.results() == local.results()


def test_a_job_out_of_memory_is_retried_with_more(local, started):
    too_little = "--set-resources=run_method:mem_mb=150 * 3 ** (attempt - 1)"
    _, taken = submit(started, too_little, BLOCK)
    states, memory = zip(*taken, strict=True)
    print("\n", taken)
    assert states[-1] == "COMPLETED"
    assert "COMPLETED" not in states[:-1]
    assert list(memory) == [150, 450, 1350][: len(memory)]
    assert len(memory) > 1
    assert started.results() == local.results()


def test_a_job_that_always_fails_is_tried_three_times(started):
    partition = started.work / SETTING / "partition/0-0.npz"
    partition.write_bytes(b"not an archive")
    done, taken = submit(started, BLOCK, check=False)
    assert done.returncode != 0
    assert [state for state, _ in taken] == ["FAILED"] * 3

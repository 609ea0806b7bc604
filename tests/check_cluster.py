"""The pipeline on a real SLURM and a real Grid Engine of one node each: ``make test-cluster``.

Not collected by a plain ``pytest``. A scheduler that is not installed is skipped; one must be.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from pipeline import ROOT, SETTING, Pipeline

BLOCK = f"{SETTING}/0-0.parquet"


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Slurm:
    name = "slurm"
    daemon = "slurmctld"
    cancelled = "CANCELLED"
    fast = ("--slurm-init-seconds-before-status-checks=1",)

    def environment(self, state):
        return {"SLURM_CONF": f"{state}/slurm.conf", "PATH": f"{state}/bin:{os.environ['PATH']}"}

    def jobs(self):
        """Return (state, requested memory in MB) of every job so far, by its number."""
        listing = output_of(
            *("squeue", "--states=all", "--array", "--noheader", "--sort=i", "--format=%i %T %m")
        )
        found = {}
        for line in listing.splitlines():
            number, state, memory = line.split()
            found[number] = (state, int(memory.removesuffix("M")))
        return found

    def cancel(self, number):
        output_of("scancel", number.split("_")[0])


class GridEngine:
    name = "sge"
    daemon = "sge_qmaster"
    cancelled = "FAILED"  # the accounting says that it was killed, not by whom
    fast = ()

    def environment(self, state):
        return dict(re.findall(r"export (\w+)=(.*)", Path(state, "env.sh").read_text()))

    def jobs(self):
        """Return (state, requested memory in MB) of every job that runs or has ended."""
        running = output_of("qstat", "-s", "r", "-r")
        found = {}
        for number, memory in re.findall(r"^ *(\d+) .*?h_vmem=(\d+)M", running, re.M | re.S):
            found[number] = ("RUNNING", int(memory))
        # qacct fails as long as no job has ended.
        ended = subprocess.run(["qacct", "-j", "*"], capture_output=True, text=True).stdout
        for record in ended.split("=" * 62)[1:]:
            of = dict(line.split(maxsplit=1) for line in record.splitlines() if " " in line)
            well = of["failed"].split()[0] == of["exit_status"].split()[0] == "0"
            memory = int(re.search(r"h_vmem=(\d+)M", of["category"])[1])
            found[of["jobnumber"].strip()] = ("COMPLETED" if well else "FAILED", memory)
        return dict(sorted(found.items(), key=lambda job: int(job[0])))

    def cancel(self, number):
        output_of("qdel", number)


SCHEDULERS = {scheduler.name: scheduler for scheduler in (Slurm(), GridEngine())}
if not any(shutil.which(scheduler.daemon) for scheduler in SCHEDULERS.values()):
    raise RuntimeError("no scheduler is installed: docs/cluster.md names the packages of two")


@pytest.fixture(scope="session", params=SCHEDULERS)
def cluster(request):
    """A cluster for these tests, which is always stopped after them."""
    scheduler = SCHEDULERS[request.param]
    if shutil.which(scheduler.daemon) is None:
        pytest.skip(f"there is no {scheduler.daemon} here")
    scripts = ROOT / "tests" / scheduler.name
    # Not in pytest's own folder: munge wants one that others may enter.
    with tempfile.TemporaryDirectory(prefix=f"fedmix-{scheduler.name}-") as state:
        try:
            subprocess.run([scripts / "start.sh", state], check=True)
            with pytest.MonkeyPatch.context() as patch:
                for name, value in scheduler.environment(state).items():
                    patch.setenv(name, value)
                yield scheduler
        finally:
            subprocess.run([scripts / "stop.sh", state], check=True)


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """The smoke preset with one replication, run without a cluster."""
    pipeline = Pipeline.new(tmp_path_factory.mktemp("local"))
    pipeline.run("all")
    return pipeline


@pytest.fixture
def started(local, tmp_path):
    """A copy of the local run in which one block is not yet made."""
    pipeline = local.copy(tmp_path)
    (pipeline.work / BLOCK).unlink()
    return pipeline


def options(cluster, pipeline):
    """Return the profile as it is shipped; the node is near and fast: ask often, wait little."""
    profile = f"--workflow-profile={pipeline.project}/profiles/{cluster.name}"
    return [profile, *cluster.fast, "--seconds-between-status-checks=2", "--latency-wait=5"]


def submit(cluster, pipeline, *arguments, **choices):
    """Run on the cluster; return what happened and the jobs that it took."""
    before = set(cluster.jobs())
    done = pipeline.run(*options(cluster, pipeline), *arguments, cores=None, **choices)
    return done, [job for number, job in cluster.jobs().items() if number not in before]


def test_the_smoke_preset_gives_the_same_bytes_on_the_cluster(cluster, local, tmp_path):
    pipeline = Pipeline.new(tmp_path)
    begun = time.time()
    _, taken = submit(cluster, pipeline, "all")
    print(f"\n{len(taken)} jobs on {cluster.name} in {time.time() - begun:.0f} s")
    assert {state for state, _ in taken} == {"COMPLETED"}
    assert pipeline.results() == local.results()


def test_a_cancelled_job_is_submitted_again(cluster, local, started):
    before = set(cluster.jobs())
    with started.start(*options(cluster, started), BLOCK, cores=None) as process:
        running = []
        while not running and process.poll() is None:
            time.sleep(0.5)
            running = [
                number
                for number, (state, _) in cluster.jobs().items()
                if number not in before and state == "RUNNING"
            ]
        cluster.cancel(running[0])
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    states = [state for number, (state, _) in cluster.jobs().items() if number not in before]
    assert states == [cluster.cancelled, "COMPLETED"]
    assert started.results() == local.results()


def test_a_job_out_of_memory_is_retried_with_more(cluster, local, started):
    too_little = "--set-resources=run_methods:mem_mb=300 * 3 ** (attempt - 1)"
    _, taken = submit(cluster, started, too_little, BLOCK)
    states, memory = zip(*taken, strict=True)
    print("\n", taken)
    assert states[-1] == "COMPLETED"
    assert "COMPLETED" not in states[:-1]
    assert list(memory) == [300, 900, 2700][: len(memory)]
    assert len(memory) > 1
    assert started.results() == local.results()


def test_a_job_that_always_fails_is_tried_three_times(cluster, started):
    (started.work / "data/embedded/digits/pca10.npz").write_bytes(b"not an archive")
    done, taken = submit(cluster, started, BLOCK, check=False)
    assert done.returncode != 0
    assert [state for state, _ in taken] == ["FAILED"] * 3


@pytest.fixture
def grid_engine_says(cluster, tmp_path, monkeypatch):
    """Return a function that asks the profile's status script about a job."""
    monkeypatch.chdir(tmp_path)
    Path(".snakemake").mkdir()
    return lambda number: output_of(str(ROOT / "profiles/sge/status.sh"), number).strip()


only_grid_engine = pytest.mark.parametrize("cluster", ["sge"], indirect=True)


@only_grid_engine
def test_a_job_cancelled_before_it_ran_counts_as_failed_after_two_minutes(grid_engine_says):
    number = output_of("qsub", "-terse", "-h", "-b", "y", "true").strip()
    assert grid_engine_says(number) == "running"
    output_of("qdel", number)
    assert grid_engine_says(number) == "running"
    (mark,) = Path(".snakemake").iterdir()
    two_minutes_ago = time.time() - 121
    os.utime(mark, (two_minutes_ago, two_minutes_ago))
    assert grid_engine_says(number) == "failed"
    assert not mark.exists()


@only_grid_engine
def test_a_job_that_cannot_start_counts_as_failed_and_leaves_the_queue(grid_engine_says):
    number = output_of("qsub", "-terse", "-o", "/no/such/folder/log", "-b", "y", "true").strip()
    deadline = time.time() + 30
    while (says := grid_engine_says(number)) == "running" and time.time() < deadline:
        time.sleep(0.5)
    assert says == "failed"
    assert not re.search(rf"^ *{number} ", output_of("qstat"), re.M)


@only_grid_engine
def test_a_job_runs_on_where_the_server_does_not_answer(grid_engine_says, monkeypatch):
    monkeypatch.setenv("SGE_QMASTER_PORT", "9")
    assert grid_engine_says("1") == "running"
    assert not list(Path(".snakemake").iterdir())

"""Whatever happens to a run: the same results in the end, or a clear error with nothing lost."""

import os
import random
import signal
import subprocess
import time
from contextlib import suppress

import pytest

from fedmix.storage import read_arrays, write_arrays
from pipeline import COLLECTED, SETTING, SMOKE

pytestmark = pytest.mark.workflow

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")


def processes_below(process):
    """Return the process ids of all descendants, the youngest last."""
    listing = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True)
    children = {}
    for line in listing.stdout.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found = [process]
    for known in found:
        found += children.get(known, [])
    return found[1:]


def wait_for_worker(process):
    """Return the process id of a script that Snakemake has started."""
    for _ in range(600):
        for candidate in processes_below(process.pid):
            try:
                with open(f"/proc/{candidate}/cmdline", "rb") as stream:
                    if b".snakemake/scripts/" in stream.read():
                        return candidate
            except OSError:
                continue  # it has just ended
        time.sleep(0.1)
    raise AssertionError("no worker was started")


def kill(process):
    with suppress(ProcessLookupError):  # it may end first: a moment as good as any
        os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("kill_number", range(int(os.environ.get("FEDMIX_KILLS", "3"))))
def test_a_killed_run_goes_on_to_the_same_results(pipeline, kill_number):
    victim = ["snakemake", "worker", "both"][kill_number % 3]
    expected = pipeline.results()
    pipeline.forget_runs()
    with pipeline.start(COLLECTED, cores=1) as process:
        worker = wait_for_worker(process)
        time.sleep(random.Random(kill_number).uniform(0, 2))
        if victim != "worker":
            kill(process.pid)
        if victim != "snakemake":
            kill(worker)
        process.communicate()
    if victim != "worker":
        pipeline.run("--unlock", COLLECTED)
    # An orphan of the first run may still be writing: whole files, and the same ones.
    pipeline.run(COLLECTED, cores=1)
    assert pipeline.results() == expected


def test_a_second_run_is_refused_and_another_locale_and_time_zone_change_nothing(pipeline):
    expected = pipeline.results()
    pipeline.forget_runs()
    elsewhere = {"LC_ALL": "tr_TR.UTF-8", "LANG": "C", "TZ": "Pacific/Kiritimati"}
    with pipeline.start(COLLECTED, cores=1, environment=elsewhere) as first:
        wait_for_worker(first)
        second = pipeline.run(COLLECTED, check=False)
        first.communicate()
    assert first.returncode == 0
    assert second.returncode != 0
    assert "Directory cannot be locked" in second.stdout
    assert pipeline.results() == expected


ENDS_THE_PROCESS = """

def _ends(*_, **__):
    import os

    os._exit(0)


FedGrEM.fit = _ends
"""


def test_a_method_that_ends_its_job_leaves_no_old_results_as_new_ones(pipeline):
    pipeline.edit(SMOKE, "n_contaminated: [0, 1]", "n_contaminated: [0]")  # one job of the method
    pipeline.change_method(ENDS_THE_PROCESS)
    failed = pipeline.run("fedgrem_table1", check=False)
    assert failed.returncode != 0
    assert "other code or other data made the results of" in failed.stdout


def test_a_damaged_block_is_named_and_remade(pipeline):
    expected = pipeline.results()
    block = pipeline.work / SETTING.replace("0", "1") / "0-0.parquet"
    content = bytearray(block.read_bytes())
    content[60] ^= 0xFF
    block.write_bytes(content)
    failed = pipeline.run("fedgrem_table1", check=False)
    assert failed.returncode != 0
    name = block.relative_to(pipeline.work)
    assert f"{name} is damaged or truncated" in failed.stdout
    block.unlink()
    pipeline.run(*expected)
    assert pipeline.results() == expected


def test_a_truncated_raw_file_is_named_and_remade(pipeline):
    raw = pipeline.work / "data/raw/digits.npz"
    good = raw.read_bytes()
    raw.write_bytes(good[: len(good) // 2])
    failed = pipeline.run("data/embedded/digits/pca10.npz", check=False)
    assert failed.returncode != 0
    assert "data/raw/digits.npz is damaged or truncated" in failed.stdout
    raw.unlink()
    pipeline.run("data/raw/digits.npz")
    assert raw.read_bytes() == good


def test_a_raw_file_that_fedmix_did_not_make_is_checked_before_it_is_embedded(pipeline):
    raw = pipeline.work / "data/raw/digits.npz"
    arrays = read_arrays(raw)
    write_arrays(raw, {"features": arrays["features"][1:], "labels": arrays["labels"][1:]})
    failed = pipeline.run("data/embedded/digits/pca10.npz", check=False)
    assert failed.returncode != 0
    assert "shape is (1796, 64); expected (1797," in failed.stdout
    assert "Move" in failed.stdout


@needs_root
def test_a_full_disk_is_told_and_costs_no_replication(pipeline):
    expected = pipeline.results()
    pipeline.forget_runs()
    full = pipeline.work / SETTING
    full.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12k", "tmpfs", full]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        failed = pipeline.run(COLLECTED, check=False)
        assert failed.returncode != 0
        assert "No space left on device" in failed.stdout
        assert (full / "0-0.partial.jsonl").exists()
        subprocess.run(["mount", "-o", "remount,size=10m", full], check=True)
        pipeline.run(COLLECTED)
        assert pipeline.fits() == []
        assert pipeline.results() == expected
    finally:
        subprocess.run(["umount", full], check=True)


@needs_root
def test_read_only_results_stop_the_run_before_any_job(pipeline):
    pipeline.forget_runs()
    results = pipeline.work / "results"
    if subprocess.run(["mount", "--bind", results, results], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", results], check=True)
        failed = pipeline.run(COLLECTED, check=False)
    finally:
        subprocess.run(["umount", results], check=True)
    assert failed.returncode != 0
    assert f"Results cannot be written to {results}: it is not writable" in failed.stdout
    assert "Finished jobid" not in failed.stdout


def test_a_file_from_the_future_is_refused_before_it_costs_finished_work(pipeline):
    expected = pipeline.results()
    block = f"{SETTING}/0-0.parquet"
    future = time.time() + 86400
    os.utime(pipeline.work / block, (future, future))
    (pipeline.work / COLLECTED).unlink()
    failed = pipeline.run(COLLECTED, check=False)
    assert failed.returncode != 0
    assert f"{block} was changed later than now by this machine's clock" in failed.stdout
    os.utime(pipeline.work / block)
    pipeline.run(COLLECTED)
    assert pipeline.results() == expected

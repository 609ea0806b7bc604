"""A job ends with its body, and whatever becomes of the cache, kernels give the same numbers."""

import os
import stat
import subprocess
import sys
from functools import partial

import pytest

from fedmix.errors import DataError
from fedmix.pipeline.jobs import _kernel_cache

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


# Two, because both find the same trouble; small, because each test compiles them.
KERNELS = """
from fedmix.kernels.compiler import njit

@njit(cache=True)
def squared(x):
    return x * x

@njit(cache=True)
def sum_of_squares(points):
    total = 0.0
    for x in points:
        total += squared(x)
    return total
"""
SCRIPT = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np
    from small_kernels import squared, sum_of_squares
    points = np.random.default_rng(0).normal(size=40)
    print(squared(points[0]).hex(), float(sum_of_squares(points)).hex())
told = [str(w.message) for w in caught if "cache of compiled code" in str(w.message)]
print(len(told), *told)
"""


@pytest.fixture(scope="module")
def compute(tmp_path_factory):
    """Return a function that runs the kernels in a process of its own, with a given cache."""
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "small_kernels.py").write_text(KERNELS)
    return partial(_compute, folder)


def _compute(folder, cache):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    numbers, told = done.stdout.splitlines()
    return numbers, told


@pytest.fixture(scope="module")
def cache(compute, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    return folder, compute(folder)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "keep"), [("nbi", 0), ("nbc", -20)])
def test_a_damaged_cache_is_told_once_and_made_anew(compute, cache, suffix, keep):
    folder, expected = cache
    files = list(folder.rglob(f"*.{suffix}"))
    assert len(files) > 1
    for path in files:
        path.write_bytes(path.read_bytes()[:keep])
    numbers, told = compute(folder)
    assert numbers == expected
    assert told.startswith("1 Numba's cache of compiled code cannot be used")
    assert str(folder) in told
    assert compute(folder) == (expected, "0")


@pytest.mark.slow
def test_a_full_disk_under_the_cache_is_told_once(compute, cache, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", full]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        numbers, told = compute(full)
    finally:
        subprocess.run(["umount", full], check=True)
    assert numbers == cache[1]
    assert told.startswith("1 ")
    assert "No space left on device" in told


@pytest.mark.slow
def test_the_folder_of_compiled_code_belongs_to_the_kernels_and_to_its_owner(tmp_path):
    base = tmp_path / "numba"
    folder = _kernel_cache(str(base))
    assert folder.parent == base
    assert folder.name == _kernel_cache(None).name  # the hash of the kernels' code
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert _kernel_cache(str(folder)) == folder


@pytest.mark.slow
def test_a_folder_of_compiled_code_that_others_may_write_to_is_refused(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(DataError, match=f"other users own {tmp_path} or may write to it"):
        _kernel_cache(str(tmp_path))

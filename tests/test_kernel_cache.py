"""Whatever becomes of Numba's cache, kernels give the same numbers, and it is said once."""

import os
import stat
import subprocess
import sys

import pytest

from fedmix.errors import DataError
from fedmix.pipeline.jobs import _kernel_cache

pytestmark = pytest.mark.slow

SCRIPT = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np
    from fedmix.methods import FedEM
    from fedmix import Clients
    points = np.random.default_rng(0).normal(size=(40, 2))
    model = FedEM(n_components=2, max_rounds=3, random_state=0)
    model.fit(Clients.from_arrays([points, points + 1]))
    print(model.means_.tobytes().hex())
told = [str(w.message) for w in caught if "cache of compiled code" in str(w.message)]
print(len(told), *told)
"""


def fit(cache):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    means, told = done.stdout.splitlines()
    return means, told


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    return folder, fit(folder)[0]


@pytest.mark.parametrize(("suffix", "keep"), [("nbi", 0), ("nbc", -20)])
def test_a_damaged_cache_is_told_once_and_made_anew(cache, suffix, keep):
    folder, expected = cache
    files = list(folder.rglob(f"*.{suffix}"))
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:keep])
    means, told = fit(folder)
    assert means == expected
    assert told.startswith("1 Numba's cache of compiled code cannot be used")
    assert str(folder) in told
    assert fit(folder) == (expected, "0")


def test_a_full_disk_under_the_cache_is_told_once(cache, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", full]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        means, told = fit(full)
    finally:
        subprocess.run(["umount", full], check=True)
    assert means == cache[1]
    assert told.startswith("1 ")
    assert "No space left on device" in told


def test_the_folder_of_compiled_code_belongs_to_the_kernels_and_to_its_owner(tmp_path):
    base = tmp_path / "numba"
    folder = _kernel_cache(str(base))
    assert folder.parent == base
    assert folder.name == _kernel_cache(None).name  # the hash of the kernels' code
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert _kernel_cache(str(folder)) == folder


def test_a_folder_of_compiled_code_that_others_may_write_to_is_refused(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(DataError, match=f"other users own {tmp_path} or may write to it"):
        _kernel_cache(str(tmp_path))

import errno
import os
import signal
import subprocess
import sys

import pytest

from fedmix.pipeline.locking import (
    LOCK,
    FolderInUseError,
    UnwritableFolderError,
    is_locked,
    lock_folder,
    require_writable,
)

HOLD = """
import sys, time
from fedmix.pipeline.locking import lock_folder
lock_folder(sys.argv[1]); print(); time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE)
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()


def test_a_second_run_is_told_who_works_in_the_folder(holder, tmp_path):
    assert is_locked(tmp_path)
    with pytest.raises(FolderInUseError, match=rf"process {holder.pid} on .*--directory"):
        lock_folder(tmp_path)


def test_a_killed_run_leaves_no_lock(holder, tmp_path):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert not is_locked(tmp_path)
    lock_folder(tmp_path)
    assert f"process {os.getpid()} " in (tmp_path / LOCK).read_text()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "results").write_text("a file")
    with pytest.raises(UnwritableFolderError, match=r"results: File exists.*--directory"):
        require_writable(tmp_path / "results")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_read_only_folder_is_named(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(UnwritableFolderError, match="not writable"):
        require_writable(tmp_path)


def test_a_missing_folder_is_made(tmp_path):
    require_writable(tmp_path / "new" / "results")
    assert (tmp_path / "new" / "results").is_dir()


def test_a_file_system_without_locks_is_told_and_no_reason_to_stop(tmp_path, monkeypatch, caplog):
    def flock(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", flock)
    lock_folder(tmp_path)
    assert "cannot be locked (Function not implemented)" in caplog.text
    assert not is_locked(tmp_path)

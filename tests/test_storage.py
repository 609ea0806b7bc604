import os
import stat

import numpy as np
import pandas as pd
import pytest

from fedmix.errors import DataError
from fedmix.storage import (
    atomic_path,
    read_arrays,
    read_table,
    require_writable,
    write_arrays,
    write_table,
    write_text,
)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "table.csv"
    write_text(path, "old")

    def fail_half_way():
        with atomic_path(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_arrays_and_tables_come_back_and_equal_content_gives_equal_bytes(tmp_path):
    arrays = {"0/points": np.arange(6.0).reshape(2, 3), "0/offsets": np.array([0, 2])}
    table = pd.DataFrame({"metric": ["a"], "value": [0.1], "round": pd.array([None], "Int64")})
    for name in ("first", "second"):
        write_arrays(tmp_path / f"{name}.npz", arrays)
        write_table(tmp_path / f"{name}.parquet", table)
    for name, value in read_arrays(tmp_path / "first.npz").items():
        np.testing.assert_array_equal(value, arrays[name])
    pd.testing.assert_frame_equal(read_table(tmp_path / "first.parquet"), table)
    for suffix in ("npz", "parquet"):
        first, second = (tmp_path / f"{n}.{suffix}" for n in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(("suffix", "read"), [("npz", read_arrays), ("parquet", read_table)])
@pytest.mark.parametrize("keep", [0, 10, 0.5])
def test_a_truncated_file_is_named_with_what_to_do(tmp_path, suffix, read, keep):
    path = tmp_path / f"block.{suffix}"
    if suffix == "npz":
        write_arrays(path, {"points": np.random.default_rng(0).random((50, 3))})
    else:
        write_table(path, pd.DataFrame({"value": range(50)}))
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep < 1 else keep])
    with pytest.raises(DataError, match=r"block\..* is damaged or truncated .*Delete it"):
        read(path)


def test_pickled_content_is_refused(tmp_path):
    path = tmp_path / "evil.npz"
    np.savez(path, points=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError):
        read_arrays(path)


def test_a_missing_file_stays_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "none.npz")


def test_one_changed_byte_anywhere_in_a_table_is_noticed(tmp_path):
    path = tmp_path / "table.parquet"
    table = pd.DataFrame({"value": np.random.default_rng(0).random(500)})
    write_table(path, table)
    good = path.read_bytes()
    for position in range(40, 4000, 400):
        content = bytearray(good)
        content[position] ^= 1
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"table\.parquet is damaged"):
            read_table(path)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_file_is_as_open_as_the_users_umask_says(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_text(tmp_path / "table.csv", "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "table.csv").stat().st_mode) == 0o666 & ~umask


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "results").write_text("a file")
    with pytest.raises(DataError, match=r"results: File exists.*--directory"):
        require_writable(tmp_path / "results")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_read_only_folder_is_named(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(DataError, match="not writable"):
        require_writable(tmp_path)


def test_a_missing_folder_is_made(tmp_path):
    require_writable(tmp_path / "new" / "results")
    assert (tmp_path / "new" / "results").is_dir()

"""An archive gives back exactly what went in, or says what is wrong and writes nothing."""

import json
import os
import zipfile

import pytest

from fedmix.errors import DataError
from fedmix.pipeline import archive


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "work"
    (root / "results/study").mkdir(parents=True)
    (root / "config").mkdir()
    (root / "results/study/0-19.parquet").write_bytes(os.urandom(2000))
    (root / "results/study/.0-19.abc.parquet").write_bytes(b"half")
    (root / "config/config.yaml").write_text("preset: paper\n")
    return root


@pytest.fixture
def made(tree, tmp_path):
    path = tmp_path / "out/archive.zip"
    archive.make([tree / "results", tree / "config/config.yaml"], path, tree, {"preset": "paper"})
    return path


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}


def test_what_comes_out_is_what_went_in(tree, made, tmp_path):
    manifest = archive.extract(made, tmp_path / "copy")
    copied = contents(tmp_path / "copy")
    assert copied == {k: v for k, v in contents(tree).items() if "/." not in k}
    assert manifest["about"] == {"preset": "paper"}
    assert manifest["files"].keys() == copied.keys()


def test_equal_files_give_equal_bytes(tree, made, tmp_path):
    os.utime(tree / "config/config.yaml", (1, 10**9))
    archive.make([tree / "config", tree / "results"], tmp_path / "b.zip", tree, {"preset": "paper"})
    assert (tmp_path / "b.zip").read_bytes() == made.read_bytes()


def test_an_archive_inside_its_own_folder_leaves_itself_out(tree):
    path = tree / "results/archive.zip"
    first = archive.make([tree / "results"], path, tree)
    assert archive.make([tree / "results"], path, tree) == first


def rewrite(source, target, change):
    """Copy a zip, letting ``change`` alter the dict of its files."""
    with zipfile.ZipFile(source) as bundle:
        files = {name: bundle.read(name) for name in bundle.namelist()}
    change(files)
    with zipfile.ZipFile(target, "w") as bundle:
        for name, content in files.items():
            bundle.writestr(name, content)


def alter(files):
    files["config/config.yaml"] = b"preset: quick\n"


def drop(files):
    del files["config/config.yaml"]


def add(files):
    files["extra.txt"] = b"x"


def escape(files):
    files["../escaped.txt"] = b"x"


def renumber(files):
    files["manifest.json"] = json.dumps(
        {**json.loads(files["manifest.json"]), "format": 9}
    ).encode()


def lose_manifest(files):
    del files["manifest.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (alter, r"config/config\.yaml: sha256 is"),
        (drop, r"config/config\.yaml: missing"),
        (add, r"extra\.txt: not in the manifest"),
        (escape, "leads outside the folder"),
        (renumber, "reads format 1"),
        (lose_manifest, "no archive of fedmix"),
    ],
)
def test_a_changed_archive_is_refused_and_nothing_is_written(made, tmp_path, change, message):
    rewrite(made, tmp_path / "bad.zip", change)
    with pytest.raises(DataError, match=message):
        archive.extract(tmp_path / "bad.zip", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert not (tmp_path / "escaped.txt").exists()


def test_a_truncated_archive_is_refused(made, tmp_path):
    (tmp_path / "half.zip").write_bytes(made.read_bytes()[:-200])
    with pytest.raises(DataError, match="damaged"):
        archive.read_manifest(tmp_path / "half.zip")


def test_a_missing_archive_or_path_is_named(tree, tmp_path):
    with pytest.raises(DataError, match=r"no archive .*none\.zip"):
        archive.extract(tmp_path / "none.zip", tmp_path)
    with pytest.raises(DataError, match="nowhere does not exist"):
        archive.make([tree / "nowhere"], tmp_path / "a.zip", tree)
    with pytest.raises(DataError, match="lies outside"):
        archive.make([tree / "config"], tmp_path / "a.zip", tree / "results")
    with pytest.raises(DataError, match="nothing to archive"):
        archive.make([], tmp_path / "a.zip", tree)
    assert not (tmp_path / "a.zip").exists()

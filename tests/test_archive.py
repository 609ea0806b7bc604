"""An archive gives back exactly what went in, or says what is wrong and writes nothing."""

import json
import os
import stat
import zipfile

import pytest

from fedmix.errors import DataError
from fedmix.pipeline import archive

RESULTS = "results/study/default.h0.5/results.parquet"
TIMINGS = "results/study/default.h0.5/timings.parquet"
OPTIONS = {"preset": "paper", "replications": None, "block": 5, "methods": ["FedGrEM", "k-FED"]}
ABOUT = {"options": OPTIONS, "run": {"Host": "here"}}


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "work"
    for name in (RESULTS, TIMINGS):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(os.urandom(2000))
    (root / "config").mkdir()
    (root / "config/config.yaml").write_text("preset: paper\n")
    return root


@pytest.fixture
def made(tree, tmp_path):
    path = tmp_path / "out/archive.zip"
    archive.make([tree / RESULTS, tree / TIMINGS], path, tree, ABOUT)
    return path


def contents(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def test_what_comes_out_is_what_went_in(tree, made, tmp_path):
    assert archive.extract(made, tmp_path / "copy", [RESULTS, TIMINGS]) == []
    copy = tmp_path / "copy"
    for name in (RESULTS, TIMINGS):
        assert (copy / name).read_bytes() == (tree / name).read_bytes()
    assert archive.read_options(made) == ABOUT["options"]


def test_what_is_not_wanted_is_told_and_not_written(made, tmp_path):
    assert archive.extract(made, tmp_path / "copy", [RESULTS]) == [TIMINGS]
    assert not (tmp_path / "copy" / TIMINGS).exists()


def test_equal_files_give_equal_bytes(tree, made, tmp_path):
    os.utime(tree / RESULTS, (1, 10**9))
    archive.make([tree / TIMINGS, tree / RESULTS], tmp_path / "b.zip", tree, ABOUT)
    assert (tmp_path / "b.zip").read_bytes() == made.read_bytes()


def read(path):
    with zipfile.ZipFile(path) as bundle:
        return {name: bundle.read(name) for name in bundle.namelist()}


def write(path, files, **options):
    with zipfile.ZipFile(path, "w", **options) as bundle:
        for name, content in files.items():
            bundle.writestr(name, content)


def digest(content):
    from hashlib import sha256

    return {"size": len(content), "sha256": sha256(content).hexdigest()}


def with_member(files, name, content=b"import os\n"):
    """Add a file that the manifest promises, checksum and all."""
    manifest = json.loads(files["manifest.json"])
    manifest["files"][name] = digest(content)
    return {**files, name: content, "manifest.json": json.dumps(manifest)}


def with_manifest(files, changes):
    return {**files, "manifest.json": json.dumps(json.loads(files["manifest.json"]) | changes)}


def assert_refused(path, tmp_path, message):
    """Neither reading the options nor unpacking goes on, and no file is written or changed."""
    before = contents(tmp_path)
    target = tmp_path / "victim"
    with pytest.raises(DataError, match=message):
        archive.read_options(path)
    with pytest.raises(DataError, match=message):
        archive.extract(path, target, [RESULTS])
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "name",
    [
        "../escaped.parquet",
        "results/study/../../../escaped.parquet",
        "results/study/../results.parquet",
        "results/../src/results.parquet",
        "/tmp/results.parquet",
        "//server/share/results.parquet",
        "C:/results/study/h0/results.parquet",
        "C:\\results\\study\\h0\\results.parquet",
        "results\\study\\h0\\results.parquet",
        "results/study/..\\..\\x/results.parquet",
        "Snakefile",
        "src/fedmix/__init__.py",
        "config/config.yaml",
        "profiles/default/config.yaml",
        ".git/hooks/post-checkout",
        ".snakemake/scripts/x.py",
        "results/study/h0/FedGrEM/0-19.parquet",
        "results/study/.hidden/results.parquet",
        "results/index.html",
        "results/study/h0/results.parquet.py",
        "results/study/h0/results.parquet\n",
        "results/stüdy/h0/results.parquet",
    ],
)
def test_a_file_that_is_no_collected_result_is_refused(made, tmp_path, name):
    write(tmp_path / "bad.zip", with_member(read(made), name))
    assert_refused(tmp_path / "bad.zip", tmp_path, "not a collected result")


@pytest.mark.parametrize(
    "link", ["results", "results/study", "results/study/default.h0.5", RESULTS]
)
def test_nothing_is_written_through_a_link(made, tmp_path, link):
    outside = tmp_path / "outside"
    outside.mkdir()
    place = tmp_path / "victim" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    with pytest.raises(DataError, match="a link leads to"):
        archive.extract(made, tmp_path / "victim", [RESULTS])
    assert list(outside.iterdir()) == []


def test_a_member_that_is_a_link_is_refused(made, tmp_path):
    files = read(made)
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as bundle:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            if name == RESULTS:
                entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            bundle.writestr(entry, content)
    assert_refused(tmp_path / "bad.zip", tmp_path, "not a regular file")


def test_a_folder_in_a_files_place_is_told_before_anything_is_written(made, tmp_path):
    (tmp_path / "victim" / RESULTS).mkdir(parents=True)
    with pytest.raises(DataError, match="there is a folder where a file belongs"):
        archive.extract(made, tmp_path / "victim", [TIMINGS, RESULTS])
    assert not (tmp_path / "victim" / TIMINGS).exists()


def test_a_bomb_is_refused_before_it_is_unpacked(made, tmp_path):
    files = with_member(read(made), "results/study/bomb/results.parquet", bytes(1 << 26))
    write(tmp_path / "bad.zip", files, compression=zipfile.ZIP_DEFLATED)
    assert (tmp_path / "bad.zip").stat().st_size < 1 << 18
    assert_refused(tmp_path / "bad.zip", tmp_path, "compressed or encrypted")


def test_a_bomb_in_place_of_the_manifest_is_refused(made, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_LARGEST_MANIFEST", 1 << 20)
    files = {**read(made), "manifest.json": b" " * (1 << 21)}
    write(tmp_path / "bad.zip", files, compression=zipfile.ZIP_DEFLATED)
    assert_refused(tmp_path / "bad.zip", tmp_path, "at most 1048576 are read")


def test_members_that_overlap_are_refused(made, tmp_path):
    """Many entries that point at the same bytes: a bomb that compresses nothing."""
    content = bytes(5000)
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as bundle:
        for name, old in read(made).items():
            bundle.writestr(name, old)
        bundle.writestr("results/study/a/results.parquet", content)
        first = bundle.infolist()[-1]
        for number in range(100):
            twin = zipfile.ZipInfo(f"results/study/a{number}/results.parquet")
            for part in ("header_offset", "CRC", "compress_size", "file_size"):
                setattr(twin, part, getattr(first, part))
            bundle.filelist.append(twin)
    assert_refused(tmp_path / "bad.zip", tmp_path, "bytes of results in a file of")


def test_too_many_members_are_refused(made, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_MOST_MEMBERS", 2)
    assert_refused(made, tmp_path, "3 members; at most 2")


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"options": {"preset": "paper", "mirror": "/etc"}}, "and nothing else"),
        ({"options": {"preset": "../../evil"}}, "is not the name of a preset"),
        ({"options": {"preset": ["paper"]}}, "is not the name of a preset"),
        ({"options": {}}, "None is not the name of a preset"),
        ({"options": {"preset": "paper", "replications": "3; rm"}}, "expected a whole number"),
        ({"options": {"preset": "paper", "replications": True}}, "expected a whole number"),
        ({"options": {"preset": "paper", "block": 0}}, "expected a whole number"),
        ({"options": {"preset": "paper", "methods": "FedGrEM"}}, "expected a list of names"),
        ({"options": {"preset": "paper", "methods": ["$(rm)"]}}, "expected a list of names"),
        ({"options": "paper"}, "and nothing else"),
        ({}, "and nothing else"),
        ("paper", "and nothing else"),
    ],
)
def test_only_the_options_of_a_run_are_taken(made, tmp_path, about, message):
    write(tmp_path / "bad.zip", with_manifest(read(made), {"about": about}))
    assert_refused(tmp_path / "bad.zip", tmp_path, message)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (b"[]", "expected the keys"),
        (b"null", "expected the keys"),
        (b"{}", "expected the keys"),
        (b"not json", "damaged or not an archive"),
        (b"[" * 100_000, "damaged or not an archive"),
        (b"\xff\xfe\xff", "damaged or not an archive"),
    ],
)
def test_a_manifest_of_another_shape_is_refused(made, tmp_path, manifest, message):
    write(tmp_path / "bad.zip", {**read(made), "manifest.json": manifest})
    assert_refused(tmp_path / "bad.zip", tmp_path, message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 9}, "reads format 1"),
        ({"files": [RESULTS]}, "a size and a sha256 for every file"),
        ({"files": {RESULTS: "sha"}}, "a size and a sha256 for every file"),
        ({"files": {RESULTS: {"size": 1, "sha256": None}}}, "a size and a sha256 for every file"),
        ({"extra": 1}, "expected the keys"),
    ],
)
def test_a_manifest_with_other_parts_is_refused(made, tmp_path, changes, message):
    write(tmp_path / "bad.zip", with_manifest(read(made), changes))
    assert_refused(tmp_path / "bad.zip", tmp_path, message)


def without(name):
    return lambda files: {n: content for n, content in files.items() if n != name}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda files: {**files, RESULTS: b"other"}, "sha256 is"),
        (without(RESULTS), "results.parquet': missing"),
        (lambda files: {**files, "results/study/b/results.parquet": b""}, "not in the manifest"),
        (without("manifest.json"), "not an archive of fedmix"),
    ],
)
def test_a_changed_archive_is_refused(made, tmp_path, change, message):
    write(tmp_path / "bad.zip", change(read(made)))
    assert_refused(tmp_path / "bad.zip", tmp_path, message)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_listed_twice_is_refused(made, tmp_path):
    bad = tmp_path / "bad.zip"
    bad.write_bytes(made.read_bytes())
    with zipfile.ZipFile(bad, "a") as bundle:
        bundle.writestr(RESULTS, b"other")
    assert_refused(bad, tmp_path, "listed 2 times")


@pytest.mark.parametrize("field", ["method", "flags"])
def test_an_unknown_compression_or_an_encrypted_manifest_is_refused(made, tmp_path, field):
    """Bytes 8 and 10 of the last entry of the zip's list, which is the manifest's."""
    content = bytearray(made.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    local = content.rindex(b"PK\x03\x04")
    if field == "method":
        content[entry + 10] = content[local + 8] = 97
    else:
        content[entry + 8] |= 1
        content[local + 6] |= 1
    (tmp_path / "bad.zip").write_bytes(content)
    assert_refused(tmp_path / "bad.zip", tmp_path, "damaged or not an archive")


def test_every_truncated_archive_is_refused(made, tmp_path):
    content = made.read_bytes()
    for keep in range(0, len(content), 97):
        (tmp_path / "bad.zip").write_bytes(content[:keep])
        with pytest.raises(DataError, match="damaged"):
            archive.read_options(tmp_path / "bad.zip")


def test_a_missing_archive_or_file_is_named(tree, made, tmp_path):
    with pytest.raises(DataError, match=r"no archive .*none\.zip"):
        archive.extract(tmp_path / "none.zip", tmp_path, [RESULTS])
    with pytest.raises(DataError, match=r"results/study/b/results\.parquet is missing"):
        archive.extract(made, tmp_path / "copy", [RESULTS, "results/study/b/results.parquet"])
    assert not (tmp_path / "copy").exists()
    with pytest.raises(DataError, match="nowhere does not exist"):
        archive.make([tree / "nowhere"], tmp_path / "a.zip", tree)
    with pytest.raises(DataError, match="lies outside"):
        archive.make([tree / RESULTS], tmp_path / "a.zip", tree / "config")
    with pytest.raises(DataError, match=r"config/config\.yaml is not a collected result"):
        archive.make([tree / "config/config.yaml"], tmp_path / "a.zip", tree)
    with pytest.raises(DataError, match="nothing to archive"):
        archive.make([], tmp_path / "a.zip", tree)
    assert not (tmp_path / "a.zip").exists()

"""Downloads have limits, from any server and from OpenML: no trouble gives a bad file."""

import gzip
import hashlib
import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from fake_openml import Answer, FakeServer
from fedmix.data import DatasetEntry, SourceFile, content_sha256, fetch, load
from fedmix.data.download import SERVER_VARIABLE, Downloads, fetch_table
from fedmix.errors import DownloadError

CSV = b"a,b,y\n1,2.5,u\n3,4.5,v\n5,6.5,v\n"
# Unix compress with nine bits a code and nothing compressed: enough for a short text.
LZW_HEADER = b"\x1f\x9d\x90"


@pytest.fixture(autouse=True)
def _no_mirror_and_no_pause(monkeypatch):
    monkeypatch.delenv("FEDMIX_MIRROR", raising=False)
    monkeypatch.setattr("fedmix.data.download._PAUSE", 0.0)


def entry(*sources, content=CSV):
    """The entry of a csv file with one source for each (url, member)."""
    sha256 = hashlib.sha256(content).hexdigest()
    listed = []
    for url, member in sources:
        file = {"name": "tiny.csv", "sha256": sha256, "url": url}
        file |= {"member": member} if member else {}
        listed.append({"reader": "table", "options": {"label": "y"}, "files": [file]})
    values = {
        "title": "Tiny",
        "n_points": 3,
        "n_features": 2,
        "class_names": ["u", "v"],
        "class_counts": [1, 2],
        "sources": listed,
        "embeddings": {"raw": {"kind": "identity"}},
    }
    return DatasetEntry.from_mapping("tiny", values)


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


def compressed(text):
    """Pack bytes as Unix compress does, nine bits each, lowest bit first."""
    bits = "".join(format(byte, "09b")[::-1] for byte in text)
    bits += "0" * (-len(bits) % 8)
    return LZW_HEADER + bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, len(bits), 8))


@pytest.mark.parametrize(
    ("path", "content", "member"),
    [
        ("/tiny.csv", CSV, None),
        ("/tiny.csv.gz", gzip.compress(CSV, mtime=0), None),
        ("/tiny.csv.Z", compressed(CSV), None),
        ("/all.zip", zipped(tiny_csv=CSV), "tiny.csv"),
        ("/all.zip", zipped(tiny_csv_Z=compressed(CSV)), "tiny.csv.Z"),
    ],
)
def test_file_is_downloaded_unpacked_checked_and_kept(tmp_path, path, content, member):
    with FakeServer({path: Answer(content)}) as server:
        one = entry((server.base + path, member))
        fetch(one, tmp_path)
    np.testing.assert_array_equal(load(one, tmp_path).labels, [0, 1, 1])
    assert [p.name for p in tmp_path.glob("*")] == ["tiny.npz"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(CSV, fault="hang"), "ReadTimeout"),
        (Answer(CSV, fault="drop"), "ConnectionError"),
        (Answer(CSV, fault="truncate"), "IncompleteRead|broke off"),
        (Answer(CSV[:-4]), "expected .*truncated, damaged or another version"),
        (Answer(status=404), "404"),
    ],
)
def test_bad_server_is_a_clear_error_and_leaves_nothing(tmp_path, answer, expected):
    with FakeServer({"/tiny.csv": answer}) as server:
        url = f"{server.base}/tiny.csv"
        with pytest.raises(DownloadError, match=expected) as caught:
            fetch(entry((url, None)), tmp_path, timeout=0.3)
    assert url in str(caught.value)
    assert "To place it by hand" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_server_is_asked_not_to_compress_what_it_sends(tmp_path, monkeypatch):
    import requests

    asked, get = [], requests.get

    def spy(*args, **kwargs):
        asked.append(kwargs)
        return get(*args, **kwargs)

    monkeypatch.setattr(requests, "get", spy)
    with FakeServer({"/tiny.csv": Answer(CSV)}) as server:
        downloads = Downloads(tmp_path, timeout=5.0, log=print, largest=99)
        downloads.get(SourceFile(name="tiny.csv", url=f"{server.base}/tiny.csv"))
    assert asked[0]["headers"] == {"Accept-Encoding": "identity"}
    assert asked[0]["timeout"] == (5.0, 5.0)


def test_dead_server_is_a_clear_error(tmp_path):
    with pytest.raises(DownloadError, match="ConnectionError"):
        fetch(entry(("http://127.0.0.1:1/tiny.csv", None)), tmp_path, timeout=0.3)


def test_dripping_server_meets_the_deadline(tmp_path):
    with FakeServer({"/tiny.csv": Answer(CSV, fault="drip")}) as server:
        downloads = Downloads(tmp_path, timeout=5.0, log=print, largest=99, deadline=0.3)
        with pytest.raises(DownloadError, match="not complete after"):
            downloads.get(SourceFile(name="tiny.csv", url=f"{server.base}/tiny.csv"))


def test_next_source_is_tried_after_a_bad_one(tmp_path):
    answers = {"/bad.csv": Answer(CSV[:-4]), "/good.csv": Answer(CSV)}
    lines = []
    with FakeServer(answers) as server:
        one = entry((f"{server.base}/bad.csv", None), (f"{server.base}/good.csv", None))
        fetch(one, tmp_path, log=lines.append)
    assert load(one, tmp_path).n_points == 3
    assert any("bad.csv has sha256" in line for line in lines)


def test_archive_of_several_files_is_downloaded_once(tmp_path):
    with FakeServer({"/all.zip": Answer(zipped(a=b"1", b=b"2"))}) as server:
        downloads = Downloads(tmp_path, timeout=5.0, log=print, largest=999)
        for name in "ab":
            downloads.get(SourceFile(name=name, url=f"{server.base}/all.zip", member=name))
        assert server.hits == ["/all.zip"]


def corrupt(content, position):
    """Return content with a byte changed."""
    changed = bytearray(content)
    changed[position] ^= 0xFF
    return bytes(changed)


def marked(content, local, listed, value):
    """Change a byte of a zip's only member, where it lies and in the list."""
    changed = bytearray(content)
    changed[local] = changed[content.rindex(b"PK\x01\x02") + listed] = value
    return bytes(changed)


ZIP = zipped(tiny_csv=CSV)


@pytest.mark.parametrize(
    ("content", "member", "name"),
    [
        (b"no archive", "tiny.csv", "/all.zip"),
        (ZIP[:-30], "tiny.csv", "/all.zip"),
        (corrupt(ZIP, 50), "tiny.csv", "/all.zip"),
        (marked(ZIP, 6, 8, 1), "tiny.csv", "/all.zip"),  # encrypted
        (marked(ZIP, 8, 10, 97), "tiny.csv", "/all.zip"),  # an unknown compression
        (zipped(other=b""), "tiny.csv", "/all.zip"),
        (b"no gzip", None, "/tiny.csv.gz"),
        (gzip.compress(CSV, mtime=0)[:-12], None, "/tiny.csv.gz"),
        (corrupt(gzip.compress(CSV, mtime=0), 15), None, "/tiny.csv.gz"),
        (b"no compress", None, "/tiny.csv.Z"),
    ],
)
def test_what_is_not_the_promised_archive_is_an_error_and_the_next_source_is_tried(
    tmp_path, content, member, name
):
    lines = []
    with FakeServer({name: Answer(content), "/good.csv": Answer(CSV)}) as server:
        one = entry((server.base + name, member), (f"{server.base}/good.csv", None))
        fetch(one, tmp_path, log=lines.append)
    assert load(one, tmp_path).n_points == 3
    assert any("not the expected archive" in line for line in lines)


@pytest.mark.parametrize(
    ("answer", "name", "says"),
    [
        (Answer(fault="endless"), "/tiny.csv", "is larger than 999 bytes"),
        (Answer(CSV, fault="strange length"), "/tiny.csv", "announces 'abc' bytes"),
        (Answer(gzip.compress(bytes(10**6))[:990]), "/tiny.csv.gz", "is larger than 999 bytes"),
        (Answer(compressed(bytes(1100))), "/tiny.csv.Z", "larger than 999 bytes"),
    ],
)
def test_an_answer_without_end_or_sense_is_refused_and_leaves_nothing(
    tmp_path, monkeypatch, answer, name, says
):
    monkeypatch.setattr(DatasetEntry, "largest_file", 999)
    with FakeServer({name: answer}) as server:
        with pytest.raises(DownloadError, match=says) as caught:
            fetch(entry((server.base + name, None)), tmp_path)
        assert server.hits == [name], "asked again though nothing better can come"
    assert server.base + name in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_zip_that_swells_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(DatasetEntry, "largest_file", 9999)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny.csv", bytes(10**6))
    with (
        FakeServer({"/all.zip": Answer(packed.getvalue())}) as server,
        pytest.raises(DownloadError, match="larger than 9999 bytes"),
    ):
        fetch(entry((f"{server.base}/all.zip", "tiny.csv")), tmp_path)


N = 12
TABLE = pd.DataFrame({"a": np.arange(N), "b": np.arange(N) ** 2 % 7})
TABLE["class"] = pd.Categorical([str(i % 3) for i in range(N)])


@pytest.fixture
def server(monkeypatch):
    with FakeServer() as running:
        monkeypatch.setenv(SERVER_VARIABLE, f"{running.base}/api/v1/xml")
        yield running


def openml_entry(**changes):
    values = {
        "title": "Tiny",
        "n_points": N,
        "n_features": 2,
        "class_counts": [4, 4, 4],
        "allow_unverified": True,
        "sources": [{"reader": "table", "openml": 7, "options": {"label": "class"}}],
        "embeddings": {"raw": {"kind": "identity"}},
    }
    return DatasetEntry.from_mapping("tiny", values | changes)


@pytest.mark.slow
def test_a_table_of_unknown_content_arrives_by_arff_if_allowed_and_parquet_is_dead(
    tmp_path, server
):
    server.offer_openml(7, TABLE, "class", parquet="dead")
    with pytest.raises(DownloadError, match=r"OpenML data set 7: .*unverified.*allow_unverified"):
        fetch(openml_entry(allow_unverified=False), tmp_path, timeout=5.0)
    assert not server.hits
    fetch(openml_entry(), tmp_path, timeout=5.0)
    data = load(openml_entry(), tmp_path)
    np.testing.assert_array_equal(data.features, TABLE[["a", "b"]])
    np.testing.assert_array_equal(data.labels, np.arange(N) % 3)
    assert [p.name for p in tmp_path.glob("*")] == ["tiny.npz"]
    assert any("arff" in hit for hit in server.hits)
    known = openml_entry(allow_unverified=False, content_sha256=content_sha256(data))
    fetch(known, tmp_path / "again", timeout=5.0)


@pytest.mark.slow
def test_parquet_is_not_trusted_without_our_own_checksum(tmp_path, server):
    server.offer_openml(7, TABLE, "class", parquet="ok")
    with pytest.raises(DownloadError, match="OpenML data set 7: sha256 of the values"):
        fetch(openml_entry(content_sha256="0" * 64), tmp_path, timeout=5.0)
    assert not any("arff" in hit for hit in server.hits)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"wrong_md5": True}, "OpenMLHashException"),
        ({"arff_fault": "hang"}, "ReadTimeout"),
        ({"arff_fault": "truncate"}, "ChunkedEncodingError"),
    ],
)
def test_bad_file_is_a_clear_error_and_leaves_nothing(tmp_path, server, fault, expected):
    server.offer_openml(7, TABLE, "class", **fault)
    with pytest.raises(DownloadError, match=f"OpenML data set 7: {expected}"):
        fetch(openml_entry(), tmp_path, timeout=0.5)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_hanging_interface_times_out(tmp_path, server):
    server.answers["/api/v1/xml/data/7"] = Answer(fault="hang")
    with pytest.raises(DownloadError, match="ReadTimeout"):
        fetch(openml_entry(), tmp_path, timeout=0.5)


@pytest.mark.slow
def test_dead_openml_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv(SERVER_VARIABLE, "http://127.0.0.1:1/api/v1/xml")
    with pytest.raises(DownloadError, match="ConnectionError"):
        fetch(openml_entry(), tmp_path, timeout=0.5)


@pytest.mark.slow
def test_dripping_openml_meets_the_deadline(tmp_path, server):
    server.offer_openml(7, TABLE, "class", arff_fault="drip")
    downloads = Downloads(tmp_path, timeout=5.0, log=print, largest=1 << 20)
    with pytest.raises(DownloadError, match="not complete after 2 s"):
        fetch_table(7, downloads, deadline=2.0)


@pytest.mark.slow
def test_a_table_larger_than_it_can_be_is_refused(tmp_path, server):
    server.offer_openml(7, pd.concat([TABLE] * 1000), "class")
    downloads = Downloads(tmp_path, timeout=5.0, log=print, largest=5000)
    with pytest.raises(DownloadError, match=r"table\.arff sends more than 5000 bytes"):
        fetch_table(7, downloads)

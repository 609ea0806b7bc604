"""OpenML through its own client: every fault of the server ends in time with a clear error."""

import numpy as np
import pandas as pd
import pytest

from fake_openml import Answer, FakeServer
from fedmix.data import DatasetEntry, content_sha256, fetch, load
from fedmix.data.download import Downloads
from fedmix.data.openml_source import SERVER_VARIABLE, fetch_table
from fedmix.errors import DownloadError

pytestmark = pytest.mark.slow

N = 12
TABLE = pd.DataFrame({"a": np.arange(N), "b": np.arange(N) ** 2 % 7})
TABLE["class"] = pd.Categorical([str(i % 3) for i in range(N)])


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch):
    monkeypatch.delenv("FEDMIX_MIRROR", raising=False)


@pytest.fixture
def server(monkeypatch):
    with FakeServer() as running:
        monkeypatch.setenv(SERVER_VARIABLE, f"{running.base}/api/v1/xml")
        yield running


def entry(**changes):
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


def test_table_arrives_by_arff_if_parquet_is_dead(tmp_path, server):
    server.offer_openml(7, TABLE, "class", parquet="dead")
    fetch(entry(), tmp_path, timeout=5.0)
    data = load(entry(), tmp_path)
    np.testing.assert_array_equal(data.features, TABLE[["a", "b"]])
    np.testing.assert_array_equal(data.labels, np.arange(N) % 3)
    assert [p.name for p in tmp_path.glob("*")] == ["tiny.npz"]
    assert any("arff" in hit for hit in server.hits)


def test_a_table_of_unknown_content_is_not_requested_unless_allowed(tmp_path, server):
    server.offer_openml(7, TABLE, "class", parquet="dead")
    with pytest.raises(DownloadError, match=r"OpenML data set 7: .*unverified.*allow_unverified"):
        fetch(entry(allow_unverified=False), tmp_path, timeout=5.0)
    assert not server.hits
    fetch(entry(), tmp_path, timeout=5.0)
    values = {"allow_unverified": False, "content_sha256": content_sha256(load(entry(), tmp_path))}
    fetch(entry(**values), tmp_path / "again", timeout=5.0)


def test_parquet_is_not_trusted_without_our_own_checksum(tmp_path, server):
    server.offer_openml(7, TABLE, "class", parquet="ok")
    with pytest.raises(DownloadError, match="OpenML data set 7: sha256 of the values"):
        fetch(entry(content_sha256="0" * 64), tmp_path, timeout=5.0)
    assert not any("arff" in hit for hit in server.hits)
    assert list(tmp_path.iterdir()) == []


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
        fetch(entry(), tmp_path, timeout=0.5)
    assert list(tmp_path.iterdir()) == []


def test_hanging_interface_times_out(tmp_path, server):
    server.answers["/api/v1/xml/data/7"] = Answer(fault="hang")
    with pytest.raises(DownloadError, match="ReadTimeout"):
        fetch(entry(), tmp_path, timeout=0.5)


def test_dead_server_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv(SERVER_VARIABLE, "http://127.0.0.1:1/api/v1/xml")
    with pytest.raises(DownloadError, match="ConnectionError"):
        fetch(entry(), tmp_path, timeout=0.5)


def test_dripping_server_meets_the_deadline(tmp_path, server):
    server.offer_openml(7, TABLE, "class", arff_fault="drip")
    downloads = Downloads(tmp_path, timeout=5.0, log=print, largest=1 << 20)
    with pytest.raises(DownloadError, match="not complete after 2 s"):
        fetch_table(7, downloads, deadline=2.0)


def test_a_table_larger_than_it_can_be_is_refused(tmp_path, server):
    server.offer_openml(7, pd.concat([TABLE] * 1000), "class")
    downloads = Downloads(tmp_path, timeout=5.0, log=print, largest=5000)
    with pytest.raises(DownloadError, match=r"table\.arff sends more than 5000 bytes"):
        fetch_table(7, downloads)

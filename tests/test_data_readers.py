"""Readers give the rows of the publishers' formats in their order."""

import gzip
import io
import struct
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest

from fedmix.data.readers import read
from fedmix.errors import ConfigurationError, DataError

RNG = np.random.default_rng(0)


def idx(values):
    head = struct.pack(f">I{values.ndim}I", 0x0800 + values.ndim, *values.shape)
    return head + values.astype(np.uint8).tobytes()


def test_idx_files_of_images_and_labels(tmp_path):
    images, labels = RNG.integers(0, 256, (5, 2, 3)), np.array([3, 1, 4, 1, 5])
    parts = {"a": images[:3], "b": labels[:3], "c": images[3:], "d": labels[3:]}
    for name, values in parts.items():
        (tmp_path / name).write_bytes(idx(values))
    raw = read("idx", [tmp_path / n for n in "abcd"], {})
    np.testing.assert_array_equal(raw.features, images.reshape(5, 6))
    np.testing.assert_array_equal(raw.labels, labels)


def test_truncated_idx_file_is_named(tmp_path):
    (tmp_path / "a").write_bytes(idx(np.ones((5, 2, 2)))[:-1])
    with pytest.raises(DataError, match="a: reader 'idx' failed"):
        read("idx", [tmp_path / "a"], {})


def test_emnist_images_are_turned_upright(tmp_path):
    images, labels = RNG.integers(0, 256, (4, 3, 3)), np.array([0, 46, 1, 2])
    with zipfile.ZipFile(tmp_path / "gzip.zip", "w") as archive:
        for part, rows in (("train", slice(3)), ("test", slice(3, 4))):
            stem = f"gzip/emnist-balanced-{part}"
            archive.writestr(f"{stem}-images-idx3-ubyte.gz", gzip.compress(idx(images[rows])))
            archive.writestr(f"{stem}-labels-idx1-ubyte.gz", gzip.compress(idx(labels[rows])))
    raw = read("emnist_zip", [tmp_path / "gzip.zip"], {})
    np.testing.assert_array_equal(raw.features.reshape(4, 3, 3), images.transpose(0, 2, 1))
    np.testing.assert_array_equal(raw.labels, labels)


def test_square_table_is_turned_upright_like_the_archive(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,d,class\n1,2,3,4,x\n")
    raw = read("table", [tmp_path / "t.csv"], {"label": "class", "square": True})
    assert raw.features.tolist() == [[1, 3, 2, 4]]


def test_cifar10_records_in_the_order_of_the_batches(tmp_path):
    records = RNG.integers(0, 256, (6, 3073)).astype(np.uint8)
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as archive:
        for name, record in zip(names, records, strict=True):
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = record.size
            archive.addfile(member, io.BytesIO(record.tobytes()))
    raw = read("cifar10", [tmp_path / "c.tar.gz"], {})
    np.testing.assert_array_equal(raw.labels, records[:, 0])
    np.testing.assert_array_equal(raw.features, records[:, 1:])


def test_npy_parts_with_labels(tmp_path):
    features, labels = RNG.normal(size=(5, 2)), np.arange(5)
    paths = [tmp_path / f"{n}.npy" for n in "abcd"]
    for path, part in zip(paths, [features[:3], features[3:], labels[:3], labels[3:]], strict=True):
        np.save(path, part)
    raw = read("npy", paths, {})
    np.testing.assert_array_equal(raw.features, features)
    np.testing.assert_array_equal(raw.labels, labels)
    for path, part in zip(paths[2:], [labels[:3], labels[3:]], strict=True):
        path.write_bytes(idx(part))
    np.testing.assert_array_equal(read("npy_idx", paths, {}).labels, labels)


def test_pickled_npy_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    with pytest.raises(DataError, match="reader 'npy' failed"):
        read("npy", [tmp_path / "a.npy"] * 2, {})


def test_npz_without_the_named_array_is_an_error(tmp_path):
    np.savez(tmp_path / "a.npz", pictures=np.ones(2))
    message = "option 'features': .*a.npz has no array 'images'. Valid: pictures"
    with pytest.raises(ConfigurationError, match=message):
        read("npz", [tmp_path / "a.npz"], {})


WARDS = "ward,height,word,shape\nnorth,1,a,0\nsouth,2,b,1\nnorth,3,c,1\n"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_of_clients_becomes_numbered_groups_and_no_feature(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_text(WARDS)
    if suffix == "parquet":
        pd.read_csv(io.StringIO(WARDS)).to_parquet(path)
    raw = read("table", [path], {"label": "shape", "client": "ward", "drop": ["word"]})
    assert raw.features.tolist() == [[1], [2], [3]]
    assert raw.groups.tolist() == [0, 1, 0]
    assert raw.labels.tolist() == ["0", "1", "1"]


def test_numbered_clients_keep_their_order(tmp_path):
    (tmp_path / "t.csv").write_text("c,x,y\n10,1,a\n9,2,a\n10,3,b\n")
    raw = read("table", [tmp_path / "t.csv"], {"label": "y", "client": "c"})
    assert raw.groups.tolist() == [1, 0, 1]


def test_a_row_without_a_client_is_an_error_that_names_it(tmp_path):
    (tmp_path / "t.csv").write_text("c,x,y\na,1,0\n,2,0\n")
    with pytest.raises(DataError, match="'c' names no client in 1 rows, first in row 1"):
        read("table", [tmp_path / "t.csv"], {"label": "y", "client": "c"})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"label": "shape", "clients": "ward"}, "option 'clients': no such .* mean 'client'"),
        ({}, "option 'label': it must be given"),
        ({"label": "shpe"}, "option 'label': .*t.csv has no column 'shpe'. Did you mean 'shape'"),
        ({"label": "shape", "client": "wards"}, "option 'client': .* Did you mean 'ward'"),
        ({"label": "shape", "drop": ["wrd"]}, "option 'drop': .* Did you mean 'word' or 'ward'"),
        ({"label": "shape", "columns": ["hight"]}, "option 'columns': .* mean 'height'"),
        ({"label": "shape", "codes": {"wod": {"a": 1}}}, "option 'codes': .* mean 'word'"),
        ({"label": "a", "names": ["a", "b"]}, "option 'names': 2 names for the 4 columns of"),
        (
            {"label": "word", "columns": ["height"], "label_edges": [1]},
            "option 'label_edges': column 'word' holds words",
        ),
        (
            {"label": "shape", "codes": {"word": {"a": 1, "b": 2, "c": 3}}, "drop": ["ward"]}
            | {"square": True},
            "option 'square': 2 features",
        ),
    ],
)
def test_a_wrong_option_is_told_with_the_nearest_name_and_no_file_is_blamed(
    tmp_path, options, says
):
    (tmp_path / "t.csv").write_text(WARDS)
    with pytest.raises(ConfigurationError, match=f"reader 'table', {says}") as caught:
        read("table", [tmp_path / "t.csv"], options)
    assert "damaged" not in str(caught.value)


def test_label_bins_include_their_upper_edge(tmp_path):
    rows = "\n".join(f"F,{i},{i}" for i in range(1, 16))
    (tmp_path / "t.csv").write_text(rows)
    options = {
        "label": "rings",
        "names": ["sex", "length", "rings"],
        "codes": {"sex": {"F": 0, "M": 2}},
        "label_edges": [6, 7, 8, 9, 10, 11, 13],
    }
    raw = read("table", [tmp_path / "t.csv"], options)
    # of rings - 1: up to 5, 6, 7, 8, 9, 10, 11 and 12, above 12
    assert raw.labels.tolist() == [0] * 6 + [1, 2, 3, 4, 5, 6, 6, 7, 7]
    assert raw.features[:, 0].tolist() == [0] * 15


def test_word_without_a_code_is_an_error(tmp_path):
    (tmp_path / "t.csv").write_text("sex,y\nF,0\nX,1\n")
    options = {"label": "y", "codes": {"sex": {"F": 0}}}
    with pytest.raises(DataError, match=r"column 'sex' .* first 'X' in row 1"):
        read("table", [tmp_path / "t.csv"], options)


@pytest.mark.parametrize(("reader", "name"), [("npz", "raw.npz"), ("table", "raw.parquet")])
def test_a_damaged_original_is_never_said_to_be_remade(tmp_path, reader, name):
    (tmp_path / name).write_bytes(b"half")
    options = {"label": "y"} if reader == "table" else {}
    with pytest.raises(DataError, match="put a good copy in its place") as caught:
        read(reader, [tmp_path / name], options)
    assert "remade" not in str(caught.value)

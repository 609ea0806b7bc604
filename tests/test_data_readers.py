"""Readers give the rows of the publishers' formats in their order."""

import gzip
import io
import struct
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest

from fedmix.data import DatasetEntry, fetch, load, tables
from fedmix.data.readers import check_same_digits, parse_comments, read, read_writers
from fedmix.errors import ConfigurationError, DataError
from fedmix.simulate.waveform import PAIRS, base_waves, waveform

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
    ("text", "says"),
    [
        ("a,b,class\n1,2,x,0\n3,4,y,0\n", "some lines have more fields than the first"),
        ("a,b,class\n1,2,x\n3,4,y,5\n", "some lines have more fields than the first"),
        ("a,b,class,class\n1,2,x,y\n", "two columns are named 'class'"),
        ("a,b,class\n1,2,x\n3,4,\n", "column 'class' has no class in 1 rows, first in row 1"),
        ("a,b,class\n1,2,x\n3,4,  \n", "column 'class' has no class in 1 rows, first in row 1"),
        ("a,b,class\n1,2,x\n3\n", "column 'b' has 1 values that are not finite numbers"),
        ("a,b,class\n1,NA,x\n", "column 'b' has 1 values .* first 'NA'"),
        ("a,b,class\n9007199254740993,2,x\n", "column 'a' has integers beyond 2.*53"),
        ("a,b,class\n1+2j,2,x\n", "column 'a' has 1 values that are not finite numbers"),
        ("a,b,class\n2024-01-01,2,x\n", "column 'a' has 1 values that are not finite numbers"),
    ],
)
def test_a_table_that_would_be_read_otherwise_than_it_looks_is_refused(tmp_path, text, says):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match=says):
        tables.read_table_file([tmp_path / "t.csv"], label="class")


@pytest.mark.parametrize("values", [[1 + 2j], pd.to_datetime(["2024-01-01"])])
def test_columns_that_are_no_numbers_are_refused(tmp_path, values):
    with pytest.raises(DataError, match=r"column 'a' holds .*; expected numbers"):
        tables._numbers(pd.DataFrame({"a": values}), ["a"], {}, tmp_path / "t.parquet")


def test_trailing_commas_shift_no_column(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,class\n1,2,x,\n3,4,y,\n")
    raw = tables.read_table_file([tmp_path / "t.csv"], label="class")
    assert raw.features.tolist() == [[1, 2], [3, 4]]
    assert list(raw.labels) == ["x", "y"]


def test_na_is_a_class_like_any_other(tmp_path):
    (tmp_path / "t.csv").write_text("a,class\n1,NA\n2,null\n3,x\n")
    raw = tables.read_table_file([tmp_path / "t.csv"], label="class")
    assert list(raw.labels) == ["NA", "null", "x"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"label": "shape", "clients": "ward"}, "option 'clients': no such .* mean 'client'"),
        ({}, "option 'label' is required"),
        ({"label": "shpe"}, "option 'label': .*t.csv has no column 'shpe'. Did you mean 'shape'"),
        ({"label": "shape", "client": "wards"}, "option 'client': .* Did you mean 'ward'"),
        ({"label": "shape", "drop": ["wrd"]}, "option 'drop': .* Did you mean 'word' or 'ward'"),
        ({"label": "shape", "columns": ["hight"]}, "option 'columns': .* mean 'height'"),
        ({"label": "shape", "codes": {"wod": {"a": 1}}}, "option 'codes': .* mean 'word'"),
        ({"label": "a", "names": ["a", "b"]}, "option 'names': 2 names for the 4 columns of"),
        (
            {"label": "word", "columns": ["height"], "label_edges": [1]},
            "option 'label_edges': column 'word' holds text",
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
    with pytest.raises(DataError, match="replace it by a good copy") as caught:
        read(reader, [tmp_path / name], options)
    assert "remade" not in str(caught.value)


# Made up, in the originals' layout: two digits of writers 2 and 1, pen strokes between them.
UNIPEN = """.VERSION 1.0
.COORD X Y
.SEGMENT DIGIT 0 ? "8"
.COMMENT 8 2  224
.DT 100
.PEN_DOWN
  203 275
.PEN_UP
.SEGMENT DIGIT 1 ? "3"
.COMMENT 3  1 7
.PEN_DOWN
  -12 3
.PEN_UP
"""


def test_comments_give_digit_and_writer_in_order():
    digits, writers = parse_comments(UNIPEN)
    assert digits.tolist() == [8, 3]
    assert writers.tolist() == [2, 1]


def test_other_comments_are_not_taken_for_digits():
    digits, _ = parse_comments(".COMMENT written by hand 1 2\n" + UNIPEN)
    assert digits.tolist() == [8, 3]


def test_file_without_comments_is_an_error(tmp_path):
    path = tmp_path / "pendigits-orig.tra"
    path.write_text(".PEN_DOWN\n1 2\n")
    with pytest.raises(DataError, match=r"pendigits-orig\.tra: There is no line"):
        read_writers([path])


def test_writers_of_the_second_file_are_other_people(tmp_path):
    for name in ("tra", "tes"):
        (tmp_path / name).write_text(UNIPEN)
    _, writers = read_writers([tmp_path / "tra", tmp_path / "tes"])
    assert writers.tolist() == [1, 0, 3, 2]


def test_rows_that_disagree_are_an_error():
    with pytest.raises(DataError, match="row 1 is the digit 3; the features' file has 4"):
        check_same_digits(np.array([8, 4]), np.array([8, 3]), "orig")
    with pytest.raises(DataError, match="has 1 digits; expected 2"):
        check_same_digits(np.array([8, 4]), np.array([8]), "orig")


def test_original_files_make_a_data_set_with_groups(tmp_path):
    for part in ("tra", "tes"):
        rows = [", ".join(f"{i + j:3d}" for j in range(16)) + f",{y}" for i, y in enumerate((8, 3))]
        (tmp_path / f"pendigits.{part}").write_text("\n".join(rows) + "\n")
        (tmp_path / f"pendigits-orig.{part}").write_text(UNIPEN)
    names = ["pendigits.tra", "pendigits.tes", "pendigits-orig.tra", "pendigits-orig.tes"]
    source = {"reader": "pendigits_originals", "files": [{"name": n} for n in names]}
    values = {
        "title": "Pen digits",
        "n_points": 4,
        "n_features": 16,
        "class_names": [3, 8],
        "class_counts": [2, 2],
        "n_groups": 4,
        "sources": [source],
        "embeddings": {"raw": {"kind": "identity"}},
    }
    entry = DatasetEntry.from_mapping("pendigits", values)
    fetch(entry, tmp_path / "raw", mirror=tmp_path)
    data = load(entry, tmp_path / "raw")
    assert data.labels.tolist() == [1, 0, 1, 0]
    assert data.groups.tolist() == [1, 0, 3, 2]
    assert data.features[1].tolist() == list(range(1, 17))


def test_base_waves_are_triangles_of_height_six():
    waves = base_waves()
    assert waves.shape == (3, 21)
    assert waves.max(axis=1).tolist() == [6, 6, 6]
    assert (waves.argmax(axis=1) + 1).tolist() == [7, 15, 11]
    assert waves.sum(axis=1).tolist() == [36, 36, 36]


def test_class_means_and_spread_are_those_of_the_definition():
    points, labels = waveform(60_000, 0)
    waves = base_waves()
    for label, (one, other) in enumerate(PAIRS):
        own = points[labels == label]
        mean = (waves[one] + waves[other]) / 2
        variance = 1 + (waves[one] - waves[other]) ** 2 / 12
        tolerance = 5 * np.sqrt(variance / len(own))
        assert np.all(np.abs(own.mean(axis=0) - mean) < tolerance)
        np.testing.assert_allclose(own.var(axis=0), variance, rtol=0.06)


def test_classes_are_equally_likely():
    _, labels = waveform(30_000, 1)
    np.testing.assert_allclose(np.bincount(labels) / 30_000, 1 / 3, atol=0.015)


def test_seed_decides_everything():
    for one, same in zip(waveform(20, 3), waveform(20, np.random.default_rng(3)), strict=True):
        np.testing.assert_array_equal(one, same)
    assert not np.array_equal(waveform(20, 3)[0], waveform(20, 4)[0])


def test_no_points_are_an_error():
    with pytest.raises(ConfigurationError, match="n_points"):
        waveform(0)

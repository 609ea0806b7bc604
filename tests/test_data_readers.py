"""Readers give the rows of the publishers' formats in their order."""

import gzip
import io
import struct
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest

from fedmix.data import tables
from fedmix.data.readers import read
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


@pytest.mark.parametrize(
    ("split", "options"), [("balanced", {}), ("letters", {"split": "letters"})]
)
def test_emnist_images_of_a_split_are_turned_upright(tmp_path, split, options):
    images, labels = RNG.integers(0, 256, (4, 3, 3)), np.array([0, 46, 1, 2])
    with zipfile.ZipFile(tmp_path / "gzip.zip", "w") as archive:
        for part, rows in (("train", slice(3)), ("test", slice(3, 4))):
            stem = f"gzip/emnist-{split}-{part}"
            archive.writestr(f"{stem}-images-idx3-ubyte.gz", gzip.compress(idx(images[rows])))
            archive.writestr(f"{stem}-labels-idx1-ubyte.gz", gzip.compress(idx(labels[rows])))
    raw = read("emnist_zip", [tmp_path / "gzip.zip"], options)
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


@pytest.mark.parametrize(
    ("features", "labels", "says"),
    [
        ([[1 + 2j], [2]], [0, 1], "the features hold complex128; expected numbers"),
        ([["1"], ["2"]], [0, 1], "the features hold <U1; expected numbers"),
        ([[2**53 + 1], [0]], [0, 1], r"integers beyond 2\*\*53"),
        ([[-(2**53) - 1], [0]], [0, 1], r"integers beyond 2\*\*53"),
        ([[1.0], [2.0]], [0.0, np.nan], "row 1 has no class"),
    ],
)
def test_arrays_that_would_change_silently_are_refused(tmp_path, features, labels, says):
    np.savez(tmp_path / "a.npz", images=np.array(features), labels=np.array(labels))
    with pytest.raises(DataError, match=f"a.npz: .*{says}"):
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


def test_a_client_is_one_in_all_parts_of_a_large_file_and_in_all_files(tmp_path):
    rows = [f"{i % 3},0.5,{i % 2}" for i in range(300_000)]
    (tmp_path / "t.csv").write_text("\n".join(["c,x,y", *rows, " 2 ,0.5,1", "Z,0.5,1"]))
    (tmp_path / "u.csv").write_text("c,x,y\n1,0.5,1\n")
    raw = read("table", [tmp_path / "t.csv", tmp_path / "u.csv"], {"label": "y", "client": "c"})
    assert raw.groups[-4:].tolist() == [2, 2, 3, 1]
    assert raw.groups.max() == 3


def test_a_client_without_a_name_in_a_parquet_is_an_error(tmp_path):
    pd.DataFrame({"c": ["A", " "], "x": [1, 2], "y": [0, 1]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="'c' names no client in 1 rows, first in row 1"):
        read("table", [tmp_path / "t.parquet"], {"label": "y", "client": "c"})


def test_a_row_without_a_client_is_an_error_that_names_it(tmp_path):
    (tmp_path / "t.csv").write_text("c,x,y\na,1,0\n,2,0\n")
    with pytest.raises(DataError, match="'c' names no client in 1 rows, first in row 1"):
        read("table", [tmp_path / "t.csv"], {"label": "y", "client": "c"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b,class\n1,2,x,0\n3,4,y,0\n", "more fields than the first. Remove them, write decimal"),
        ("a;b;class\n1,5;2;x\n", "expected names separated by commas in the first line, got 'a;b"),
        ('a,b,class\n"1,5",2,x\n', "first '1,5' in row 0, counted from 0.*decimals have a point"),
        ("a,b,class\n1,2,x\n3,4,y,5\n", "some lines have more fields than the first"),
        ("a,b,class,class\n1,2,x,y\n", "two columns are named 'class'"),
        ("a,b,class\n1,2,x\n3,4,\n", "column 'class' has no class in 1 rows, first in row 1"),
        ("a,b,class\n1,2,x\n3,4,  \n", "column 'class' has no class in 1 rows, first in row 1"),
        ("a,b,class\n1,2,x\n3\n", "column 'b' has 1 values that are not finite numbers"),
        ("a,b,class\n1,NA,x\n", "column 'b' has 1 values .* first 'NA'"),
        ("a,b,class\n9007199254740993,2,x\n", "column 'a' has integers beyond 2.*53"),
        ("a,b,class\n-9007199254740993,2,x\n", "column 'a' has integers beyond 2.*53"),
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


def test_spaces_after_commas_are_no_part_of_names_and_values(tmp_path):
    (tmp_path / "t.csv").write_text("a, b, class\n1, 2, x\n3, , y\n")
    with pytest.raises(DataError, match=r"column 'b' has 1 values .* first an empty cell in row 1"):
        tables.read_table_file([tmp_path / "t.csv"], label="class")


@pytest.mark.parametrize("rows", [0, 5_000])
def test_a_table_in_another_encoding_is_refused(tmp_path, rows):
    text = "a,b,class\n" + "1,2,x\n" * rows + "1,2,\xe9\n"
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"t\.csv: expected a CSV file in UTF-8"):
        tables.read_table_file([tmp_path / "t.csv"], label="class")


def test_na_is_a_class_like_any_other(tmp_path):
    (tmp_path / "t.csv").write_text("a,class\n1,NA\n2,null\n3,x\n")
    raw = tables.read_table_file([tmp_path / "t.csv"], label="class")
    assert list(raw.labels) == ["NA", "null", "x"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"label": "shpe"}, "option 'label': .*t.csv has no column 'shpe'. Did you mean 'shape'"),
        ({"label": "shape", "client": "wards"}, "option 'client': .* Did you mean 'ward'"),
        ({"label": "shape", "drop": ["wrd"]}, "option 'drop': .* Did you mean 'word' or 'ward'"),
        ({"label": "shape", "columns": ["hight"]}, "option 'columns': .* mean 'height'"),
        ({"label": "shape", "codes": {"wod": {"a": 1}}}, "option 'codes': .* mean 'word'"),
        ({"label": "a", "names": ["a", "b"]}, "option 'names': 2 names for the 4 columns of"),
        ({"label": "a", "names": ["a", "a", "b", "c"]}, "option 'names': two columns share"),
        ({"label": "shape", "columns": ["shape"]}, "option 'columns': 'shape' is the label"),
        (
            {"label": "shape", "client": "ward", "columns": ["height", "ward"]},
            "option 'columns': 'ward' is the label, the client",
        ),
        ({"label": "shape", "codes": {"word": {True: 1}}}, "option 'codes': YAML reads yes"),
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


@pytest.mark.parametrize("edges", [[2, 6], [6, 2]])
def test_label_bins_do_not_depend_on_the_order_of_their_edges(tmp_path, edges):
    (tmp_path / "t.csv").write_text("a,y\n1,1\n2,5\n3,9\n")
    raw = read("table", [tmp_path / "t.csv"], {"label": "y", "label_edges": edges})
    assert raw.labels.tolist() == [0, 1, 2]


def test_a_label_that_is_no_number_has_no_bin(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,nan\n2,5\n")
    with pytest.raises(ConfigurationError, match=r"column 'y' holds text.*'nan' is not a number"):
        read("table", [tmp_path / "t.csv"], {"label": "y", "label_edges": [3]})


def test_codes_replace_numbers_as_well_as_words(tmp_path):
    (tmp_path / "t.csv").write_text("s,y\n1,0\n2,1\n")
    raw = read("table", [tmp_path / "t.csv"], {"label": "y", "codes": {"s": {1: 5.0, "2": 6.0}}})
    assert raw.features.tolist() == [[5.0], [6.0]]


def test_a_chosen_order_of_columns_is_kept(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,0\n")
    raw = read("table", [tmp_path / "t.csv"], {"label": "y", "columns": ["b", "a"]})
    assert raw.features.tolist() == [[2, 1]]


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

"""The pen digits' writers are those of the UNIPEN originals, in the order of the features."""

import pytest

from fedmix.data import DatasetEntry, fetch, load
from fedmix.data.readers import parse_comments, read, read_writers
from fedmix.errors import DataError

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


def test_other_comments_are_not_taken_for_digits():
    digits, writers = parse_comments(".COMMENT written by hand 1 2\n" + UNIPEN)
    assert digits.tolist() == [8, 3]
    assert writers.tolist() == [2, 1]


def test_file_without_comments_is_an_error(tmp_path):
    path = tmp_path / "pendigits-orig.tra"
    path.write_text(".PEN_DOWN\n1 2\n")
    with pytest.raises(DataError, match=r"pendigits-orig\.tra: There is no line"):
        read_writers([path])


def test_writers_of_the_second_file_follow_the_largest_number_of_the_first(tmp_path):
    for name, writers in (("tra", (1, 5)), ("tes", (2, 1))):
        lines = [f".COMMENT 3 {writer} 7" for writer in writers]
        (tmp_path / name).write_text("\n".join(lines))
    _, writers = read_writers([tmp_path / "tra", tmp_path / "tes"])
    assert writers.tolist() == [0, 4, 6, 5]


def test_a_table_of_writers_must_have_the_digits_of_the_features(tmp_path):
    (tmp_path / "p.csv").write_text("x1,x2,class\n1,2,3\n4,5,8\n")
    (tmp_path / "w.csv").write_text("row,split,digit,writer\n0,tra,3,7\n1,tes,8,30\n")
    paths = [tmp_path / "p.csv", tmp_path / "w.csv"]
    raw = read("pendigits_tables", paths, {})
    assert raw.features.tolist() == [[1, 2], [4, 5]]
    assert raw.labels.tolist() == ["3", "8"]
    assert raw.groups.tolist() == [7, 30]
    (tmp_path / "w.csv").write_text("row,split,digit,writer\n0,tra,8,7\n1,tes,3,30\n")
    with pytest.raises(DataError, match=r"w\.csv: row 0 is the digit 8"):
        read("pendigits_tables", paths, {})


def test_originals_must_have_the_digits_of_the_features(tmp_path):
    for part in ("tra", "tes"):
        (tmp_path / f"{part}").write_text(",".join(["1"] * 16) + ",8\n")
        (tmp_path / f"orig.{part}").write_text(".COMMENT 8 1 1\n.COMMENT 3 1 2\n")
    paths = [tmp_path / name for name in ("tra", "tes", "orig.tra", "orig.tes")]
    with pytest.raises(DataError, match=r"orig\.tra has 4 digits; expected 2"):
        read("pendigits_originals", paths, {})


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

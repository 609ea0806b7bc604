"""Fetching keeps what passed all checks, and nothing else."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fedmix.data import (
    Dataset,
    DatasetEntry,
    content_sha256,
    fetch,
    load,
    load_dataset,
    read_registry,
    save_dataset,
)
from fedmix.errors import ConfigurationError, DataError, DownloadError
from fedmix.storage import write_arrays

ROOT = Path(__file__).parents[1]
REGISTRY = read_registry(ROOT / "config" / "datasets.yaml")
CSV = "a,b,y\n1,2.5,u\n3,4.5,v\n5,6.5,v\n"


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch):
    monkeypatch.delenv("FEDMIX_MIRROR", raising=False)


def entry(text=CSV, **changes):
    """The entry of a csv file with the given text."""
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    values = {
        "title": "Tiny",
        "n_points": 3,
        "n_features": 2,
        "class_names": ["u", "v"],
        "class_counts": [1, 2],
        "sources": [
            {
                "reader": "table",
                "options": {"label": "y"},
                "files": [{"name": "tiny.csv", "sha256": sha256}],
            }
        ],
        "embeddings": {"raw": {"kind": "identity"}},
    }
    return DatasetEntry.from_mapping("tiny", values | changes)


def place(folder, text=CSV):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.csv").write_text(text)
    return folder


def kept(raw):
    return sorted(p.name for p in raw.glob("*")) if raw.exists() else []


def test_file_in_the_mirror_becomes_one_checked_npz(tmp_path):
    path = fetch(entry(), tmp_path / "raw", mirror=place(tmp_path / "mirror"))
    assert path == tmp_path / "raw" / "tiny.npz"
    data = load(entry(), tmp_path / "raw")
    np.testing.assert_array_equal(data.features, [[1, 2.5], [3, 4.5], [5, 6.5]])
    np.testing.assert_array_equal(data.labels, [0, 1, 1])
    assert data.features.dtype == np.float64
    assert data.labels.dtype == np.int64
    assert data.groups is None


def test_an_entry_without_sizes_and_classes_takes_those_of_the_file(tmp_path):
    sources = [{"reader": "table", "options": {"label": "y"}, "files": [{"name": "tiny.csv"}]}]
    short = DatasetEntry.from_mapping(
        "tiny", {"title": "T", "sources": sources, "embeddings": {"raw": {"kind": "identity"}}}
    )
    fetch(short, tmp_path / "raw", mirror=place(tmp_path / "mirror"))
    data = load(short, tmp_path / "raw")
    assert data.features.shape == (3, 2)
    assert data.labels.tolist() == [0, 1, 1]


def test_a_wrong_option_names_the_registry_and_the_data_set_and_blames_no_file(tmp_path):
    sources = entry().sources[0].files
    wrong = entry(
        sources=[
            {
                "reader": "table",
                "options": {"label": "z"},
                "files": [{"name": sources[0].name, "sha256": sources[0].sha256}],
            }
        ]
    )
    with pytest.raises(ConfigurationError) as caught:
        fetch(wrong, tmp_path / "raw", mirror=place(tmp_path / "mirror"))
    message = str(caught.value)
    assert message.startswith("config/datasets.yaml: tiny: reader 'table', option 'label': ")
    assert kept(tmp_path / "raw") == []
    assert "damaged" not in message
    assert "Replace" not in message


def test_mirror_is_found_by_its_environment_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDMIX_MIRROR", str(place(tmp_path / "mirror")))
    assert fetch(entry(), tmp_path / "raw").exists()


def test_file_placed_by_hand_comes_before_the_mirror(tmp_path):
    place(tmp_path / "raw" / "originals")
    place(tmp_path / "mirror", "damaged")
    assert fetch(entry(), tmp_path / "raw", mirror=tmp_path / "mirror").exists()


def test_what_is_already_there_is_not_read_again(tmp_path):
    mirror = place(tmp_path / "mirror")
    fetch(entry(), tmp_path / "raw", mirror=mirror)
    (mirror / "tiny.csv").unlink()
    assert fetch(entry(), tmp_path / "raw").exists()


def test_other_sources_replace_what_is_there_once_they_have_passed_all_checks(tmp_path):
    raw, text = tmp_path / "raw", CSV.replace("2.5", "9.5")
    path = fetch(entry(), raw, place(tmp_path / "mirror"))
    before = path.read_bytes()
    with pytest.raises(DownloadError):
        fetch(entry(text), raw, tmp_path, replace=True)
    assert path.read_bytes() == before
    fetch(entry(text), raw, place(tmp_path / "other", text), replace=True)
    assert load(entry(text), raw).features[0, 1] == 9.5


def test_data_whose_content_has_the_registrys_hash_stay(tmp_path):
    raw = tmp_path / "raw"
    known = content_sha256(load_dataset(fetch(entry(), raw, place(tmp_path / "mirror")), "tiny"))
    fetch(entry(content_sha256=known), raw, tmp_path, replace=True)  # no source is asked


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def change_values(path):
    save_dataset(path, Dataset("tiny", np.eye(3, 2), np.array([0, 0, 1])))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [(truncate, r"tiny\.npz is damaged or truncated"), (change_values, "points per class")],
)
def test_a_wrong_npz_is_an_error_on_loading_and_replaced_on_fetching(tmp_path, spoil, says):
    mirror = place(tmp_path / "mirror")
    path = fetch(entry(), tmp_path / "raw", mirror=mirror)
    good = path.read_bytes()
    spoil(path)
    with pytest.raises(DataError, match=says):
        load(entry(), tmp_path / "raw")
    fetch(entry(), tmp_path / "raw", mirror=mirror)
    assert path.read_bytes() == good


def test_an_npz_that_fedmix_did_not_write_is_an_error_that_says_what_to_do(tmp_path):
    write_arrays(tmp_path / "tiny.npz", {"images": np.eye(3, 2), "labels": np.arange(3)})
    says = r"the arrays \['images', 'labels'\]; expected feat.*fedmix did not write.* Move"
    with pytest.raises(DataError, match=says):
        load(entry(), tmp_path)


@pytest.mark.parametrize("labels", [[-1, 0, 1], [0, 1, 2]])
@pytest.mark.parametrize("counts", [[1, 2], None])
def test_labels_are_numbers_of_the_registrys_classes(tmp_path, labels, counts):
    save_dataset(tmp_path / "tiny.npz", Dataset("tiny", np.arange(6.0).reshape(3, 2), labels))
    with pytest.raises(DataError, match=r"labels are from -?\d to \d; expected .*, 0 to 1"):
        load(entry(class_counts=counts), tmp_path)


def test_a_file_that_has_another_md5_is_an_error(tmp_path):
    md5 = hashlib.md5(CSV.encode()).hexdigest()
    file = {"name": "tiny.csv", "md5": md5}
    one = entry(sources=[{"reader": "table", "options": {"label": "y"}, "files": [file]}])
    fetch(one, tmp_path / "raw", mirror=place(tmp_path / "mirror"))
    with pytest.raises(DataError, match=f"has md5 .*; expected {md5}"):
        fetch(one, tmp_path / "other", mirror=place(tmp_path / "mirror", CSV + "\n"))


def test_a_local_source_is_one_with_all_its_files_in_one_folder(tmp_path):
    names = [{"name": "tiny.csv"}, {"name": "more.csv"}]
    sources = [
        {"reader": "table", "options": {"label": "y"}, "files": files}
        for files in (names, [{"name": "whole.csv"}])
    ]
    one, mirror = entry(sources=sources), place(tmp_path / "mirror", CSV[:-8])
    place(tmp_path / "raw" / "originals", CSV[:-8]).joinpath("more.csv").mkdir()  # no file
    with pytest.raises(DownloadError, match="no source has all of its files"):
        fetch(one, tmp_path / "raw", mirror=mirror)
    (mirror / "whole.csv").write_text(CSV)
    fetch(one, tmp_path / "raw", mirror=mirror)
    assert load(one, tmp_path / "raw").n_points == 3


def test_groups_are_counted_not_their_numbers(tmp_path):
    save_dataset(tmp_path / "tiny.npz", Dataset("tiny", np.eye(3, 2), [0, 1, 1], [0, 7, 7]))
    assert load(entry(n_groups=2), tmp_path).groups.tolist() == [0, 7, 7]
    with pytest.raises(DataError, match="number of groups is 2; expected 8"):
        load(entry(n_groups=8), tmp_path)


def test_values_that_are_not_finite_are_told_with_their_row_and_columns(tmp_path):
    features = np.array([[1.0, 2.0, 3.0], [1.0, np.inf, 4.0], [2.0, 1.0, np.nan]])
    save_dataset(tmp_path / "tiny.npz", Dataset("tiny", features, [0, 1, 1]))
    says = r"in column 1 .* first in row 1; columns with such values: \[1, 2\]"
    with pytest.raises(DataError, match=says):
        load(entry(n_features=3), tmp_path)


def test_truncated_raw_file_names_file_checksums_and_remedy(tmp_path):
    mirror = place(tmp_path / "mirror", CSV[:-5])
    with pytest.raises(DataError) as caught:
        fetch(entry(), tmp_path / "raw", mirror=mirror)
    message = str(caught.value)
    assert str(mirror / "tiny.csv") in message
    assert hashlib.sha256(CSV.encode()).hexdigest() in message
    assert hashlib.sha256(CSV[:-5].encode()).hexdigest() in message
    assert "If the file is the right one, correct 'tiny' in config/datasets.yaml" in message
    assert message.endswith("Else replace the file, which fedmix does not change.")
    assert kept(tmp_path / "raw") == []


def test_a_bad_file_names_the_other_sources_if_there_are_any(tmp_path):
    one = {"reader": "table", "options": {"label": "y"}, "files": [{"name": "one.csv"}]}
    other = {"reader": "table", "options": {"label": "y"}, "files": [{"name": "other.csv"}]}
    (tmp_path / "one.csv").write_text("a,b,y\n1,,u\n3,4,v\n")
    with pytest.raises(DataError, match="without its folder to try the other sources"):
        fetch(entry(sources=[one, other]), tmp_path / "raw", mirror=tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CSV + "7,8,v\n", r"shape is \(4, 2\); expected \(3, 2\)"),
        ("a,b,y\n1,2,u\n3,4,v\n", r"shape is \(2, 2\); expected \(3, 2\)"),
        (CSV.replace("v", "u"), r"points per class is \(3, 0\); expected \(1, 2\)"),
        (CSV.replace("u", "w"), "class 'w' is not expected"),
        (CSV.replace("4.5", ""), "column 'b' has 1 values that are not finite numbers.*row 1"),
        (CSV.replace("4.5", "abc"), "column 'b' .*'abc' in row 1"),
        ("a,b,y\n1,2.5,u\n3,2.5,v\n5,2.5,v\n", r"1 columns hold one value only.*\[1\]"),
        ("", "reader 'table' failed"),
    ],
)
def test_bad_content_is_an_error_and_not_kept(tmp_path, text, expected):
    mirror = place(tmp_path / "mirror", text)
    with pytest.raises(DataError, match=expected):
        fetch(entry(text), tmp_path / "raw", mirror=mirror)
    assert kept(tmp_path / "raw") == []


def test_expected_constant_columns_are_reported_and_allowed(tmp_path):
    text = "a,b,y\n1,2.5,u\n3,2.5,v\n5,2.5,v\n"
    lines = []
    fetch(
        entry(text, constant_columns=1),
        tmp_path / "raw",
        mirror=place(tmp_path / "mirror", text),
        log=lines.append,
    )
    assert "1 columns hold one value only" in lines[-1]


def test_wrong_content_hash_is_an_error(tmp_path):
    with pytest.raises(DataError, match="sha256 of the values"):
        fetch(entry(content_sha256="0" * 64), tmp_path, mirror=place(tmp_path / "mirror"))


def test_missing_groups_are_an_error(tmp_path):
    with pytest.raises(DataError, match="number of groups is None; expected 2"):
        fetch(entry(n_groups=2), tmp_path, mirror=place(tmp_path / "mirror"))


def test_no_source_at_all_tells_how_to_place_the_file(tmp_path):
    with pytest.raises(DownloadError) as caught:
        fetch(entry(), tmp_path / "raw")
    message = str(caught.value)
    assert "tiny.csv (sha256 " in message
    assert str(tmp_path / "raw" / "originals") in message
    assert kept(tmp_path / "raw") == []


def test_a_missing_file_of_an_entry_without_sizes_tells_how_to_place_it(tmp_path):
    wards = read_registry(ROOT / "docs" / "examples" / "wards.yaml")["wards"]
    with pytest.raises(DownloadError, match=r"To place it by hand.*\n  - wards\.csv$"):
        fetch(wards, tmp_path / "raw")
    assert not (tmp_path / "raw").exists()


def test_mirror_that_is_no_folder_is_an_error(tmp_path):
    with pytest.raises(ConfigurationError, match="not a folder"):
        fetch(entry(), tmp_path / "raw", mirror=tmp_path / "nowhere")


def test_two_at_once_do_no_harm(tmp_path):
    mirror = place(tmp_path / "mirror")
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(fetch, entry(), tmp_path / "raw", mirror) for _ in range(8)]
        assert len({job.result() for job in jobs}) == 1
    assert kept(tmp_path / "raw") == ["tiny.npz"]


@pytest.mark.parametrize("name", ["digits", "waveform_generated"])
def test_offline_data_sets_need_neither_mirror_nor_network(tmp_path, name):
    fetch(REGISTRY[name], tmp_path)
    data = load(REGISTRY[name], tmp_path)
    assert data.features.shape == (REGISTRY[name].n_points, REGISTRY[name].n_features)


def test_the_same_data_give_the_same_bytes(tmp_path):
    one = fetch(REGISTRY["digits"], tmp_path / "one").read_bytes()
    other = fetch(REGISTRY["digits"], tmp_path / "other").read_bytes()
    assert one == other


@pytest.mark.parametrize(
    ("features", "stored"),
    [
        (np.array([[0.0, 255.0]]), np.uint8),
        (np.array([[-1.0, 0.5]]), np.float32),
        (np.array([[0.1, 1e300]]), np.float64),
        (np.array([[1e-150, 1e150]]), np.float64),
    ],
)
def test_saving_keeps_every_value_in_the_smallest_type(tmp_path, features, stored):
    path = tmp_path / "x.npz"
    save_dataset(path, Dataset("x", features, np.array([3]), np.array([1])))
    with np.load(path) as archive:
        assert archive["features"].dtype == stored
    data = load_dataset(path)
    np.testing.assert_array_equal(data.features, features)
    assert data.name == "x"
    assert data.groups.tolist() == [1]


def test_content_hash_depends_on_values_alone():
    features, labels = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])
    one = content_sha256(Dataset("a", features, labels))
    same = Dataset("b", np.asfortranarray(features.astype(np.float32)), labels.astype(np.uint8))
    assert content_sha256(same) == one
    assert content_sha256(Dataset("a", features, labels, labels)) != one
    assert content_sha256(Dataset("a", features + 1, labels)) != one


@pytest.mark.parametrize(
    ("features", "labels"),
    [
        (np.ones(3), np.zeros(3, int)),
        (np.ones((0, 2)), np.zeros(0, int)),
        (np.ones((3, 2)), np.zeros(2, int)),
        (np.ones((3, 2)), np.zeros(3)),
    ],
)
def test_data_set_of_wrong_shape_is_an_error(features, labels):
    with pytest.raises(DataError):
        Dataset("x", features, labels)

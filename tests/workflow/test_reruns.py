"""Results are remade when code, parameters or inputs differ, not when files are younger."""

import os
import shutil
import subprocess
import time

import pytest

from fedmix.storage import read_arrays, write_arrays
from pipeline import Pipeline

pytestmark = pytest.mark.workflow

SHOWN = ("tables/fedgrem_table1.md", "audit/audit.json", "index.html")
CHANGED = {"csv": "\n", "py": "\nchanged = 1\n", "yaml": "\n# changed\n"}
TARGETS = tuple(f"results/smoke/{name}" for name in SHOWN)


@pytest.fixture
def done(finished, tmp_path):
    return finished.copy(tmp_path / "copy")


def test_a_clone_elsewhere_has_nothing_to_remake_of_results_that_are_there(done, tmp_path):
    """All of its code and configuration is younger than the results, as after `touch` as well."""
    clone = Pipeline(tmp_path / "elsewhere" / "deeper")
    shutil.copytree(done.project, clone.project, copy_function=shutil.copyfile)
    shutil.rmtree(done.project)
    clone.work = done.work
    assert not clone.planned(*TARGETS)


def test_a_plain_copy_has_nothing_to_remake_without_the_folder_that_it_was_copied_from(
    done, tmp_path
):
    """`cp -r` gives every file a new time, in any order. The first folder is gone, as if moved."""
    copy = Pipeline(tmp_path / "second")
    subprocess.run(["cp", "-r", done.project.parent, copy.project.parent], check=True)
    shutil.rmtree(done.project.parent)
    for age, path in enumerate(sorted(copy.work.rglob("*.*"), reverse=True)):
        os.utime(path, (time.time() + age - 10_000,) * 2)
    assert not copy.planned(*TARGETS)


@pytest.mark.parametrize(
    ("file", "rules"),
    [
        ("workflow/scripts/collect_results.py", {"collect_results", "make_table", "judge_results"}),
        ("workflow/scripts/make_table.py", {"make_table"}),
        ("data/published/fedgrem/misclustering.csv", {"make_table", "judge_results"}),
        ("config/papers/fedgrem/claims.yaml", {"judge_results", "build_page"}),
    ],
)
def test_other_content_remakes_what_follows_from_it(done, file, rules):
    with open(done.project / file, "a", encoding="utf-8") as stream:
        stream.write(CHANGED[file.rpartition(".")[2]])
    planned = done.planned(*TARGETS)
    assert rules <= set(planned)
    assert "run_methods" not in planned


def test_an_input_of_other_content_remakes_what_follows_from_it(done):
    embedded = done.work / "data/embedded/digits/pca10.npz"
    arrays = read_arrays(embedded)
    write_arrays(embedded, {**arrays, "features": arrays["features"][::-1]})
    assert done.planned(*TARGETS)["run_methods"] == 2


def test_what_is_said_about_a_data_set_fetches_nothing(done):
    done.edit("config/datasets.yaml", "title: Digits", "title: Handwritten digits")
    assert not {"fetch_data", "embed_features", "run_methods"} & set(done.planned(*TARGETS))


def test_raw_data_stay_where_other_sources_deliver_nothing(done):
    raw = done.work / "data/raw/digits.npz"
    before = raw.read_bytes()
    done.edit("config/datasets.yaml", "n_points: 1797", "n_points: 1798")
    failed = done.run("data/raw/digits.npz", check=False)
    assert failed.returncode != 0
    assert raw.read_bytes() == before

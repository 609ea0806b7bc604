"""The stamp of kept pages changes with all that they are made from, and with nothing else."""

import shutil

import pytest

from fedmix.pipeline.provenance import stamp_of
from synthetic_results import ROOT

PARTS = {
    "evidence": "data/evidence/one.parquet",
    "configuration": "config/papers/fedgrem/claims.yaml",
    "code": "workflow/scripts/make_table.py",
}


@pytest.fixture
def repository(tmp_path):
    tmp_path = tmp_path / "repository"
    for folder in ("config", "workflow/scripts", "data/published"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "data/evidence").mkdir()
    (tmp_path / PARTS["evidence"]).write_bytes(b"rows")
    return tmp_path


def parts(repository):
    words = stamp_of(repository).removeprefix("Stamp: ").rstrip(".").split(", ")
    return dict(word.split() for word in words)


def edited(repository, part, text):
    """Return the parts of the stamp of a copy in which a file ends with more text."""
    copy = repository.parent / "edited"
    shutil.copytree(repository, copy)
    with open(copy / PARTS[part], "a", encoding="utf-8") as file:
        file.write(text)
    return parts(copy)


@pytest.mark.parametrize("part", PARTS)
def test_a_change_changes_its_part_alone(part, repository):
    before, after = parts(repository), edited(repository, part, "\nnew = 1\n")
    assert {name for name in before if before[name] != after[name]} == {part}


def test_a_kept_search_is_evidence(repository):
    before = parts(repository)
    kept = repository / "docs/reproduction/protocols/fedgrem/fedgrem_table1/runs.parquet"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"rows")
    after = parts(repository)
    assert {name for name in before if before[name] != after[name]} == {"evidence"}


def test_a_comment_in_the_code_and_a_moved_repository_change_nothing(repository):
    assert edited(repository, "code", "\n# A comment.\n") == parts(repository)

"""What is recorded of the code that made a result."""

import subprocess

import pytest

from fedmix import revision


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return the folder of a package in a repository of its own."""
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    for path in (package / "revision.py", tmp_path / "README.md"):
        path.write_text("x = 1")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    monkeypatch.setattr(revision, "__file__", str(package / "revision.py"))
    return package


def test_only_changed_code_makes_a_commit_dirty(package):
    name = revision.commit.__wrapped__()
    assert len(name) >= 7
    (package.parents[1] / "README.md").write_text("x = 2")
    assert revision.commit.__wrapped__() == name
    (package / "revision.py").write_text("x = 2")
    assert revision.commit.__wrapped__() == f"{name}-dirty"


def test_outside_a_repository_the_commit_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(revision, "__file__", str(tmp_path / "revision.py"))
    assert revision.commit.__wrapped__() == "unknown"

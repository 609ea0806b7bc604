"""What makes a result, and what makes the kept pages, changes with its parts and nothing else."""

import shutil
import subprocess

import pytest

from fedmix import revision
from fedmix.pipeline import provenance
from fedmix.pipeline.provenance import stamp_of
from synthetic_results import ROOT


def forget():
    """Empty the caches, because the files behind them have changed."""
    for name in ("source_hash", "_closure", "_imports", "_file_of"):
        getattr(provenance, name).cache_clear()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return an empty folder that takes the place of the package's."""
    with monkeypatch.context() as patched:
        patched.setattr(provenance, "ROOT", tmp_path)
        forget()
        yield tmp_path
    forget()


def test_a_method_depends_on_its_own_module_and_what_it_imports():
    files = set(provenance._closure("fedmix.methods.em_baselines"))
    assert {"methods/em_baselines.py", "methods/federated_mixture.py", "kernels/em.py"} <= files
    assert "methods/fedgrem.py" not in files


def test_changed_code_changes_the_hash_of_what_imports_it_and_of_nothing_else(project):
    (project / "methods").mkdir()
    (project / "kernel.py").write_text("x = 1\n")
    (project / "methods" / "a.py").write_text("from fedmix.kernel import x\n")
    (project / "methods" / "b.py").write_text("import fedmix.other\n")

    def hashes():
        forget()
        return [provenance.source_hash(f"fedmix.methods.{m}") for m in "ab"]

    before = hashes()
    (project / "kernel.py").write_text("x = 2\n")
    after = hashes()
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_a_new_version_alone_changes_no_hash(project):
    module = project / "a.py"

    def hash_of(text):
        module.write_text(text)
        forget()
        return provenance.source_hash("fedmix.a")

    first = hash_of('__version__ = "0.1.0"\nx = 1\n')
    assert hash_of('__version__ = "0.2.0"\nx = 1\n') == first
    assert hash_of('__version__ = "0.2.0"\nx = 2\n') != first


MODULE = '''"""Module."""
# A comment.
def f(x):
    """Function."""
    text = """not a # docstring
    """
    return x + len(text)  # trailing
'''


@pytest.mark.parametrize(
    ("old", "new", "is_code"),
    [
        ("Module.", "Another module.", False),
        ("Function.", "Another\n\n    function.", False),
        ("# A comment.\n", "", False),
        ("  # trailing", "", False),
        ("# A comment.\n", "\n\n\n", False),
        ("not a # docstring", "not a # comment", True),
        ("x + ", "x - ", True),
    ],
)
def test_only_code_is_hashed(project, old, new, is_code):

    def hash_of(text):
        (project / "a.py").write_text(text)
        forget()
        return provenance.source_hash("fedmix.a")

    assert old in MODULE
    assert (hash_of(MODULE) != hash_of(MODULE.replace(old, new))) == is_code


def test_a_result_depends_on_how_its_data_are_read():
    assert "data/dataset.py" in provenance._closure("fedmix.experiments.runner")


def test_no_result_depends_on_the_code_that_reads_the_configuration():
    files = provenance.source_files(
        "fedmix.experiments.real_clustering", "fedmix.experiments.runner"
    )
    assert {"data/registry.py", "configuration.py"}.isdisjoint(files)


def test_a_package_counts_with_its_subpackages():
    assert "cells/protocols/score.py" in provenance.source_files("fedmix.cells")


def test_a_package_counts_with_what_it_loads_by_name(project):
    package = project / "views" / "page"
    (package / "templates").mkdir(parents=True)
    files = [package / "sections.py", package / "templates" / "page.html"]
    for path in [package / "__init__.py", *files]:
        path.write_text("")

    def fresh_hash():
        forget()
        return provenance.source_hash("fedmix.views.page")

    seen = [fresh_hash()]
    for path in files:
        path.write_text("changed = 1")
        seen.append(fresh_hash())
    assert len(set(seen)) == 3


def test_what_only_a_type_checker_imports_is_not_behind_a_result():
    files = set(provenance._closure("fedmix.experiments.real_clustering"))
    assert "selection.py" in files
    assert "methods/fedgrem.py" not in files


def test_code_that_is_not_there_has_no_hash():
    with pytest.raises(ModuleNotFoundError, match=r"no module 'fedmix.*nowhere'"):
        provenance.source_hash("fedmix.methods.fedgrem", "fedmix.methods.nowhere")


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

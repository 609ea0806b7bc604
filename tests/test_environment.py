"""environment.yml, pyproject.toml and requirements.lock tell the same story."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
CONDA_NAMES = {"snakemake": "snakemake-minimal", "matplotlib": "matplotlib-base"}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def locked():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [re.match(r"([A-Za-z0-9._-]+)==([^ ;\\]+)", line) for line in lines]
    return {pin[1].lower().replace("_", "-"): Version(pin[2]) for pin in pins if pin}


def requirements(project):
    extras = project["optional-dependencies"]
    in_lock = ("test", "lint", "docs", "slurm")
    texts = [*project["dependencies"], *(text for name in in_lock for text in extras[name])]
    return [Requirement(text) for text in texts]


def test_the_lock_satisfies_every_range_of_the_project(project, locked):
    for requirement in requirements(project):
        assert locked[requirement.name] in requirement.specifier, requirement


def test_the_lock_pins_each_package_once_with_hashes_and_names_no_index():
    text = (ROOT / "requirements.lock").read_text()
    names = re.findall(r"^([A-Za-z0-9._-]+)==", text, flags=re.M)
    assert len(names) == len(set(names))
    assert text.count("--hash=sha256:") >= len(names)
    assert "://" not in text
    assert "index-url" not in text


def test_conda_and_pip_ask_for_the_same_versions(project):
    conda = set(yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"])
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    expected = {f"python{project['requires-python']}"}
    for text in wanted:
        requirement = Requirement(text)
        name = CONDA_NAMES.get(requirement.name, requirement.name)
        expected.add(text.replace(requirement.name, name, 1))
    assert conda == expected

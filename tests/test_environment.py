"""The environment, the lock and the container recipes agree on what is installed."""

import json
import os
import re
import subprocess
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import fedmix

ROOT = Path(__file__).parents[1]
CONDA_NAMES = {"snakemake": "snakemake-minimal", "matplotlib": "matplotlib-base"}
PIP_NAMES = {conda: pip for pip, conda in CONDA_NAMES.items()}
HOOKS = [
    hook
    for repository in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    for hook in repository["hooks"]
]


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def conda():
    """The dependencies of environment.yml as they are written there."""
    return yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]


@pytest.fixture(scope="module")
def locked():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [re.match(r"([A-Za-z0-9._-]+)(?:\[.*\])?==([^ ;\\]+)", line) for line in lines]
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
    names = re.findall(r"^([A-Za-z0-9._-]+)(?:\[.*\])?==", text, flags=re.M)
    assert len(names) == len(set(names))
    assert text.count("--hash=sha256:") >= len(names)
    assert len(names) > 100
    assert "://" not in text
    assert "index-url" not in text


def test_the_lock_names_the_extras_that_locked_packages_ask_for(locked):
    """Else pip looks for the newest release with the extra, and finds no hash for it."""
    text = (ROOT / "requirements.lock").read_text()
    for distribution in distributions():
        if distribution.name.lower() not in locked:
            continue
        for required in map(Requirement, distribution.requires or []):
            if required.extras and (not required.marker or required.marker.evaluate({"extra": ""})):
                extras = ",".join(sorted(required.extras))
                assert f"\n{required.name}[{extras}]==" in text, distribution.name


def test_conda_and_pip_ask_for_the_same_versions(project, conda):
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    expected = {f"python{project['requires-python']}"}
    for text in wanted:
        requirement = Requirement(text)
        name = CONDA_NAMES.get(requirement.name, requirement.name)
        expected.add(text.replace(requirement.name, name, 1))
    assert set(conda) == expected


def test_the_lock_satisfies_every_range_of_the_conda_environment(conda, locked):
    for requirement in map(Requirement, conda):
        if requirement.name != "python":
            name = PIP_NAMES.get(requirement.name, requirement.name)
            assert locked[name] in requirement.specifier, requirement


def test_the_version_is_written_in_the_package_and_every_other_file_agrees(project):
    assert "version" in project["dynamic"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", fedmix.__version__)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == fedmix.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {fedmix.__version__}\n" in changes
    for name in ("Snakefile", "Dockerfile", "apptainer.def", "pyproject.toml"):
        assert fedmix.__version__ not in (ROOT / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_commit_hook_runs_a_tool_of_the_lock(hook, locked):
    assert hook["language"] == "system"
    assert hook["entry"].split()[0] in locked


RECIPES = {name: (ROOT / name).read_text() for name in ("Dockerfile", "apptainer.def")}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(params=RECIPES)
def recipe(request):
    return RECIPES[request.param]


def test_python_packages_come_from_the_lock_alone(recipe):
    installs = re.findall(r"pip install (.*)", recipe)
    assert installs == [
        "--no-cache-dir --require-hashes -r /opt/fedmix/requirements.lock",
        "--no-cache-dir --no-deps --no-build-isolation /opt/fedmix",
    ]


def test_both_recipes_are_the_same(recipe):
    other = RECIPES["Dockerfile"]
    for pattern in (r"@(sha256:[0-9a-f]{64})$", r"apt-get install [^\\\n]*\w", r"pip install .*"):
        found = [re.findall(pattern, text, flags=re.M) for text in (recipe, other)]
        assert found[0]
        assert found[0] == found[1]


def test_caches_are_where_an_image_can_write_and_a_users_own(recipe):
    assert "own=/tmp/fedmix-$(id -u)" in recipe
    assert "NUMBA_CACHE_DIR=$own/numba MPLCONFIGDIR=$own/matplotlib" in recipe


def test_the_entry_point_gives_a_command_its_caches(tmp_path):
    [line] = re.findall(r"^ENTRYPOINT (.*)$", RECIPES["Dockerfile"], re.M)
    entry = [part.replace("/tmp/", f"{tmp_path}/") for part in json.loads(line)]
    printed = subprocess.check_output(
        [*entry, "sh", "-c", 'echo "$NUMBA_CACHE_DIR" "$1"', "", "a b"]
    )
    own = tmp_path / f"fedmix-{os.getuid()}"
    assert printed.decode() == f"{own}/numba a b\n"
    assert own.stat().st_mode & 0o777 == 0o700


def test_the_base_image_is_pinned_and_has_a_python_that_the_project_supports(recipe):
    assert re.search(r"(?im)^from:? python\S*@sha256:[0-9a-f]{64}$", recipe)
    [version] = re.findall(r"python:(\d+\.\d+)\.\d+-slim", recipe)
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)


def test_every_copied_file_exists_and_docker_may_see_it(recipe):
    seen = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] == "!"
    }
    copied = re.findall(r"^COPY (.*) /\S+$", recipe, flags=re.M)
    copied += re.findall(r"^    (\S+) /opt/fedmix/", recipe, flags=re.M)
    names = {name for line in copied for name in line.split()}
    assert names == seen
    assert all((ROOT / name).exists() for name in names)


def test_no_image_is_named_that_nobody_published():
    for name in ("Snakefile", "Dockerfile", "apptainer.def"):
        assert "docker://" not in (ROOT / name).read_text()


def test_the_lock_can_build_the_package_without_isolation():
    locked = (ROOT / "requirements.lock").read_text()
    assert re.search(r"^setuptools==", locked, flags=re.M)

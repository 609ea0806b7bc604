"""The container recipes install what the lock says, and nothing else.

They cannot be built everywhere that tests run; their text can be read everywhere.
"""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
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
    for pattern in (
        r"@(sha256:[0-9a-f]{64})$",
        r"apt-get install [^\\\n]*\w",
        r"pip install .*",
    ):
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

"""Fixtures that several test modules share, and what slow tests have in common."""

import os
import shutil
from functools import cache
from pathlib import Path

import pytest

from fedmix import plugins
from fedmix.pipeline import request
from fedmix.pipeline.jobs import prepare_process

prepare_process()  # as a job does: one thread, and the compiled code that jobs use
_ROOT = Path(__file__).parents[1]


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items):
    """Tests that run Snakemake are slow."""
    for item in items:
        if item.get_closest_marker("workflow"):
            item.add_marker("slow")


def read_once(read):
    """The repository's own configuration stays as it is, so it is read and checked once."""
    own = cache(lambda: read(_ROOT / "config"))

    def read_configuration(folder):
        return read(folder) if plugins.modules() or folder != _ROOT / "config" else own()

    return read_configuration


request.read_configuration = read_once(request.read_configuration)  # modules read it too


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The local mirror of the real data; tests that need it are skipped without it."""
    folder = os.environ.get("FEDMIX_MIRROR", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("FEDMIX_MIRROR names no folder: real-data tests need a mirror")
    return Path(folder)


@pytest.fixture
def folder(tmp_path):
    """A copy of the configuration that a test may spoil."""
    shutil.copytree(_ROOT / "config", tmp_path / "config")
    shutil.copytree(_ROOT / "data" / "published", tmp_path / "data" / "published")
    return tmp_path / "config"

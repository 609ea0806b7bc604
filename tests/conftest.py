"""Fixtures that several test modules share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The local mirror of the real data; tests that need it are skipped without it."""
    folder = os.environ.get("FEDMIX_MIRROR", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("FEDMIX_MIRROR names no folder: real-data tests need a mirror")
    return Path(folder)

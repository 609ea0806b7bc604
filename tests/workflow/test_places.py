"""A clone may lie anywhere: spaces and letters of any script in its path."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from pipeline import SETTING, Pipeline

pytestmark = pytest.mark.workflow


def test_a_clone_with_its_own_environment_runs_in_any_folder(tmp_path):
    """As `make` sets it up: the environment lies in the clone."""
    folder = tmp_path / "first half" / "größe-混合"
    environment = folder / "project" / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    libraries = Path(sysconfig.get_path("purelib", vars={"base": environment}))
    (libraries / "outer.pth").write_text(sysconfig.get_path("purelib"))
    pipeline = Pipeline.new(folder, environment / "bin" / "python")
    block = f"{SETTING}/0-0.parquet"
    pipeline.run(block)
    assert (pipeline.work / block).exists()

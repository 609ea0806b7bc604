"""A clone may lie anywhere: spaces and letters of any script in its path."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from pipeline import SETTING, Pipeline

pytestmark = pytest.mark.workflow


@pytest.mark.parametrize("name", ["first half", "größe-混合"])
def test_a_clone_with_its_own_environment_runs_in_any_folder(tmp_path, name):
    """As `make` sets it up: the environment lies in the clone."""
    environment = tmp_path / name / "project" / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    libraries = Path(sysconfig.get_path("purelib", vars={"base": environment}))
    (libraries / "outer.pth").write_text(sysconfig.get_path("purelib"))
    pipeline = Pipeline.new(tmp_path / name, environment / "bin" / "python")
    block = f"{SETTING}/0-0.parquet"
    pipeline.run(block)
    assert (pipeline.work / block).exists()

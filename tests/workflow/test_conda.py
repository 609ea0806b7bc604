"""`--sdm conda`: Snakemake with nothing but itself, and the jobs in what environment.yml makes.

A stand-in for conda makes environments whose Python is the one of the tests, and a list of the
libraries that planning must do without stands for a Snakemake that is installed alone.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import ROOT, SMOKE, Pipeline

pytestmark = pytest.mark.workflow

TABLE = "results/smoke/tables/fedgrem_table1.md"

CONDA = """#!/bin/sh
case "$*" in
    "info --json") echo '{{"conda_prefix": "{root}", "platform": "linux-64"}}' ;;
    --version) echo "conda 25.1.1" ;;
    "config --get channel_priority --json") echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
    "env create"*)
        for prefix; do :; done  # the last argument
        mkdir -p "$prefix/bin"
        ln -s {root}/bin/python-of-jobs "$prefix/bin/python"
        echo "$@" >> {root}/created ;;
    "clean "*) ;;
    *) echo "unexpected: conda $*" >&2; exit 1 ;;
esac
"""
ACTIVATE = """export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"
"""
PYTHON = """#!/bin/sh
exec {python} "$@"
"""
ALONE = """
import os, sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"{{name}} is not installed beside Snakemake", name=name)

if "CONDA_PREFIX" not in os.environ:
    sys.meta_path.insert(0, Missing())
"""
# Not NumPy and pandas, which the plugin for SLURM brings along.
MISSING = {"scipy", "pyarrow", "sklearn", "numba", "matplotlib", "openml"}


@pytest.fixture
def conda(tmp_path):
    root = tmp_path / "conda"
    (root / "bin").mkdir(parents=True)
    for name, text in {
        "conda": CONDA.format(root=root),
        "activate": ACTIVATE,
        "python-of-jobs": PYTHON.format(python=sys.executable),
    }.items():
        (root / "bin" / name).write_text(text)
        (root / "bin" / name).chmod(0o755)
    (root / "sitecustomize.py").write_text(ALONE.format(missing=MISSING))
    return root


def test_jobs_run_in_the_conda_environment_and_snakemake_beside_it(conda, tmp_path):
    pipeline = Pipeline.new(tmp_path)
    pipeline.edit(SMOKE, "n_contaminated: [0, 1]", "n_contaminated: [0]")  # a job of each rule
    programs = [f"{conda}/bin", str(Path(sys.executable).parent), os.environ["PATH"]]
    alone = {"PATH": os.pathsep.join(programs), "PYTHONPATH": str(conda)}
    without = pipeline.run(TABLE, environment=alone, check=False)
    assert "is not installed beside Snakemake" in without.stdout
    pipeline.run("--sdm=conda", TABLE, environment=alone)
    assert (pipeline.work / TABLE).exists()
    assert len((conda / "created").read_text().splitlines()) == 1
    # Numba files compiled code by the place of its source: jobs took fedmix from the clone.
    assert len([*pipeline.project.parent.glob("compiled/*/kernels_*")]) == 1


PLAN = """
import sys
from fedmix.cells import unreported
from fedmix.cells.protocols import space
from fedmix.pipeline import forecast, kept_embeddings, plan, precision
from fedmix.pipeline import provenance, status
from fedmix.configuration import read_yaml
from fedmix.pipeline.request import read_request

read_request(sys.argv[1], read_yaml(sys.argv[1] + "/config.yaml") | {"preset": "paper"})
print({"numpy", "pandas", "scipy", "sklearn", "numba"} & set(sys.modules) or "nothing")
"""


def test_planning_imports_no_numerical_library():
    command = [sys.executable, "-c", PLAN, str(ROOT / "config")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "nothing\n"

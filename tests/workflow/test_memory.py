"""What jobs do with memory."""

import platform

import pytest

from pipeline import Pipeline

RULE = """

rule count_faults:
    output:
        "faults",
    script:
        "count_faults.py"
"""
#: Twenty arrays of 32 MB, one after another; pages that the system had to give for each.
SCRIPT = """
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np

faults = []
for _ in range(20):
    before = getrusage(RUSAGE_SELF).ru_minflt
    np.ones(2**22)
    faults.append(getrusage(RUSAGE_SELF).ru_minflt - before)
Path(snakemake.output[0]).write_text(" ".join(map(str, faults)))
"""
pytestmark = [
    pytest.mark.workflow,
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries have other ways"),
]


def test_jobs_keep_the_memory_of_arrays_that_are_freed(tmp_path):
    pipeline = Pipeline.new(tmp_path)
    with open(pipeline.project / "Snakefile", "a", encoding="utf-8") as snakefile:
        snakefile.write(RULE)
    (pipeline.project / "count_faults.py").write_text(SCRIPT, encoding="utf-8")
    pipeline.run("faults")
    first, *others = map(int, (pipeline.work / "faults").read_text(encoding="utf-8").split())
    assert first > 0
    assert sum(others) < first

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


@pytest.fixture
def faults(tmp_path):
    """Return the pages that each of the arrays cost in a job."""
    pipeline = Pipeline.new(tmp_path)
    with open(pipeline.project / "Snakefile", "a", encoding="utf-8") as snakefile:
        snakefile.write(RULE)
    (pipeline.project / "count_faults.py").write_text(SCRIPT, encoding="utf-8")

    def count(**environment):
        pipeline.run("faults", environment=environment)
        return [*map(int, (pipeline.work / "faults").read_text(encoding="utf-8").split())]

    return count


def test_jobs_keep_the_memory_of_arrays_that_are_freed(faults):
    first, *others = faults()
    assert first > 0
    assert sum(others) < first


def test_what_somebody_has_set_stays(faults):
    first, *others = faults(MALLOC_MMAP_MAX_="65536", MALLOC_TRIM_THRESHOLD_="131072")
    assert sum(others) > first

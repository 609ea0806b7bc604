"""The same results whatever the number of cores and the size of the blocks."""

from pathlib import Path

import pytest

from fedmix.storage import read_table
from pipeline import COLLECTED, METHODS, SETTING

pytestmark = pytest.mark.workflow


def test_other_cores_and_other_blocks_give_the_same_replications(finished, pipeline, tmp_path):
    """One core and both replications in one block, beside two cores and a block of one."""
    for name in ("results", "data/embedded"):
        (pipeline.work / name).rename(tmp_path / name.replace("/", "_"))
    two_in_a_block = {"replications": 2, "block": 2}
    pipeline.run(COLLECTED, cores=1, config=two_in_a_block)

    alone = read_table(finished.work / COLLECTED)
    together = read_table(pipeline.work / COLLECTED)
    assert set(alone["method"]) == set(METHODS)
    assert together[together["replication"] == 0].reset_index(drop=True).equals(alone)


def test_a_cell_run_again_in_the_foreground_gives_the_stored_values(pipeline):
    rows = read_table(pipeline.work / SETTING / "0-0.parquet")
    stored = rows[rows["method"] == "FedGrEM"]
    output = pipeline.command(
        "rerun", "fedgrem_real", Path(SETTING).name, "FedGrEM", "0", "--directory", pipeline.work
    )
    told = dict(line.split(": ") for line in output.stdout.splitlines())
    final = stored[stored["round"].isna()]
    for metric, value in zip(final["metric"], final["value"], strict=True):
        assert float(told[metric]) == value

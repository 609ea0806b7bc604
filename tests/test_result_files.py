"""A file of results that is not what its name says is named, with what it holds."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fedmix.data import Dataset, check_embedding
from fedmix.errors import DataError
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.runner import Scenario, run_block, tables_of
from fedmix.pipeline.blocks import COLUMNS
from fedmix.pipeline.collect import read_blocks
from fedmix.pipeline.plan import block_paths, finished_blocks
from fedmix.storage import write_table

FOLDER = "results/study/small.h0"
KEYS = {"FedEM": "key"}


@pytest.fixture
def frames(monkeypatch):
    """What the pipeline writes for two replications."""
    module = ModuleType("fedmix.experiments.toy")
    module.Settings, module.make_problem = SimpleNamespace, lambda *arguments: {}
    module.run = lambda *arguments: Outcome(
        metrics={"error": 0.5},
        trajectories={"error": np.ones(2)},
        rounds=1,
        converged=True,
        floats_up=3,
        floats_down=4,
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    scenario = Scenario("study", "small", "h0", "toy", {"h": 0.0})
    method = Method("FedEM", "FedEM")
    results, timings = tables_of(
        scenario, method, run_block(scenario, [method], range(2)), range(2)
    )
    return {"results": results, "timings": timings.assign(made="{}")}


@pytest.fixture
def block(frames, tmp_path):
    path = tmp_path / FOLDER / "0-1.parquet"
    frames["results"].attrs = {"keys": KEYS}
    write_table(path, frames["results"])
    write_table(path.with_suffix(".timings.parquet"), frames["timings"])
    return path


def test_what_the_pipeline_writes_is_read_back(frames, block):
    results, timings = read_blocks([block], {"FedEM": 2}, KEYS)
    assert results.equals(frames["results"])
    assert len(timings) == 2
    for kind, frame in frames.items():
        assert set(COLUMNS[kind]) <= set(frame)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows[rows["replication"] == 0], "FedEM lacks replications 1 of 2"),
        (lambda rows: rows.iloc[:0], "FedEM lacks replications 0, 1 of 2"),
        (lambda rows: pd.DataFrame({"a": [1]}), "the columns study, variant, .* it has a"),
        (lambda rows: pd.DataFrame(), "the columns study, variant, .* it has none"),
        (lambda rows: rows.drop(columns="value"), "the columns value are missing"),
        (lambda rows: rows.assign(value="high"), "column value is of type"),
        (lambda rows: rows.assign(replication=0.5), "column replication is of type float64"),
        (
            lambda rows: rows.assign(replication=rows["replication"] + 1),
            "it holds FedEM, replications 2, which",
        ),
        (lambda rows: rows.assign(method="FedGrEM"), "FedEM lacks replications 0, 1 of 2"),
        (lambda rows: rows.assign(study="other"), "it holds rows of other/small.h0"),
        (lambda rows: rows.assign(variant="default"), "it holds rows of study/h0"),
        (lambda rows: pd.concat([rows, rows]), "it holds FedEM, replication 0 twice"),
    ],
)
def test_a_block_with_other_content_is_named_with_what_it_holds(block, frames, change, says):
    write_table(block, change(frames["results"]))
    with pytest.raises(DataError, match=rf"0-1\.parquet: {says}"):
        read_blocks([block], {"FedEM": 2}, KEYS)


def test_with_partial_a_block_may_lack_replications_and_no_columns(block, frames):
    write_table(block, frames["results"].query("replication == 0"))
    results, _ = read_blocks([block], {"FedEM": 2}, KEYS, partial=True)
    assert set(results["replication"]) == {0}
    write_table(block, pd.DataFrame())
    with pytest.raises(DataError, match=r"0-1\.parquet: the columns .* it has none"):
        read_blocks([block], {"FedEM": 2}, KEYS, partial=True)


def test_blocks_of_any_size_are_found_without_overlap_as_far_as_they_are_wanted(tmp_path):
    for name in ("0-19", "20-39", "3-4", "100-119"):
        (tmp_path / f"{name}.parquet").touch()
    (tmp_path / "results.parquet").touch()
    (tmp_path / "40-41.timings.parquet").touch()
    assert finished_blocks(tmp_path, 200) == ["0-19", "20-39", "100-119"]
    for n in (3, 20):
        assert finished_blocks(tmp_path, n) == ["0-19"]
    names = [path.stem for path in block_paths(tmp_path)]
    assert names == ["0-19", "3-4", "20-39", "100-119"]


@pytest.mark.parametrize("last", [1, 4, 9, 29])
def test_of_blocks_with_one_start_the_planned_or_longest_one_counts(tmp_path, last):
    for name in (f"0-{last}", "0-38", "39-40", "30-39"):
        (tmp_path / f"{name}.parquet").touch()
    assert finished_blocks(tmp_path, 60) == ["0-38", "39-40"]
    assert finished_blocks(tmp_path, 60, [f"0-{last}"])[0] == f"0-{last}"


def test_a_larger_block_gives_the_replications_that_are_wanted(block):
    for n in (1, 2):
        for rows in read_blocks([block], {"FedEM": n}, KEYS):
            assert set(rows["replication"]) == set(range(n))


def test_a_folder_or_an_empty_file_in_a_blocks_place_is_named(block):
    block.write_bytes(b"")
    with pytest.raises(DataError, match=r"0-1\.parquet is damaged or truncated"):
        read_blocks([block], {"FedEM": 2}, KEYS)
    block.unlink()
    block.mkdir()
    with pytest.raises(DataError, match=r"0-1\.parquet is a folder; expected a parquet file"):
        read_blocks([block], {"FedEM": 2}, KEYS)


@pytest.mark.parametrize("shape", [(5, 3), (6, 2), (5, None)])
def test_an_embedding_has_the_registrys_rows_and_columns(shape):
    data = Dataset("tiny", np.zeros((6, 3)), np.zeros(6, dtype=int))
    check_embedding(data, (6, 3), "tiny.npz")
    check_embedding(data, (6, None), "tiny.npz")
    with pytest.raises(DataError, match=r"tiny\.npz holds 6 points with 3 features; .* asks for"):
        check_embedding(data, shape, "tiny.npz")

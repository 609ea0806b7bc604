"""Presets share what is run; what is shown of it is each one's own."""

import shutil

import pandas as pd
import pytest

from pipeline import SETTING, SMOKE, Pipeline

pytestmark = pytest.mark.workflow

OTHER = SMOKE.replace("smoke", "other")
TABLE = "results/{}/tables/fedgrem_table1.{}"


@pytest.fixture
def two(pipeline):
    """A finished run with a second preset, equal to the first."""
    shutil.copy(pipeline.project / SMOKE, pipeline.project / OTHER)
    return pipeline


def test_another_preset_runs_only_what_it_defines_otherwise(two):
    other = {"preset": "other"}
    assert two.planned("fedgrem_table1", config=other) == {
        "collect_results": 1,
        "make_table": 1,
        "fedgrem_table1": 1,
    }
    two.edit(OTHER, "PooledEM]", "{name: PooledEM, parameters: {tol: 0.5}}]")
    two.run(f"{SETTING}/0-0.parquet", config=other)
    assert two.fits() == ["PooledEM"]


def test_presets_keep_their_tables_and_each_says_its_preset_replications_and_commit(two):
    first = {suffix: two.work / TABLE.format("smoke", suffix) for suffix in ("md", "csv", "tex")}
    before = {suffix: path.read_bytes() for suffix, path in first.items()}
    two.edit(OTHER, "n_contaminated: [0, 1]", "n_contaminated: [0]")
    two.run("fedgrem_table1", config={"preset": "other", "replications": 2})
    assert {suffix: path.read_bytes() for suffix, path in first.items()} == before
    for preset, n, told in (("smoke", 1, "1 replication."), ("other", 2, "2 replications.")):
        for suffix in ("md", "tex"):
            text = (two.work / TABLE.format(preset, suffix)).read_text(encoding="utf-8")
            assert f"n = {told}" in text
            assert f"Preset {preset}." in text
            assert "at commit unknown." in text  # the copy is no checkout
        rows = pd.read_csv(two.work / TABLE.format(preset, "csv"))
        assert set(rows["preset"]) == {preset}
        assert set(rows.loc[rows["mean"].notna(), "n"]) == {n}
        assert set(rows["commit"]) == {"unknown"}


def test_a_page_of_what_is_there_searches_for_nothing_else(tmp_path):
    empty = Pipeline.new(tmp_path, papers=None)
    planned = empty.planned("page", "protocols", config={"preset": "quick", "partial": True})
    assert planned["build_page"] == 1
    assert not {"run_methods", "run_protocols"} & set(planned)

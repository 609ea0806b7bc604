"""The documentation's examples: a method and a data set of one's own, each one edit."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from pipeline import ROOT, Pipeline

EXAMPLES = ROOT / "docs" / "examples"
pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def extended(tmp_path_factory) -> Pipeline:
    """A copy with the example's method dropped in and its data set and preset registered."""
    pipeline = Pipeline.new(tmp_path_factory.mktemp("extended"))
    project = pipeline.project
    shutil.copy(EXAMPLES / "one_shot_kmeans.py", project / "src" / "fedmix" / "methods")
    shutil.copy(EXAMPLES / "mine.yaml", project / "config" / "presets")
    with open(project / "config" / "datasets.yaml", "a", encoding="utf-8") as registry:
        for example in ("blobs", "wards"):
            registry.write("\n" + (EXAMPLES / f"{example}.yaml").read_text(encoding="utf-8"))
    shutil.copy(ROOT / "tests" / "contract_cases.py", project)
    shutil.copy(ROOT / "tests" / "test_contract.py", project)
    return pipeline


def run(pipeline, *arguments, **config):
    chosen = {"preset": "mine", "replications": 2, "mirror": EXAMPLES, **config}
    return pipeline.run(*arguments, config=chosen)


def test_the_examples_appear_in_plan_results_tables_and_figures(extended):
    """One method on one setting is run; tables and figures of what is there show it."""
    result = "results/matrix/blobs-contaminated1/OneShotKMeans/0-1.parquet"
    assert result in run(extended, "--dry-run", "matrix").stdout
    run(extended, result)
    run(extended, "matrix_table", "matrix_figure", partial=True)
    rows = pd.read_parquet(extended.work / result)
    assert set(rows["status"]) == {"ok"}
    scores = rows.loc[rows["metric"] == "ari_per_client", "value"]
    assert (scores > 0.3).all()
    table = (extended.work / "results/mine/tables/matrix_table.md").read_text(encoding="utf-8")
    assert "| OneShotKMeans |" in table
    assert "blobs, 1 of 6 contaminated" in table
    figure = (extended.work / "results/mine/figures/matrix_figure.svg").read_text(encoding="utf-8")
    assert "OneShotKMeans" in figure


def test_a_table_with_a_column_of_clients_is_a_federated_data_set(extended):
    """The wards are the clients: as many, with their own rows."""
    result = "results/matrix/wards-contaminated1/LocalEM/0-1.parquet"
    run(extended, result)
    assert set(pd.read_parquet(extended.work / result)["status"]) == {"ok"}
    problem = np.load(extended.work / "results/matrix/wards-contaminated1/partition/0-1.npz")
    rows = pd.read_csv(EXAMPLES / "wards.csv")
    kept = np.diff(problem["0/train_offsets"]) + np.diff(problem["0/test_offsets"])
    assert kept.tolist() == rows.groupby("ward").size().tolist()


def test_the_example_keeps_the_contract(extended):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k"]
    finished = subprocess.run(
        [*command, "OneShotKMeans", str(extended.project / "test_contract.py")],
        cwd=extended.project,
        env={**os.environ, "PYTHONPATH": str(extended.project / "src")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stdout
    assert finished.stdout.count(".") >= 15


def test_the_example_has_a_look_of_its_own():
    from fedmix.views.figures.style import looks_of

    alone = looks_of(["OneShotKMeans"], {})["OneShotKMeans"]
    known = {"FedKmeans": {"color": "sky", "marker": "^", "line": "-"}}
    together = looks_of(["OneShotKMeans", "FedKmeans"], known)
    assert together["OneShotKMeans"].marker == alone.marker
    assert together["OneShotKMeans"].color != together["FedKmeans"].color


def test_no_other_file_knows_the_example():
    for folder in ("src", "config", "workflow"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in {".py", ".yaml", ".smk"}:
                assert "OneShotKMeans" not in path.read_text(encoding="utf-8"), path

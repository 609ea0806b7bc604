"""The documentation's examples: a method and a data set of one's own, each one edit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline import ROOT, Pipeline

EXAMPLES = ROOT / "docs" / "examples"
#: The example's preset with two methods, the example's own by the name that it is registered by.
TWO_METHODS = "    methods: [LocalEM, OneShotKMeans]\n"
WARDS = "results/matrix/as_published.wards-contaminated1/0-1.parquet"
#: A plug-in may use another file of its folder.
HELPED = "\nfrom fedmix.plugins.helper import factor  # noqa: E402, F401\n"
pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def extended(tmp_path_factory) -> Pipeline:
    """A copy with the example's data set and preset registered; its method lies outside of it."""
    pipeline = Pipeline.new(tmp_path_factory.mktemp("extended"), papers=["matrix"])
    project = pipeline.project
    folder = plugins_of(pipeline)
    folder.mkdir()
    text = (EXAMPLES / "one_shot_kmeans.py").read_text(encoding="utf-8")
    (folder / "one_shot_kmeans.py").write_text(text + HELPED, encoding="utf-8")
    (folder / "helper.py").write_text("factor = 1\n", encoding="utf-8")
    presets = project / "config" / "presets"
    shutil.copy(EXAMPLES / "mine.yaml", presets)
    text = (EXAMPLES / "mine.yaml").read_text(encoding="utf-8")
    (presets / "two.yaml").write_text(text + TWO_METHODS, encoding="utf-8")
    with open(project / "config" / "datasets.yaml", "a", encoding="utf-8") as registry:
        for example in ("blobs", "wards"):
            registry.write("\n" + (EXAMPLES / f"{example}.yaml").read_text(encoding="utf-8"))
    return pipeline


def plugins_of(pipeline):
    return pipeline.project.parent / "my_methods"


def options(pipeline, **config):
    own = {"mirror": EXAMPLES, "plugins": plugins_of(pipeline)}
    return {"config": {"preset": "mine", "replications": 2, **own, **config}}


def run(pipeline, *arguments, **config):
    return pipeline.run(*arguments, **options(pipeline, **config))


def test_the_examples_appear_in_plan_results_tables_and_figures(extended):
    """One method on one setting is run; tables and figures of what is there show it."""
    result = "results/matrix/as_published.blobs-contaminated1/0-1.parquet"
    assert result in run(extended, "--dry-run", "--quiet=host", "matrix").stdout
    alone = {"methods": "[OneShotKMeans]"}
    run(extended, result, **alone)
    run(extended, "matrix_table", "matrix_figure", partial=True, **alone)
    rows = pd.read_parquet(extended.work / result)
    rows = rows[rows["method"] == "OneShotKMeans"]
    assert set(rows["status"]) == {"ok"}
    scores = rows.loc[rows["metric"] == "ari_per_client", "value"]
    assert (scores > 0.3).all()
    table = (extended.work / "results/mine/tables/matrix_table.md").read_text(encoding="utf-8")
    assert "| OneShotKMeans |" in table
    assert "Three blobs, 1 of 6 contaminated" in table
    figure = (extended.work / "results/mine/figures/matrix_figure.svg").read_text(encoding="utf-8")
    assert "OneShotKMeans" in figure


@pytest.fixture(scope="module")
def wards(extended) -> Pipeline:
    """The copy after a run of two methods on the wards; the example's is named as registered."""
    run(extended, WARDS, preset="two")
    return extended


def test_a_table_with_a_column_of_clients_is_a_federated_data_set(wards):
    """The wards are the clients, with their own rows."""
    assert set(pd.read_parquet(wards.work / WARDS)["status"]) == {"ok"}
    groups = np.load(wards.work / "data/raw/wards.npz")["groups"]
    rows = pd.read_csv(EXAMPLES / "wards.csv")
    assert np.bincount(groups).tolist() == rows.groupby("ward").size().tolist()


def test_a_changed_plug_in_reruns_itself_alone(wards):
    """A file that it uses counts as it does."""
    setting = str(Path(WARDS).parent)
    assert set(wards.fits("0-1", setting)) == {"LocalEM", "OneShotKMeans"}
    for name in ("helper.py", "one_shot_kmeans.py"):
        path = plugins_of(wards) / name
        path.write_text(path.read_text(encoding="utf-8") + "changed = 1\n", encoding="utf-8")
        run(wards, WARDS, preset="two")
        assert set(wards.fits("0-1", setting)) == {"OneShotKMeans"}
    assert not wards.planned(WARDS, **options(wards, preset="two"))


def test_a_submitted_job_finds_the_plug_in(wards, queue, tmp_path):
    pipeline = wards.copy(tmp_path)
    (pipeline.work / WARDS).unlink()
    pipeline.submit(queue, WARDS, **options(pipeline, preset="two"))
    assert set(pd.read_parquet(pipeline.work / WARDS)["status"]) == {"ok"}
    assert "-N fedmix.run_" in (queue / "requests").read_text()


@pytest.mark.parametrize(
    ("folder", "says"),
    [("nowhere", "folder of plug-ins nowhere does not exist"), ("work", "has no method")],
)
def test_a_folder_without_methods_is_told_before_the_run(extended, folder, says):
    place = extended.work if folder == "work" else folder
    chosen = options(extended, plugins=place)
    failed = extended.run("--dry-run", "matrix_table", check=False, **chosen)
    assert failed.returncode == 1
    assert says in failed.stdout
    assert "Traceback" not in failed.stdout


def test_the_examples_keep_the_contract():
    """All of it, by the command that the documentation gives."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    finished = subprocess.run(
        [*command, "tests/contract", "-k", "OneShotKMeans or MedianEM"],
        cwd=ROOT,
        env={**os.environ, "FEDMIX_PLUGINS": str(EXAMPLES)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stdout
    assert finished.stdout.count(".") >= 90


def test_the_example_has_a_look_of_its_own():
    from fedmix.plot.style import looks_of

    alone = looks_of(["OneShotKMeans"], {})["OneShotKMeans"]
    known = {"FedKMeans": {"color": "sky", "marker": "^", "line": "-"}}
    together = looks_of(["OneShotKMeans", "FedKMeans"], known)
    assert together["OneShotKMeans"].marker == alone.marker
    assert together["OneShotKMeans"].color != together["FedKMeans"].color


def test_no_other_file_knows_the_example():
    for folder in ("src", "config", "workflow"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in {".py", ".yaml", ".smk"}:
                assert "OneShotKMeans" not in path.read_text(encoding="utf-8"), path

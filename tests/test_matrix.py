"""The cross-paper study: who runs, what they are told, and how they are ranked."""

import numpy as np
import pandas as pd
import pytest
from fedmix.views.tables.matrix import cost, critical_difference, mean_ranks, scores

from fedmix import methods
from fedmix.data import Dataset
from fedmix.experiments.base import Method
from fedmix.experiments.runner import Scenario, make_initial_values, make_problems, run_block
from fedmix.methods.capabilities import Capabilities, able_methods, capabilities_of, obstacles

SETTING = {
    "dataset": "three",
    "embedding": "raw",
    "n_components": 3,
    "n_clients": 4,
    "n_contaminated": 1,
    "partition": "uniform",
    "train_fraction": 0.8,
    "scaling": "none",
    "contamination": "gaussian",
    "initialization": "kmeans++10",
    "max_rounds": 30,
    "tol": 1e-3,
    "final_radius_scale": [1.0, 20.0],
}


@pytest.fixture(scope="module")
def frames():
    """Results and timings of all able methods on three well separated clusters."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 80)
    centres = np.array([[0.0, 0, 0], [20, 0, 0], [0, 20, 0]])
    data = Dataset("three", centres[labels] + rng.standard_normal((240, 3)), labels, None)
    scenario = Scenario("matrix", "default", "three", "matrix", SETTING, data)
    problems = make_problems(scenario, range(1))
    initial = make_initial_values(scenario, problems, range(1))
    parts = [
        run_block(scenario, Method(name, name), problems, initial, range(1))
        for name in able_methods()
    ]
    return [pd.concat(part, ignore_index=True) for part in zip(*parts, strict=True)]


def test_every_able_method_is_scored_by_every_measure(frames):
    results, _ = frames
    assert set(results["status"]) == {"ok"}, results.loc[results["status"] != "ok", "message"]
    measures = {"ari_pooled", "ari_per_client", "misclustering", "misclustering_pooled"}
    for name, own in results.groupby("method"):
        assert measures <= set(own["metric"]), name


@pytest.mark.parametrize("name", ["FedGEM", "FedGrEM", "FedEM", "CentralGMM", "LocalKMeans"])
def test_separated_clusters_are_found_beside_a_contaminated_client(frames, name):
    results, _ = frames
    own = results[(results["method"] == name) & (results["metric"] == "ari_per_client")]
    assert own["value"].item() > 0.5


def test_the_table_lists_those_that_cannot_run_with_the_reason(frames):
    table = scores(*frames, labels={"FedGEM": "Fed GEM"}, metrics=["ari_pooled", "n_clusters"])
    assert "Fed GEM" in table.layout.index
    assert (table.layout.loc["TwoPhase"] == "not run").all()
    assert list(table.layout.columns) == ["three, 1 of 4 contaminated"]
    assert "for regression data only" in table.notes
    assert "TwoPhase" in table.notes
    skipped = table.cells[table.cells["method"] == "TwoPhase"]
    assert skipped["status"].item() == "not run: for regression data only"


def test_a_failed_method_keeps_its_place_in_table_and_ranks(frames):
    results, timings = frames
    results = results.copy()
    failed = results["method"] == "AFCL"
    results.loc[failed, ["status", "metric", "value"]] = ["diverged", "", np.nan]
    table = scores(results, timings, labels={}, metrics=["ari_pooled"])
    assert table.layout.loc["AFCL"].item() == "failed"
    assert mean_ranks(results, "ari_pooled")["method"].iloc[-1] == "AFCL"


def test_an_undefined_score_is_a_dash_and_shifts_nothing(frames):
    results, timings = frames
    undefined = (results["method"] == "FedEM") & (results["metric"] == "silhouette_pooled")
    table = scores(results[~undefined], timings, {}, ["silhouette_pooled", "ari_pooled"])
    assert table.layout.loc["FedEM"].item().startswith("– / ")


def test_costs_are_rounds_floats_and_seconds(frames):
    table = cost(*frames, labels={})
    assert set(table.cells["metric"].dropna()) == {"rounds", "megafloats", "seconds"}
    local = table.cells[(table.cells["method"] == "LocalEM")].set_index("metric")["mean"]
    assert local["megafloats"] == 0


def test_seconds_leave_the_first_replication_of_a_process_out(frames):
    results, timings = frames
    cold = timings.assign(seconds=1000.0, warm=False)
    table = cost(results, pd.concat([cold, timings.assign(warm=True)]), labels={})
    assert (table.cells.loc[table.cells["metric"] == "seconds", "mean"] < 1000).all()


def test_ranks_average_to_the_middle_and_lie_in_their_intervals(frames):
    frame = mean_ranks(frames[0], "ari_pooled")
    assert frame["mean_rank"].mean() == pytest.approx((len(frame) + 1) / 2)
    assert ((frame["low"] <= frame["mean_rank"]) & (frame["mean_rank"] <= frame["high"])).all()


def test_the_critical_difference_is_that_of_the_tables():
    # Demsar (2006), Table 5a: q = 2.569 for four methods; 14 data sets.
    assert critical_difference(4, 14) == pytest.approx(2.569 * np.sqrt(20 / 84), rel=1e-3)


def test_capabilities_read_off_the_text_are_those_of_the_classes():
    for name in methods.index():
        kind = methods.get(name)
        expected = Capabilities(kind.families, kind.level, kind.needs, kind.starts_from)
        assert capabilities_of(name) == expected, name


def test_every_method_can_run_or_has_an_obstacle():
    assert set(able_methods()) | set(obstacles()) == set(methods.index())
    assert not set(able_methods()) & set(obstacles())


def test_the_figure_names_every_method_and_the_critical_difference(frames):
    import matplotlib

    matplotlib.use("agg")
    from fedmix.views.figures.matrix import ranks

    figure = ranks(*frames, labels={"FedGEM": "Fed GEM"}, metrics=["ari_pooled", "ari_per_client"])
    for axis in figure.axes:
        names = {text.get_text() for text in axis.get_yticklabels()}
        assert len(names) == len(able_methods())
        assert "Fed GEM" in names
        assert any("critical" in text.get_text() for text in axis.texts)
    matplotlib.pyplot.close(figure)

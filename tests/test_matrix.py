"""The cross-paper study: who runs, what they are told, and how they are ranked."""

import numpy as np
import pandas as pd
import pytest

from configured_studies import configured_studies
from fedmix import methods
from fedmix.cells.condensed import critical_difference, mean_ranks
from fedmix.cells.equivalence import judge
from fedmix.cells.frame import make_cells
from fedmix.cells.verdicts import COMPARABLE
from fedmix.data import Dataset
from fedmix.experiments.base import Method
from fedmix.experiments.runner import Scenario, run_block, tables_of
from fedmix.methods.capabilities import Capabilities, able_methods, capabilities_of, obstacles
from fedmix.pipeline.request import left_out
from fedmix.plot.style import COLORS, looks_of
from fedmix.views.figures.maps import draw_ranks
from fedmix.views.tables.build import as_text, blocks_of, notes
from synthetic_cells import laid_out
from synthetic_results import PUBLISHED, shipped_items

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
    "step_size": 1.0,
    "final_radius_scale": [1.0, 20.0],
}


@pytest.fixture(scope="module")
def frames():
    """Results and timings of all able methods on three well separated clusters."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 80)
    centres = np.array([[0.0, 0, 0], [20, 0, 0], [0, 20, 0]])
    data = Dataset("three", centres[labels] + rng.standard_normal((240, 3)), labels, None)
    scenario = Scenario("matrix", "as_published", "three", "matrix", SETTING, data)
    chosen = [Method(name, name) for name in able_methods()]
    fits = run_block(scenario, chosen, range(1))
    parts = [tables_of(scenario, method, fits, range(1)) for method in chosen]
    return [pd.concat(part, ignore_index=True) for part in zip(*parts, strict=True)]


ITEMS = {item.name: item for item in shipped_items().values() if item.study == "matrix"}
LABELS = {"FedGEM": "Fed GEM"}


def cells_of(results, timings):
    roles = {"as_published": "written"}
    return judge(make_cells(results, timings, ITEMS.values(), PUBLISHED, "matrix", LABELS, roles))


def shown(cells, name):
    """Return a table of the configuration: its rows of the frame, its text and its notes."""
    item = laid_out(ITEMS[name]) | {"left_out": left_out(configured_studies()["matrix"])}
    own = cells[cells["item"] == name]
    return own, as_text(blocks_of(item, own), own), " ".join(notes(item, own))


@pytest.fixture(scope="module")
def cells(frames):
    return cells_of(*frames)


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


def test_the_table_names_those_that_cannot_run_with_the_reason(cells):
    own, table, said = shown(cells, "matrix_table")
    assert "Fed GEM" in table.index
    assert "TwoPhase" not in set(own["method"])
    assert list(table.columns) == ["three, 1 of 4 contaminated"]
    assert "Not run, for regression data only: " in said
    assert "TwoPhase" in said


def test_a_failed_method_keeps_its_place_in_table_and_ranks(frames):
    results, timings = frames
    results = results.copy()
    failed = results["method"] == "AFCL"
    results.loc[failed, ["status", "metric", "value"]] = ["diverged", "", np.nan]
    cells = cells_of(results, timings)
    assert shown(cells, "matrix_table")[1].loc["AFCL"].item() == "diverged / diverged, n = 0"
    own = cells[cells["item"] == "matrix_figure"]
    assert mean_ranks(own, "rank: ari_pooled")["method"].iloc[-1] == "AFCL"


def test_an_undefined_score_is_a_dash_and_shifts_nothing(frames):
    results, timings = frames
    undefined = (results["method"] == "FedEM") & (results["metric"] == "silhouette_pooled")
    _, table, _ = shown(cells_of(results[~undefined], timings), "matrix_silhouette")
    assert table.loc["FedEM"].item().startswith("– / ")


def test_costs_are_rounds_floats_and_seconds(cells):
    own, _, _ = shown(cells, "matrix_cost")
    assert set(own["metric"]) == {"rounds", "floats", "seconds"}
    local = own[own["method"] == "LocalEM"].set_index("metric")["mean"]
    assert local["floats"] == 0


def test_seconds_leave_the_first_replication_of_a_process_out(frames):
    results, timings = frames
    cold = timings.assign(seconds=1000.0, warm=False)
    warm = timings.assign(replication=timings["replication"] + 1, warm=True)
    own, _, _ = shown(cells_of(results, pd.concat([cold, warm])), "matrix_cost")
    assert (own.loc[own["metric"] == "seconds", "mean"] < 1000).all()


def test_capabilities_read_off_the_text_are_those_of_the_classes():
    for name in methods.index():
        kind = methods.get(name)
        expected = Capabilities(kind.families, kind.level, kind.needs, kind.starts_from)
        assert capabilities_of(name) == expected, name


def test_every_method_can_run_or_has_an_obstacle():
    assert set(able_methods()) | set(obstacles()) == set(methods.index())
    assert not set(able_methods()) & set(obstacles())


def test_the_figure_names_every_method_and_the_critical_difference(cells):
    own = cells[cells["item"] == "matrix_figure"].assign(n=COMPARABLE)
    figure = draw_ranks(own, {}, ITEMS["matrix_figure"].options)
    for axis in figure.axes[::2]:
        names = {text.get_text() for text in axis.get_yticklabels()}
        assert len(names) == len(able_methods())
        assert "Fed GEM" in names
        assert any("critical" in text.get_text() for text in axis.texts)


@pytest.mark.parametrize("name", [name for name, item in ITEMS.items() if item.kind == "figure"])
def test_scores_stand_beside_the_ranks_in_the_same_order_brighter_where_better(cells, name):
    item = ITEMS[name]
    own = cells[cells["item"] == name]
    axes = draw_ranks(own, {}, item.options).axes
    for row, scores in zip(item.options["rows"], axes[1::2], strict=True):
        ranked = mean_ranks(own, row["rank"])["method"]
        means = own[own["metric"] == row["metric"]].set_index("method")["mean"].reindex(ranked)
        [shown] = scores.images
        np.testing.assert_array_equal(shown.get_array().filled(np.nan)[:, 0], means)
        best, *_, worst = means.dropna()
        assert np.greater(*(sum(shown.cmap(shown.norm(v))[:3]) for v in (best, worst)))


def test_no_critical_difference_is_drawn_below_five_replications(cells):
    own = cells[cells["item"] == "matrix_figure"]
    assert not draw_ranks(own, {}, ITEMS["matrix_figure"].options).axes[0].texts


def test_a_critical_difference_ends_on_the_axis_and_says_its_value(cells):
    own = cells[cells["item"] == "matrix_figure"].assign(n=COMPARABLE)
    axis = draw_ranks(own, {}, ITEMS["matrix_figure"].options).axes[0]
    [text] = [text.get_text() for text in axis.texts]
    width = critical_difference(len(able_methods()), 1)
    assert f"critical difference {width:.1f}, more than the {len(able_methods()) - 1}" in text
    low, high = axis.get_xlim()
    assert all(low <= x <= high for line in axis.lines for x in line.get_xdata())


def test_a_method_of_ones_own_has_a_colour_and_a_marker_that_no_other_has(cells):
    own = cells[cells["item"] == "matrix_figure"]
    looks = {name: {} for name in own["method"] if name != "AFCL"}
    axis = draw_ranks(own, looks, ITEMS["matrix_figure"].options).axes[0]
    [label] = [t for t in axis.get_yticklabels() if t.get_text() == "AFCL"]
    marker = looks_of(["AFCL"], {})["AFCL"].marker
    marked = [line for line in axis.lines if line.get_marker() == marker]
    [mine] = [line for line in marked if len(line.get_xdata()) == 1]
    assert label.get_color() == mine.get_color()
    assert mine.get_color() not in (COLORS["black"], COLORS["grey"])

"""FedGEM's tables and figures from small made-up results."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from fedmix.errors import ConfigurationError
from fedmix.views.figures import fedgem as figures
from fedmix.views.tables import fedgem as tables

mpl.use("agg")
LABELS = {"GMM": "GMM (central)", "AFCL": "AFCL", "FedGEM": "FedGEM", "LocalKMeans": "Local"}
VARIANTS = ("as_coded", "corrected")
PRINTED = Path(__file__).parents[1] / "data" / "published"
_METRICS = (
    "ari_pooled",
    "ari_per_client",
    "silhouette_pooled",
    "silhouette_per_client",
    "n_clusters",
    "n_clusters_at_best_silhouette",
)


def frames(settings, failed=()):
    """Results and timings of three replications in every setting, variant and method."""
    rng = np.random.default_rng(0)
    results, timings = [], []
    for setting in settings:
        for variant in VARIANTS:
            for method in LABELS:
                for replication in range(3):
                    common = {**setting, "variant": variant, "method": method}
                    common |= {"replication": replication, "round": pd.NA}
                    timings.append({**common, "status": "ok", "seconds": rng.uniform(1, 2)})
                    if (method, replication) in failed:
                        results.append({**common, "metric": "", "value": np.nan, "status": "error"})
                        continue
                    results += [
                        {**common, "metric": m, "value": i + rng.uniform(), "status": "ok"}
                        for i, m in enumerate(_METRICS)
                    ]
    return pd.DataFrame(results), pd.DataFrame(timings)


@pytest.fixture(scope="module")
def benchmark():
    return frames([{"dataset": "mnist_vae"}, {"dataset": "waveform"}])


def test_published_scoring_mixes_the_metrics_and_one_metric_does_not(benchmark):
    results, timings = benchmark
    cells = tables.scores(results, timings, LABELS, "ari").cells
    by_method = cells.groupby("method")["mean"].mean()
    assert by_method["GMM"] < 1 < by_method["FedGEM"] < 2  # metric number i lies in [i, i + 1)
    pooled = tables.scores(results, timings, LABELS, "ari", scoring="pooled").cells
    assert (pooled["mean"] < 1).all()
    own = tables.scores(results, timings, LABELS, "ari", scoring="per_client").cells
    assert own["mean"].between(1, 2).all()


def test_printed_values_stand_beside_ours(benchmark):
    printed = pd.read_csv(PRINTED / "fedgem_benchmark.csv")
    printed = printed[printed["metric"] == "ari"]
    table = tables.scores(*benchmark, LABELS, "ari", printed=printed)
    cell = table.cells.set_index(["variant", "method", "dataset"]).loc[
        ("as_coded", "FedGEM", "mnist")
    ]
    assert (cell["printed_mean"], cell["printed_sd"], cell["n"]) == (0.452, 0.049, 3)
    assert table.layout.loc["as_coded, FedGEM", "mnist"].endswith("| 0.452 (0.049)")
    assert table.layout.loc["as_coded, Local", "mnist"].endswith("| –")


def test_cluster_numbers_are_those_of_methods_that_estimate_them(benchmark):
    cells = tables.estimated_clusters(*benchmark, LABELS).cells
    assert set(cells["method"]) == {"AFCL", "FedGEM", "LocalKMeans"}


def test_runtime_reads_the_timings(benchmark):
    printed = pd.read_csv(PRINTED / "fedgem_runtime.csv")
    cells = tables.runtime(*benchmark, LABELS, printed=printed).cells
    assert cells["mean"].between(1, 2).all()
    assert 552 in set(cells["printed_mean"])


def test_failed_replications_are_told():
    table = tables.scores(*frames([{"dataset": "waveform"}], {("GMM", 1)}), LABELS, "ari")
    assert "2 failed replications" in table.notes
    assert "2 to 3 replications" in table.notes


def test_unknown_scoring_is_refused(benchmark):
    with pytest.raises(ConfigurationError, match="per_client"):
        tables.scores(*benchmark, LABELS, "ari", scoring="per-client")


def grid(axis, values):
    return [
        {axis: v, "imbalance": i, "n_components": 10} for v in values for i in figures.IMBALANCES
    ]


@pytest.mark.parametrize("score", ["ari", "silhouette"])
def test_sensitivity_has_a_panel_an_imbalance_and_a_line_a_method(score):
    figure = figures.sensitivity(*frames(grid("r_min", [1, 2, 4])), LABELS, score=score)
    assert len(figure.axes) == 6
    assert len(figure.axes[0].lines) == len(LABELS)
    assert len(figure.axes[3].lines) == 3  # two methods that estimate the number, and the truth


def test_the_true_number_is_marked_where_one_imbalance_was_run_too():
    settings = [s for s in grid("r_min", [1, 2, 4]) if s["imbalance"] == "nominal"]
    scores, counts = figures.sensitivity(*frames(settings), LABELS).axes
    assert len(scores.lines) == len(LABELS)
    assert list(counts.lines[-1].get_ydata()) == [10, 10]


def test_radius_has_a_logarithmic_axis():
    figure = figures.radius(*frames(grid("v", [0.1, 1.0, 10.0])), LABELS)
    assert all(axis.get_xscale() == "log" for axis in figure.axes)


@pytest.mark.parametrize(
    ("draw", "settings", "panels"),
    [
        (figures.sensitivity_variants, grid("r_min", [1, 2]), 9),
        (figures.radius_variants, grid("v", [0.1, 1.0]), 9),
        (figures.benchmark_variants, [{"dataset": "abalone"}, {"dataset": "waveform"}], 4),
    ],
)
def test_variants_are_told_apart(draw, settings, panels):
    figure = draw(*frames(settings), LABELS)
    assert len(figure.axes) == panels
    assert {t.get_text() for t in figure.legends[0].texts} == {"as coded", "corrected"}


@pytest.mark.parametrize("draw", [figures.scalability, figures.scalability_variants])
def test_scalability_has_a_panel_an_axis(draw):
    settings = [
        {"axis": axis, **dict.fromkeys(figures.AXES, 5), axis: value}
        for axis in figures.AXES
        for value in (5, 25)
    ]
    figure = draw(*frames(settings), LABELS)
    assert [a.get_xlabel() for a in figure.axes] == list(figures.AXES.values())

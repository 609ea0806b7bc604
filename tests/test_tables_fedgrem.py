import numpy as np
import pandas as pd
import pytest

from fedmix.cells.summary import steady, summarise
from fedmix.errors import ConfigurationError, DataError
from fedmix.storage import write_table
from fedmix.views.figures import fedgrem as figures
from fedmix.views.tables import fedgrem as tables
from fedmix.views.tables.build import build_table, find_builder

LABELS = {"FedEM": "FedEM", "FedGrEM": "FedGrEM", "LocalEM": "Local-EM"}


@pytest.fixture
def results():
    rng = np.random.default_rng(0)
    rows = [
        {
            "study": "fedgrem_real",
            "variant": variant,
            "setting": f"pendigits-{bad}",
            "n_clients": 44,
            "n_contaminated": bad,
            "method": method,
            "replication": r,
            "round": None,
            "metric": "misclustering",
            "value": 0.1 + 0.01 * rng.random(),
            "status": "ok",
        }
        for variant in ("paper_like", "strong_baselines")
        for bad in (0, 3)
        for method in LABELS
        for r in range(4)
    ]
    frame = pd.DataFrame(rows).astype({"round": "Int64"})
    failed = (frame["method"] == "FedEM") & (frame["replication"] == 0)
    return frame.assign(
        status=np.where(failed, "diverged", "ok"),
        metric=np.where(failed, "", "misclustering"),
        value=np.where(failed, np.nan, frame["value"]),
    )


@pytest.fixture
def printed():
    return pd.DataFrame(
        {
            "contaminated_percent": [0.0, 0.0, 6.8],
            "method": ["Local-EM", "FedEM", "Local-EM"],
            "mean_percent": [13.3, 15.75, 12.88],
            "sd_percent": [1.17, 2.09, 1.11],
        }
    )


def test_means_leave_failed_replications_out_and_count_them(results, printed):
    table = tables.misclustering(results, pd.DataFrame(), LABELS, printed)
    cell = table.cells.query("method == 'FedEM' and variant == 'paper_like'").iloc[0]
    ok = results.query("method == 'FedEM' and variant == 'paper_like' and n_contaminated == 0")
    values = 100 * ok["value"].dropna()
    assert (cell["n"], cell["failed"]) == (3, 1)
    assert cell["mean"] == pytest.approx(values.mean())
    assert cell["sd"] == pytest.approx(values.std())
    assert cell["standard_error"] == pytest.approx(values.std() / np.sqrt(3))
    assert "4 failed replications" in table.notes


def test_the_printed_value_stands_beside_ours(results, printed):
    table = tables.misclustering(results, pd.DataFrame(), LABELS, printed)
    assert list(table.layout.columns) == ["FedEM", "FedGrEM", "Local-EM"]
    assert table.layout.loc["paper_like, 6.8 %", "Local-EM"].endswith("| 12.9 (1.1)")
    assert table.layout.loc["paper_like, 6.8 %", "FedGrEM"].endswith("| –")
    assert len(table.layout) == 4


def test_a_single_replication_has_no_standard_deviation():
    frame = pd.DataFrame({"method": ["a"], "value": [2.0], "status": ["ok"]})
    cell = summarise(frame, ["method"]).iloc[0]
    assert cell["mean"] == 2.0
    assert np.isnan(cell["sd"])


def test_a_cell_whose_replications_all_failed_is_empty_but_there():
    frame = pd.DataFrame({"method": ["a"], "value": [np.nan], "status": ["error"]})
    cell = summarise(frame, ["method"]).iloc[0]
    assert (cell["n"], cell["failed"]) == (0, 1)
    assert np.isnan(cell["mean"])


def test_seconds_leave_the_first_replication_of_a_process_out_where_there_are_others():
    cell = {"study": "s", "variant": "v", "setting": "a"}
    timings = pd.DataFrame(
        [
            {**cell, "method": "FedEM", "seconds": 9.0, "warm": False},
            {**cell, "method": "FedEM", "seconds": 1.0, "warm": True},
            {**cell, "method": "LocalEM", "seconds": 7.0, "warm": False},
        ]
    )
    assert steady(timings)["seconds"].tolist() == [1.0, 7.0]


def test_every_output_is_written_in_its_format(tmp_path, results):
    path = tmp_path / "results.parquet"
    write_table(path, results)
    item = {
        "title": "Table 1",
        "caption": "Errors.",
        "builder": "fedgrem.misclustering",
        "printed": {},
        "labels": LABELS,
        "options": {},
    }
    outputs = [tmp_path / f"table.{s}" for s in ("csv", "md", "tex")]
    build_table(item, [path], [], outputs)
    csv = pd.read_csv(outputs[0])
    assert {"mean", "sd", "standard_error", "n", "failed", "printed_mean"} <= set(csv)
    assert outputs[1].read_text().startswith("Table 1. Errors. A cell shows ours | the paper's")
    assert r"\toprule" in outputs[2].read_text()


def test_no_results_is_a_clear_error(tmp_path):
    item = {"title": "Table 1", "builder": "fedgrem.misclustering", "labels": {}, "options": {}}
    with pytest.raises(DataError, match="Table 1: no results yet"):
        build_table({**item, "caption": ""}, [], [], [])


def test_an_unknown_builder_is_named():
    with pytest.raises(ConfigurationError, match=r"no builder fedmix.views.tables.fedgrem.nothing"):
        find_builder("fedmix.views.tables", "fedgrem.nothing")


def test_the_figure_has_a_line_a_method_and_a_panel_a_variant(results):
    figure = figures.misclustering(results, pd.DataFrame(), LABELS)
    assert len(figure.axes) == 2
    line = next(x for x in figure.axes[0].get_lines() if x.get_label() == "FedGrEM")
    shown = results.query("method == 'FedGrEM' and variant == 'paper_like'")
    expected = 100 * shown.groupby("n_contaminated")["value"].mean()
    np.testing.assert_allclose(line.get_ydata(), expected)
    np.testing.assert_allclose(line.get_xdata(), [0, 300 / 44])


def test_the_simulation_figure_draws_log_errors_against_the_ratio_to_snr():
    rows = [
        {
            "variant": "as_written",
            "model": model,
            "h": h,
            "method": "FedGrEM",
            "replication": 0,
            "round": None,
            "metric": metric,
            "value": value,
            "status": "ok",
        }
        for model in ("gaussian", "regression")
        for h in (0.0, 1.0)
        for metric, value in (("weights_error", 0.1), ("means_error", np.e), ("snr", 5.0))
    ]
    frame = pd.DataFrame(rows).astype({"round": "Int64"})
    figure = figures.simulation(frame, pd.DataFrame(), LABELS, ["FedGrEM"])
    means_panel = figure.axes[2].get_lines()[0]
    np.testing.assert_allclose(means_panel.get_xdata(), [0, 20])
    np.testing.assert_allclose(means_panel.get_ydata(), [1, 1])

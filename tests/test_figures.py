"""Figures show what they are made for, also those of the configuration."""

from typing import get_args

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from configured_studies import configured_studies
from fedmix.cells.condensed import critical_difference, mean_ranks
from fedmix.cells.evidence import quartiles_by_round, read_paths
from fedmix.cells.items import BY_ROUND, Figure
from fedmix.cells.papers import read_papers
from fedmix.errors import DataError
from fedmix.plot.style import house_style
from fedmix.storage import write_table
from fedmix.views.figures.build import BUILDERS, build_figure
from fedmix.views.figures.lines import draw_lines, draw_points, draw_trajectories
from fedmix.views.figures.maps import draw_ranks
from synthetic_cells import frame, item
from synthetic_results import ROOT, shipped_items

METHODS = ("FedEM", "FedGrEM", "LocalEM")


def grid(**settings):
    """Cells of every combination, e.g. ``x=(1, 2)`` for the column setting_x."""
    rows = [{}]
    for name, values in settings.items():
        rows = [{**row, name: value} for row in rows for value in values]
    named = [{f"setting_{k}" if k in "xk" else k: v for k, v in row.items()} for row in rows]
    return frame({**row, "label": f"the {row.get('method', 'one')}"} for row in named)


def line_of(axis, label):
    return next(line for line in axis.get_lines() if line.get_label() == label)


def test_a_line_a_method_and_a_panel_a_variant_in_the_unit_shown():
    cells = grid(method=METHODS, variant=("as_written", "corrected"), x=(0, 3))
    cells = cells.assign(scale=0.01, mean=0.1 + 0.01 * cells["setting_x"])
    figure = draw_lines(cells, {}, {"x": "100 * setting_x / 44", "columns": "variant"})
    assert [axis.get_title() for axis in figure.axes] == ["as written", "corrected"]
    assert len(figure.axes[0].get_lines()) == 3
    line = line_of(figure.axes[1], "the FedGrEM")
    np.testing.assert_allclose(line.get_xdata(), [0, 300 / 44])
    np.testing.assert_allclose(line.get_ydata(), [10, 13])


@pytest.mark.parametrize("builder", ["lines", "points"])
def test_printed_numbers_are_hollow_marks_in_the_unit_shown(builder, tmp_path):
    cells = grid(method=METHODS, x=(0, 3)).assign(scale=0.01, mean=0.1)
    cells.loc[cells["setting_x"] == 3, "printed_mean"] = 12.5
    options = {"x": "setting_x", "along": "label", "where": {"setting_x": [0, 3]}}
    axis = BUILDERS[builder](cells, {}, options).axes[0]
    hollow = [line for line in axis.get_lines() if line.get_markerfacecolor() == "white"]
    assert len(hollow) == len(METHODS)
    value = {"lines": lambda line: line.get_ydata(), "points": lambda line: line.get_xdata()}
    assert all(list(value[builder](line)) == [12.5] for line in hollow)
    told = item(builder=builder, options=options)
    build_figure(told, cells.assign(item=told["name"]), [tmp_path / "f.svg", tmp_path / "f.md"])
    assert "Hollow marks are the published values." in (tmp_path / "f.md").read_text()


def test_x_may_name_a_metric_of_the_same_runs():
    cells = grid(metric=("log: error", "snr"), x=(0.0, 1.0))
    cells.loc[cells["metric"] == "snr", "mean"] = 5.0
    panel = {"x": "100 * setting_x / snr", "columns": [{"metric": "log: error"}]}
    line = draw_lines(cells, {}, panel).axes[0].get_lines()[0]
    np.testing.assert_allclose(line.get_xdata(), [0, 20])
    np.testing.assert_allclose(line.get_ydata(), [1, 1])


def test_a_panel_takes_the_metric_of_each_method():
    cells = grid(method=METHODS, metric=("pooled", "own"), x=(1, 2))
    cells["mean"] = cells["metric"].map({"pooled": 1.0, "own": 2.0})
    metric = {"default": "pooled", "FedGrEM": "own"}
    axis = draw_lines(cells, {}, {"x": "setting_x", "metric": metric}).axes[0]
    heights = {line.get_label(): line.get_ydata()[0] for line in axis.get_lines()}
    assert heights == {"the FedEM": 1, "the FedGrEM": 2, "the LocalEM": 1}


def test_rows_share_one_range_and_panels_without_cells_are_left_out():
    cells = grid(method=METHODS, metric=("score", "count"), x=(1, 2))
    options = {
        "x": "setting_x",
        "rows": [{"metric": "score"}, {"metric": "count", "methods": ["FedGrEM"]}],
        "columns": [{"where": {"setting_x": [1, 2]}}, {"where": {"setting_x": 7}}],
    }
    figure = draw_lines(cells, {}, options)
    assert [len(axis.get_lines()) for axis in figure.axes] == [3, 1]
    cells = grid(metric=("score", "count"), variant=("a", "b"), x=(1, 2))
    cells.loc[(cells["variant"] == "b") & (cells["metric"] == "score"), "mean"] = 9.0
    figure = draw_lines(cells, {}, {**options, "rows": options["rows"][:1], "columns": "variant"})
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


def test_a_level_is_marked():
    cells = grid(x=(1, 2), k=(10,))
    axis = draw_lines(cells, {}, {"x": "setting_x", "level": "setting_k"}).axes[0]
    assert list(axis.lines[-1].get_ydata()) == [10, 10]


def test_axes_are_logarithmic_where_they_should_be():
    cells = grid(x=(0.1, 10.0))
    axis = draw_lines(cells, {}, {"x": "setting_x", "xscale": "log", "yscale": "log"}).axes[0]
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")


def test_an_axis_of_whole_numbers_has_no_ticks_between_them():
    cells = grid(method=METHODS, x=(4, 8))
    axis = draw_lines(cells, {}, {"x": "setting_x"}).axes[0]
    assert all(tick == round(tick) for tick in axis.get_xticks())
    axis = draw_lines(cells, {}, {"x": "setting_x / 8"}).axes[0]
    assert any(tick != round(tick) for tick in axis.get_xticks())


def test_medians_lie_in_a_band_of_quartiles_on_evenly_spaced_values():
    cells = grid(x=(5, 50, 500)).assign(median=3.0, q1=2.0, q3=5.0)
    options = {"x": "setting_x", "statistic": "median", "even": True}
    axis = draw_lines(cells, {}, options).axes[0]
    np.testing.assert_allclose(axis.get_lines()[0].get_xdata(), [0, 1, 2])
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["5", "50", "500"]
    edges = axis.collections[0].get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == (2, 5)


@pytest.mark.parametrize(("statistic", "edges"), [("mean", (4, 8)), ("share", (5.5, 6.5))])
def test_a_band_is_one_standard_deviation_or_of_a_share_one_standard_error(statistic, edges):
    cells = grid(x=(1, 2)).assign(mean=3.0, sd=1.0, se=0.25, scale=0.5)
    axis = draw_lines(cells, {}, {"x": "setting_x", "statistic": statistic}).axes[0]
    band = axis.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == edges


def test_variants_are_told_apart():
    cells = grid(variant=("as_coded", "corrected"), method=METHODS[:1], x=(1, 2))
    figure = draw_lines(cells, {}, {"x": "setting_x", "series": "variant"})
    assert {t.get_text() for t in figure.legends[0].texts} == {"as coded", "corrected"}


def test_points_stand_beside_their_names():
    cells = grid(method=METHODS, variant=("as_coded", "corrected"))
    figure = draw_points(cells, {}, {"along": "label", "series": "variant"})
    names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert names == ["the FedEM", "the FedGrEM", "the LocalEM"]
    assert {t.get_text() for t in figure.legends[0].texts} == {"as coded", "corrected"}


def test_no_two_methods_of_a_figure_share_a_colour():
    cells = grid(method=[f"method {i}" for i in range(9)], x=(1, 2))
    figure = draw_lines(cells, {}, {"x": "setting_x"})
    assert len({line.get_color() for line in figure.axes[0].get_lines()}) == 9


def _paths():
    rows = [
        {"study": "study", "variant": "as_written", "setting": "C1", "method": method}
        | {"replication": r, "round": t, "metric": "error", "value": float(r * t), "status": "ok"}
        for method in METHODS
        for r in (1, 2, 3)
        for t in range(4)
    ]
    return pd.DataFrame(rows).astype({"round": "Int64"})


def test_quartiles_are_over_replications_and_leave_zeros_out():
    found = quartiles_by_round(_paths(), "error").query("method == 'FedEM'")
    assert list(found["round"]) == [1, 2, 3]
    np.testing.assert_allclose(found["median"], [2, 4, 6])
    np.testing.assert_allclose(found["q1"], [1.5, 3, 4.5])


def test_a_replication_that_ends_early_keeps_its_last_score():
    paths = _paths()
    paths["value"] = 1.0 + 9.0 * (paths["replication"] == 1)
    ended = (paths["replication"] > 1) & (paths["round"] > 1)
    found = quartiles_by_round(paths[~ended], "error").query("method == 'FedEM'")
    assert list(found["round"]) == [0, 1, 2, 3]
    assert found["median"].eq(1.0).all()


def test_scores_that_are_all_zero_have_no_quartiles():
    found = quartiles_by_round(_paths().assign(value=0.0), "error")
    assert found.empty
    assert list(found)[-3:] == ["q1", "median", "q3"]


def test_a_figure_by_round_of_failed_replications_is_a_clear_error():
    columns = [{"title": "all", "methods": METHODS[:1]}]
    with pytest.raises(DataError, match="no finished replication"):
        draw_trajectories(grid(method=METHODS[:1]), {}, {"columns": columns}, _paths().iloc[:0])


def test_a_figure_without_results_in_any_panel_is_a_clear_error():
    options = {"x": "setting_x", "where": {"variant": "not run"}}
    with pytest.raises(DataError, match="no results yet in any"):
        draw_lines(grid(x=(1, 2)), {}, options)


def test_trajectories_have_a_panel_a_group_of_methods():
    cells = grid(setting=["C1"], method=METHODS).assign(row="200 clients")
    columns = [{"title": "left", "methods": ["FedEM"]}, {"title": "right", "methods": METHODS}]
    options = {"columns": columns, "mark": 1, "ylabel": "error"}
    figure = draw_trajectories(cells, {}, options, _paths())
    labelled = [axis.get_legend_handles_labels()[1] for axis in figure.axes]
    assert labelled == [["the FedEM"], [f"the {method}" for method in METHODS]]
    assert figure.axes[0].get_ylabel() == "200 clients, as written\nerror"


@pytest.fixture
def ranked():
    rng = np.random.default_rng(0)
    rows = []
    for setting in ("a", "b"):
        for replication_ranks in (np.argsort(rng.random((6, 3)), axis=1) + 1,):
            for i, method in enumerate(METHODS):
                values = tuple(replication_ranks[:, i].astype(float))
                row = {"setting": setting, "setting_dataset": setting, "method": method}
                rows.append({**row, "values": values})
    named = [{**r, "label": f"the {r['method']}", "metric": "rank: ari"} for r in rows]
    return frame([{**row, "replications": tuple(range(6))} for row in named])


def test_ranks_average_to_the_middle_and_lie_in_their_intervals(ranked):
    found = mean_ranks(ranked, "rank: ari")
    assert found["mean_rank"].mean() == pytest.approx((len(found) + 1) / 2)
    assert ((found["low"] <= found["mean_rank"]) & (found["mean_rank"] <= found["high"])).all()


def test_a_method_that_failed_in_a_setting_is_last_there_and_moves_no_other():
    kept = {"a": (0.9, 0.8), "b": (0.5, 0.6), "c": ()}
    rows = [
        {"method": name, "label": name, "metric": "ari", "setting": "s", "setting_dataset": "s"}
        | {"values": values, "replications": tuple(range(len(values)))}
        for name, values in kept.items()
    ]
    found = mean_ranks(frame(rows), "ari", direction="highest").set_index("method")["mean_rank"]
    assert found.to_dict() == {"a": 1.0, "b": 2.0, "c": 3.0}


def test_the_figure_names_every_method_and_the_critical_difference(ranked):
    cells = pd.concat([ranked, ranked.assign(metric="ari", column=ranked["setting"])]).assign(n=6)
    rows = [{"metric": "ari", "rank": "rank: ari", "title": "ARI"}]
    axis = draw_ranks(cells, {}, {"rows": rows}).axes[0]
    assert {text.get_text() for text in axis.get_yticklabels()} == {f"the {m}" for m in METHODS}
    value = critical_difference(3, 2)
    told = f"critical difference {value:.1f}, more than the 2 between first and last"
    assert [text.get_text() for text in axis.texts] == [told]
    assert max(axis.lines[-1].get_xdata()) <= axis.get_xlim()[1]


def test_results_of_runs_and_of_the_evidence_are_read_together(tmp_path):
    paths = _paths()
    paths.loc[0, "round"] = pd.NA
    whole = paths.astype({"round": "float64"})
    texts = dict.fromkeys(["metric", "status"], "category")
    tables = [paths.astype({"round": "Int64"} | texts), whole, paths.iloc[:0], pd.DataFrame()]
    files = [tmp_path / f"{i}.parquet" for i in range(len(tables))]
    for file, table in zip(files, tables, strict=True):
        write_table(file, table)
    found = read_paths(files)
    assert len(found) == 2 * paths["round"].notna().sum()
    assert found["value"].tolist() == 2 * paths.loc[paths["round"].notna(), "value"].tolist()
    files[1].write_bytes(files[1].read_bytes()[:-9])
    with pytest.raises(DataError, match=r"1\.parquet is damaged or truncated .* Delete it"):
        read_paths(files)


def test_a_figure_and_its_caption_say_which_data_stood_in(tmp_path):
    outputs = [tmp_path / f"figure.{suffix}" for suffix in ("pdf", "svg", "png", "md")]
    told = item(builder="lines", options={"x": "n"})
    build_figure(told, frame([{"is_stand_in": True}]), outputs)
    assert all(output.stat().st_size for output in outputs)
    caption = outputs[3].read_text()
    assert caption.startswith("STAND-IN: our numbers come from Digits (8x8)")
    assert "n = 4 replications. Preset quick. Variant as written: what the text says." in caption
    assert "STAND-IN" in outputs[1].read_text()


def test_a_single_stand_in_is_named_without_calling_the_whole_a_stand_in(tmp_path):
    output = tmp_path / "figure.md"
    rows = [{"is_stand_in": True}, {"printed_mean": 1.0, "method": "other"}]
    build_figure(item(builder="lines", options={"x": "n"}), frame(rows), [output])
    assert output.read_text().startswith("Our version of Digits (8x8) stands in for the paper's")


def test_no_results_is_a_clear_error():
    with pytest.raises(DataError, match="no results yet"):
        build_figure(item(builder="lines"), frame([{"item": "another"}]), [])


def test_titles_and_labels_are_not_repeated_down_a_column():
    cells = grid(metric=("a", "b"), variant=("one", "two"), x=(1, 2))
    options = {"x": "setting_x", "xlabel": "x", "columns": "variant"}
    options["rows"] = [{"metric": "a", "ylabel": "first"}, {"metric": "b", "ylabel": "second"}]
    axes = draw_lines(cells, {}, options).axes
    assert [axis.get_title() for axis in axes] == ["one", "two", "", ""]
    assert [axis.get_xlabel() for axis in axes] == ["", "", "x", "x"]
    assert [axis.get_ylabel() for axis in axes] == ["first", "", "second", ""]


PAPERS = read_papers(ROOT / "config")
FIGURES = {item.name: item for item in shipped_items().values() if item.kind == "figure"}


def made_up(item):
    """Return cells as the item's study is configured, with numbers that differ."""
    study = configured_studies()[item.study]
    rows = []
    for setting in study.settings.values():
        if not setting.matches(item.where):
            continue
        values = {f"setting_{k}": v for k, v in setting.values.items() if not is_list(v)}
        place = {"variant": setting.variant, "setting": setting.name, **values}
        for name in study.methods_of(setting):
            method = study.method_in(name, setting)
            plain = {k: v for k, v in method.parameters.items() if not is_list(v)}
            named = {"method": name, "label": method.label}
            named |= {f"method_{k}": v for k, v in plain.items()}
            named |= {"row": values.get("setting_dataset", ""), "column": setting.name}
            rows += [{**place, **named, "metric": m} for m in item.metrics_of(name)]
    return frame([{**row, "item": item.name} | numbers(1.0 + i) for i, row in enumerate(rows)])


def numbers(value):
    """Return the numbers of a cell, which are those of no other."""
    return {"mean": value, "median": value, "values": (value,) * 4}


def is_list(value):
    return isinstance(value, list | dict)


def made_up_results(cells, metric):
    rounds = pd.DataFrame({"round": range(1, 9)}, dtype="Int64")
    runs = cells[["study", "variant", "setting", "method", "mean"]].assign(metric=metric)
    scores = runs.rename(columns={"mean": "value"}).merge(rounds, how="cross")
    sent = scores.assign(metric="floats", value=scores["round"].astype(float))
    return pd.concat([scores, sent], ignore_index=True).assign(replication=0)


def draw(item):
    cells = made_up(item)
    more = {}
    if item.builder in BY_ROUND:
        more = {"results": made_up_results(cells, item.metric)}
    with house_style():
        return BUILDERS[item.builder](cells, PAPERS[item.paper].looks, item.options, **more)


@pytest.fixture(scope="module", params=FIGURES.values(), ids=FIGURES)
def figure(request):
    """A figure, drawn once for the tests that look at it."""
    return draw(request.param)


@pytest.mark.slow
def test_a_figure_has_one_range_of_y_a_row_and_no_colour_twice(figure):
    colors: dict[str, set] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            line = handle if hasattr(handle, "get_color") else handle.lines[0]
            colors.setdefault(label, set()).add(line.get_color())
    assert all(len(found) == 1 for found in colors.values())
    assert len(set().union(*colors.values())) == len(colors)
    rows: dict[int, set] = {}
    for axis in filter(Axes.get_subplotspec, figure.axes):  # but the bars of colours
        rows.setdefault(axis.get_subplotspec().rowspan.start, set()).add(axis.get_ylim())
    assert all(len(ranges) == 1 for ranges in rows.values())
    assert not any(axis.get_legend() for axis in figure.axes)  # legends cover no data


def drawn_on(axis):
    """Return the numbers that a panel shows."""
    lines = (tuple(map(tuple, line.get_xydata().round(9))) for line in axis.get_lines())
    images = (tuple(map(tuple, image.get_array())) for image in axis.get_images())
    return (*lines, *images)


@pytest.mark.slow
def test_no_panel_of_a_figure_repeats_another(figure):
    shown = [drawn_on(axis) for axis in figure.axes]
    assert len(set(shown)) == len(shown)


@pytest.mark.slow
def test_every_builder_is_used():
    known = get_args(Figure.model_fields["builder"].annotation)
    assert {item.builder for item in FIGURES.values()} == set(known)


@pytest.mark.slow
@pytest.mark.parametrize("study", configured_studies().values(), ids=configured_studies())
def test_every_variant_is_explained(study):
    unexplained = set(study.variants) - {"default"} - set(PAPERS[study.paper].variants)
    assert not unexplained

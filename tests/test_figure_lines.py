"""Lines, points and paths: what a panel draws, where, and in which order."""

import numpy as np
import pandas as pd
import pytest

from fedmix.views.figures.build import build_figure
from fedmix.views.figures.by_round import draw_exchange, draw_trajectories
from fedmix.views.figures.lines import draw_lines, draw_points
from synthetic_cells import frame, item


def cells(xs=(1, 2, 4), methods="A", **more):
    rows = [
        {"method": name, "label": f"the {name}", "setting_x": x} for name in methods for x in xs
    ]
    return frame([{**row, **more} for row in rows])


def drawn(figure, panel=0):
    """Return label -> points of every line with a label."""
    lines = (line for line in figure.axes[panel].lines if not line.get_label().startswith("_"))
    return {line.get_label(): line.get_xydata().tolist() for line in lines}


def test_a_line_goes_from_left_to_right_and_one_replication_has_a_band_without_width():
    own = cells(xs=(4, 1, 2), sd=float("nan"), n=1).assign(mean=[3.0, 1.0, 2.0])
    figure = draw_lines(own, {}, {"x": "setting_x"})
    assert drawn(figure) == {"the A": [[1, 1], [2, 2], [4, 3]]}
    assert np.isfinite(figure.axes[0].collections[0].get_datalim(figure.axes[0].transData)).all()


def test_a_log_axis_has_a_tick_for_each_value_and_a_mark_stands_on_x():
    options = {"x": "setting_x", "xscale": "log", "mark": 2, "xlabel": "points"}
    axis = draw_lines(cells(), {}, options).axes[0]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "2", "4"]
    assert list(axis.lines[-1].get_xdata()) == [2, 2]
    assert axis.get_xlabel() == "points"


def test_one_value_between_whole_numbers_has_its_ticks():
    axis = draw_lines(cells(xs=(0, 0.5, 1)), {}, {"x": "setting_x"}).axes[0]
    assert any(tick != round(tick) for tick in axis.get_xticks())


@pytest.mark.parametrize(("exponent", "place"), [(-1.0, "top"), (0.5, "bottom")])
def test_a_power_goes_through_the_geometric_mean_of_all_points(exponent, place):
    own = cells(xs=(1, 4), methods="AB").assign(mean=[1.0, 4.0, 4.0, 16.0])
    figure = draw_lines(own, {}, {"x": "setting_x", "exponent": exponent})
    slope = drawn(figure)["predicted slope"]
    np.testing.assert_allclose(slope, [[1, 4 * 2**-exponent], [4, 4 * 2**exponent]])
    text = figure.axes[0].texts[0]
    assert text.get_text() == f"predicted {exponent:+g}"
    assert text.get_verticalalignment() == place


def test_a_column_of_panels_stays_if_one_of_its_rows_has_cells():
    own = cells(methods="AB")
    rows = [{"methods": ["A"]}, {"methods": ["B"]}]
    columns = [{"where": {"method": "A"}}, {"where": {"method": ["A", "B"]}}]
    figure = draw_lines(own, {}, {"x": "setting_x", "rows": rows, "columns": columns})
    assert [list(drawn(figure, i)) for i in range(4)] == [["the A"], ["the A"], [], ["the B"]]


def test_panels_of_a_column_of_the_frame_leave_missing_values_out_and_take_names():
    own = cells().assign(setting_k=[1.0, 2.0, None])
    figure = draw_lines(own, {}, {"x": "setting_x", "rows": "setting_k", "names": {1.0: "one"}})
    assert [axis.get_title() for axis in figure.axes] == ["one", "2.0"]


def test_series_may_be_any_column_and_four_stand_beside_each_other_in_the_legend():
    own = cells().assign(setting_k=[10, 20, 20])
    figure = draw_lines(own, {}, {"x": "setting_x", "series": "setting_k", "names": {10: "ten"}})
    assert set(drawn(figure)) == {"ten", "20"}
    figure = draw_lines(cells(methods="ABCDE"), {}, {"x": "setting_x"})
    assert figure.legends[0]._ncols == 4


def test_points_stand_around_their_names_from_top_to_bottom_with_bars_to_the_quartiles():
    own = cells(xs=(1,), methods="AB").assign(median=5.0, q1=4.0, q3=8.0)
    unnamed = own.assign(setting_place=None)
    own = pd.concat([own.assign(setting_place=name) for name in ("top_row", "low")] + [unnamed])
    figure = draw_points(own, {}, {"along": "setting_place", "statistic": "median"})
    axis = figure.axes[0]
    assert [text.get_text() for text in axis.get_yticklabels()] == ["top row", "low"]
    assert axis.get_ylim() == (1.5, -0.5)
    points = {bars.get_label(): bars.lines[0].get_ydata().tolist() for bars in axis.containers}
    np.testing.assert_allclose(points["the A"], [-0.15, 0.85])
    np.testing.assert_allclose(points["the B"], [0.15, 1.15])
    bar = axis.containers[0].lines[2][0].get_segments()[0]
    assert bar[:, 0].tolist() == [4, 8]
    assert len(figure.legends) == 1
    alone = draw_points(own[own["method"] == "A"], {}, {"along": "setting_place"})
    assert alone.legends == []


def paths(methods="AB", settings=("s",), metrics=("error", "floats"), floats=(0, 10, 20, 20)):
    rows = [
        {"study": "study", "variant": "as_written", "setting": setting, "method": name}
        | {"replication": 0, "round": t, "metric": metric, "status": "ok"}
        | {"value": float(floats[t] if metric == "floats" else 8 - t)}
        for setting in settings
        for name in methods
        for metric in metrics
        for t in range(4)
    ]
    return pd.DataFrame(rows).astype({"round": "Int64"})


def test_an_exchange_is_a_line_of_scores_by_floats_of_its_own_cells():
    own = cells(xs=(1,), methods="A").assign(setting="s")
    results = paths(methods="AB", settings=("s", "other"))
    results.loc[results["setting"] == "other", "value"] *= 100
    figure = draw_exchange(own, {}, {"xlabel": "floats"}, results)
    assert drawn(figure) == {"the A": [[10, 7], [20, 6]]}, "a round without floats adds nothing"
    assert (figure.axes[0].get_xscale(), figure.axes[0].get_yscale()) == ("log", "log")


def test_a_method_without_paths_has_no_line_and_default_is_no_name():
    own = cells(xs=(1,), methods="A").assign(setting="s", row="")
    options = {"columns": [{"title": "all", "methods": ["A", "B"]}], "ylabel": "error"}
    results = paths("A").assign(variant="default")
    figure = draw_trajectories(own, {}, options, results)
    assert list(drawn(figure)) == ["the A"]
    assert figure.axes[0].get_ylabel() == "s\nerror"


def test_only_a_figure_of_stand_ins_alone_has_them_in_its_head(tmp_path):
    told = item(builder="lines", options={"x": "n"})
    for rows, times in (([{}], 2), ([{}, {"is_stand_in": False, "method": "B"}], 1)):
        own = frame([{"is_stand_in": True} | row for row in rows])
        build_figure(told, own, [tmp_path / "figure.svg", tmp_path / "figure.md"])
        svg = (tmp_path / "figure.svg").read_text(encoding="utf-8")
        assert svg.count("STAND-IN") == times, "once in the metadata"

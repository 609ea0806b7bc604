"""What each figure draws, where, and in which order: lines, points, paths, maps, searches."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.protocols.running import draw_protocols
from fedmix.plot.style import COLORS
from fedmix.views.figures.build import build_figure
from fedmix.views.figures.lines import draw_exchange, draw_lines, draw_points, draw_trajectories
from fedmix.views.figures.maps import draw_maps, draw_ranks
from fedmix.views.figures.protocols import _curve, _nearest, _path, _replications
from synthetic_cells import frame, item
from synthetic_search import CLAIM, ITEM, PRINTED, column, runs_of, space

MAP = {"x": "setting_x", "along": "setting_y", "xlabel": "points", "title": "gain"}


def cells(xs=(1, 2, 4), methods="A", **more):
    rows = [
        {"method": name, "label": f"the {name}", "setting_x": x} for name in methods for x in xs
    ]
    return frame([{**row, **more} for row in rows])


def drawn(figure, panel=0):
    """Return label -> points of every line with a label."""
    lines = (line for line in figure.axes[panel].lines if not line.get_label().startswith("_"))
    return {line.get_label(): line.get_xydata().tolist() for line in lines}


def test_a_methods_mean_is_marked():
    two = cells(xs=(1, 2), methods="AB")
    axis = draw_lines(two, {}, {"x": "setting_x", "level": "A", "methods": ["B"]}).axes[0]
    own = two[two["method"] == "A"]
    expected = (own["mean"] / own["scale"]).mean()
    assert list(axis.lines[-1].get_ydata()) == [expected, expected]
    assert len(axis.lines) == 2


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
    assert drawn(figure) == {"the A": [[10, 7], [20, 5]]}, "the last round with the same floats"
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


def squares(score, methods="A", se=0.1):
    """Cells of 3 times 3 settings, of which those without a score are left out."""
    return frame(
        {"method": name, "label": f"the {name}", "setting": f"{x}-{y}", "setting_x": x}
        | {"setting_y": y, "mean": score(x, y), "se": se, "scale": 0.01}
        for name in methods
        for x in (1, 2, 4)
        for y in (0.5, 1.0, 2.0)
        if score(x, y) is not None
    )


def crossed(axis):
    return {(int(x), int(y)) for line in axis.lines for x, y in line.get_xydata()}


def test_squares_within_two_standard_errors_of_zero_are_crossed_and_missing_ones_are_not():
    gains = {(1, 0.5): None, (1, 1.0): 0.0, (1, 2.0): 0.2, (2, 2.0): -0.2}
    figure = draw_maps(squares(lambda x, y: gains.get((x, y), 0.21)), {}, MAP)
    axis = figure.axes[0]
    assert crossed(axis) == {(0, 1), (0, 2), (1, 2)}
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "2", "4"]
    assert [text.get_text() for text in axis.get_yticklabels()] == ["0.5", "1", "2"]
    assert axis.images[0].get_clim() == (-21, 21)
    assert np.isnan(axis.images[0].get_array().filled(np.nan)[0, 0])


def test_the_line_of_zero_is_drawn_where_both_signs_are_beyond_the_noise():
    for se, lines in ((0.1, 1), (2.0, 0)):
        axis = draw_maps(squares(lambda x, y: x - 2.5, se=se), {}, MAP).axes[0]
        assert len(axis.collections) == lines


def test_a_single_row_has_no_line_and_scores_of_zero_have_a_scale():
    [axis, _] = draw_maps(squares(lambda x, y: x - 2.5 if y == 1 else None), {}, MAP).axes
    assert len(axis.collections) == 0
    [axis, _] = draw_maps(squares(lambda x, y: 0.0), {}, MAP).axes
    assert axis.images[0].get_clim() == (-1, 1)


def test_five_methods_take_two_rows_and_no_axes_are_left_over():
    *maps, colors = draw_maps(squares(lambda x, y: 0.0, methods="ABCDE"), {}, MAP).axes
    assert [axis.get_title() for axis in maps] == [f"the {name}" for name in "ABCDE"]
    rows = [axis.get_subplotspec().rowspan.start for axis in maps]
    assert rows == [0, 0, 0, 1, 1]
    assert colors.get_ylabel() == "gain"
    assert [axis.get_ylabel() for axis in maps] == ["setting_y", "", "", "setting_y", ""]


def ranks(means, rank="rank: score", data=("data",), n=4, **options):
    """Return the axes of a figure of ranks with a score of each method."""
    rows = [
        {"method": name, "label": name, "setting": own, "setting_dataset": own, "column": own}
        | {"metric": metric, "mean": mean, "values": (float(i),) * 4, "scale": 0.01, "n": n}
        for own in data
        for i, (name, mean) in enumerate(means.items())
        for metric in (rank, "score")
    ]
    row = {"metric": "score", "rank": rank, "title": "scores"}
    return draw_ranks(
        frame(rows), {}, {"rows": [row], "names": {"data": "The data"}, **options}
    ).axes


def heat_map(means, rank="rank: score"):
    return ranks(means, rank)[1]


def test_scores_stand_in_the_unit_shown_in_ink_that_can_be_read():
    for rank, inks in (("rank: score", "wwb"), ("rank from lowest: score", "bww")):
        axis = heat_map({"A": 0.1, "B": 0.2, "C": 0.3}, rank)
        assert [text.get_text() for text in axis.texts] == ["10.00", "20.00", "30.00"]
        black = {"w": "white", "b": COLORS["black"]}
        assert [text.get_color() for text in axis.texts] == [black[ink] for ink in inks]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["The data"]


def test_equal_scores_and_a_missing_one_are_written_too():
    axis = heat_map({"A": 0.1, "B": float("nan"), "C": 0.1})
    assert [text.get_text() for text in axis.texts] == ["10.00", "–", "10.00"]
    assert axis.texts[0].get_color() == "white"


def test_the_critical_difference_needs_two_methods_and_five_replications():
    two = {"A": 0.1, "B": 0.2}
    for means, n, drawn in ((two, 5, True), (two, 4, False), ({"A": 0.1}, 5, False)):
        assert bool(ranks(means, n=n)[0].texts) == drawn


def test_the_data_sets_that_count_are_counted():
    for same, said in (({}, "2 independent data sets"), ({"b": "a"}, "1 data set")):
        axis = ranks({"A": 0.1, "B": 0.2}, data=("a", "b"), same_data=same)[0]
        assert axis.get_xlabel() == f"mean rank over {said} (1 is best)"


def test_a_caption_has_the_fewest_and_the_most_replications_of_drawn_protocols():
    scores = pd.DataFrame({"kind": ["drawn", "drawn", "judged"], "replications": [3, 10, 20]})
    said = "n = 3 to 10 replications per drawn protocol, 20 per judged one."
    assert _replications(scores) == said
    said = "n = 3 replications per drawn protocol, 20 per judged one."
    assert _replications(scores.drop(index=1)) == said


def test_a_path_is_the_least_objective_so_far():
    objectives = [3.0, np.inf, 2.0, 5.0, 1.0]  # the second did not come to an end
    kinds = [*4 * ["tried"], "confirmed"]  # the last stage sees other replications
    trials = pd.DataFrame({"trial": range(5), "objective": objectives, "kind": kinds})
    [line] = _path(trials.assign(seed=1, start=0, complete=True)).axes[0].get_lines()
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([0, 2, 3], [3.0, 2.0, 2.0])


def test_panels_that_share_an_axis_show_all_protocols_of_each_table():
    own = space(("one", "two"))
    design = draw_protocols(own).assign(distance=1.0)
    drawn = pd.concat(
        [
            design.assign(table=table, effect=scale * np.linspace(-1.0, 1.0, len(design)))
            for table, scale in (("one", 5.0), ("two", 0.1))  # the last has the least range
        ]
    )
    drawn = drawn.assign(effect_low=drawn["effect"] - 0.1, effect_high=drawn["effect"] + 0.1)
    shares = pd.DataFrame({"outcome": "lowest", "choice": list(own.choices), "share": 0.5})
    first, second = _curve(own, ITEM, drawn, shares).axes[:2]
    assert first.get_ylim() == second.get_ylim()
    least, most = first.get_ylim()
    assert least < drawn["effect_low"].min() / ITEM.scale
    assert most > drawn["effect_high"].max() / ITEM.scale


def test_the_best_protocol_stands_beside_the_published_values_in_the_unit_shown():
    printed = PRINTED.rename(columns={"mean": "printed_mean", "sd": "printed_sd"})
    runs = runs_of({"s1.0": 1.0}).merge(printed, on=["n_contaminated", "method"])
    figure = _nearest(space(), ITEM, runs.assign(rank=1))
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["table one\nn contaminated 0", "table one\nn contaminated 2 (held out)"]
    for axis in figure.axes:
        np.testing.assert_allclose(axis.containers[0].lines[0].get_ydata(), [30, 20, 10])
        [mean] = [line for line in axis.get_lines() if line.get_label() == "their mean"]
        np.testing.assert_allclose(mean.get_ydata(), [31, 21, 11])


def test_values_below_zero_are_seen_and_methods_have_their_labels():
    own = space()
    labels = {"LocalEM": "Local-EM", "FedEM": "Fed-EM", "FedGrEM": "Fed-GrEM"}
    methods = {m: column(m).model_copy(update={"label": label}) for m, label in labels.items()}
    claim = CLAIM.model_copy(update={"than": ["LocalEM", "FedEM"]})
    own = own.model_copy(update={"methods": methods, "claim": claim})
    printed = PRINTED.rename(columns={"mean": "printed_mean", "sd": "printed_sd"})
    runs = runs_of({"s1.0": 1.0}).merge(printed, on=["n_contaminated", "method"]).assign(rank=1)
    runs.loc[(runs["n_contaminated"] == 2) & (runs["replication"] == 0), "value"] = -0.2
    first, second = _nearest(own, ITEM, runs).axes
    assert [text.get_text() for text in first.get_xticklabels()] == list(labels.values())
    assert first.get_ylim()[0] == 0
    assert second.get_ylim()[0] < -0.2 / ITEM.scale
    drawn = draw_protocols(own).assign(
        table="one", distance=1.0, effect=1.0, effect_low=0.0, effect_high=2.0
    )
    shares = pd.DataFrame({"outcome": "lowest", "choice": list(own.choices), "share": 0.5})
    said = _curve(own, ITEM, drawn, shares).axes[0].get_ylabel()
    assert said.startswith("Fed-GrEM less\nLocal-EM and Fed-EM\n")


def test_the_lowest_map_of_each_column_names_its_values():
    *axes, _ = draw_maps(squares(lambda x, y: x, methods="ABCDE"), {}, MAP).axes
    assert [axis.get_xlabel() for axis in axes] == ["", "", *["points"] * 3]
    below = [axis.xaxis.get_tick_params()["labelbottom"] for axis in axes]
    assert below == [False, False, True, True, True]

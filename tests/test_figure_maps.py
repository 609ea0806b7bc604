"""Maps of a score over two settings, and heat maps beside ranks: every square as it is."""

import numpy as np

from fedmix.plot.style import COLORS
from fedmix.views.figures.maps import draw_maps
from fedmix.views.figures.ranks import draw_ranks
from synthetic_cells import frame

OPTIONS = {"x": "setting_x", "along": "setting_y", "xlabel": "points", "title": "gain"}


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
    figure = draw_maps(squares(lambda x, y: gains.get((x, y), 0.21)), {}, OPTIONS)
    axis = figure.axes[0]
    assert crossed(axis) == {(0, 1), (0, 2), (1, 2)}
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "2", "4"]
    assert [text.get_text() for text in axis.get_yticklabels()] == ["0.5", "1", "2"]
    assert axis.images[0].get_clim() == (-21, 21)
    assert np.isnan(axis.images[0].get_array().filled(np.nan)[0, 0])


def test_the_line_of_zero_is_drawn_where_both_signs_are_beyond_the_noise():
    for se, lines in ((0.1, 1), (2.0, 0)):
        axis = draw_maps(squares(lambda x, y: x - 2.5, se=se), {}, OPTIONS).axes[0]
        assert len(axis.collections) == lines


def test_a_single_row_has_no_line_and_scores_of_zero_have_a_scale():
    [axis, _] = draw_maps(squares(lambda x, y: x - 2.5 if y == 1 else None), {}, OPTIONS).axes
    assert len(axis.collections) == 0
    [axis, _] = draw_maps(squares(lambda x, y: 0.0), {}, OPTIONS).axes
    assert axis.images[0].get_clim() == (-1, 1)


def test_five_methods_take_two_rows_and_spare_axes_are_off():
    figure = draw_maps(squares(lambda x, y: 0.0, methods="ABCDE"), {}, OPTIONS)
    maps, colors = figure.axes[:8], figure.axes[8]
    assert [axis.get_title() for axis in maps] == [*(f"the {name}" for name in "ABCDE"), "", "", ""]
    assert [axis.axison for axis in maps] == [True] * 5 + [False] * 3
    assert colors.get_ylabel() == "gain"
    assert maps[4].get_xlabel() == "points"
    assert maps[4].get_ylabel() == "setting_y"


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

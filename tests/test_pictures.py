"""Pictures of clients, models and comparisons: edges, places and names."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib import colormaps

from fedmix import plot
from fedmix.errors import DataError
from fedmix.plot.points import colors_of, principal_axes
from fedmix.plot.scores import groups
from fedmix.plot.style import COLORS, looks_of


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def edges(axis):
    """Return the ends of the first band at its first place."""
    places = axis.collections[0].get_paths()[0].vertices
    here = places[places[:, 0] == places[0, 0], 1]
    return here.min(), here.max()


def test_a_line_has_about_eight_markers_and_a_long_band_is_pixels():
    axis = plot.trajectories({"A": np.ones(40), "B": np.ones(5)})
    assert [line.get_markevery() for line in axis.lines] == [5, 1]
    axis = plot.trajectories({"A": np.ones(101), "B": np.ones(100)})
    assert [bool(band.get_rasterized()) for band in axis.collections] == [True, False]


def test_bands_are_quartiles_by_round_and_standard_deviations_by_share():
    assert edges(plot.trajectories({"A": [[1.0], [2.0], [3.0], [4.0], [5.0]]})) == (2, 4)
    axis = plot.contamination([0.0, 1.0], {"A": [[1.0, 3.0], [1.0, 1.0]]})
    np.testing.assert_allclose(edges(axis), [2 - 2**0.5, 2 + 2**0.5])


def test_shares_are_from_0_to_1_and_may_be_none():
    for wrong in (-0.01, 1.01, np.nan):
        with pytest.raises(DataError, match="from 0 to 1"):
            plot.contamination([0.5, wrong], {"A": [1.0, 2.0]})
    assert plot.contamination([], {"A": []}).lines[0].get_xydata().tolist() == []


def test_a_share_has_the_replications_that_did_not_fail():
    axis = plot.contamination(
        [0.0, 0.5, 1.0], {"A": [[1, 3, np.nan], [2, np.nan, np.nan], [np.nan] * 3]}
    )
    np.testing.assert_array_equal(axis.lines[0].get_ydata(), [2.0, 2.0, np.nan])
    np.testing.assert_allclose(edges(axis), [2 - 2**0.5, 2 + 2**0.5])


def test_bars_of_weights_follow_each_other_from_the_first_client_on_top():
    model = SimpleNamespace(weights_=np.array([[0.25, 0.75], [1.0, 0.0]]), client_names_=["a", "b"])
    axis = plot.weights(model)
    assert [[bar.get_x() for bar in bars] for bars in axis.containers] == [[0, 0], [0.25, 1]]
    assert axis.get_ylim()[0] > axis.get_ylim()[1]
    assert axis.get_xlim() == (0, 1)
    assert axis.get_legend().get_title().get_text() == "component"
    model.client_names_ = ["a", "b", "c"]
    with pytest.raises(DataError, match="SimpleNamespace has no mixing weights of each client"):
        plot.weights(model)


def test_weights_of_components_of_one_cluster_are_added_up():
    shares, clusters = [np.array([0.25, 0.75])], [np.array([1, 1])]
    model = SimpleNamespace(weights_=shares, client_names_=["a"], superclusters_=clusters)
    axis = plot.weights(model)
    assert [bars[0].get_width() for bars in axis.containers] == [0, 1]
    assert axis.get_legend().get_title().get_text() == "cluster"


@pytest.mark.parametrize(("n_clients", "n_components"), [(1, 8), (2, 10), (3, 20)])
def test_a_legend_of_many_components_is_not_higher_than_the_figure(n_clients, n_components):
    shares = np.full((n_clients, n_components), 1.0 / n_components)
    axis = plot.weights(SimpleNamespace(weights_=shares, client_names_=list(range(n_clients))))
    axis.figure.canvas.draw()
    assert axis.get_legend().get_window_extent().height < axis.figure.bbox.height


def test_the_section_is_that_of_the_good_points_with_a_margin_of_a_tenth():
    line = np.array([[0.0], [10.0]])
    far = np.array([[-99.0], [5.0], [99.0]])
    axes = plot.clusters([line, far], [[0, 1], [0, 1, 1]], contaminated=[1])
    low, high = axes[0].get_xlim()
    assert high - low == pytest.approx(12)
    assert axes[0].get_ylim() == pytest.approx((-0.1, 0.1))
    assert axes[1].texts[0].get_text() == "2 points outside"
    assert [axis.get_title(loc="left") for axis in axes] == ["client 0", "client 1, contaminated"]


def test_clients_without_points_do_not_set_the_section():
    with pytest.raises(DataError, match="one client with points that is not marked"):
        plot.clusters([np.eye(2), np.empty((0, 2))], [[0, 1], []], contaminated=[0])


@pytest.mark.parametrize("wrong", [[True, False], np.array([False, True]), "a", 1])
def test_a_mask_or_a_single_name_does_not_mark_other_clients(wrong):
    with pytest.raises(DataError, match="clusters: expected"):
        plot.clusters([np.eye(2)] * 2, [[0, 1]] * 2, contaminated=wrong)
    named = {False: np.eye(2), True: np.eye(2)}
    axes = plot.clusters(named, [[0, 1]] * 2, contaminated=[True])
    assert "contaminated" in axes[1].get_title(loc="left")


def test_labels_of_several_types_and_missing_ones_are_told_apart():
    axes = plot.clusters([np.eye(2)] * 2, [[1, 1], ["a", "a"]])
    colors = [axis.collections[0].get_facecolor()[0].tolist() for axis in axes]
    assert colors == colors_of(2).tolist()
    with pytest.raises(DataError, match="2 of the labels are missing"):
        plot.clusters([np.eye(2)], [[None, None]])


def test_names_are_no_formulas():
    plot.clusters({"a$b_$c": np.eye(2)}, [[0, 1]])[0].figure.canvas.draw()


def test_scores_of_another_form_are_refused():
    for wrong in (np.zeros((2, 2, 2)), [[1.0], [1.0, 2.0]]):
        with pytest.raises(DataError, match="trajectories: expected scores of A of shape"):
            plot.trajectories({"A": wrong})


def test_five_clients_take_two_rows_of_four_with_numbers_below_each_column():
    axes = plot.clusters([np.eye(2)] * 5, [[0, 1]] * 5)
    assert len(axes[0].figure.axes) == 5
    assert axes[0].get_subplotspec().get_gridspec().ncols == 4
    below = [axis.xaxis.get_tick_params()["labelbottom"] for axis in axes]
    assert below == [False, True, True, True, True]


def test_classes_have_colours_of_their_own():
    for n in (10, 11, 20, 21):
        assert len(np.unique(colors_of(n), axis=0)) == n
    assert colors_of(20)[:, :3].tolist() == [list(color) for color in colormaps["tab20"].colors]


def test_the_first_axis_has_the_larger_share_of_the_variance():
    names, _, directions = principal_axes(
        np.array([[0.0, 0.0], [0.0, 7.0], [1.0, 0.0], [1.0, 7.0]])
    )
    assert names == [
        "First principal axis (98% of variance)",
        "Second principal axis (2% of variance)",
    ]
    np.testing.assert_allclose(np.abs(directions), [[0, 1], [1, 0]], atol=1e-12)


@pytest.mark.parametrize(
    ("ranks", "found"),
    [
        ([1.0, 1.2, 1.4, 5.0], [(0, 2)]),
        ([1.0, 2.0], []),
        ([1.0, 1.5, float("nan")], [(0, 1)]),
        ([], []),
    ],
)
def test_a_group_is_as_large_as_it_can_be(ranks, found):
    assert list(groups(ranks, 1.0)) == found


def ranked(*labels):
    n = len(labels)
    frame = pd.DataFrame({"method": labels, "label": labels, "mean_rank": np.arange(1.0, n + 1)})
    return frame.assign(low=frame["mean_rank"] - 0.1, high=frame["mean_rank"] + 0.1)


@pytest.mark.parametrize(
    ("width", "end", "marker", "more"),
    [(1.5, 2.5, "|", ""), (2.0, 3.0, "|", ""), (2.5, 3.0, ">", ", more than the 2 between first")],
)
def test_a_critical_difference_is_a_bar_from_the_first_rank(width, end, marker, more):
    axis = plot.ranks(ranked("A", "B", "C"), width)
    bar = next(line for line in axis.lines if line.get_xdata().tolist() == [1, end])
    assert bar.get_ydata().tolist() == [-0.9, -0.9]
    last = [line for line in axis.lines if len(line.get_xdata()) == 1][-1]
    assert last.get_marker() == marker
    assert axis.texts[0].get_text().startswith(f"critical difference {width:.1f}{more}")
    assert axis.get_ylim()[1] < -1


def test_known_methods_are_black_and_others_keep_their_colour_and_a_bold_name():
    axis = plot.ranks(ranked("A", "B"), known={"A": {}})
    known, other = axis.get_yticklabels()
    own = looks_of(["B"], {})["B"].color
    assert (other.get_color(), other.get_fontweight()) == (own, "bold")
    assert known.get_fontweight() != "bold"
    assert [line.get_color() for line in axis.lines[::2]] == [COLORS["black"], own]


def test_a_picture_is_wider_for_labels_of_more_than_twenty_characters():
    widths = [plot.ranks(ranked("x" * n)).figure.get_figwidth() for n in (20, 30)]
    assert widths == pytest.approx([5.4, 6.3])

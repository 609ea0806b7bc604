"""Pictures: what is drawn, the same look of a method in all, and equal bytes."""

import re
from itertools import combinations
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from PIL import Image

from fedmix import methods, plot
from fedmix.cells.papers import Color, read_papers
from fedmix.errors import DataError
from fedmix.plot.points import principal_axes
from fedmix.plot.style import COLORS, house_style, looks_of
from fedmix.views.figures.build import copy_light, save_figure

ROOT = Path(__file__).parents[1]
# Beyond the papers a figure shows some of many methods; the shipped figures are tested one by one.
PAPERS = {key: paper for key, paper in read_papers(ROOT / "config").items() if paper.is_paper}
VARIANTS = {"as_coded", "as_written", "corrected", "default"}


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_methods_of_a_paper_differ_in_colour_and_in_marker(paper):
    # Figures that draw variants draw one method.
    names = [n for n in paper.looks if n not in VARIANTS and n not in {"TwoPhase"}]
    for a, b in combinations(looks_of(names, paper.looks).values(), 2):
        assert a.color != b.color
        assert a.marker != b.marker


def test_declared_colours_are_those_of_the_style():
    assert set(get_args(Color)) == set(COLORS)


def test_an_unknown_method_keeps_a_look_of_its_own():
    looks = PAPERS["fedgrem"].looks
    known = set(looks_of(looks, looks).values())
    unknown = looks_of(["FedEM", "MyNewMethod"], looks)["MyNewMethod"]
    assert unknown == looks_of(["MyNewMethod"], looks)["MyNewMethod"]
    assert unknown not in known
    assert unknown.color in COLORS.values()
    alone = [looks_of([f"method {i}"], {})[f"method {i}"] for i in range(40)]
    assert len(set(alone)) > 30


def test_an_unknown_method_takes_no_colour_of_its_figure():
    looks = PAPERS["fedgrem"].looks
    names = [*list(looks)[:7], *(f"method {i}" for i in range(2))]
    colors = [look.color for look in looks_of(names, looks).values()]
    assert len(set(colors)) == len(names)


def test_the_house_style_leaves_matplotlib_as_it_was():
    import matplotlib

    before = matplotlib.rcParams["axes.spines.top"]
    with house_style():
        assert matplotlib.rcParams["axes.spines.top"] is False
    assert matplotlib.rcParams["axes.spines.top"] == before


def _draw():
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure()
        axes = figure.subplots()
        look = looks_of(["FedGrEM"], {})["FedGrEM"]
        axes.plot([0, 1, 2], [3, 1, 2], label="FedGrEM", **look.keywords())
        axes.set_xlabel("heterogeneity h")
        axes.legend()
    return figure


def _kept(figure, folder):
    save_figure(figure, [folder / "a.svg"])
    copy_light(folder / "a.svg", folder / "kept.svg")
    return (folder / "kept.svg").read_text()


def test_equal_figures_have_equal_bytes(tmp_path):
    suffixes = ("pdf", "svg", "png")
    for stem in "ab":
        save_figure(_draw(), [tmp_path / f"{stem}-h0.5.{suffix}" for suffix in suffixes])
    for suffix in suffixes:
        one, other = ((tmp_path / f"{stem}-h0.5.{suffix}").read_bytes() for stem in "ab")
        assert len(one) > 500
        assert one == other


def test_a_caption_stands_beside_a_figure_and_in_each_of_its_files(tmp_path):
    said = "Errors < 0.1 & ± 2 sd, by “h”."
    save_figure(_draw(), [tmp_path / f"a-h0.5.{s}" for s in ("svg", "md", "png")], said)
    files = {path.suffix: path for path in tmp_path.iterdir()}
    assert {path.stem for path in files.values()} == {"a-h0.5"}
    assert files.keys() == {".svg", ".png", ".md"}
    assert files[".md"].read_text(encoding="utf-8") == f"{said}\n"
    described = ElementTree.parse(files[".svg"]).iter(
        "{http://purl.org/dc/elements/1.1/}description"
    )
    assert [element.text for element in described] == [said]
    with Image.open(files[".png"]) as picture:
        assert picture.info["Description"] == said


def test_a_kept_figure_is_lighter_than_matplotlib_s_and_keeps_every_word(tmp_path):
    figure = _draw()
    figure.axes[0].set_xticks([0.12345, 2], ["0.12345", "2"])
    with house_style():
        figure.savefig(tmp_path / "raw.svg")
    raw = (tmp_path / "raw.svg").read_text()
    light = _kept(figure, tmp_path)
    assert len(light) < 0.8 * len(raw)
    words = [sorted(re.findall(r">([^<>]+)</text>", text)) for text in (raw, light)]
    assert len(words[0]) > 1
    assert words[0] == words[1]
    assert "0.12345" in words[1]


def test_a_kept_figure_says_once_how_marks_look_and_no_place_finer_than_a_hundredth(tmp_path):
    text = _kept(_draw(), tmp_path)
    assert text.count("<use") >= 3
    marks = re.findall(r'<g[^>]* stroke="[^"]*"[^>]*>((?:\s*<use [^>]*>){3})', text)
    assert len(marks) == 1
    assert "stroke" not in marks[0]
    assert not re.search(r' [xyd]="[^"]*\.\d{3}', text)


def test_an_svg_names_its_font_once_and_has_no_rotation_by_nothing(tmp_path):
    text = _kept(_draw(), tmp_path)
    assert text.count("<text ") > 1
    assert text.count("DejaVu Sans") == 1
    assert "rotate(-0" not in text


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_the_second_picture_of_a_notebook_is_shown_as_well(monkeypatch):
    monkeypatch.setitem(matplotlib.rcParams, "interactive", False)
    with house_style():
        matplotlib.interactive(True)  # as a notebook's backend does when it is loaded
    assert matplotlib.is_interactive()


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    labels = [np.arange(n) % 2 for n in (30, 20, 0, 25)]
    xs = {
        name: 9.0 * own[:, None] * [1, 0, 0] + rng.normal(size=(len(own), 3))
        for name, own in zip("abcd", labels, strict=True)
    }
    xs["d"] = xs["d"] + 1000.0
    return xs, labels


def test_each_client_has_axes_with_its_points_and_a_contaminated_one_is_marked(problem):
    xs, labels = problem
    axes = plot.clusters(xs, labels, contaminated=["d"])
    assert [len(axis.collections[0].get_offsets()) for axis in axes] == [30, 20, 0, 25]
    titles = [axis.get_title(loc="left") for axis in axes]
    assert titles == ["a", "b", "c", "d, contaminated"]
    low, high = axes[0].get_xlim()
    assert high - low < 30, "the far client does not set the section"
    assert axes[3].texts[0].get_text() == "25 points outside"
    one = plot.clusters([xs["a"], xs["d"][:1]], [labels[0], labels[3][:1]], contaminated=[1])
    assert one[1].texts[0].get_text() == "1 point outside"
    colors = axes[0].collections[0].get_facecolors()
    assert len(np.unique(colors[labels[0] == 0], axis=0)) == 1
    assert not np.array_equal(colors[0], colors[1])
    again = plot.clusters(xs, dict(zip("abcd", labels, strict=True)))
    assert np.array_equal(again[0].collections[0].get_facecolors(), colors)


def test_long_names_leave_room_for_the_picture():
    x, own = np.eye(2), np.zeros(2, dtype=int)
    axes = plot.clusters({"a hospital with a long name": x, "b": x}, [own, own])
    assert axes[0].get_title(loc="left") == "a hospital with a long\nname"
    labels = ["FedEM", f"FedGrEM({', '.join(f'parameter_{i}=1.0' for i in range(4))})"]
    frame = pd.DataFrame({"method": labels, "label": labels, "mean_rank": [1.0, 2.0]})
    axis = plot.ranks(frame.assign(low=1.0, high=2.0))
    axis.figure.draw_without_rendering()
    assert axis.get_window_extent().width > 250


def test_given_axes_are_drawn_on_and_must_be_one_per_client(problem):
    xs, labels = problem
    _, own = plt.subplots(2, 2)
    assert list(plot.clusters(xs, labels, axes=own)) == list(own.ravel())
    with pytest.raises(DataError, match="expected 4 axes, one per client; got 2"):
        plot.clusters(xs, labels, axes=own[0])
    with pytest.raises(DataError, match="one label per point"):
        plot.clusters(xs, labels[::-1])
    with pytest.raises(DataError, match="labels are missing"):
        plot.clusters(xs, [np.where(own > 0, own, np.nan) for own in labels])
    with pytest.raises(DataError, match="client 'x' is not among"):
        plot.clusters(xs, labels, contaminated=["x"])
    with pytest.raises(DataError, match="client 'x' is not among"):
        plot.clusters(xs, dict(zip("abcd", labels, strict=True)) | {"x": labels[0]})
    with pytest.raises(DataError, match="at least one client with points that is not marked"):
        plot.clusters(xs, labels, contaminated=["a", "b", "d"])


def test_one_feature_has_one_principal_axis():
    names, centre, directions = principal_axes(np.array([[1.0], [3.0]]))
    assert names[1] == "Second principal axis (0% of variance)"
    assert centre == [2.0]
    assert directions.tolist() == [[1.0, 0.0]]
    rng = np.random.default_rng(0)
    lines = [rng.normal(size=(10, 1)) * rng.normal(size=3) for _ in range(9)]
    assert {principal_axes(line)[0][1] for line in lines} == {names[1]}, "rounding has any sign"


def test_mixing_weights_are_bars_that_fill_the_axis(problem):
    fitted = methods.FedGrEM(2).fit(problem[0])
    axis = plot.weights(fitted)
    assert [text.get_text() for text in axis.get_yticklabels()] == list("abcd")
    widths = np.array([[bar.get_width() for bar in bars] for bars in axis.containers])
    np.testing.assert_allclose(widths.T, fitted.weights_)
    with pytest.raises(DataError, match="KFED has no mixing weights"):
        plot.weights(methods.KFED(2).fit(problem[0]))


def test_mixing_weights_of_fedgem_are_those_of_its_clusters(problem):
    fitted = methods.FedGEM(2).fit(problem[0])
    axis = plot.weights(fitted)
    assert len(axis.containers) == fitted.n_clusters_
    totals = sum(np.array([bar.get_width() for bar in bars]) for bars in axis.containers)
    np.testing.assert_allclose(totals, [1, 1, 0, 1])


def test_trajectories_are_medians_of_replications():
    axis = plot.trajectories({"A": [[4.0, 2.0], [6.0, 3.0], [5.0, np.nan]], "B": [1.0, 0.5]})
    drawn = {line.get_label(): line.get_ydata().tolist() for line in axis.lines}
    assert drawn == {"A": [5.0, 2.5], "B": [1.0, 0.5]}
    assert axis.get_yscale() == "log"
    gaps = plot.trajectories({"A": [[np.nan, 2.0, np.nan, np.nan], [np.nan, 4.0, 1.0, np.nan]]})
    assert gaps.lines[0].get_xydata().tolist() == [[1.0, 3.0], [2.0, 1.0]]
    failed = plot.trajectories({"A": [[np.nan, np.nan]], "B": [1.0, 0.5]})
    assert [len(line.get_xydata()) for line in failed.lines] == [0, 2]


def test_errors_against_contamination_have_one_row_a_share():
    own = plt.figure().add_subplot()
    axis = plot.contamination([0, 0.2], {"A": [[0.1, 0.3], [0.5, 0.7]], "B": [0.1, 0.2]}, own)
    assert axis is own
    assert axis.lines[0].get_xdata().tolist() == [0.0, 20.0]
    np.testing.assert_allclose(axis.lines[0].get_ydata(), [0.2, 0.6])
    assert to_hex(axis.lines[0].get_color()) == looks_of("AB", {})["A"].color.lower()
    with pytest.raises(DataError, match="A has errors of shape"):
        plot.contamination([0, 0.2], {"A": [1.0]})
    with pytest.raises(DataError, match="shares of the clients from 0 to 1, not percent"):
        plot.contamination([0, 20], {"A": [1.0, 2.0]})


def test_methods_that_do_not_differ_are_joined():
    frame = pd.DataFrame({"method": list("ABCD"), "mean_rank": [1.0, 1.5, 2.2, 4.0]})
    frame = frame.assign(label=frame["method"], low=frame["mean_rank"], high=frame["mean_rank"])
    joined = [line for line in plot.ranks(frame, 1.0).lines if line.get_color() == COLORS["grey"]]
    assert [line.get_ydata().tolist() for line in joined] == [[-0.2, 1.2], [0.8, 2.2]]
    assert not any(line.get_color() == COLORS["grey"] for line in plot.ranks(frame, 9.0).lines), (
        "one group of all methods needs no line"
    )
    assert plot.ranks(frame).get_ylim()[1] == -0.5

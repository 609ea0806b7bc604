"""A method looks the same in every figure, and equal figures have equal bytes."""

import re
from itertools import combinations
from pathlib import Path
from typing import get_args

import pytest

from fedmix.cells.papers import Color, read_papers
from fedmix.plot.style import COLORS, house_style, looks_of
from fedmix.views.figures.save import save_figure

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


def test_equal_figures_have_equal_bytes(tmp_path):
    first = save_figure(_draw(), tmp_path / "a-h0.5")
    second = save_figure(_draw(), tmp_path / "b-h0.5")
    assert [p.name for p in first] == ["a-h0.5.pdf", "a-h0.5.svg", "a-h0.5.png"]
    for one, other in zip(first, second, strict=True):
        assert one.stat().st_size > 500
        assert one.read_bytes() == other.read_bytes()


def test_a_vector_figure_is_lighter_than_matplotlib_s_and_keeps_every_word(tmp_path):
    figure = _draw()
    figure.axes[0].set_xticks([0.12345, 2], ["0.12345", "2"])
    with house_style():
        figure.savefig(tmp_path / "raw.svg")
    raw = (tmp_path / "raw.svg").read_text()
    light = save_figure(figure, tmp_path / "a", ["svg"])[0].read_text()
    assert len(light) < 0.8 * len(raw)
    words = [sorted(re.findall(r">([^<>]+)</text>", text)) for text in (raw, light)]
    assert len(words[0]) > 1
    assert words[0] == words[1]
    assert "0.12345" in words[1]


def test_a_vector_figure_says_once_how_marks_look_and_no_place_finer_than_a_hundredth(tmp_path):
    text = save_figure(_draw(), tmp_path / "a", ["svg"])[0].read_text()
    assert text.count("<use") >= 3
    marks = re.findall(r'<g[^>]* stroke="[^"]*"[^>]*>((?:\s*<use [^>]*>){3})', text)
    assert len(marks) == 1
    assert "stroke" not in marks[0]
    assert not re.search(r' [xyd]="[^"]*\.\d{3}', text)


def test_an_svg_names_its_font_once_and_has_no_rotation_by_nothing(tmp_path):
    text = save_figure(_draw(), tmp_path / "a", ["svg"])[0].read_text()
    assert text.count("<text ") > 1
    assert text.count("DejaVu Sans") == 1
    assert "rotate(-0" not in text

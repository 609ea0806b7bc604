"""A method looks the same in every figure, and equal figures have equal bytes."""

from itertools import combinations

import pytest

from fedmix.views.figures.save import save_figure
from fedmix.views.figures.style import _KNOWN, COLORS, house_style, method_style

TOGETHER = [
    [
        "LocalEM",
        "LocalGradientEM",
        "FedEM",
        "FedGrEM",
        "TGMM",
        "FedGMM",
        "PooledEM",
        "PooledGradientEM",
    ],
    [
        "TwoPhase-FedAvg-s1",
        "TwoPhase-FedAvg-s5",
        "TwoPhase-FedAvg-s10",
        "TwoPhase-FedAvg-s20",
        "TwoPhase-FedProx",
    ],
    ["TwoPhase-FedAvg-s5", "FedAvg", "OneShotClustering", "IFCA", "OracleClustering"],
    [
        "GMM",
        "k-FED",
        "FFCM-avg1",
        "FFCM-avg2",
        "FedKmeans",
        "DP-GMM",
        "AFCL",
        "FedGEM",
        "LocalKMeans",
    ],
]


@pytest.mark.parametrize("names", TOGETHER)
def test_methods_that_meet_differ_in_colour_and_in_marker(names):
    for a, b in combinations(map(method_style, names), 2):
        assert a.color != b.color
        assert a.marker != b.marker


def test_an_unknown_method_keeps_a_look_of_its_own():
    known = {method_style(name) for name in _KNOWN}
    unknown = method_style("MyNewMethod")
    assert unknown == method_style("MyNewMethod")
    assert unknown not in known
    assert unknown.color in COLORS.values()
    assert len({method_style(f"method {i}") for i in range(40)}) > 30


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
        axes.plot([0, 1, 2], [3, 1, 2], label="FedGrEM", **method_style("FedGrEM").keywords())
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


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="gif"):
        save_figure(_draw(), tmp_path / "a", formats=["gif"])

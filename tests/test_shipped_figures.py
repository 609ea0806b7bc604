"""The figures of the configuration are drawn as their readers need them."""

from importlib import import_module
from typing import get_args

import pandas as pd
import pytest
from matplotlib.axes import Axes

from configured_studies import configured_studies
from fedmix.cells.items import BY_ROUND, Figure
from fedmix.cells.papers import read_papers
from fedmix.plot.style import house_style
from synthetic_cells import frame
from synthetic_results import ROOT, shipped_items

pytestmark = pytest.mark.slow

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
    module = import_module(f"fedmix.views.figures.{item.builder}")
    with house_style():
        return module.draw(cells, PAPERS[item.paper].looks, item.options, **more)


@pytest.fixture(scope="module", params=FIGURES.values(), ids=FIGURES)
def figure(request):
    """A figure, drawn once for the tests that look at it."""
    return draw(request.param)


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


def test_no_panel_of_a_figure_repeats_another(figure):
    shown = [drawn_on(axis) for axis in figure.axes]
    assert len(set(shown)) == len(shown)


def test_every_builder_is_used():
    known = get_args(Figure.model_fields["builder"].annotation)
    assert {item.builder for item in FIGURES.values()} == set(known)


@pytest.mark.parametrize("study", configured_studies().values(), ids=configured_studies())
def test_every_variant_is_explained(study):
    unexplained = set(study.variants) - {"default"} - set(PAPERS[study.paper].variants)
    assert not unexplained

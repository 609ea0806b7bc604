"""Figures of a protocol search: specification curve, the optimiser's path, judged protocols."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import cycle, groupby

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from fedmix.cells.items import Item
from fedmix.cells.protocols.kept import SHOWN
from fedmix.cells.protocols.space import DRAWN, JUDGED, Space
from fedmix.plot.style import COLORS, MANY, house_style
from fedmix.views.captions import in_words, joined, written_by
from fedmix.views.figures.panels import legend_below
from fedmix.views.figures.save import save_figure
from fedmix.views.figures.specification import (
    choices_below,
    replications_told,
    scale_effects,
    sorted_effects,
)

CHOICES_SHOWN = 6
ENDS = ["effect", "effect_low", "effect_high"]
CAPTIONS = {
    "curve": (
        "The method's lead in every drawn protocol, sorted, with 95 % of a bootstrap over "
        f"replications; marked are the {SHOWN} nearest to the published values; below, the "
        "choices that the lead depends on most."
    ),
    "path": (
        "The least objective so far by trial, in each start of each seed: the distance from the "
        "published values and leads of the rows that the search sees."
    ),
    "nearest": (
        "Fresh replications of the best protocol, and the means of the best of the other seeds, "
        "beside the published values."
    ),
}


def draw_search(
    space: Space,
    items: Mapping[str, Item],
    parts: Mapping[str, pd.DataFrame],
    outputs: Iterable[str | os.PathLike],
    preset: str,
) -> None:
    """Draw the three figures of one target and write them, each with its caption beside it.

    ``parts`` are the ``scores``, ``judged`` cells, ``shares``, and ``trials`` of all seeds. Numbers
    are in the units of the tables' items. The outputs' stems end in the figures' names.
    """
    drawn = parts["scores"][parts["scores"]["kind"] == DRAWN]
    item = next(iter(items.values()))
    with house_style():
        figures = {
            "curve": _curve(space, item, drawn, parts["shares"]),
            "path": _path(parts["trials"]),
            "nearest": _nearest(space, item, parts["judged"]),
        }
    origin = f"{_replications(parts['scores'])} Preset {preset}. {written_by()}"
    files = sorted(os.fspath(output) for output in outputs)
    for stem, own in groupby(files, lambda file: file.rpartition(".")[0]):
        figure = stem.rpartition("_")[2]
        save_figure(figures[figure], own, f"{CAPTIONS[figure]} {origin}")


def _replications(scores: pd.DataFrame) -> str:
    drawn, judged = (scores.loc[scores["kind"] == kind, "replications"] for kind in (DRAWN, JUDGED))
    return f"n = {replications_told(drawn)} per drawn protocol, {judged.max()} per judged one."


def _label(item: Item, space: Space) -> str:
    metrics = dict.fromkeys(in_words(item.metrics_of(method)[0]) for method in space.methods)
    return " or ".join(metrics) + (f" ({item.unit})" if item.unit else "")


def _curve(space: Space, item: Item, drawn: pd.DataFrame, shares: pd.DataFrame) -> Figure:
    """Draw the method's lead in each protocol, and below the choices with the largest shares."""
    tables = list(dict.fromkeys(drawn["table"]))
    main = shares[shares["outcome"] == "lowest"]
    order = main.groupby("choice")["share"].mean().nlargest(CHOICES_SHOWN).index
    rows = [(name, value) for name in order for value in space.choices[name].categories]
    strip = 0.14 * len(rows)
    figure = Figure(figsize=(2.2 + 4.2 * len(tables), 2.6 + strip))
    axes = figure.subplots(
        2, len(tables), squeeze=False, sharex="col", sharey="row", height_ratios=[2.2, strip]
    )
    for (top, below), table in zip(axes.T, tables, strict=True):
        own = drawn[drawn["table"] == table].sort_values(["effect", "protocol"], ignore_index=True)
        near = (own["distance"].rank(method="first") <= SHOWN).to_numpy()
        sorted_effects(top, own[ENDS] / item.scale, near, "95 % of a bootstrap")
        top.set_title(space.tables[table].title)
        own = space.in_categories(own)
        choices_below(below, own[[choice.name for choice in space.choices_of(table)]], near, rows)
        below.set_xlabel("protocols, by the lead")
    scale_effects(axes[0][0], drawn[ENDS] / item.scale, linear=0.9)
    method = space.methods[space.claim.method].label
    against = joined([space.methods[m].label for m in space.claim.than] or ["the best other"])
    axes[0][0].set_ylabel(f"{method} less\n{against}\n{_label(item, space)}")
    axes[1][0].set_yticks(
        range(len(rows)), [f"{in_words(a)}: {in_words(b)}" for a, b in rows], fontsize=6
    )
    axes[1][0].invert_yaxis()
    legend_below(figure)
    return figure


def _path(trials: pd.DataFrame) -> Figure:
    """Draw the least objective so far, in each start of each seed."""
    figure = Figure(figsize=(4.5, 2.8))
    axis = figure.subplots()
    complete = trials[trials["complete"] & np.isfinite(trials["objective"])]
    for (seed, own), color in zip(complete.groupby("seed"), cycle(COLORS.values())):
        for start, of_start in own.groupby("start"):
            label = "_" if start else f"seed {seed}"
            least = of_start["objective"].cummin()
            axis.step(of_start["trial"], least, where="post", color=color, label=label)
    axis.set(xlabel="trial", ylabel="least objective so far\n(published sd)", yscale="log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())
    legend_below(figure)
    return figure


def _nearest(space: Space, item: Item, cells: pd.DataFrame) -> Figure:
    """Draw a panel per row of a table, with points for replications, so that two modes show."""
    panels = list(dict.fromkeys(zip(cells["table"], cells[space.row], strict=True)))
    width = min(len(panels), 4)
    height = -(-len(panels) // width)
    figure = Figure(figsize=(0.6 + 2.3 * width, 0.8 + 2.4 * height))
    axes = figure.subplots(height, width, squeeze=False)
    labels = {name: column.label for name, column in space.methods.items()}
    for axis, (table, value) in zip(axes.flat, panels, strict=False):
        own = cells[(cells["table"] == table) & (cells[space.row] == value)]
        _beside(axis, own, labels, item.scale)
        title = f"{space.tables[table].title}\n{in_words(space.row)} {value:g}"
        if value not in space.searched_rows(table):
            title += " (held out)"
        axis.set_title(title, fontsize=7.5)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for row in axes:
        row[0].set_ylabel(_label(item, space))
    legend_below(figure)
    return figure


def _beside(axis: Axes, own: pd.DataFrame, labels: Mapping[str, str], scale: float) -> None:
    """Draw ours and the published values of each method, by name -> label."""
    numbers = ["value", "printed_mean", "printed_sd"]
    own = own.assign(**own[numbers] / scale)
    x = np.arange(len(labels))
    near = own.pivot_table("value", "method", "protocol").loc[list(labels)]
    of_seeds = "means of the best of each seed"
    axis.plot(x, near, "_", color=COLORS["grey"], markersize=5, label=of_seeds, **MANY)
    by_method = own[own["rank"] == 1].groupby("method")
    mean, printed, sd = by_method[numbers].mean().loc[list(labels)].to_numpy().T
    axis.errorbar(x - 0.18, printed, sd, fmt="s", color=COLORS["black"], label="published")
    points = {"color": COLORS["sky"], "markersize": 2.5, "alpha": 0.6, **MANY}
    points["label"] = "fresh replications of the best protocol"
    for place, method in zip(x + 0.18, labels, strict=True):
        values = by_method.get_group(method)["value"]
        axis.plot(np.full(len(values), place), values, "o", **points)
    axis.plot(x + 0.18, mean, "_", color=COLORS["vermillion"], markersize=10, label="their mean")
    axis.set_xticks(x, list(labels.values()), rotation=60, ha="right")
    if own["value"].min() >= 0:  # an index can be negative
        axis.set_ylim(bottom=0)

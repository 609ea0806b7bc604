"""Figures of a protocol search: claims, specification curve, optimiser's path, judged protocols.

A specification curve shows sorted effects, with the choices below them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import cycle, groupby
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

from fedmix.cells.items import Item
from fedmix.cells.protocols.kept import SHOWN
from fedmix.cells.protocols.space import DRAWN, JUDGED, TRIED, Space
from fedmix.cells.unreported import choices_by_weight
from fedmix.cells.verdicts import CHOICE_LEVEL
from fedmix.errors import DataError
from fedmix.plot.style import COLORS, MANY, house_style
from fedmix.views.captions import in_words, joined, written_by
from fedmix.views.figures.build import save_figure
from fedmix.views.figures.lines import legend_below
from fedmix.views.format import number_of

PALE = "#c9c9c9"
#: Panels of claims in a row, and characters in a line of a claim.
WIDE, LINE = 3, 52
CHOICES_SHOWN = 6
ENDS = ["effect", "effect_low", "effect_high"]
CAPTIONS = {
    "curve": (
        "The method's lead in every drawn protocol, sorted, with 95 % of a bootstrap over "
        f"replications; marked are the {SHOWN} nearest to the published values; below, the "
        "choices that the lead depends on most."
    ),
    "path": (
        "The least objective so far by trial, in each start of each seed, before the last stage: "
        "the distance from the published values and leads of the rows that the search sees."
    ),
    "nearest": (
        "Fresh replications of the best protocol, and the means of the best of the other seeds, "
        "beside the published values."
    ),
}
CAPTION_OF_CLAIMS = (
    "Each claim that depends on a choice that the paper leaves unreported, tested in every "
    "protocol of the search: how far the effect lies on the claimed side, sorted, in the unit of "
    "the effect. Bars are the range of single replications, not intervals. Below, the choice that "
    "the answer depends on most. Protocols drawn at random are tested on the rows that they ran, "
    "even if a claim concerns more rows. A claim that these rows cannot answer is tested in the "
    "protocols that a search found for a table, which were not drawn at random."
)


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
    return f"n = {_in_words(drawn)} per drawn protocol, {judged.max()} per judged one."


def draw_claims(
    space: Space, curves: pd.DataFrame, outputs: Iterable[str | os.PathLike], preset: str
) -> None:
    """Draw the claims' specification curves and write them, with their caption beside them.

    ``curves`` come from :func:`fedmix.cells.unreported.specification_curves`; those of other
    searches are ignored.
    """
    own = curves[curves["search"] == space.name]
    with house_style():
        figure = claims_figure(space, own)
    numbers = ", ".join(
        f"{_in_words(each['replications'])} of protocols that were "
        + ("drawn" if kind == DRAWN else "near the published values")
        for kind, each in own.groupby("kind")
    )
    save_figure(figure, outputs, f"{CAPTION_OF_CLAIMS} {numbers}. Preset {preset}. {written_by()}")


def _in_words(numbers: pd.Series) -> str:
    """Return the numbers of replications of protocols, such as ``"3 to 10 replications"``."""
    least, most = numbers.min(), numbers.max()
    return number_of(most, "replication") if least == most else f"{least} to {most} replications"


def claims_figure(space: Space, curves: pd.DataFrame) -> Figure:
    """Draw one panel per claim of a search, with the choice that it depends on most below."""
    claims = list(curves.groupby("id", sort=False))
    if not claims:
        raise DataError(f"{space.name}: no protocol has been run that a claim can be tested in.")
    width = min(len(claims), WIDE)
    height = -(-len(claims) // width)
    figure = Figure(figsize=(0.4 + 3.6 * width, 0.6 + 3.0 * height))
    axes = figure.subplots(2 * height, width, squeeze=False, height_ratios=[1.6, 1] * height)
    panels = list(zip(axes[::2].flat, axes[1::2].flat, strict=True))
    for (top, strip), (_, own) in zip(panels, claims, strict=False):
        _claim(top, strip, space, own)
    for axis in (axis for panel in panels[len(claims) :] for axis in panel):
        axis.set_axis_off()
    for row in axes[::2]:
        row[0].set_ylabel("margin\n(log scale at the ends)", fontsize="small")
    legend_below(figure)
    return figure


def _claim(top: Axes, strip: Axes, space: Space, own: pd.DataFrame) -> None:
    near = own["nearest"].to_numpy()
    drawn = (own["kind"] == DRAWN).all()
    effects = own[["margin", "low", "high"]]
    _sorted_effects(top, effects, near, "range of single replications")
    _scale_effects(top, effects, linear=0.6)
    top.set_title(fill(own["claim"].iloc[0], LINE), fontsize=6.5)
    top.tick_params(labelbottom=False)
    of = number_of(len(own), "protocol") + ("" if drawn else " near the published values")
    share = f"holds in {own['holds'].mean():.0%} of {of}"
    pale = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
    top.text(0.98, 0.05, share, transform=top.transAxes, ha="right", fontsize=6.5, bbox=pale)
    weights = choices_by_weight(own["holds"], own[list(space.choices)])
    if weights.empty:
        strip.set_axis_off()
        return
    choice = weights.index[0]
    values = space.choices[choice].categories
    _choices_below(strip, own[[choice]], near, [(choice, value) for value in values])
    undecided = "" if weights.iloc[0] <= CHOICE_LEVEL else " (does not decide by itself)"
    note = undecided if drawn else " (not drawn at random)"
    strip.set_title(f"{in_words(choice)}{note}", fontsize=6, fontweight="normal")
    strip.set_yticks(range(len(values)), map(in_words, values), fontsize=5)
    strip.set_xlabel("protocols, by the margin", fontsize=6)
    strip.invert_yaxis()


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
        _sorted_effects(top, own[ENDS] / item.scale, near, "95 % of a bootstrap")
        top.set_title(space.tables[table].title)
        own = space.in_categories(own)
        _choices_below(below, own[[choice.name for choice in space.choices_of(table)]], near, rows)
        below.set_xlabel("protocols, by the lead")
    _scale_effects(axes[0][0], drawn[ENDS] / item.scale, linear=0.9)
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
    """Draw the least objective so far, in each start of each seed, before the last stage."""
    figure = Figure(figsize=(4.5, 2.8))
    axis = figure.subplots()
    in_full = trials["complete"] & (trials["kind"] == TRIED)
    complete = trials[in_full & np.isfinite(trials["objective"])]
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


def _sorted_effects(axis: Axes, effects: pd.DataFrame, near: np.ndarray, interval: str) -> None:
    """Draw sorted effects around zero: three columns, the effect and the ends of its interval.

    Protocols that are ``near`` the published values are marked. ``interval`` is the legend's entry.
    """
    x = np.arange(len(effects))
    effect, low, high = effects.to_numpy(dtype=float).T
    axis.vlines(x, low, high, color=PALE, linewidth=0.6, label=interval, **MANY)
    axis.plot(x, effect, ".", color=COLORS["blue"], markersize=2, label="a protocol", **MANY)
    axis.plot(
        x[near],
        effect[near],
        "o",
        color=COLORS["vermillion"],
        markersize=3.5,
        label="among the nearest to the published values",
    )
    axis.axhline(0, color=COLORS["black"], linewidth=0.8)


def _scale_effects(axis: Axes, effects: pd.DataFrame, linear: float) -> None:
    """Scale the axis of effects, linearly around zero and by the logarithm at the ends.

    The effects are those of all panels that share the axis. The share ``linear`` of them, the
    smallest, is on a linear scale. A few can be very large; then the axis has labels at its ends.
    """
    effect, low, high = effects.to_numpy(dtype=float).T
    bend = float(np.quantile(np.abs(effect), linear)) or 1.0
    axis.set_yscale("symlog", linthresh=bend, linscale=3)
    axis.set_ylim(1.2 * min(low.min(), -bend / 5), 1.2 * max(high.max(), bend / 5))
    ends = [end for end in (effect.min(), effect.max()) if abs(end) > 5 * bend]
    axis.set_yticks([*MaxNLocator(4).tick_values(-bend, bend), *ends], minor=False)
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter("{x:.3g}")


def _choices_below(
    axis: Axes, choices: pd.DataFrame, near: np.ndarray, rows: list[tuple[str, str]]
) -> None:
    """Mark the value of each choice for each protocol, in the order of the effects above.

    Each row is a choice and a value, from top to bottom.
    """
    x = np.arange(len(choices))
    for y, (choice, value) in enumerate(rows):
        if choice not in choices:  # it does not affect the table
            continue
        has = (choices[choice].astype(str) == value).to_numpy()
        for which, look in ((has & ~near, PALE), (has & near, COLORS["vermillion"])):
            axis.plot(x[which], np.full(which.sum(), y), "|", color=look, markersize=4, **MANY)
    starts = [y for y in range(1, len(rows)) if rows[y][0] != rows[y - 1][0]]
    for y in starts:
        axis.axhline(y - 0.5, color=COLORS["grey"], linewidth=0.5)
    axis.grid(False)

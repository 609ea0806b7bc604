"""Figures of a protocol search: specification curve, shares of variance, nearest protocols."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fedmix.cells.items import Item
from fedmix.cells.protocols.outcome import SHOWN, drawn_nearest
from fedmix.cells.protocols.space import Space
from fedmix.plot.style import COLORS, MANY, house_style
from fedmix.views.captions import in_words, written_by
from fedmix.views.figures.panels import legend_below
from fedmix.views.figures.save import save_with_caption
from fedmix.views.figures.specification import choices_below, sorted_effects

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHOICES_SHOWN = 6
CAPTIONS = {
    "curve": (
        "The method's lead in every protocol, sorted, with 95 % of a bootstrap over replications; "
        f"marked are the protocols nearest to the published values, at most {SHOWN}; below, the "
        "choices that the lead depends on most."
    ),
    "shares": "How much of the variance over protocols each choice, or pair of choices, explains.",
    "nearest": (
        "Each replication of the protocol nearest to the published values, and the means of the "
        "twenty nearest, beside the published values."
    ),
}
OUTCOMES = {
    "distance": "log distance from the published values",
    "lowest": "whether the claim holds",
}


def draw_search(
    space: Space,
    items: Mapping[str, Item],
    inputs: Mapping[str, str],
    outputs: Iterable[str | os.PathLike],
    preset: str,
) -> None:
    """Draw the three figures of one target and write them, each with its caption beside it.

    Parameters
    ----------
    space : Space
    items : mapping of str to Item
        The tables' items; numbers are shown in the items' units.
    inputs : mapping
        The CSV files ``first, scores, nearest`` and ``shares``.
    outputs : iterable of path-like
        Stems that end in ``_curve``, ``_shares`` and ``_nearest``, with suffixes.
    preset : str
        The preset of the run.
    """
    import matplotlib

    matplotlib.use("agg")
    parts = {name: read_search(inputs[name]) for name in ("first", "scores", "nearest", "shares")}
    unit = _unit_of(next(iter(items.values())), space)
    with house_style():
        figures = {
            "curve": curve(space, unit, parts["first"], parts["scores"], parts["shares"]),
            "shares": shares(space, parts["shares"]),
            "nearest": nearest(space, unit, parts["nearest"]),
        }
    origin = f"{_replications(parts['scores'])} Preset {preset}. {written_by()}"
    files = sorted(os.fspath(output) for output in outputs)
    for stem, own in groupby(files, lambda file: file.rpartition(".")[0]):
        figure = stem.rpartition("_")[2]
        save_with_caption(figures[figure], own, f"{CAPTIONS[figure]} {origin}")


def _replications(scores: pd.DataFrame) -> str:
    low, high = scores["replications"].min(), scores["replications"].max()
    return f"n = {low}{f' to {high}' if high > low else ''} replications per protocol."


@dataclass(frozen=True)
class _Unit:
    """The label of a table's numbers, and the factor from our numbers to its unit."""

    label: str
    scale: float


def _unit_of(item: Item, space: Space) -> _Unit:
    metrics = dict.fromkeys(in_words(item.metrics_of(method)[0]) for method in space.methods)
    unit = f" ({item.unit})" if item.unit else ""
    return _Unit(" or ".join(metrics) + unit, item.scale)


def read_search(path: str | os.PathLike) -> pd.DataFrame:
    """Read one part of a search; "none" is the name of a choice, not a missing value."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def curve(
    space: Space,
    unit: _Unit,
    first: pd.DataFrame,
    scores: pd.DataFrame,
    shares: pd.DataFrame,
) -> Figure:
    """Draw the specification curve: the method's lead in each protocol, and the choices below.

    Parameters
    ----------
    space : Space
    unit : _Unit
    first : DataFrame
        Scores of the first rung, which all protocols ran on.
    scores : DataFrame
        All scores; the nearest protocols are marked.
    shares : DataFrame
        Shares of variance; the choices with the largest shares are shown.

    Returns
    -------
    matplotlib.figure.Figure
        One column a table.
    """
    import matplotlib.pyplot as plt

    tables = list(dict.fromkeys(first["table"]))
    main = shares[(shares["outcome"] == "lowest") & shares["other"].isna()]
    order = main.groupby("choice")["share"].mean().nlargest(CHOICES_SHOWN).index
    rows = [(name, value.name) for name in order for value in space.choices[name].values]
    figure, axes = plt.subplots(
        2,
        len(tables),
        squeeze=False,
        sharex="col",
        sharey="row",
        figsize=(2.2 + 4.2 * len(tables), 2.6 + 0.14 * len(rows)),
        height_ratios=[2.2, 0.14 * len(rows)],
    )
    for (top, below), table in zip(axes.T, tables, strict=True):
        own = first[first["table"] == table].sort_values(["effect", "protocol"], ignore_index=True)
        marked = drawn_nearest(scores[scores["table"] == table])["protocol"]
        near = own["protocol"].isin(marked).to_numpy()
        ends = own[["effect", "effect_low", "effect_high"]] / unit.scale
        sorted_effects(top, ends, near, "95 % of a bootstrap", linear=0.9)
        top.set_title(space.tables[table].title)
        choices_below(below, own[[choice.name for choice in space.choices_of(table)]], near, rows)
        below.set_xlabel("protocols, by the lead")
    against = " and ".join(space.claim.than) or "the best other"
    axes[0][0].set_ylabel(f"{space.claim.method} less\n{against}\n{unit.label}")
    axes[1][0].set_yticks(range(len(rows)), [f"{in_words(a)}: {b}" for a, b in rows], fontsize=6)
    axes[1][0].invert_yaxis()
    legend_below(figure)
    return figure


def shares(space: Space, shares: pd.DataFrame) -> Figure:
    """Draw how much of the outcomes' variance each choice explains.

    Parameters
    ----------
    space : Space
    shares : DataFrame
        From :func:`fedmix.cells.protocols.shares.variance_shares`.

    Returns
    -------
    matplotlib.figure.Figure
        Bars are main effects, with the three largest pairs below them; one column per table.
    """
    import matplotlib.pyplot as plt

    tables = list(dict.fromkeys(shares["table"]))
    pairs = " and " + shares["other"]
    names = (shares["choice"] + pairs.fillna("")).map(in_words)
    bars = shares.assign(name=names).pivot(
        index="name", columns=["table", "outcome"], values="share"
    )
    pair = pd.Index([" and " in name for name in bars.index])
    size = bars.max(axis=1)
    kept = [*size[~pair].sort_values(ascending=False).index, *size[pair].nlargest(3).index]
    figure, axes = plt.subplots(
        1,
        len(tables),
        squeeze=False,
        sharey=True,
        figsize=(2.4 + 2.8 * len(tables), 1.0 + 0.24 * len(kept)),
    )
    y = np.arange(len(kept))
    for axis, table in zip(axes[0], tables, strict=True):
        for shift, (outcome, label) in zip((-0.2, 0.2), OUTCOMES.items(), strict=True):
            values = bars[table, outcome].reindex(kept)
            color = COLORS["blue"] if outcome == "distance" else COLORS["vermillion"]
            axis.barh(y + shift, 100 * values, height=0.36, color=color, label=label)
        axis.set(title=space.tables[table].title, xlabel="share of variance (%)")
    axes[0][0].set_yticks(y, kept)
    axes[0][0].invert_yaxis()
    legend_below(figure)
    return figure


def nearest(space: Space, unit: _Unit, cells: pd.DataFrame) -> Figure:
    """Draw the nearest protocols beside the published values, cell by cell.

    Parameters
    ----------
    space : Space
    unit : _Unit
    cells : DataFrame
        From :func:`fedmix.cells.protocols.outcome.nearest_cells`.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per row of a table. Points are replications of the nearest protocol, so that two
        modes can be seen; each of the nearest protocols has its mean.
    """
    import matplotlib.pyplot as plt

    panels = list(dict.fromkeys(zip(cells["table"], cells[space.row], strict=True)))
    width = min(len(panels), 4)
    height = -(-len(panels) // width)
    figure, axes = plt.subplots(
        height, width, squeeze=False, sharey=False, figsize=(0.6 + 2.3 * width, 0.8 + 2.4 * height)
    )
    methods = list(space.methods)
    for axis, (table, value) in zip(axes.flat, panels, strict=False):
        own = cells[(cells["table"] == table) & (cells[space.row] == value)]
        _beside(axis, own, methods, unit)
        title = f"{space.tables[table].title}, {in_words(space.row)} {value:g}"
        axis.set_title(title, fontsize=7.5)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for row in axes:
        row[0].set_ylabel(unit.label)
    legend_below(figure)
    return figure


def _beside(axis: Axes, own: pd.DataFrame, methods: list[str], unit: _Unit) -> None:
    near = own.groupby(["protocol", "method"])["value"].mean() / unit.scale
    axis.plot(
        np.arange(len(methods)),
        near.unstack("protocol").loc[methods],
        "_",
        color=COLORS["grey"],
        markersize=5,
        label="means of the twenty nearest",
        **MANY,
    )
    first = own[own["rank"] == 1]
    groups = [first[first["method"] == method] for method in methods]
    x = np.arange(len(methods))
    printed = np.array([[g["printed_mean"].iloc[0], g["printed_sd"].iloc[0]] for g in groups])
    printed /= unit.scale
    axis.errorbar(
        x - 0.18, printed[:, 0], printed[:, 1], fmt="s", color=COLORS["black"], label="printed"
    )
    means = [group["value"].mean() / unit.scale for group in groups]
    for place, group in zip(x + 0.18, groups, strict=True):
        axis.plot(
            np.full(len(group), place),
            group["value"] / unit.scale,
            "o",
            color=COLORS["sky"],
            markersize=2.5,
            alpha=0.6,
            label="replications of the nearest protocol",
            **MANY,
        )
    axis.plot(x + 0.18, means, "_", color=COLORS["vermillion"], markersize=10, label="their mean")
    axis.set_xticks(x, methods, rotation=60, ha="right")
    axis.set_ylim(bottom=0)

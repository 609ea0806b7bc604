"""Specification curves: sorted effects with the choices below them, one panel per claim."""

from __future__ import annotations

import os
from collections.abc import Iterable
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from fedmix.cells.protocols.space import DRAWN, Space
from fedmix.cells.unreported import choices_by_weight
from fedmix.cells.verdicts import CHOICE_LEVEL
from fedmix.errors import DataError
from fedmix.plot.style import COLORS, MANY, house_style
from fedmix.views.captions import in_words, written_by
from fedmix.views.figures.panels import legend_below
from fedmix.views.figures.save import save_figure
from fedmix.views.marks import number_of

PALE = "#c9c9c9"
#: Panels in a row, and characters in a line of a claim.
WIDE, LINE = 3, 52
CAPTION = (
    "Each claim that depends on a choice that the paper leaves unreported, tested in every "
    "protocol of the search: how far the effect lies on the claimed side, sorted, in the unit of "
    "the effect. Bars are the range of single replications, not intervals. Below, the choice that "
    "the answer depends on most. Protocols drawn at random are tested on the rows that they ran, "
    "even if a claim concerns more rows. A claim that these rows cannot answer is tested in the "
    "protocols that a search found for a table, which were not drawn at random."
)


def draw_claims(
    space: Space, curves: pd.DataFrame, outputs: Iterable[str | os.PathLike], preset: str
) -> None:
    """Draw the claims' specification curves and write them, with their caption beside them.

    ``curves`` come from :func:`fedmix.cells.unreported.specification_curves`; those of other
    searches are ignored.
    """
    own = curves[curves["search"] == space.name]
    below = f"{CAPTION} {_replications(own)} Preset {preset}. {written_by()}"
    with house_style():
        figure = claims_figure(space, own)
    save_figure(figure, outputs, below)


def replications_told(numbers: pd.Series) -> str:
    """Return the numbers of replications of protocols, such as ``"3 to 10 replications"``."""
    least, most = numbers.min(), numbers.max()
    return number_of(most, "replication") if least == most else f"{least} to {most} replications"


def _replications(curves: pd.DataFrame) -> str:
    parts = [
        f"{replications_told(own['replications'])} of protocols that were "
        + ("drawn" if kind == DRAWN else "near the published values")
        for kind, own in curves.groupby("kind")
    ]
    return f"{', '.join(parts)}."


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
    sorted_effects(top, effects, near, "range of single replications")
    scale_effects(top, effects, linear=0.6)
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
    choices_below(strip, own[[choice]], near, [(choice, value) for value in values])
    undecided = "" if weights.iloc[0] <= CHOICE_LEVEL else " (does not decide by itself)"
    note = undecided if drawn else " (not drawn at random)"
    strip.set_title(f"{in_words(choice)}{note}", fontsize=6, fontweight="normal")
    strip.set_yticks(range(len(values)), map(in_words, values), fontsize=5)
    strip.set_xlabel("protocols, by the margin", fontsize=6)
    strip.invert_yaxis()


def sorted_effects(axis: Axes, effects: pd.DataFrame, near: np.ndarray, interval: str) -> None:
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


def scale_effects(axis: Axes, effects: pd.DataFrame, linear: float) -> None:
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


def choices_below(
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

"""Lines with bands, and points with error bars: scores by a value, a method or a variant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedmix.plot.lines import line_with_band
from fedmix.plot.style import MethodStyle
from fedmix.views.figures.panels import (
    axes_for,
    legend_below,
    mark_printed,
    middle_and_band,
    named,
    panels_of,
    series_of,
)

_SPREAD = 0.6  # share of the distance between two names that the series of points take


def draw_lines(
    cells: pd.DataFrame, looks: Mapping[str, Mapping[str, str]], options: Mapping[str, Any]
) -> Figure:
    """Draw lines in panels.

    Parameters
    ----------
    cells : DataFrame
        The item's rows of the frame of cells.
    looks : mapping of str to mapping
        How methods are drawn.
    options : mapping
        Of the figure, a row or a column of panels: :class:`fedmix.cells.items.FigureOptions`.

    Returns
    -------
    matplotlib.figure.Figure
        Bands are one standard deviation on either side of a mean, or quartiles around a median.
    """
    grid = panels_of(cells, options)
    shown = pd.concat([own for row in grid for _, own in row])
    series = series_of(shown, options, looks)
    figure, panels = axes_for(grid, width=2.9, height=2.5)
    for axis, panel, own in panels:
        _draw_lines(axis, panel, _with_x(own, cells, panel["x"]), series)
    legend_below(figure)
    return figure


def _draw_lines(
    axis: Axes,
    panel: Mapping[str, Any],
    cells: pd.DataFrame,
    series: Mapping[str, tuple[str, MethodStyle]],
) -> None:
    axis.set(xscale=panel.get("xscale", "linear"), yscale=panel.get("yscale", "linear"))
    ticks = sorted(set(cells["x"]))
    for key, own in cells.groupby(panel.get("series", "method"), sort=False):
        own = own.sort_values("x")
        x = own["x"].map(ticks.index) if panel.get("even") else own["x"]
        label, look = series[str(key)]
        line_with_band(axis, x, *middle_and_band(own, panel), label, look)
        mark_printed(axis, x, own["printed_mean"], look)
    if panel.get("even"):
        axis.set_xticks(range(len(ticks)), [f"{tick:g}" for tick in ticks])
    elif panel.get("xscale") == "log":
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_xticks([], minor=True)
    elif (cells["x"] % 1 == 0).all():  # no tick at 4.5 clients
        axis.locator_params(axis="x", integer=True)
    if "level" in panel and len(cells):
        level = panel["level"]
        level = cells[level].iloc[0] if isinstance(level, str) else level
        axis.axhline(level, color="0.5", linestyle=":", linewidth=1)
    if "mark" in panel:
        axis.axvline(panel["mark"], color="0.5", linestyle=":", linewidth=1)
    if "exponent" in panel and len(cells):
        _draw_power(axis, panel, cells)


def _draw_power(axis: Axes, panel: Mapping[str, Any], cells: pd.DataFrame) -> None:
    """Draw a power of x through the geometric mean of all points, with its exponent."""
    middle, _ = middle_and_band(cells, panel)
    ends = np.array([cells["x"].min(), cells["x"].max()])
    height = np.exp(np.log(middle).mean() - panel["exponent"] * np.log(cells["x"]).mean())
    label = "predicted slope"
    axis.plot(ends, height * ends ** panel["exponent"], color="0.4", linewidth=2.5, label=label)
    text = f"predicted {panel['exponent']:+g}"
    y, side = (0.95, "top") if panel["exponent"] < 0 else (0.05, "bottom")
    axis.text(0.97, y, text, transform=axis.transAxes, ha="right", va=side, color="0.3")


def _with_x(own: pd.DataFrame, cells: pd.DataFrame, expression: str) -> pd.DataFrame:
    """Add the column x; a metric in the expression is its mean over the same runs."""
    runs = ["study", "variant", "setting", "method"]
    for metric in set(cells["metric"]) - set(own):
        if metric in expression:
            means = cells[cells["metric"] == metric].drop_duplicates(runs)
            means = means[[*runs, "mean"]].rename(columns={"mean": metric})
            own = own.merge(means, how="left", on=runs)
    return own.assign(x=own.eval(expression).astype(float))


def draw_points(
    cells: pd.DataFrame, looks: Mapping[str, Mapping[str, str]], options: Mapping[str, Any]
) -> Figure:
    """Draw one point per series beside each name.

    Parameters
    ----------
    cells, looks
        As in :func:`draw_lines`.
    options : mapping
        ``along``: the column whose values are the names, top to bottom (cells without one are left
        out); ``xlabel, ylabel, title``; and those of :mod:`fedmix.views.figures.panels`.

    Returns
    -------
    matplotlib.figure.Figure
        Bars are one standard deviation on either side of a mean, or quartiles around a median.
    """
    along = options["along"]
    grid = panels_of(cells.dropna(subset=[along]), options)
    shown = pd.concat([own for row in grid for _, own in row])
    series = series_of(shown, options, looks)
    names = list(dict.fromkeys(shown[along]))
    offsets = _SPREAD * ((np.arange(len(series)) + 0.5) / len(series) - 0.5)
    offset = dict(zip(series, offsets, strict=True))
    height = 0.5 + max(0.25, 0.09 * len(series)) * len(names)
    figure, panels = axes_for(grid, width=3.2, height=height)
    for axis, panel, own in panels:
        for key, points in own.groupby(panel.get("series", "method"), sort=False):
            label, look = series[str(key)]
            middle, (low, high) = middle_and_band(points, panel)
            place = points[along].map(names.index) + offset[str(key)]
            bars = [middle - low, high - middle]
            keywords = look.keywords() | {"linestyle": "none"}
            axis.errorbar(middle, place, xerr=bars, label=label, **keywords)
            mark_printed(axis, points["printed_mean"], place, look)
        axis.set_yticks(range(len(names)), [named(name, options) for name in names])
        axis.set_ylim(len(names) - 0.5, -0.5)
    if len(series) > 1:
        legend_below(figure)
    return figure

"""Lines with bands: a score of each method against a value of the setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fedmix.plot.lines import line_with_band
from fedmix.views.figures.panels import (
    legend_below,
    mark_printed,
    middle_and_band,
    name_axes,
    new_figure,
    panels_of,
    series_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fedmix.plot.style import MethodStyle


def draw(
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
    figure, axes = new_figure(len(grid), len(grid[0]), width=2.9, height=2.5)
    for i, row in enumerate(grid):
        for axis, (panel, own) in zip(axes[i], row, strict=True):
            _draw_panel(axis, panel, _with_x(own, cells, panel["x"]), series)
    name_axes(axes, grid)
    legend_below(figure)
    return figure


def _draw_panel(
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
        if metric.isidentifier() and metric in expression:
            means = cells[cells["metric"] == metric].drop_duplicates(runs)
            means = means[[*runs, "mean"]].rename(columns={"mean": metric})
            own = own.merge(means, how="left", on=runs)
    return own.assign(x=own.eval(expression).astype(float))

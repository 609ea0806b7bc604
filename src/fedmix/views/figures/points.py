"""Points with error bars along an axis of methods, variants or values of a setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fedmix.views.figures.panels import (
    legend_below,
    mark_printed,
    middle_and_band,
    name_axes,
    named,
    new_figure,
    panels_of,
    series_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SPREAD = 0.6  # share of the distance between two names that the series take


def draw(
    cells: pd.DataFrame, looks: Mapping[str, Mapping[str, str]], options: Mapping[str, Any]
) -> Figure:
    """Draw one point per series beside each name.

    Parameters
    ----------
    cells, looks
        As in :func:`fedmix.views.figures.lines.draw`.
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
    figure, axes = new_figure(len(grid), len(grid[0]), width=3.2, height=height)
    for i, row in enumerate(grid):
        for axis, (panel, own) in zip(axes[i], row, strict=True):
            for key, points in own.groupby(panel.get("series", "method"), sort=False):
                label, look = series[str(key)]
                middle, (low, high) = middle_and_band(points, panel)
                place = points[along].map(names.index) + offset[str(key)]
                bars = [middle - low, high - middle]
                keywords = look.keywords() | {"linestyle": "none"}
                axis.errorbar(middle, place, xerr=bars, label=label, **keywords)
                mark_printed(axis, points["printed_mean"], place, look)
        axes[i][0].set_yticks(range(len(names)), [named(name, options) for name in names])
        axes[i][0].set_ylim(len(names) - 0.5, -0.5)
    name_axes(axes, grid)
    if len(series) > 1:
        legend_below(figure)
    return figure

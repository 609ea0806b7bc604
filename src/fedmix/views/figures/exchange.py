"""A score against the number of floats sent, round by round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fedmix.cells.measured import quartiles_by_round
from fedmix.plot.lines import line_with_band
from fedmix.views.figures.panels import legend_below, name_axes, new_figure, panels_of, series_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_PLACE = ["variant", "setting", "method", "round"]
_FLOATS = "floats"


def draw(
    cells: pd.DataFrame,
    looks: Mapping[str, Mapping[str, str]],
    options: Mapping[str, Any],
    results: pd.DataFrame,
) -> Figure:
    """Draw a line for each iterative method and a point for each one-shot method.

    Parameters
    ----------
    cells, looks
        As in :func:`fedmix.views.figures.lines.draw`; a panel shows the settings of its cells.
    options : mapping
        ``xlabel, ylabel, title``, and those of :mod:`fedmix.views.figures.panels`.
    results : DataFrame
        Tidy result rows with rounds, including those of the metric ``floats``.

    Returns
    -------
    matplotlib.figure.Figure
        Medians over replications; bands span the first to the third quartile of the score.
    """
    metric = cells["metric"].iloc[0]
    scores, floats = quartiles_by_round(results, metric), quartiles_by_round(results, _FLOATS)
    sent = floats[[*_PLACE, "median"]].rename(columns={"median": _FLOATS})
    paths = scores.merge(sent, on=_PLACE)
    grid = panels_of(cells, options)
    series = series_of(cells, options, looks)
    figure, axes = new_figure(len(grid), len(grid[0]), width=3.4, height=3.2)
    for i, row in enumerate(grid):
        for axis, (_, own) in zip(axes[i], row, strict=True):
            here = paths[
                paths["setting"].isin(own["setting"]) & paths["method"].isin(own["method"])
            ]
            for method, path in here.groupby("method", sort=False):
                path = path.drop_duplicates(_FLOATS)
                label, look = series[str(method)]
                band = path["q1"], path["q3"]
                line_with_band(axis, path[_FLOATS], path["median"], band, label, look)
            axis.set(xscale="log", yscale="log")
    name_axes(axes, grid)
    legend_below(figure)
    return figure

"""Scores by round, or by the floats sent: quartiles over replications, from the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedmix.cells.measured import quartiles_by_round
from fedmix.errors import DataError
from fedmix.plot.lines import line_by_round, line_with_band
from fedmix.plot.style import MethodStyle
from fedmix.views.captions import in_words
from fedmix.views.figures.panels import axes_for, legend_below, new_figure, panels_of, series_of

_FLOATS = "floats"
_PLACE = ["variant", "setting", "method", "round"]


def draw_trajectories(
    cells: pd.DataFrame,
    looks: Mapping[str, Mapping[str, str]],
    options: Mapping[str, Any],
    results: pd.DataFrame,
) -> Figure:
    """Draw scores by round: a row of panels per setting and variant, a column per group of methods.

    Parameters
    ----------
    cells, looks
        As in :func:`fedmix.views.figures.lines.draw_lines`. The cells name the methods and the
        score; their ``row``, if it is not empty, names the setting.
    options : mapping
        ``ylabel``; ``columns``, with ``title`` and ``methods`` each; ``mark``, a round
        that a dotted line marks.
    results : DataFrame
        Tidy result rows with rounds.

    Returns
    -------
    matplotlib.figure.Figure
        Medians over replications; bands span the first to the third quartile.

    Raises
    ------
    DataError
        If every replication failed.
    """
    paths = quartiles_by_round(results, cells["metric"].iloc[0])
    wanted = {name for column in options["columns"] for name in column["methods"]}
    series = series_of(cells[cells["method"].isin(wanted)], options, looks)
    rows = cells.drop_duplicates("setting").set_index("setting")["row"]
    places = paths[["variant", "setting"]].drop_duplicates().to_numpy()
    if not len(places):
        raise DataError("A figure by round has no finished replication to draw.")
    figure, axes = new_figure(len(places), len(options["columns"]), width=3.8, height=3.0)
    for row, (variant, setting) in zip(axes, places, strict=True):
        here = paths[(paths["variant"] == variant) & (paths["setting"] == setting)]
        for axis, column in zip(row, options["columns"], strict=True):
            _draw_lines(axis, here, column["methods"], series)
            if "mark" in options:
                axis.axvline(options["mark"], color="0.6", linestyle=":", linewidth=0.8, zorder=0)
            axis.set(yscale="log", xlabel="round", title=column["title"])
        place = (rows[setting] or setting) + f", {in_words(variant)}" * (variant != "default")
        row[0].set_ylabel(f"{place}\n{options['ylabel']}")
    legend_below(figure)
    return figure


def _draw_lines(
    axis: Axes,
    paths: pd.DataFrame,
    methods: list[str],
    series: Mapping[str, tuple[str, MethodStyle]],
) -> None:
    for method in methods:
        own = paths[paths["method"] == method]
        if own.empty:
            continue
        rounds, band = own["round"].astype(float), (own["q1"], own["q3"])
        line_by_round(axis, rounds, own["median"], band, *series[method])


def draw_exchange(
    cells: pd.DataFrame,
    looks: Mapping[str, Mapping[str, str]],
    options: Mapping[str, Any],
    results: pd.DataFrame,
) -> Figure:
    """Draw a line for each iterative method and a point for each one-shot method.

    Parameters
    ----------
    cells, looks
        As in :func:`fedmix.views.figures.lines.draw_lines`; a panel shows its cells' settings.
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
    figure, panels = axes_for(grid, width=3.4, height=3.2)
    for axis, _, own in panels:
        here = paths[paths["setting"].isin(own["setting"]) & paths["method"].isin(own["method"])]
        for method, path in here.groupby("method", sort=False):
            path = path.drop_duplicates(_FLOATS)
            label, look = series[str(method)]
            band = path["q1"], path["q3"]
            line_with_band(axis, path[_FLOATS], path["median"], band, label, look)
        axis.set(xscale="log", yscale="log")
    legend_below(figure)
    return figure

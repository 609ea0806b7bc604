"""Panels with lines and bands, or points and error bars: scores by a value, a method or a round.

Figures by round, or by the floats sent, are drawn from the results, all others from the cells. The
parameters that all functions share are those of :data:`fedmix.views.figures.build.BUILDERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedmix.cells.evidence import quartiles_by_round
from fedmix.conditions import rows_with
from fedmix.errors import DataError
from fedmix.plot.scores import line_by_round, line_with_band
from fedmix.plot.style import Looks, MethodStyle, looks_of
from fedmix.views.captions import in_words

#: The options of a panel, and the cells that it shows.
_Panel = tuple[dict[str, Any], pd.DataFrame]
#: Value of the column with one line per value -> the legend's text and the look of its line.
_Legend = Mapping[str, tuple[str, MethodStyle]]
# Statistic -> columns of the middle and of the band; one spread is added on both sides.
_STATISTICS = {"mean": ("mean", "sd"), "share": ("mean", "se"), "median": ("median", "q1", "q3")}
_FLOATS = "floats"
_PATH = ["variant", "setting", "method", "round"]
_SPREAD = 0.6  # share of the distance between two names that the series of points take


def draw_lines(cells: pd.DataFrame, looks: Looks, options: Mapping[str, Any]) -> Figure:
    """Draw lines in panels.

    Bands are one standard deviation on either side of a mean, or quartiles around a median. The
    options may be those of a row or a column of panels.
    """
    grid = _panels_of(cells, options)
    shown = pd.concat([own for row in grid for _, own in row])
    series = _series_of(shown, options, looks)
    figure, panels = _axes_for(grid, width=2.9, height=2.5)
    for axis, panel, own in panels:
        if "level" in panel and len(own):
            panel["level"] = _level(panel, own, cells)
        _draw_lines(axis, panel, _with_x(own, cells, panel["x"]), series)
    legend_below(figure)
    return figure


def _level(panel: Mapping[str, Any], own: pd.DataFrame, cells: pd.DataFrame) -> float:
    """Return the level of a panel: a number, a column that has one, or a method's mean."""
    level = panel["level"]
    if level in set(cells["method"]):
        of_method = _chosen(cells, {**panel, "methods": [level]})
        return float((of_method["mean"] / of_method["scale"]).mean())
    return float(own[level].iloc[0] if isinstance(level, str) else level)


def _draw_lines(axis: Axes, panel: Mapping[str, Any], cells: pd.DataFrame, series: _Legend) -> None:
    axis.set(xscale=panel.get("xscale", "linear"), yscale=panel.get("yscale", "linear"))
    ticks = sorted(set(cells["x"]))
    for key, own in cells.groupby(panel.get("series", "method"), sort=False):
        own = own.sort_values("x")
        x = own["x"].map(ticks.index) if panel.get("even") else own["x"]
        label, look = series[str(key)]
        line_with_band(axis, x, *_middle_and_band(own, panel), label, look)
        _mark_printed(axis, x, own["printed_mean"], look)
    if panel.get("even"):
        axis.set_xticks(range(len(ticks)), [f"{tick:g}" for tick in ticks])
    elif panel.get("xscale") == "log":
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_xticks([], minor=True)
    elif (cells["x"] % 1 == 0).all():  # no tick at 4.5 clients
        axis.locator_params(axis="x", integer=True)
    if "level" in panel and len(cells):
        axis.axhline(panel["level"], color="0.5", linestyle=":", linewidth=1)
    if "mark" in panel:
        axis.axvline(panel["mark"], color="0.5", linestyle=":", linewidth=1)
    if "exponent" in panel and len(cells):
        _draw_power(axis, panel, cells)


def _draw_power(axis: Axes, panel: Mapping[str, Any], cells: pd.DataFrame) -> None:
    """Draw a power of x through the geometric mean of all points, with its exponent."""
    middle, _ = _middle_and_band(cells, panel)
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


def draw_points(cells: pd.DataFrame, looks: Looks, options: Mapping[str, Any]) -> Figure:
    """Draw one point per series beside each name, which are the values of the column ``along``.

    Bars are one standard deviation on either side of a mean, or quartiles around a median.
    """
    along = options["along"]
    grid = _panels_of(cells.dropna(subset=[along]), options)
    shown = pd.concat([own for row in grid for _, own in row])
    series = _series_of(shown, options, looks)
    names = list(dict.fromkeys(shown[along]))
    offsets = _SPREAD * ((np.arange(len(series)) + 0.5) / len(series) - 0.5)
    offset = dict(zip(series, offsets, strict=True))
    height = 0.5 + max(0.25, 0.09 * len(series)) * len(names)
    figure, panels = _axes_for(grid, width=3.2, height=height)
    for axis, panel, own in panels:
        for key, points in own.groupby(panel.get("series", "method"), sort=False):
            label, look = series[str(key)]
            middle, (low, high) = _middle_and_band(points, panel)
            place = points[along].map(names.index) + offset[str(key)]
            bars = [middle - low, high - middle]
            keywords = look.keywords() | {"linestyle": "none"}
            axis.errorbar(middle, place, xerr=bars, label=label, **keywords)
            _mark_printed(axis, points["printed_mean"], place, look)
        axis.set_yticks(range(len(names)), [_named(name, options) for name in names])
        axis.set_ylim(len(names) - 0.5, -0.5)
    if len(series) > 1:
        legend_below(figure)
    return figure


def draw_trajectories(
    cells: pd.DataFrame, looks: Looks, options: Mapping[str, Any], results: pd.DataFrame
) -> Figure:
    """Draw scores by round: a row of panels per setting and variant, a column per group of methods.

    Lines are medians over replications; bands span the first to the third quartile. The cells name
    the methods and the score; their ``row``, if it is not empty, names the setting. It is an error
    if every replication failed.
    """
    paths = quartiles_by_round(results, cells["metric"].iloc[0])
    wanted = {name for column in options["columns"] for name in column["methods"]}
    series = _series_of(cells[cells["method"].isin(wanted)], options, looks)
    rows = cells.drop_duplicates("setting").set_index("setting")["row"]
    places = paths[["variant", "setting"]].drop_duplicates().to_numpy()
    if not len(places):
        raise DataError("A figure by round has no finished replication to draw.")
    figure, axes = _new_figure(len(places), len(options["columns"]), width=3.8, height=3.0)
    for row, (variant, setting) in zip(axes, places, strict=True):
        here = paths[(paths["variant"] == variant) & (paths["setting"] == setting)]
        for axis, column in zip(row, options["columns"], strict=True):
            _draw_paths(axis, here, column["methods"], series)
            if "mark" in options:
                axis.axvline(options["mark"], color="0.6", linestyle=":", linewidth=0.8, zorder=0)
            axis.set(yscale="log", xlabel="round", title=column["title"])
        place = (rows[setting] or setting) + f", {in_words(variant)}" * (variant != "default")
        row[0].set_ylabel(f"{place}\n{options['ylabel']}")
    legend_below(figure)
    return figure


def _draw_paths(axis: Axes, paths: pd.DataFrame, methods: list[str], series: _Legend) -> None:
    for method in methods:
        own = paths[paths["method"] == method]
        if len(own):
            rounds, band = own["round"].astype(float), (own["q1"], own["q3"])
            line_by_round(axis, rounds, own["median"], band, *series[method])


def draw_exchange(
    cells: pd.DataFrame, looks: Looks, options: Mapping[str, Any], results: pd.DataFrame
) -> Figure:
    """Draw a line for each iterative method and a point for each one-shot method.

    Lines are medians over replications; bands span the first to the third quartile of the score.
    The results have rows of the metric ``floats``.
    """
    metric = cells["metric"].iloc[0]
    scores, floats = quartiles_by_round(results, metric), quartiles_by_round(results, _FLOATS)
    sent = floats[[*_PATH, "median"]].rename(columns={"median": _FLOATS})
    paths = scores.merge(sent, on=_PATH)
    grid = _panels_of(cells, options)
    series = _series_of(cells, options, looks)
    figure, panels = _axes_for(grid, width=3.4, height=3.2)
    for axis, _, own in panels:
        here = paths[paths["setting"].isin(own["setting"]) & paths["method"].isin(own["method"])]
        for method, path in here.groupby("method", sort=False):
            path = path.drop_duplicates(_FLOATS, keep="last")  # rounds without exchange go on
            label, look = series[str(method)]
            band = path["q1"], path["q3"]
            above = {"zorder": 3} if len(path) == 1 else {}
            line_with_band(axis, path[_FLOATS], path["median"], band, label, look, **above)
        axis.set(xscale="log", yscale="log")
    legend_below(figure)
    return figure


def _panels_of(cells: pd.DataFrame, options: Mapping[str, Any]) -> list[list[_Panel]]:
    """Return the panels, row by row; rows and columns without cells are left out.

    The options are those of :class:`fedmix.cells.items.FigureOptions`. Without ``metric`` a panel
    shows all metrics. It is an error if no panel has cells.
    """
    common = {key: value for key, value in options.items() if key not in ("rows", "columns")}
    sides = [_side(cells, side, options) for side in ("rows", "columns")]
    grid = []
    for row in sides[0]:
        row_panels = [_joined(common, row, column) for column in sides[1]]
        grid.append([(panel, _chosen(cells, panel)) for panel in row_panels])
    grid = [row for row in grid if any(len(own) for _, own in row)]
    if not grid:
        raise DataError("A figure has no results yet in any of its panels; run the study first.")
    kept = [i for i in range(len(sides[1])) if any(len(row[i][1]) for row in grid)]
    return [[row[i] for i in kept] for row in grid]


def _chosen(cells: pd.DataFrame, panel: Mapping[str, Any]) -> pd.DataFrame:
    """Return the cells of one panel; see :func:`_panels_of`."""
    cells = rows_with(cells, panel.get("where", {}))
    if "methods" in panel:
        cells = cells[cells["method"].isin(panel["methods"])]
    metric = panel.get("metric")
    if metric is None:
        return cells
    if isinstance(metric, Mapping):
        return cells[cells["metric"] == cells["method"].map(metric).fillna(metric["default"])]
    return cells[cells["metric"] == metric]


def _series_of(cells: pd.DataFrame, options: Mapping[str, Any], looks: Looks) -> _Legend:
    """Return the legend's text and the look of each series of a figure with these cells.

    The option ``series`` is the column with one line per value: ``"method"``, the default, or
    another such as ``"variant"``.
    """
    column = options.get("series", "method")
    shown = cells.drop_duplicates(column)
    by_label = column == "method"
    names = shown["label"] if by_label else shown[column].map(lambda key: _named(key, options))
    keys = shown[column].astype(str)
    styles = looks_of(keys, looks)
    return {key: (str(name), styles[key]) for key, name in zip(keys, names, strict=True)}


def _named(value: object, options: Mapping[str, Any]) -> str:
    """Return a value's name from the figure's ``names``, or the value itself in words."""
    return options.get("names", {}).get(value, in_words(value))


def _middle_and_band(
    cells: pd.DataFrame, panel: Mapping[str, Any]
) -> tuple[pd.Series, tuple[pd.Series, pd.Series]]:
    """Return the numbers that a panel draws, in the unit of the axis.

    ``statistic`` is ``"mean"`` (the default, with one standard deviation on either side),
    ``"share"`` (a mean with one standard error) or ``"median"`` (with quartiles).
    """
    columns = _STATISTICS[panel.get("statistic", "mean")]
    values = cells[list(columns)].div(cells["scale"], axis=0)
    middle = values[columns[0]]
    if len(columns) == 2:
        spread = values[columns[1]].fillna(0.0)  # a single replication has none
        return middle, (middle - spread, middle + spread)
    return middle, (values[columns[1]], values[columns[2]])


def _mark_printed(axis: Axes, x: pd.Series, y: pd.Series, look: MethodStyle) -> None:
    """Draw the published values with the series' marker, hollow; a missing number is not drawn."""
    there = x.notna() & y.notna()
    if there.any():
        hollow = look.keywords() | {"linestyle": "none", "markerfacecolor": "white"}
        axis.plot(x[there], y[there], **hollow, zorder=4)


def _axes_for(
    grid: list[list[_Panel]], width: float, height: float
) -> tuple[Figure, list[tuple[Axes, dict[str, Any], pd.DataFrame]]]:
    """Return a figure with titles and labels, and each of its axes with its options and cells.

    A title or a label that a neighbour has too is left out. ``grid`` is from :func:`_panels_of`;
    ``width`` and ``height`` are those of a panel, in inches.
    """
    figure, axes = _new_figure(len(grid), len(grid[0]), width, height)
    for i, row in enumerate(grid):
        axes[i][0].set_ylabel(row[0][0].get("ylabel", ""))
        for j, (panel, _) in enumerate(row):
            title, label = panel.get("title", ""), panel.get("xlabel", "")
            above = grid[i - 1][j][0].get("title", "") if i else ""
            below = grid[i + 1][j][0].get("xlabel", "") if i + 1 < len(grid) else ""
            axes[i][j].set_title("" if title == above else title)
            axes[i][j].set_xlabel("" if label == below else label)
    panels = [panel for row in grid for panel in row]
    return figure, [(axis, *panel) for axis, panel in zip(axes.flat, panels, strict=True)]


def _new_figure(n_rows: int, n_columns: int, width: float, height: float) -> tuple[Figure, Any]:
    """Return a figure with axes of shape (n_rows, n_columns) that share y within a row.

    ``width`` and ``height`` are those of a panel, in inches.
    """
    figure = Figure(figsize=(0.9 + width * n_columns, 0.8 + height * n_rows))
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, sharey="row")


def _side(cells: pd.DataFrame, side: str, options: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the options of each row, or column, of panels."""
    wanted = options.get(side, [{}])
    if not isinstance(wanted, str):
        return wanted
    values = cells[wanted].unique()
    return [{"where": {wanted: value}, "title": _named(value, options)} for value in values]


def _joined(*parts: Mapping[str, Any]) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    for part in parts:
        joined |= {**part, "where": joined.get("where", {}) | part.get("where", {})}
    return joined


def legend_below(figure: Figure) -> None:
    """Draw one legend for all panels below them."""
    found: dict[str, Artist] = {}
    for axis in figure.axes:
        handles, names = axis.get_legend_handles_labels()
        found |= dict(zip(names, handles, strict=True))
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=min(len(found), 4)
    )

"""Shared parts of figures with several panels: their cells, lines with bands, one legend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedmix.conditions import rows_with
from fedmix.errors import DataError
from fedmix.plot.style import Looks, MethodStyle, looks_of
from fedmix.views.captions import in_words

#: The options of a panel, and the cells that it shows.
Panel = tuple[dict[str, Any], pd.DataFrame]
#: Value of the column with one line per value -> the legend's text and the look of its line.
Legend = Mapping[str, tuple[str, MethodStyle]]
# Statistic -> columns of the middle and of the band; one spread is added on both sides.
STATISTICS = {"mean": ("mean", "sd"), "share": ("mean", "se"), "median": ("median", "q1", "q3")}


def panels_of(cells: pd.DataFrame, options: Mapping[str, Any]) -> list[list[Panel]]:
    """Return the panels, row by row; rows and columns without cells are left out.

    The options are those of :class:`fedmix.cells.items.FigureOptions`. Without ``metric`` a panel
    shows all metrics. It is an error if no panel has cells.
    """
    common = {key: value for key, value in options.items() if key not in ("rows", "columns")}
    sides = [_side(cells, side, options) for side in ("rows", "columns")]
    grid = []
    for row in sides[0]:
        row_panels = [_joined(common, row, column) for column in sides[1]]
        grid.append([(panel, chosen(cells, panel)) for panel in row_panels])
    grid = [row for row in grid if any(len(own) for _, own in row)]
    if not grid:
        raise DataError("A figure has no results yet in any of its panels; run the study first.")
    kept = [i for i in range(len(sides[1])) if any(len(row[i][1]) for row in grid)]
    return [[row[i] for i in kept] for row in grid]


def chosen(cells: pd.DataFrame, panel: Mapping[str, Any]) -> pd.DataFrame:
    """Return the cells of one panel; see :func:`panels_of`."""
    cells = rows_with(cells, panel.get("where", {}))
    if "methods" in panel:
        cells = cells[cells["method"].isin(panel["methods"])]
    metric = panel.get("metric")
    if metric is None:
        return cells
    if isinstance(metric, Mapping):
        return cells[cells["metric"] == cells["method"].map(metric).fillna(metric["default"])]
    return cells[cells["metric"] == metric]


def series_of(cells: pd.DataFrame, options: Mapping[str, Any], looks: Looks) -> Legend:
    """Return the legend's text and the look of each series of a figure with these cells.

    The option ``series`` is the column with one line per value: ``"method"``, the default, or
    another such as ``"variant"``.
    """
    column = options.get("series", "method")
    shown = cells.drop_duplicates(column)
    by_label = column == "method"
    names = shown["label"] if by_label else shown[column].map(lambda key: named(key, options))
    keys = shown[column].astype(str)
    styles = looks_of(keys, looks)
    return {key: (str(name), styles[key]) for key, name in zip(keys, names, strict=True)}


def named(value: object, options: Mapping[str, Any]) -> str:
    """Return a value's name from the figure's ``names``, or the value itself in words."""
    return options.get("names", {}).get(value, in_words(value))


def middle_and_band(
    cells: pd.DataFrame, panel: Mapping[str, Any]
) -> tuple[pd.Series, tuple[pd.Series, pd.Series]]:
    """Return the numbers that a panel draws, in the unit of the axis.

    ``statistic`` is ``"mean"`` (the default, with one standard deviation on either side),
    ``"share"`` (a mean with one standard error) or ``"median"`` (with quartiles).
    """
    columns = STATISTICS[panel.get("statistic", "mean")]
    values = cells[list(columns)].div(cells["scale"], axis=0)
    middle = values[columns[0]]
    if len(columns) == 2:
        spread = values[columns[1]].fillna(0.0)  # a single replication has none
        return middle, (middle - spread, middle + spread)
    return middle, (values[columns[1]], values[columns[2]])


def mark_printed(axis: Axes, x: pd.Series, y: pd.Series, look: MethodStyle) -> None:
    """Draw the published values with the series' marker, hollow; a missing number is not drawn."""
    there = x.notna() & y.notna()
    if there.any():
        hollow = look.keywords() | {"linestyle": "none", "markerfacecolor": "white"}
        axis.plot(x[there], y[there], **hollow, zorder=4)


def axes_for(
    grid: list[list[Panel]], width: float, height: float
) -> tuple[Figure, list[tuple[Axes, dict[str, Any], pd.DataFrame]]]:
    """Return a figure with titles and labels, and each of its axes with its options and cells.

    A title or a label that a neighbour has too is left out. ``grid`` is from :func:`panels_of`;
    ``width`` and ``height`` are those of a panel, in inches.
    """
    figure, axes = new_figure(len(grid), len(grid[0]), width, height)
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


def legend_below(figure: Figure) -> None:
    """Draw one legend for all panels below them."""
    found: dict[str, Artist] = {}
    for axis in figure.axes:
        handles, names = axis.get_legend_handles_labels()
        found |= dict(zip(names, handles, strict=True))
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=min(len(found), 4)
    )


def new_figure(n_rows: int, n_columns: int, width: float, height: float) -> tuple[Figure, Any]:
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
    return [{"where": {wanted: value}, "title": named(value, options)} for value in values]


def _joined(*parts: Mapping[str, Any]) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    for part in parts:
        joined |= {**part, "where": joined.get("where", {}) | part.get("where", {})}
    return joined

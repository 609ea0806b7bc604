"""Mean ranks of methods over all settings, in one picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fedmix.cells.ranks import critical_difference, data_of, mean_ranks
from fedmix.views.figures.style import COLORS, looks_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(
    cells: pd.DataFrame, looks: Mapping[str, Mapping[str, str]], options: Mapping[str, Any]
) -> Figure:
    """Draw mean ranks, a panel a metric, with intervals and the critical difference.

    Parameters
    ----------
    cells : DataFrame
        The item's rows of the frame of cells, with the metrics ``rank: <metric>``.
    looks : mapping of str to mapping
        The papers' methods are black, for each has a row of its own; a method without an entry
        keeps its own colour and marker, so that it is found at a glance.
    options : mapping
        ``columns``: ``metric`` and ``title`` of each panel; ``same_data``: data set -> the one
        whose points it shares.

    Returns
    -------
    matplotlib.figure.Figure
        Points are mean ranks, best on top; lines are 95 % bootstrap intervals over replications.
        The bar on top is Nemenyi's critical difference over the independent data sets.
    """
    from matplotlib.figure import Figure

    columns, same = options["columns"], options.get("same_data", {})
    n_data, n_methods = len(set(data_of(cells, same).values())), cells["method"].nunique()
    figure = Figure(figsize=(4.6 * len(columns), 1.2 + 0.27 * n_methods))
    axes = figure.subplots(1, len(columns), squeeze=False)
    for axis, column in zip(axes[0], columns, strict=True):
        _draw(axis, mean_ranks(cells, column["metric"], same), looks)
        if n_methods > 1:
            _draw_critical_difference(axis, critical_difference(n_methods, n_data), n_methods)
        data = "data set" if n_data == 1 else "independent data sets"
        axis.set(title=column["title"])
        axis.set_xlabel(f"mean rank over {n_data} {data} (1 is best)")
    return figure


def _draw(axis: Axes, frame: pd.DataFrame, looks: Mapping[str, Mapping[str, str]]) -> None:
    own = looks_of([name for name in frame["method"] if name not in looks], {})
    for place, row in enumerate(frame.itertuples()):
        color = own[row.method].color if row.method in own else COLORS["black"]
        marker = own[row.method].marker if row.method in own else "o"
        axis.plot([row.low, row.high], [place, place], color=color, linestyle="-")
        axis.plot(row.mean_rank, place, color=color, marker=marker)
    axis.set_yticks(range(len(frame)), list(frame["label"]))
    axis.set_ylim(len(frame) - 0.3, -1.8)
    axis.set_xlim(0.5, len(frame) + 0.5)


def _draw_critical_difference(axis: Axes, width: float, n_methods: int) -> None:
    """Draw the bar as long as it is, or to the axis' end with an arrow where it is longer."""
    end = min(1 + width, n_methods + 0.3)
    axis.plot([1, end], [-0.9, -0.9], color="black", linestyle="-")
    axis.plot(1, -0.9, color="black", marker="|")
    axis.plot(end, -0.9, color="black", marker=">" if 1 + width > end else "|")
    axis.text(1, -1.2, f"critical difference {width:.1f}", fontsize="x-small")

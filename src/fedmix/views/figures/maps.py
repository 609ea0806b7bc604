"""Maps: a score over two settings, a panel per method; scores by setting, beside mean ranks.

The functions take the parameters of :data:`fedmix.views.figures.build.BUILDERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedmix import plot
from fedmix.cells.condensed import critical_difference, data_of, mean_ranks
from fedmix.cells.measured import LOWEST_FIRST
from fedmix.cells.verdicts import COMPARABLE
from fedmix.plot.style import COLORS, Looks
from fedmix.views.format import number

_COLUMNS = 4
_PALE_FROM = 0.55  # position in the colour map from which the text is dark


def draw_maps(cells: pd.DataFrame, looks: Looks, options: Mapping[str, Any]) -> Figure:
    """Draw one map per method.

    Blue is above zero and red below. A crossed square is within two standard errors of zero. A line
    marks zero where the squares on both sides differ from it by more than that. The values of the
    columns ``x`` and ``along`` are drawn evenly spaced; ``title`` is the label of the colours.
    """
    x, y = options["x"], options["along"]
    methods = cells.drop_duplicates("method")
    n_rows = ceil(len(methods) / _COLUMNS)
    n_columns = ceil(len(methods) / n_rows)
    figure = Figure(figsize=(1.2 + 2.4 * n_columns, 0.9 + 2.2 * n_rows))
    axes = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
    most = float((cells["mean"] / cells["scale"]).abs().max()) or 1.0
    for axis, (method, label) in zip(
        axes.flat, methods[["method", "label"]].to_numpy(), strict=False
    ):
        image = _draw_map(axis, cells[cells["method"] == method], x, y, most)
        axis.set_title(label)
    for axis in axes.flat[len(methods) :]:
        axis.remove()
    for axis in axes.flat[len(methods) - n_columns : len(methods)]:  # nothing is below them
        axis.set_xlabel(options.get("xlabel", x))
        axis.tick_params(labelbottom=True)
    for axis in axes[:, 0]:
        axis.set_ylabel(options.get("ylabel", y))
    figure.colorbar(image, ax=list(axes.flat[: len(methods)]), label=options.get("title", ""))
    return figure


def _draw_map(axis: Axes, own: pd.DataFrame, x: str, y: str, most: float) -> Any:
    """Draw one method's map; return the image for the colour bar."""
    scaled = own.assign(shown=own["mean"] / own["scale"], error=own["se"] / own["scale"])
    means = scaled.pivot(index=y, columns=x, values="shown")
    errors = scaled.pivot(index=y, columns=x, values="error").to_numpy()
    values = means.to_numpy()
    image = axis.imshow(
        values, cmap="RdBu", vmin=-most, vmax=most, origin="lower", aspect="auto", alpha=0.85
    )
    decided = np.sign(np.where(np.abs(values) > 2 * errors, values, 0.0))
    if min(values.shape) > 1 and {-1.0, 1.0} <= set(decided.ravel()):
        axis.contour(values, levels=[0.0], colors="black", linewidths=1.5)
    for i, j in zip(*np.nonzero((decided == 0) & ~np.isnan(values)), strict=True):
        axis.plot(j, i, marker="x", color="0.35", markersize=5)
    axis.set_xticks(range(len(means.columns)), [f"{value:g}" for value in means.columns])
    axis.set_yticks(range(len(means.index)), [f"{value:g}" for value in means.index])
    axis.grid(visible=False)
    return image


def draw_ranks(cells: pd.DataFrame, looks: Looks, options: Mapping[str, Any]) -> Figure:
    """Draw mean ranks with intervals and the critical difference, and scores, a row per metric.

    Left: points are mean ranks, best on top; lines are 95 % bootstrap intervals over replications;
    the bar on top is Nemenyi's critical difference over the independent data sets, and grey lines
    join methods that do not differ. Right: a heat map of mean scores, one column per setting,
    methods in the same order.

    The papers' methods are black because each has a row of its own. A method without a look keeps
    its colour and marker, and its name is coloured too, so that it is easy to find.
    """
    rows, same = options["rows"], options.get("same_data", {})
    n_data, n_methods = len(set(data_of(cells, same).values())), cells["method"].nunique()
    n_settings = cells["column"].nunique()
    figure = Figure(figsize=(5.4 + 0.75 * n_settings, len(rows) * (2.2 + 0.27 * n_methods)))
    axes = figure.subplots(
        len(rows), 2, squeeze=False, sharey="row", width_ratios=(4.0, 0.75 * n_settings)
    )
    for (left, right), row in zip(axes, rows, strict=True):
        ranked = mean_ranks(cells, row["rank"], same)
        few = n_methods < 2 or cells["n"].max() < COMPARABLE  # then no test tells methods apart
        width = None if few else critical_difference(n_methods, n_data)
        plot.ranks(ranked, width, left, known=looks)
        data = "data set" if n_data == 1 else "independent data sets"
        left.set(title=row["title"], xlabel=f"mean rank over {n_data} {data} (1 is best)")
        scores = cells[cells["metric"] == row["metric"]]
        lowest_is_best = row["rank"].startswith(LOWEST_FIRST)
        order, names = list(ranked["method"]), options.get("names", {})
        _draw_scores(right, scores, order, names, lowest_is_best)
        right.set_title("means (brighter is better)", fontsize="small", fontweight="normal")
    return figure


def _draw_scores(
    axis: Axes,
    scores: pd.DataFrame,
    methods: list[str],
    names: Mapping[str, str],
    lowest_is_best: bool,
) -> None:
    """Draw a heat map with each mean written in its square; brighter is better."""
    shown = scores.assign(shown=scores["mean"] / scores["scale"])
    wide = shown.pivot(index="method", columns="column", values="shown")
    wide = wide.reindex(index=methods, columns=list(dict.fromkeys(scores["column"])))
    image = axis.imshow(wide, aspect="auto", cmap="cividis_r" if lowest_is_best else "cividis")
    low, high = image.get_clim()
    for y, values in enumerate(wide.to_numpy(dtype=float)):
        for x, value in enumerate(values):
            shade = (value - low) / (high - low) if high > low else 0.0
            dark = (1 - shade if lowest_is_best else shade) < _PALE_FROM
            color = "white" if dark else COLORS["black"]
            axis.text(x, y, number(value, 2), ha="center", va="center", fontsize=6, color=color)
    heads = ["\n".join(names.get(part, part) for part in name.split(", ")) for name in wide]
    axis.set_xticks(range(len(heads)), heads, rotation=90, fontsize="x-small")
    axis.tick_params(left=False)
    axis.grid(visible=False)
    axis.spines["left"].set_visible(False)

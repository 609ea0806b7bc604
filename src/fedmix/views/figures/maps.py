"""Maps of a score over two settings, with its zero line: one panel per method."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_COLUMNS = 4


def draw_maps(
    cells: pd.DataFrame, looks: Mapping[str, Mapping[str, str]], options: Mapping[str, Any]
) -> Figure:
    """Draw one map per method.

    Parameters
    ----------
    cells : DataFrame
        The item's rows of the frame of cells, of one metric.
    looks : mapping
        Not used: colours show the score.
    options : mapping
        ``x`` and ``along``: columns of the frame whose values are drawn evenly spaced; ``xlabel,
        ylabel``; and ``title``, the label of the colours.

    Returns
    -------
    matplotlib.figure.Figure
        Blue is above zero and red below. A crossed square is within two standard errors of zero.
        A line marks zero where the squares on both sides differ from it by more than that.
    """
    x, y = options["x"], options["along"]
    methods = cells.drop_duplicates("method")
    n_columns = min(_COLUMNS, len(methods))
    n_rows = ceil(len(methods) / n_columns)
    figure = Figure(figsize=(1.2 + 2.4 * n_columns, 0.9 + 2.2 * n_rows))
    axes = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
    most = float((cells["mean"] / cells["scale"]).abs().max()) or 1.0
    for axis, (method, label) in zip(
        axes.flat, methods[["method", "label"]].to_numpy(), strict=False
    ):
        image = _draw_map(axis, cells[cells["method"] == method], x, y, most)
        axis.set_title(label)
    for axis in axes.flat[len(methods) :]:
        axis.set_axis_off()
    for axis in axes[-1]:
        axis.set_xlabel(options.get("xlabel", x))
    for axis in axes[:, 0]:
        axis.set_ylabel(options.get("ylabel", y))
    figure.colorbar(image, ax=axes, label=options.get("title", ""))
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

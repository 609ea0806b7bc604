"""What figures of several panels share: lines with bands, one legend, names in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from fedmix.views.figures.style import MethodStyle

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def line_with_band(
    axis: Axes,
    x: ArrayLike,
    middle: ArrayLike,
    band: tuple[ArrayLike, ArrayLike],
    label: str,
    look: MethodStyle,
    **more: Any,
) -> None:
    """Draw a line and a pale band around it.

    Parameters
    ----------
    axis : Axes
    x, middle : array-like of shape (n,)
        The line.
    band : pair of array-like of shape (n,)
        Lower and upper edge.
    label : str
        The legend's entry.
    look : MethodStyle
    **more
        Further keywords of ``Axes.plot``.
    """
    axis.plot(x, middle, label=label, **look.keywords(), **more)
    axis.fill_between(x, *band, color=look.color, alpha=0.12, linewidth=0)


def mean_with_band(axis: Axes, cells: pd.DataFrame, x: str, label: str, look: MethodStyle) -> None:
    """Draw means over a column x, with a band of one standard deviation to either side.

    ``cells`` are rows of :func:`fedmix.cells.summary.summarise`; the rest is as in
    :func:`line_with_band`.
    """
    cells = cells.sort_values(x)
    band = cells["mean"] - cells["sd"], cells["mean"] + cells["sd"]
    line_with_band(axis, cells[x], cells["mean"], band, label, look)


def legend_below(figure: Figure) -> None:
    """Put one legend for all panels below them."""
    found: dict[str, Artist] = {}
    for axis in figure.axes:
        handles, names = axis.get_legend_handles_labels()
        found |= dict(zip(names, handles, strict=True))
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=min(len(found), 4)
    )


def in_words(name: str) -> str:
    """Return ``"as coded"`` for ``"as_coded"``."""
    return name.replace("_", " ")

"""Mean ranks of methods, and which of them do not differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fedmix.plot.style import COLORS, Looks, drawing_on, looks_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_ABOVE = 2.2  # rows above the best method, for the critical difference and its value


def ranks(
    frame: pd.DataFrame,
    critical_difference: float | None = None,
    axis: Axes | None = None,
    known: Looks | None = None,
) -> Axes:
    """Draw mean ranks with their intervals, the best method on top.

    Parameters
    ----------
    frame : DataFrame
        ``method, label, mean_rank, low, high``, the best first, such as
        :meth:`fedmix.comparison.Comparison.ranks` returns.
    critical_difference : float, optional
        Methods whose mean ranks differ by less are not distinguished. It is drawn as a bar above,
        and a grey line on the right joins the methods of a group without a difference.
    axis : Axes, optional
        Where to draw; by default in a new figure.
    known : mapping of str to mapping, optional
        Methods to draw in black. By default each has its colour and marker.

    Returns
    -------
    Axes
    """
    longest = max(map(len, frame["label"]), default=0)
    width = 5.4 + 0.09 * max(0, longest - 20)  # the labels of estimators with many parameters
    with drawing_on(axis, (width, 1.4 + 0.27 * len(frame))) as axis:
        own = looks_of([name for name in frame["method"] if name not in (known or {})], {})
        for place, row in enumerate(frame.itertuples()):
            style = own.get(row.method)
            color, marker = (style.color, style.marker) if style else (COLORS["black"], "o")
            size = 9 if style else 5
            axis.plot([row.low, row.high], [place, place], color=color, linestyle="-")
            axis.plot(row.mean_rank, place, color=color, marker=marker, markersize=size)
        axis.set_yticks(range(len(frame)), list(frame["label"]))
        for label, method in zip(axis.get_yticklabels(), frame["method"], strict=True):
            if method in own:
                label.set(color=own[method].color, fontweight="bold")
        axis.set_ylim(len(frame) - 0.5, -_ABOVE if critical_difference else -0.5)
        axis.set_xlim(0.5, len(frame) + 0.5)
        axis.set_xlabel("mean rank (1 is best)")
        if critical_difference:
            _draw_critical_difference(axis, critical_difference, len(frame))
            _draw_groups(
                axis, list(groups(list(frame["mean_rank"]), critical_difference)), len(frame)
            )
    return axis


def groups(mean_ranks: list[float], critical_difference: float) -> Iterator[tuple[int, int]]:
    """Yield the first and last place of each largest group of methods that do not differ.

    The ranks are in increasing order.

    Examples
    --------
    >>> list(groups([1.0, 1.5, 2.2, 5.0], 1.0))
    [(0, 1), (1, 2)]
    """
    reached = 0
    for first, rank in enumerate(mean_ranks):
        near = [i for i, other in enumerate(mean_ranks) if other - rank < critical_difference]
        last = max(near, default=first)  # a method without a rank is in no group
        if last > max(first, reached):
            yield first, last
            reached = last


def _draw_groups(axis: Axes, found: list[tuple[int, int]], n_methods: int) -> None:
    """Draw a line beside each group; a group of all methods needs none."""
    if found == [(0, n_methods - 1)]:
        return
    for i, (first, last) in enumerate(found):
        x = n_methods + 0.4 - 0.18 * i
        ends = [first - 0.2, last + 0.2]
        axis.plot([x, x], ends, color=COLORS["grey"], linewidth=3, solid_capstyle="butt")


def _draw_critical_difference(axis: Axes, width: float, n_methods: int) -> None:
    """Draw the bar, or an arrow to the end of the axis if the bar is longer."""
    longest = n_methods - 1
    fits = width <= longest
    end, height = 1 + min(width, longest), -0.9
    axis.plot([1, end], [height, height], color=COLORS["black"], linestyle="-")
    axis.plot(1, height, color=COLORS["black"], marker="|")
    axis.plot(end, height, color=COLORS["black"], marker="|" if fits else ">")
    more = "" if fits else f", more than the {longest} between first and last"
    text = f"critical difference {width:.1f}{more}"
    axis.text(1, height - 0.35, text, fontsize="x-small", va="bottom")

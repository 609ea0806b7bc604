"""The methods: their scores by round or contamination, and their mean ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fedmix.errors import DataError
from fedmix.inputs import numbers
from fedmix.plot.style import COLORS, Looks, MethodStyle, drawing_on, looks_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MARKERS = 8  # per line, so that lines can be distinguished without colour
_ABOVE = 2.2  # rows above the best method, for the critical difference and its value


def trajectories(
    paths: Mapping[str, ArrayLike], axis: Axes | None = None, ylabel: str = "error"
) -> Axes:
    """Draw scores by round on a log scale: medians with bands between quartiles.

    Parameters
    ----------
    paths : mapping of str to array of shape (T,) or (n, T)
        Method -> its score in each round, for one or n replications. A round with NaN, after a
        replication that ended earlier, is left out.
    axis : Axes, optional
        Where to draw; by default in a new figure.
    ylabel : str, default="error"
        The name of the score.

    Returns
    -------
    Axes

    Raises
    ------
    DataError
        If a method's scores are not numbers of shape (T,) or (n, T).
    """
    from matplotlib.ticker import MaxNLocator

    expected = "trajectories: expected scores of {} of shape (T,) or (n, T)"
    rows = {name: np.atleast_2d(numbers(own, expected.format(name))) for name, own in paths.items()}
    for name, scores in rows.items():
        if scores.ndim != 2:
            raise DataError(f"{expected.format(name)}; got shape {scores.shape}.")
    looks = looks_of(paths, {})
    with drawing_on(axis) as axis:
        for name, scores in rows.items():
            rounds = np.flatnonzero(~np.isnan(scores).all(axis=0))
            # One by one: of a method that always failed, no round is left.
            low, middle, high = (
                np.nanquantile(scores[:, rounds], share, axis=0) for share in (0.25, 0.5, 0.75)
            )
            line_by_round(axis, rounds, middle, (low, high), name, looks[name])
        axis.set(yscale="log", xlabel="round", ylabel=ylabel)
        axis.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        axis.legend()
    return axis


def contamination(
    shares: ArrayLike,
    errors: Mapping[str, ArrayLike],
    axis: Axes | None = None,
    ylabel: str = "error",
) -> Axes:
    """Draw errors against the share of contaminated clients: means with standard deviations.

    Parameters
    ----------
    shares : array of shape (S,)
        Shares of the clients that are contaminated, from 0 to 1.
    errors : mapping of str to array of shape (S,) or (S, n)
        Method -> its error at each share, in one or n replications. A replication with NaN is left
        out.
    axis : Axes, optional
        Where to draw; by default in a new figure.
    ylabel : str, default="error"
        The name of the error.

    Returns
    -------
    Axes

    Raises
    ------
    DataError
        If a share is not from 0 to 1, or if a method does not have one error, or row of errors, per
        share.
    """
    import pandas as pd

    percent = 100 * np.asarray(shares, dtype=float)
    if not ((percent >= 0) & (percent <= 100)).all():
        raise DataError("contamination: expected shares of the clients from 0 to 1, not percent.")
    rows = {name: np.asarray(own, dtype=float) for name, own in errors.items()}
    for name, own in rows.items():
        if own.shape[:1] != percent.shape:
            raise DataError(
                f"contamination: {name} has errors of shape {own.shape}; expected one, "
                f"or one row, for each of {len(percent)} shares."
            )
    looks = looks_of(errors, {})
    with drawing_on(axis) as axis:
        for name, own in rows.items():
            by_share = pd.DataFrame(np.atleast_2d(own.T).T)
            middle, spread = by_share.mean(axis=1), by_share.std(axis=1).fillna(0.0)
            band = middle - spread, middle + spread
            line_with_band(axis, percent, middle, band, name, looks[name])
        axis.set(xlabel="contaminated clients (%)", ylabel=ylabel)
        axis.legend()
    return axis


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


def line_by_round(
    axis: Axes,
    rounds: ArrayLike,
    middle: ArrayLike,
    band: tuple[ArrayLike, ArrayLike],
    label: str,
    look: MethodStyle,
) -> None:
    """Draw a line and its band with few markers; the arguments are those of `line_with_band`."""
    every = max(1, len(np.asarray(rounds)) // _MARKERS)
    line_with_band(axis, rounds, middle, band, label, look, markevery=every)


def line_with_band(
    axis: Axes,
    x: ArrayLike,
    middle: ArrayLike,
    band: tuple[ArrayLike, ArrayLike],
    label: str,
    look: MethodStyle,
    **more: Any,
) -> None:
    """Draw a line and a pale band around it; ``more`` are keywords of ``Axes.plot``."""
    axis.plot(x, middle, label=label, **look.keywords(), **more)
    pixels = len(np.asarray(x)) > 100  # a path would take more bytes
    axis.fill_between(x, *band, color=look.color, alpha=0.12, linewidth=0, rasterized=pixels)


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

"""Lines with bands: a number of each method against rounds or contamination."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fedmix.errors import DataError
from fedmix.inputs import numbers
from fedmix.plot.style import MethodStyle, drawing_on, looks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = 8  # per line, so that lines can be distinguished without colour


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

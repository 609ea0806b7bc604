"""The papers' printed values beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedmix.views.tables.format import mean_sd

if TYPE_CHECKING:
    import pandas as pd


def with_printed(
    cells: pd.DataFrame,
    printed: pd.DataFrame | None,
    keys: Sequence[str],
    columns: tuple[str, str] = ("mean", "sd"),
) -> pd.DataFrame:
    """Add the columns printed_mean and printed_sd, NaN where the paper prints nothing.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.summary.summarise`.
    printed : DataFrame or None
        The paper's rows of this table.
    keys : sequence of str
        Columns, of both frames, that name a cell.
    columns : (str, str)
        The printed mean and standard deviation.
    """
    if printed is None:
        return cells.assign(printed_mean=float("nan"), printed_sd=float("nan"))
    known = printed[[*keys, *columns]]
    known = known.rename(columns=dict(zip(columns, ("printed_mean", "printed_sd"), strict=True)))
    return cells.merge(known, how="left", on=list(keys))


def lay_out(
    cells: pd.DataFrame, row: pd.Series, column: pd.Series, digits: int, index: str
) -> pd.DataFrame:
    """Return a table of ``ours | theirs``, rows and columns in the order of ``cells``.

    Parameters
    ----------
    cells : DataFrame
        With mean, sd, printed_mean and printed_sd.
    row, column : Series of str
        Each cell's place.
    digits : int
        Decimals.
    index : str
        What the rows are.
    """
    text = [
        f"{mean_sd(c.mean, c.sd, digits)} | {mean_sd(c.printed_mean, c.printed_sd, digits)}"
        for c in cells.itertuples()
    ]
    placed = cells.assign(row=row, column=column, text=text)
    wide = placed.pivot(index="row", columns="column", values="text")
    wide = wide.loc[list(dict.fromkeys(row)), list(dict.fromkeys(column))].fillna("–")
    return wide.rename_axis(index=index, columns=None)


def notes(cells: pd.DataFrame) -> str:
    """Say what a cell shows, of how many replications, and how many failed."""
    fewest, most = cells["n"].min(), cells["n"].max()
    n = f"n = {fewest}" if fewest == most else f"n = {fewest} to {most}"
    failed = int(cells["failed"].sum())
    left_out = f" {failed} failed replications are left out of the means." if failed else ""
    return (
        "A cell shows ours | the paper's, each as mean (standard deviation). "
        f"{n} replications a cell.{left_out}"
    )

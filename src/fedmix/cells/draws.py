"""Verdicts on numbers that rest on one draw on either side, which no replication averages out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from fedmix.cells.verdicts import JUDGED, compare

if TYPE_CHECKING:
    import pandas as pd

_PLACE = ["setting_dataset", "method", "metric"]


def with_draws(cells: pd.DataFrame, studies: Mapping[str, str]) -> pd.DataFrame:
    """Judge some items again, with the variance between draws that print and run made once.

    Parameters
    ----------
    cells : DataFrame
        The frame of cells, that of the studies of other draws included.
    studies : mapping of str to str
        Item -> the study that repeats it with other draws: one setting a draw. A method's variance
        on a data set is that of its means over them, less the replications' share. Where the study
        is not there, verdicts stay as they are.

    Returns
    -------
    DataFrame
    """
    cells = cells.copy()
    for item, study in studies.items():
        variances = _between(cells[cells["study"] == study])
        own = cells[(cells["item"] == item) & cells["verdict"].isin(JUDGED)]
        for index, cell in own.iterrows():
            key = tuple(cell[name] for name in _PLACE)
            if key not in variances:
                continue
            variance, draws = variances[key]
            found = compare(
                [value / cell["scale"] for value in cell["values"]],
                cell["printed_mean"],
                cell["printed_sd"],
                int(cell["printed_replications"]),
                int(cell["digits"]),
                (variance / cell["scale"] ** 2, draws),
            )
            for name, value in asdict(found).items():
                cells.loc[index, name] = value
    return cells


def _between(cells: pd.DataFrame) -> dict[tuple, tuple[float, int]]:
    """Return each method's variance between draws, and their number."""
    once = cells.drop_duplicates(["setting", *_PLACE])
    found = {}
    for key, draws in once.groupby(_PLACE):
        if len(draws) > 1:
            within = (draws["sd"] ** 2 / draws["n"]).mean()
            found[key] = (max(draws["mean"].var() - within, 0.0), len(draws))
    return found

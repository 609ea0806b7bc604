"""Quartiles over replications, round by round."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def quartiles_by_round(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the quartiles over replications of a score in every round.

    Parameters
    ----------
    results : DataFrame
        Tidy result rows.
    metric : str
        The score; values of zero or less are left out, for trajectories are shown on a log scale
        (the first error of an oracle is 0).

    Returns
    -------
    DataFrame
        ``study, variant, setting, method, round, q1, median, q3``, by round.
    """
    keys = ["study", "variant", "setting", "method", "round"]
    paths = results[results["round"].notna() & (results["metric"] == metric)]
    values = paths[paths["value"] > 0].groupby(keys, sort=False)["value"]
    wide = values.quantile([0.25, 0.5, 0.75]).unstack()
    wide.columns = ["q1", "median", "q3"]
    return wide.reset_index().sort_values("round", kind="stable", ignore_index=True)

"""Means over replications, with what is needed to judge them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def final_scores(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return one row a replication: the final value of a metric, or NaN where it has none.

    Parameters
    ----------
    results : DataFrame
        Tidy result rows.
    metric : str
        The metric's name; failed replications are kept, with their status.

    Returns
    -------
    DataFrame
        Rows of ``results`` without trajectories.
    """
    final = results[results["round"].isna()]
    return final[(final["metric"] == metric) | (final["status"] != "ok")]


def summarise(
    scores: pd.DataFrame, by: Sequence[str], value: str = "value", scale: float = 1.0
) -> pd.DataFrame:
    """Summarise scores over replications.

    Parameters
    ----------
    scores : DataFrame
        One row a replication, with ``status`` and the value's column.
    by : sequence of str
        Columns that name a cell of the table.
    value : str, default="value"
        Column to summarise.
    scale : float, default=1.0
        Factor on every value, e.g. 100 for percent.

    Returns
    -------
    DataFrame
        One row a cell: mean, sd (ddof=1), standard_error (Monte-Carlo, sd / sqrt(n)), n and failed.
        Means leave failed replications out; ``failed`` says how many those were.
    """
    import pandas as pd

    rows = []
    for key, group in scores.groupby(list(by), sort=False):
        good = group.loc[group["status"] == "ok", value].to_numpy(dtype=float) * scale
        sd = float(np.std(good, ddof=1)) if len(good) > 1 else np.nan
        rows.append(
            {
                **dict(zip(by, key, strict=True)),
                "mean": float(np.mean(good)) if len(good) else np.nan,
                "sd": sd,
                "standard_error": sd / np.sqrt(len(good)) if len(good) else np.nan,
                "n": len(good),
                "failed": len(group) - len(good),
            }
        )
    columns = [*by, "mean", "sd", "standard_error", "n", "failed"]
    return pd.DataFrame(rows, columns=columns)


def steady(timings: pd.DataFrame) -> pd.DataFrame:
    """Return timings without the first replication of every process, which loads compiled code.

    A method that ran no other replication in its setting keeps them.
    """
    if "warm" not in timings or timings.empty:
        return timings
    warm = timings["warm"].astype(bool)
    keys = ["study", "variant", "setting", "method"]
    has_warm = warm.groupby([timings[key] for key in keys]).transform("any")
    return timings[warm | ~has_warm]

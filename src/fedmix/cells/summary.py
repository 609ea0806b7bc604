"""Means over replications: the only place where a number is summarised."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

SECONDS = "seconds"
# What every run has, whatever its experiment measures.
RUN_METRICS = ("rounds", "floats_up", "floats_down")


def summarise(values: ArrayLike) -> dict[str, float]:
    """Return mean, sd (ddof=1), se (of the mean), median, q1, q3 and n of replications.

    What too few replications leave undefined is NaN.
    """
    import numpy as np

    values = np.asarray(values, dtype=float)
    n = len(values)
    sd = float(np.std(values, ddof=1)) if n > 1 else np.nan
    q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75]) if n else [np.nan] * 3
    return {
        "mean": float(np.mean(values)) if n else np.nan,
        "sd": sd,
        "se": sd / np.sqrt(n) if n else np.nan,
        "median": float(median),
        "q1": float(q1),
        "q3": float(q3),
        "n": n,
    }


def final_values(results: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return one row a finished replication and metric: ``method, metric, replication, value``.

    Parameters
    ----------
    results, timings : DataFrame
        Of one setting. Rounds and floats sent become metrics, and so do the steady seconds.
    """
    import pandas as pd

    ok = results[results["status"] == "ok"]
    columns = ["method", "metric", "replication", "value"]
    runs = ok.drop_duplicates(["method", "replication"])
    parts = [ok.loc[ok["round"].isna(), columns]]
    parts += [runs.assign(metric=name, value=runs[name].astype(float)) for name in RUN_METRICS]
    if len(timings):
        timed = steady(timings[timings["status"] == "ok"])
        parts.append(timed.assign(metric=SECONDS, value=timed[SECONDS]))
    return pd.concat([part[columns] for part in parts], ignore_index=True)


def steady(timings: pd.DataFrame) -> pd.DataFrame:
    """Return timings without the first replication of every process, which loads compiled code.

    A method that ran no other replication in its setting keeps them.
    """
    warm = timings["warm"].astype(bool)
    keys = ["study", "variant", "setting", "method"]
    has_warm = warm.groupby([timings[key] for key in keys]).transform("any")
    return timings[warm | ~has_warm]

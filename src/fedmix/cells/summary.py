"""Numbers made of what was measured: summaries over replications, and derived metrics.

This is the only place where a number is summarised. A derived metric is made of other metrics,
replication by replication, or of trajectories. An item asks for one by its name:
``rounds_to_oracle``, or ``"rank: ari_pooled"`` where the name takes a metric.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fedmix.errors import ConfigurationError, nearest_names

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from fedmix.cells.measured import Measured, Metric

ORACLE, ONE_STEP = "OracleClustering", "TwoPhase-FedAvg-s1"
LOWEST_FIRST = "rank from lowest"
_NEAR_ORACLE = 1.1
_NEAR_BEST = 1.05
_PHASE1_ROUNDS = 5  # of the two-phase methods, unless they are given another number


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


def quartiles_by_round(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the quartiles over replications of a score in every round.

    Parameters
    ----------
    results : DataFrame
        Tidy result rows.
    metric : str
        The score. Values of zero or less are left out, because trajectories are shown on a log
        scale (the first error of an oracle is 0).

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


def metric_of(measured: Measured, name: str) -> Metric:
    """Return a metric of all methods that have it, measured or derived.

    Raises
    ------
    ConfigurationError
        If no metric of another one bears the first part of a name of two parts.
    """
    if found := measured.metric(name):
        return found
    kind, _, of = name.partition(": ")
    if of:
        if kind not in OF_METRICS:
            raise ConfigurationError(
                f"Unknown derived metric {name!r}. {nearest_names(kind, OF_METRICS)}"
            )
        return OF_METRICS[kind](measured, metric_of(measured, of))
    return DERIVED[name](measured) if name in DERIVED else {}


def rank(measured: Measured, scores: Metric) -> Metric:
    """Rank the methods within every replication, the highest score first.

    A failed replication and an undefined score rank last; ties share their mean rank.
    """
    import pandas as pd

    wide = pd.DataFrame(
        {method: _with_failures(scores.get(method), runs) for method, runs in measured.runs.items()}
    )
    ranks = wide.rank(axis=1, ascending=False)
    return {str(method): ranks[method].dropna() for method in ranks}


def ratio_to_one_step(measured: Measured, scores: Metric) -> Metric:
    """Divide, within every replication, by the two-phase method's score with one local step."""
    if ONE_STEP not in scores:
        return {}
    return {method: (own / scores[ONE_STEP]).dropna() for method, own in scores.items()}


def rank_from_lowest(measured: Measured, scores: Metric) -> Metric:
    """Rank the methods as :func:`rank` does, the lowest score first."""
    return rank(measured, {method: -values for method, values in scores.items()})


def log(measured: Measured, scores: Metric) -> Metric:
    """Take logarithms."""
    import numpy as np

    return {method: np.log(values) for method, values in scores.items()}


def floats(measured: Measured) -> Metric:
    """Add the floats sent up and down."""
    down = measured.metric("floats_down")
    return {method: up + down[method] for method, up in measured.metric("floats_up").items()}


def rounds_to_oracle(measured: Measured) -> Metric:
    """Return the first round within 1.1 of the oracle's final error; only where it is reached."""
    return {method: first.dropna() for method, first in _first_rounds(measured).items()}


def reached_oracle(measured: Measured) -> Metric:
    """Return 1 where the error comes within 1.1 of the oracle's final error, 0 elsewhere."""
    return {method: first.notna() * 1.0 for method, first in _first_rounds(measured).items()}


def floats_to_best(measured: Measured) -> Metric:
    """Return the floats sent until the means are within 5 % of the best final error of any method.

    Only where they come so near; the lowest error is each replication's own.
    """
    sent = measured.paths("floats")
    return {
        method: _at(sent[method], first.dropna())
        for method, first in _first_rounds_near_best(measured).items()
    }


def reached_best(measured: Measured) -> Metric:
    """Return 1 where a method's means come within 5 % of the best final error, 0 elsewhere."""
    found = _first_rounds_near_best(measured)
    return {method: first.notna() * 1.0 for method, first in found.items()}


def observed_rate(measured: Measured) -> Metric:
    """Return the rate at which the error of Phase 2 contracts, where it can be estimated."""
    import pandas as pd

    from fedmix.theory import observed_rate as rate_of

    rates = {}
    for method, paths in measured.paths("model_error").items():
        start = measured.methods[method].get("method_phase1_rounds", _PHASE1_ROUNDS)
        found = [rate_of(path[start:]) for path in paths.to_numpy(dtype=float)]
        rates[method] = pd.Series(found, index=paths.index).dropna()
    return rates


def _with_failures(scores: pd.Series | None, runs: list[int]) -> pd.Series:
    import numpy as np
    import pandas as pd

    lowest = pd.Series(-np.inf, index=runs)
    return lowest if scores is None else scores.combine_first(lowest)


def _first_rounds(measured: Measured) -> Metric:
    """Return the first round near the oracle, NaN where there is none."""
    oracle = measured.values.get((ORACLE, "model_error"))
    if oracle is None:
        return {}
    return _first_below(measured, "model_error", _NEAR_ORACLE * oracle)


def _first_rounds_near_best(measured: Measured) -> Metric:
    """Return the first round near the lowest final error of any method, NaN where there is none."""
    import pandas as pd

    lowest = pd.DataFrame(measured.metric("means_error")).min(axis=1)
    return _first_below(measured, "means_error", _NEAR_BEST * lowest)


def _first_below(measured: Measured, metric: str, marks: pd.Series) -> Metric:
    """Return the first round at or below a replication's mark, NaN where there is none."""
    found = {}
    for method, paths in measured.paths(metric).items():
        below = paths.astype(float).le(marks.reindex(paths.index), axis=0)
        found[method] = below.idxmax(axis=1).astype(float).where(below.any(axis=1))
    return found


def _at(paths: pd.DataFrame, rounds: pd.Series) -> pd.Series:
    """Return the value of each replication at its round."""
    import pandas as pd

    values = [float(paths.at[replication, t]) for replication, t in rounds.items()]
    return pd.Series(values, index=rounds.index)


OF_METRICS: dict[str, Callable[[Measured, Metric], Metric]] = {
    "rank": rank,
    LOWEST_FIRST: rank_from_lowest,
    "log": log,
    "ratio to one step": ratio_to_one_step,
}
DERIVED: dict[str, Callable[[Measured], Metric]] = {
    "floats": floats,
    "rounds_to_oracle": rounds_to_oracle,
    "reached_oracle": reached_oracle,
    "floats_to_best": floats_to_best,
    "reached_best": reached_best,
    "observed_rate": observed_rate,
}

"""What was measured in one setting: values, their summaries over replications, derived metrics.

A derived metric is computed from other metrics, replication by replication, or from trajectories.
An item asks for it by name: ``rounds_to_oracle``, or ``"rank: ari_pooled"`` if the name takes a
metric.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from fedmix.errors import ConfigurationError, DataError, nearest_names
from fedmix.revision import other_versions

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

Metric = Mapping[str, "pd.Series"]  # by method, of values indexed by replication
Tables = tuple["pd.DataFrame", "pd.DataFrame"]  # results and timings of one setting
PLACE = ["study", "variant", "setting"]
SECONDS = "seconds"
# Metrics that every run has, in any experiment.
RUN_METRICS = ("rounds", "floats_up", "floats_down")
ORACLE, ONE_STEP = "OracleClustering", "TwoPhase-FedAvg-s1"
LOWEST_FIRST = "rank from lowest"
# Selections of all columns of the results would take most of the time.
_VALUE = ["method", "metric", "replication", "value"]
_STEP = [*_VALUE, "round"]
_NEEDED = [*_STEP, "status", "message", *RUN_METRICS]
_TIMED = [*PLACE, "method", "replication", "status", "warm", SECONDS]
_AT = "at"  # the column with a setting's number, where several are measured together
_QUICK: Mapping[str, Any] = {"sort": False, "observed": True}
_NEAR_ORACLE = 1.1
_NEAR_BEST = 1.05
_PHASE1_ROUNDS = 5  # of the two-phase methods, unless they are given another number


@dataclass
class Measured:
    """What was measured in one setting."""

    #: Method -> the columns that identify it in the frame of cells.
    methods: Mapping[str, Mapping[str, Any]]
    #: (Method, metric) -> values of the finished replications, indexed by replication.
    values: dict[tuple[str, str], pd.Series]
    #: Method -> the replications that ran, with those that failed.
    runs: Mapping[str, list[int]]
    #: Method -> how many of them failed.
    failed: Mapping[str, int]
    #: The rows of the results that have a round.
    trajectories: pd.DataFrame = field(repr=False)
    #: Method -> when and at which commit its results were made, and when they were checked since.
    origins: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    #: Method -> how they failed, such as ``"timeout: ReplicationTimeout: over 60 s"``.
    failures: Mapping[str, str] = field(default_factory=dict)

    def metric(self, name: str) -> Metric:
        """Return a metric of all methods that have it."""
        return {m: self.values[m, name] for m in self.methods if (m, name) in self.values}

    def paths(self, metric: str) -> Mapping[str, pd.DataFrame]:
        """Return every method's metric by round: one row per replication, one column per round."""
        rows = self.trajectories[self.trajectories["metric"] == metric]
        return {
            str(method): own.pivot(index="replication", columns="round", values="value")
            for method, own in rows.groupby("method", **_QUICK)
        }


def measure(settings: Sequence[Tables], labels: Mapping[str, str] | None = None) -> list[Measured]:
    """Return what was measured in each of some settings, given as (results, timings).

    Values are looked for in all settings at once, because pandas takes milliseconds for the
    smallest table. A metric that a replication of a method has twice is a DataError.
    """
    results = _numbered((own for own, _ in settings), _NEEDED)
    if results.empty:
        return []
    fits = results.drop_duplicates([_AT, "method", "replication"])
    finals = final_values(results, fits, _numbered((own for _, own in settings), _TIMED))
    twice = finals.duplicated([_AT, "method", "metric", "replication"])
    if twice.any():
        first = finals[twice].iloc[0]
        place = "/".join(settings[first[_AT]][0][PLACE].iloc[0])
        raise DataError(
            f"Replication {first.replication} of {place}/{first.method}, metric {first.metric!r}, "
            "occurs twice. Are blocks of two runs mixed?"
        )
    scores = finals.set_index("replication").groupby([_AT, "method", "metric"], **_QUICK)["value"]
    values: list[dict[tuple[str, str], pd.Series]] = [{} for _ in settings]
    runs: list[dict[str, list[int]]] = [{} for _ in settings]
    for (at, method, metric), own in scores:
        values[at][method, metric] = own.sort_index()
    for (at, method), own in fits.groupby([_AT, "method"], observed=True)["replication"]:
        runs[at][method] = sorted(own)
    failed = fits[fits["status"] != "ok"]
    lost = failed.groupby([_AT, "method"], observed=True).size()
    return [
        Measured(
            methods={identity["method"]: identity for identity in _identities(own, labels or {})},
            values=values[at],
            runs=runs[at],
            failed={method: int(lost.get((at, method), 0)) for method in runs[at]},
            trajectories=own.loc[own["round"].notna(), _STEP],
            origins=_origins(timings) if "made" in timings else {},
            failures=_failures(failed[failed[_AT] == at]) if at in lost else {},
        )
        for at, (own, timings) in enumerate(settings)
    ]


def _numbered(tables: Iterable[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    """Return columns of tables below one another, with the number of each table in a column."""
    import pandas as pd

    parts = [own[columns].assign(**{_AT: i}) for i, own in enumerate(tables) if len(own)]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _failures(failed: pd.DataFrame) -> dict[str, str]:
    """Return how each method failed: every status that occurred, with its first message."""
    first = failed.drop_duplicates(["method", "status"]).fillna({"message": ""})
    ways = first["status"].astype(str) + ": " + first["message"].astype(str)
    return ways.groupby(first["method"], **_QUICK).agg("; ".join).to_dict()


def _origins(timings: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Return, for each method, the dates and commits at which it was run, and checked."""
    found = {}
    for method, own in timings.groupby("method", **_QUICK)["made"].unique().items():
        made = sorted({_when(text) for text in own})
        checked = sorted({json.loads(text).get("checked", "") for text in own} - {""})
        found[method] = ", ".join(made), ", ".join(checked)
    return found


def _when(made: str) -> str:
    """Return a result's date and commit, and the libraries whose installed versions are others."""
    about, others = json.loads(made), other_versions(made)
    note = f" (unverified: {'; '.join(others)})" if others else ""
    return f"{about['date']} at commit {about['commit']}{note}"


def final_values(results: pd.DataFrame, fits: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return the final values, one row per finished replication and metric of a setting.

    The rounds and floats of ``fits``, which have one row per replication, and the steady seconds
    are metrics too. A method with neither rounds nor floats reports none, which is not 0.
    """
    import pandas as pd

    runs = fits[fits["status"] == "ok"]
    reported = runs[list(RUN_METRICS)].any(axis=1)
    runs = runs[reported.groupby([runs[_AT], runs["method"]], observed=True).transform("any")]
    parts = [finals_in(results)]
    parts += [runs.assign(metric=name, value=runs[name].astype(float)) for name in RUN_METRICS]
    if len(timings):
        timed = steady(timings[timings["status"] == "ok"])
        parts.append(timed.assign(metric=SECONDS, value=timed[SECONDS]))
    return pd.concat([part[[_AT, *_VALUE]] for part in parts], ignore_index=True)


def finals_in(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the values that finished replications end with."""
    return results[(results["status"] == "ok") & results["round"].isna()]


def steady(timings: pd.DataFrame) -> pd.DataFrame:
    """Return timings without the first replication of every process, which loads compiled code.

    A method that has no other timings in its setting keeps these.
    """
    warm = timings["warm"].astype(bool)
    keys = [*PLACE, "method"]
    has_warm = warm.groupby([timings[key] for key in keys]).transform("any")
    return timings[warm | ~has_warm]


def _identities(results: pd.DataFrame, labels: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield what identifies each method of a setting: the columns of its results with a value."""
    columns = [c for c in results if c in PLACE or c.startswith(("setting_", "method"))]
    first = results.loc[~results["method"].duplicated(), columns]
    for record in first.to_dict("records"):
        present = {k: v for k, v in record.items() if v is not None and v == v}
        label = labels.get(present["method"], present["method"])
        yield present | _contaminated_percent(present) | {"label": label}


def identity_of(setting: Mapping[str, Any], method: str, label: str) -> dict[str, Any]:
    """Return what identifies a method in a setting, under the names of the cells' columns."""
    present = {f"setting_{name}": value for name, value in setting.items()}
    return present | _contaminated_percent(present) | {"method": method, "label": label}


def _contaminated_percent(identity: Mapping[str, Any]) -> dict[str, float]:
    """Return the share of contaminated clients in percent, which the papers' tables use."""
    bad, clients = identity.get("setting_n_contaminated"), identity.get("setting_n_clients")
    if bad is None or not clients:
        return {}
    return {"contaminated_percent": round(100 * bad / clients, 1)}


def summarise(values: ArrayLike) -> dict[str, float]:
    """Return mean, sd (ddof=1), se (of the mean), median, q1, q3 and n of replications.

    A number that needs more replications is NaN.
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


def by_round(rows: pd.DataFrame) -> pd.DataFrame:
    """Return scores, one row per replication; one that ends early keeps its last score."""
    return rows.pivot(index="replication", columns="round", values="value").ffill(axis=1)


def metric_of(measured: Measured, name: str) -> Metric:
    """Return a metric of all methods that have it, measured or derived."""
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
    """Rank the methods in every replication, the highest score first.

    A failed replication and an undefined score rank last; ties share their mean rank.
    """
    import pandas as pd

    none = pd.Series(dtype=float)
    found = {m: scores.get(m, none).reindex(runs) for m, runs in measured.runs.items()}
    wide = pd.DataFrame({method: own.fillna(-inf) for method, own in found.items()})
    ranks = wide.rank(axis=1, ascending=False)
    return {str(method): ranks[method].dropna() for method in ranks}


def ratio_to_one_step(measured: Measured, scores: Metric) -> Metric:
    """Divide scores by that of the two-phase method with one local step, in every replication."""
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
    """Return the first round with at most 1.1 times the oracle's final error, if any."""
    return {method: first.dropna() for method, first in _first_rounds(measured).items()}


def floats_to_best(measured: Measured) -> Metric:
    """Return the floats sent until the means' error is within 5 % of the best method's final one.

    The best method is that of the same replication. A replication that never comes so near has
    no value.
    """
    import pandas as pd

    sent, found = measured.paths("floats"), {}
    for method, first in _first_rounds_near_best(measured).items():
        if method in sent:
            rounds = first.dropna()
            values = [float(sent[method].at[replication, t]) for replication, t in rounds.items()]
            found[method] = pd.Series(values, index=rounds.index)
    return found


def observed_rate(measured: Measured) -> Metric:
    """Return the rate at which the error contracts in Phase 2, where it can be estimated."""
    import pandas as pd

    from fedmix.theory import observed_rate as rate_of

    rates = {}
    for method, paths in measured.paths("model_error").items():
        start = measured.methods[method].get("method_phase1_rounds", _PHASE1_ROUNDS)
        found = [rate_of(path[start:]) for path in paths.to_numpy(dtype=float)]
        rates[method] = pd.Series(found, index=paths.index).dropna()
    return rates


def _first_rounds(measured: Measured) -> Metric:
    """Return the first round near the oracle's final error; NaN if there is none."""
    oracle = measured.values.get((ORACLE, "model_error"))
    if oracle is None:
        return {}
    return _first_below(measured, "model_error", _NEAR_ORACLE * oracle)


def _first_rounds_near_best(measured: Measured) -> Metric:
    """Return the first round near the lowest final error of any method; NaN if there is none."""
    import pandas as pd

    lowest = pd.DataFrame(measured.metric("means_error")).min(axis=1)
    return _first_below(measured, "means_error", _NEAR_BEST * lowest)


def _reached(first_rounds: Metric) -> Metric:
    """Return 1 where there is such a round, 0 where there is none."""
    return {method: first.notna() * 1.0 for method, first in first_rounds.items()}


def _first_below(measured: Measured, metric: str, marks: pd.Series) -> Metric:
    """Return the first round at or below each replication's mark; NaN if there is none."""
    found = {}
    for method, paths in measured.paths(metric).items():
        below = paths.astype(float).le(marks.reindex(paths.index), axis=0)
        found[method] = below.idxmax(axis=1).astype(float).where(below.any(axis=1))
    return found


OF_METRICS: dict[str, Callable[[Measured, Metric], Metric]] = {
    "rank": rank,
    LOWEST_FIRST: rank_from_lowest,
    "log": log,
    "ratio to one step": ratio_to_one_step,
}

DERIVED: dict[str, Callable[[Measured], Metric]] = {
    "floats": floats,
    "rounds_to_oracle": rounds_to_oracle,
    "reached_oracle": lambda measured: _reached(_first_rounds(measured)),
    "floats_to_best": floats_to_best,
    "reached_best": lambda measured: _reached(_first_rounds_near_best(measured)),
    "observed_rate": observed_rate,
}

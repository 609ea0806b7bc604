"""What was measured in one setting, before anything is summarised."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fedmix.errors import DataError
from fedmix.revision import other_versions

if TYPE_CHECKING:
    import pandas as pd

    Metric = Mapping[str, pd.Series]  # by method, of values indexed by replication

PLACE = ["study", "variant", "setting"]
SECONDS = "seconds"
# Metrics that every run has, in any experiment.
RUN_METRICS = ("rounds", "floats_up", "floats_down")


@dataclass
class Measured:
    """What was measured in one setting.

    Parameters
    ----------
    methods : mapping of str to mapping
        Method -> the columns that identify it in the frame of cells.
    values : dict of (str, str) to Series
        (Method, metric) -> values of the finished replications, indexed by replication.
    runs : mapping of str to list of int
        Method -> the replications that ran, with those that failed.
    failed : mapping of str to int
        Method -> how many of them failed.
    trajectories : DataFrame
        The rows of the results that have a round.
    origins : mapping of str to (str, str)
        Method -> when and at which commit its results were made, and when they were checked since.
    failures : mapping of str to str
        Method -> how they failed, such as ``"timeout: ReplicationTimeout: over 60 s"``.
    """

    methods: Mapping[str, Mapping[str, Any]]
    values: dict[tuple[str, str], pd.Series]
    runs: Mapping[str, list[int]]
    failed: Mapping[str, int]
    trajectories: pd.DataFrame = field(repr=False)
    origins: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)

    def metric(self, name: str) -> Metric:
        """Return a metric of all methods that have it."""
        return {m: self.values[m, name] for m in self.methods if (m, name) in self.values}

    def paths(self, metric: str) -> Mapping[str, pd.DataFrame]:
        """Return every method's metric by round: one row per replication, one column per round."""
        rows = self.trajectories[self.trajectories["metric"] == metric]
        return {
            str(method): own.pivot(index="replication", columns="round", values="value")
            for method, own in rows.groupby("method", sort=False)
        }


def measure(
    results: pd.DataFrame, timings: pd.DataFrame, labels: Mapping[str, str] | None = None
) -> Measured:
    """Return what was measured in one setting; see :func:`fedmix.cells.frame.make_cells`."""
    finals = final_values(results, timings)
    twice = finals.duplicated(["method", "metric", "replication"])
    if twice.any():
        first, place = finals[twice].iloc[0], "/".join(results[PLACE].iloc[0])
        raise DataError(
            f"Replication {first.replication} of {place}/{first.method}, metric {first.metric!r}, "
            "occurs twice. Are blocks of two runs mixed?"
        )
    values = {
        key: own.set_index("replication")["value"].sort_index()
        for key, own in finals.groupby(["method", "metric"], sort=False)
    }
    runs = results.groupby("method")["replication"].unique()
    finished = results[results["status"] == "ok"].groupby("method")["replication"].nunique()
    return Measured(
        methods={identity["method"]: identity for identity in _identities(results, labels or {})},
        values=values,
        runs={method: sorted(own) for method, own in runs.items()},
        failed={method: len(own) - int(finished.get(method, 0)) for method, own in runs.items()},
        trajectories=results[results["round"].notna()],
        origins=_origins(timings) if "made" in timings else {},
        failures=_failures(results),
    )


def _failures(results: pd.DataFrame) -> dict[str, str]:
    """Return how each method failed: every status that occurred, with its first message."""
    failed = results[results["status"] != "ok"].drop_duplicates(["method", "status"])
    told = failed["status"] + ": " + failed["message"].fillna("")
    return told.groupby(failed["method"]).agg("; ".join).to_dict()


def _origins(timings: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Return, for each method, the dates and commits at which it was run, and checked."""
    found = {}
    for method, own in timings.groupby("method")["made"]:
        origins = [json.loads(text) for text in own.unique()]
        made = sorted({_when(text) for text in own.unique()})
        checked = sorted({each["checked"] for each in origins if "checked" in each})
        found[str(method)] = ", ".join(made), ", ".join(checked)
    return found


def _when(made: str) -> str:
    """Return a result's date and commit, and the libraries whose versions are not verified."""
    about, others = json.loads(made), other_versions(made)
    note = f" (unverified with the installed {' and '.join(others)})" if others else ""
    return f"{about['date']} at commit {about['commit']}{note}"


def final_values(results: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return ``method, metric, replication, value``, one row per finished replication and metric.

    Parameters
    ----------
    results, timings : DataFrame
        The rows of one setting. The rounds, the floats sent and the steady seconds (:func:`steady`)
        become metrics. A method with neither rounds nor floats reports none, which is not 0.
    """
    import pandas as pd

    ok = results[results["status"] == "ok"]
    columns = ["method", "metric", "replication", "value"]
    runs = ok.drop_duplicates(["method", "replication"])
    reported = runs[list(RUN_METRICS)].any(axis=1).groupby(runs["method"]).transform("any")
    runs = runs[reported.astype(bool)]
    parts = [ok.loc[ok["round"].isna(), columns]]
    parts += [runs.assign(metric=name, value=runs[name].astype(float)) for name in RUN_METRICS]
    if len(timings):
        timed = steady(timings[timings["status"] == "ok"])
        parts.append(timed.assign(metric=SECONDS, value=timed[SECONDS]))
    return pd.concat([part[columns] for part in parts], ignore_index=True)


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
    for record in results[columns].drop_duplicates("method").to_dict("records"):
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

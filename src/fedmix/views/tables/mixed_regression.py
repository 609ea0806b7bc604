"""Tables of two-phase mixed regression, with the theorem's quantities beside what is seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fedmix.theory import observed_rate
from fedmix.views.tables.build import Table

if TYPE_CHECKING:
    import pandas as pd

_PLACE = ["variant", "setting", "method"]
_NEAR_ORACLE = 1.1


def recovery(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    oracle: str = "OracleClustering",
) -> Table:
    """How well, how fast and at what cost every method recovers the models.

    Parameters
    ----------
    results : DataFrame
        Results of ``mixed_regression`` or one of the studies beyond it.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' printed names.
    oracle : str
        The method whose final error, in the same replication, is the mark to reach.

    Returns
    -------
    Table
        Cells hold medians and quartiles of the final error, the median round at which it first is
        within 1.1 times the oracle's final error and the share of replications that get there, the
        mean clustering accuracy, and millions of floats sent.
    """
    import pandas as pd

    marks = _final(results[results["method"] == oracle], "model_error")
    marks = {place: own.droplevel([0, 1, 2]) for place, own in marks.groupby(level=[0, 1])}
    rows = []
    for key, group in results.groupby(_PLACE, sort=False):
        place = dict(zip(_PLACE, key, strict=True))
        reached = _rounds_to(_paths(group), _NEAR_ORACLE * marks[key[:2]])
        errors = _final(group, "model_error")
        low, middle, high = errors.quantile([0.25, 0.5, 0.75])
        once = group.drop_duplicates("replication")
        rows.append(
            {
                **place,
                "n": len(errors),
                "failed": int((once["status"] != "ok").sum()),
                "model_error": middle,
                "model_error_q1": low,
                "model_error_q3": high,
                "rounds_to_oracle": reached.median(),
                "reached_oracle": reached.notna().mean(),
                "clustering_accuracy": _final(group, "clustering_accuracy").mean(),
                "megafloats_up": once["floats_up"].mean() / 1e6,
                "megafloats_down": once["floats_down"].mean() / 1e6,
            }
        )
    cells = pd.DataFrame(rows)
    text = {
        "error (quartiles)": [
            f"{r.model_error:.3g} ({r.model_error_q1:.3g}, {r.model_error_q3:.3g})"
            for r in cells.itertuples()
        ],
        "rounds to 1.1 oracle (share)": [
            f"{r.rounds_to_oracle:.0f} ({r.reached_oracle:.0%})" if r.reached_oracle else "never"
            for r in cells.itertuples()
        ],
        "accuracy": cells["clustering_accuracy"].map("{:.3f}".format),
        "floats up, 1e6": cells["megafloats_up"].map("{:.1f}".format),
        "floats down, 1e6": cells["megafloats_down"].map("{:.1f}".format),
        "n (failed)": [f"{r.n} ({r.failed})" for r in cells.itertuples()],
    }
    return Table(cells, _layout(cells, text, labels), "Errors are medians over replications.")


def theory(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    phase1_rounds: int = 5,
    reference: str = "TwoPhase-FedAvg-s1",
) -> Table:
    """Theorem 2's quantities, and the predicted and the observed rate of Phase 2.

    Parameters
    ----------
    results : DataFrame
        Results of ``mixed_regression``.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' printed names.
    phase1_rounds : int, default=5
        Rounds of the two-phase methods before those that the theorem speaks of.
    reference : str
        The method against which both rates are also given, to compare their dependence on s.

    Returns
    -------
    Table
        The two-phase methods; the theorem's constants are 1, so that ratios of rates can be
        compared, not rates.
    """
    import pandas as pd

    chosen = results[results["method"].str.startswith("TwoPhase")]
    rows = []
    for key, group in chosen.groupby(_PLACE, sort=False):
        final = group[group["round"].isna() & group["metric"].str.startswith("theory_")]
        means = final.groupby("metric", sort=False)["value"].mean()
        rates = [observed_rate(path[phase1_rounds:]) for path in _paths(group).to_numpy()]
        rows.append(
            {
                **dict(zip(_PLACE, key, strict=True)),
                **{name.removeprefix("theory_"): value for name, value in means.items()},
                "observed_rate": np.nanmedian(rates) if np.isfinite(rates).any() else np.nan,
            }
        )
    cells = pd.DataFrame(rows)
    base = cells[cells["method"] == reference].set_index(["variant", "setting"])
    places = pd.MultiIndex.from_frame(cells[["variant", "setting"]])
    for name in ("rate", "observed_rate"):
        cells[f"{name}_ratio"] = (cells[name] / base[name].reindex(places).to_numpy()).to_numpy()
    shown = {
        "γ": "gamma",
        "κ": "kappa",
        "ρ": "rho",
        "χ²": "chi2",
        "ν": "nu",
        "rate, theory": "rate",
        "rate, seen": "observed_rate",
        "ratio, theory": "rate_ratio",
        "ratio, seen": "observed_rate_ratio",
    }
    text = {title: cells[column].map(_three_digits) for title, column in shown.items()}
    notes = (
        f"Ratios are to {labels.get(reference, reference)}; the theorem's constants are set to 1."
    )
    return Table(cells, _layout(cells, text, labels), notes)


def _final(results: pd.DataFrame, metric: str) -> pd.Series:
    """Return a metric's final values, indexed by variant, setting, method and replication."""
    final = results[results["round"].isna() & (results["metric"] == metric)]
    return final.set_index([*_PLACE, "replication"])["value"]


def _paths(results: pd.DataFrame) -> pd.DataFrame:
    """Return the error by round of one method at one place: one row a replication."""
    paths = results[results["round"].notna() & (results["metric"] == "model_error")]
    return paths.pivot(index="replication", columns="round", values="value").astype(float)


def _rounds_to(paths: pd.DataFrame, marks: pd.Series) -> pd.Series:
    """Return the first round at or below a replication's mark, NaN where there is none."""
    below = paths.le(marks.reindex(paths.index), axis=0)
    return below.idxmax(axis=1).astype(float).where(below.any(axis=1))


def _layout(
    cells: pd.DataFrame, text: Mapping[str, list[str]], labels: Mapping[str, str]
) -> pd.DataFrame:
    import pandas as pd

    several = cells["variant"].nunique() > 1
    names = [
        " ".join([r.setting, *([r.variant.replace("_", " ")] if several else []), labels[r.method]])
        for r in cells.itertuples()
    ]
    return pd.DataFrame(
        {title: list(column) for title, column in text.items()}, index=pd.Index(names, name="")
    )


def _three_digits(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3g}"

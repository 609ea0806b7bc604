"""Tables of the matrix: methods in rows, data sets in columns, and mean ranks over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmix.cells.summary import final_scores, steady, summarise
from fedmix.methods.capabilities import obstacles
from fedmix.views.tables.build import Table
from fedmix.views.tables.format import mean_sd

if TYPE_CHECKING:
    import pandas as pd

#: What identifies a column of the matrix.
CELL = ("dataset", "n_contaminated", "n_clients")
_RESAMPLES = 2000


def scores(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    metrics: Sequence[str],
    digits: int = 3,
) -> Table:
    """Show scores of every method on every data set, clean and contaminated.

    Parameters
    ----------
    results : DataFrame
        Results of the study ``matrix``.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' names in tables.
    metrics : sequence of str
        Shown in one cell, in this order.
    digits : int, default=3
        Decimals.

    Returns
    -------
    Table
        Methods that cannot run on such data come last, with the reason.
    """
    parts = {metric: (final_scores(results, metric), "value") for metric in metrics}
    shown = ", ".join(metric.replace("_", " ") for metric in metrics)
    notes = f"A cell shows {shown}: mean (standard deviation) over replications, good clients only."
    return _table(parts, labels, digits, notes)


def cost(
    results: pd.DataFrame, timings: pd.DataFrame, labels: Mapping[str, str], digits: int = 2
) -> Table:
    """Count rounds, millions of floats sent and seconds of every method on every data set.

    Parameters are those of :func:`scores`. Seconds leave the shared initial values and the loading
    of compiled code out, and are those of one core.
    """
    runs = results.drop_duplicates([*CELL, "setting", "method", "replication"])
    sent = runs.assign(megafloats=(runs["floats_up"] + runs["floats_down"]) / 1e6)
    parts = {
        "rounds": (runs, "rounds"),
        "megafloats": (sent, "megafloats"),
        "seconds": (steady(timings), "seconds"),
    }
    notes = "A cell shows rounds, millions of floats sent by all clients together, and seconds."
    return _table(parts, labels, digits, notes)


def _table(
    parts: Mapping[str, tuple[pd.DataFrame, str]],
    labels: Mapping[str, str],
    digits: int,
    notes: str,
) -> Table:
    """Lay out one summary a metric; ``parts`` gives its rows and the column that is summarised."""
    import pandas as pd

    cells = pd.concat(
        [
            summarise(rows, ["method", *CELL], value).assign(metric=metric)
            for metric, (rows, value) in parts.items()
        ],
        ignore_index=True,
    )
    cells["status"] = np.where(cells["n"] > 0, "ok", "failed")
    skipped = obstacles()
    missing = pd.DataFrame(
        [{"method": n, "status": f"not run: {reason}"} for n, reason in skipped.items()]
    )
    layout = _layout(cells, list(parts), digits)
    layout.index = pd.Index([labels.get(name, name) for name in layout.index], name="method")
    for name in skipped:
        layout.loc[name] = "not run"
    every = pd.concat([cells, missing], ignore_index=True)
    return Table(every, layout, " ".join([notes, *_reasons(skipped)]))


def _layout(cells: pd.DataFrame, metrics: Sequence[str], digits: int) -> pd.DataFrame:
    """Return methods by settings; a cell joins the metrics, "–" for one that is undefined."""
    texts = cells.assign(
        text=[_text(cell, digits) for cell in cells.itertuples()],
        column=[_column(cell) for cell in cells.itertuples()],
    )
    index, columns = texts["method"].unique(), texts["column"].unique()
    wide = [
        own.pivot(index="method", columns="column", values="text")
        .reindex(index=index, columns=columns)
        .fillna("–")
        for own in (texts[texts["metric"] == metric] for metric in metrics)
    ]
    layout = wide[0]
    for other in wide[1:]:
        layout = layout + " / " + other
    layout.columns.name = None
    return layout


def _reasons(skipped: Mapping[str, str]) -> list[str]:
    """Return one sentence a reason for which methods were not run."""
    return [
        f"Not run, {reason}: {', '.join(name for name, own in skipped.items() if own == reason)}."
        for reason in dict.fromkeys(skipped.values())
    ]


def _column(cell: Any) -> str:
    return f"{cell.dataset}, {cell.n_contaminated} of {cell.n_clients} contaminated"


def _text(cell: Any, digits: int) -> str:
    if not cell.n:
        return "failed"
    failed = f" [{cell.failed} failed]" if cell.failed else ""
    return mean_sd(cell.mean, cell.sd, digits) + failed


def mean_ranks(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Rank the methods within each replication and average over replications and data sets.

    Parameters
    ----------
    results : DataFrame
        Results of the study ``matrix``.
    metric : str
        A score of which more is better. A failed replication ranks last; ties share their mean.

    Returns
    -------
    DataFrame
        A row a method, best first: ``method, mean_rank, low, high``; the last two are a 95 %
        bootstrap interval over replications, drawn within each data set.
    """
    import pandas as pd

    chosen = final_scores(results, metric)
    values = chosen["value"].where(chosen["status"] == "ok", -np.inf)
    wide = chosen.assign(value=values).pivot_table(
        "value", ["setting", "replication"], "method", sort=False
    )
    ranks = wide.fillna(-np.inf).rank(axis=1, ascending=False)
    by_setting = [own.to_numpy() for _, own in ranks.groupby(level="setting", sort=False)]
    rng = np.random.default_rng(0)
    draws = [own[rng.integers(len(own), size=(_RESAMPLES, len(own)))].mean(1) for own in by_setting]
    low, high = np.quantile(np.mean(draws, axis=0), [0.025, 0.975], axis=0)
    mean = np.mean([own.mean(axis=0) for own in by_setting], axis=0)
    frame = pd.DataFrame({"method": ranks.columns, "mean_rank": mean, "low": low, "high": high})
    return frame.sort_values(["mean_rank", "method"], ignore_index=True)


def critical_difference(n_methods: int, n_settings: int, level: float = 0.05) -> float:
    """Return Nemenyi's critical difference of mean ranks.

    Parameters
    ----------
    n_methods : int
        Methods compared.
    n_settings : int
        Data sets that they are compared on.
    level : float, default=0.05
        Level of the test of all pairs together.

    References
    ----------
    Demsar (2006). Statistical comparisons of classifiers over multiple data sets. JMLR 7.
    """
    from scipy.stats import studentized_range

    quantile = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_settings)))

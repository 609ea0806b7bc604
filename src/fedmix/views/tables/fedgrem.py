"""Tables 1 to 8 of the FedGrEM paper, ours beside theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fedmix.cells.summary import final_scores, steady, summarise
from fedmix.views.tables.build import Table
from fedmix.views.tables.printed import lay_out, notes, with_printed

if TYPE_CHECKING:
    import pandas as pd


def misclustering(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    printed: pd.DataFrame | None = None,
) -> Table:
    """Tables 1-3: mis-clustering error in percent by share of contaminated clients.

    Parameters
    ----------
    results : DataFrame
        Results of ``fedgrem_real`` on one data set.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' printed names.
    printed : DataFrame, optional
        The paper's rows of this table.

    Returns
    -------
    Table
    """
    scores = final_scores(results, "misclustering")
    return _by_contamination(scores, labels, printed, "value", 100.0, "percent", digits=1)


def runtime(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    printed: pd.DataFrame | None = None,
) -> Table:
    """Tables 6-8: seconds a replication, without the shared initial values.

    Parameters
    ----------
    results : DataFrame
        Gives the settings' shares of contaminated clients.
    timings : DataFrame
        One row a replication.
    labels, printed
        As in :func:`misclustering`.

    Returns
    -------
    Table
    """
    return _by_contamination(steady(timings), labels, printed, "seconds", 1.0, "seconds", digits=2)


def step_size(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    metric: str,
    printed: pd.DataFrame | None = None,
    methods: str = "FedGrEM-",
) -> Table:
    """Tables 4 and 5: error by step constant and heterogeneity, for every variant.

    Parameters
    ----------
    results : DataFrame
        Results of ``fedgrem_simulation`` for the Gaussian model.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        Not used: the step constant is in the method's name.
    metric : {"weights_error", "means_error"}
        What the table shows.
    printed : DataFrame, optional
        The paper's rows of this table.
    methods : str, default="FedGrEM-"
        Prefix of the methods that sweep the step constant.

    Returns
    -------
    Table
    """
    scores = final_scores(results, metric)
    scores = scores[scores["method"].str.startswith(methods)]
    scores = scores.assign(step_scale=scores["method"].str.removeprefix(methods).astype(float))
    cells = summarise(scores, ["variant", "step_scale", "h"])
    cells = with_printed(cells, printed, ["step_scale", "h"])
    cells = cells.sort_values(["variant", "step_scale", "h"], kind="stable")
    digits = 3 if metric == "weights_error" else 2
    row = cells["variant"] + ", " + cells["step_scale"].map("{:.2f}".format)
    column = "h = " + cells["h"].map("{:g}".format)
    return Table(cells, lay_out(cells, row, column, digits, "variant, step constant"), notes(cells))


def _by_contamination(
    scores: pd.DataFrame,
    labels: Mapping[str, str],
    printed: pd.DataFrame | None,
    value: str,
    scale: float,
    unit: str,
    digits: int,
) -> Table:
    scores = scores.assign(
        contaminated_percent=100 * scores["n_contaminated"] / scores["n_clients"],
        method=scores["method"].map(labels),
    )
    cells = summarise(scores, ["variant", "contaminated_percent", "method"], value, scale)
    cells["contaminated_percent"] = cells["contaminated_percent"].round(1)
    keys = ["contaminated_percent", "method"]
    cells = with_printed(cells, printed, keys, (f"mean_{unit}", f"sd_{unit}"))
    order = {label: position for position, label in enumerate(labels.values())}
    cells = cells.sort_values(
        ["variant", "contaminated_percent", "method"],
        key=lambda column: column.map(order) if column.name == "method" else column,
        kind="stable",
    )
    row = cells["variant"] + ", " + cells["contaminated_percent"].map("{:g} %".format)
    layout = lay_out(cells, row, cells["method"], digits, "variant, contaminated clients")
    return Table(cells, layout, notes(cells))

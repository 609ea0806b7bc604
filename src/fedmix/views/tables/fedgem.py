"""Tables 1, 2, 6 and 7 of the FedGEM paper, ours beside theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fedmix.cells.summary import final_scores, steady, summarise
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.views.tables.build import Table
from fedmix.views.tables.printed import lay_out, notes, with_printed

if TYPE_CHECKING:
    import pandas as pd

#: Data sets whose name says which embedding or binning was taken -> the printed column.
COLUMNS = {"mnist_vae": "mnist", "cifar10_barlow": "cifar10", "abalone_as_written": "abalone"}
#: Methods that the published program scores client by client; it scores all others pooled.
SCORED_PER_CLIENT = ("FedGEM", "FedGEM-local", "LocalKMeans")
_SCORINGS = ("published", "pooled", "per_client")


def scores(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    score: str,
    scoring: str = "published",
    printed: pd.DataFrame | None = None,
) -> Table:
    """Tables 1 and 6: adjusted Rand index or silhouette of every method on every data set.

    Parameters
    ----------
    results : DataFrame
        Results of ``fedgem_benchmark``.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' printed names.
    score : {"ari", "silhouette"}
    scoring : {"published", "pooled", "per_client"}, default="published"
        As published, FedGEM by the mean over clients and all others by one score of all points; or
        one metric for all methods.
    printed : DataFrame, optional
        The paper's rows of this table.

    Returns
    -------
    Table
    """
    chosen = published_scores(results, score, scoring)
    how = {
        "published": "FedGEM and local k-means are scored client by client, all others pooled.",
        "pooled": "All methods are scored on the pooled test data.",
        "per_client": "All methods are scored client by client.",
    }[scoring]
    return _by_dataset(chosen, labels, printed, "value", ("mean", "sd"), 3, how)


def estimated_clusters(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    printed: pd.DataFrame | None = None,
) -> Table:
    """Table 2: the number of clusters found by the methods that are not told it.

    Parameters
    ----------
    results, timings, labels, printed
        As in :func:`scores`.

    Returns
    -------
    Table
    """
    chosen = final_scores(results, "n_clusters")
    chosen = chosen[chosen["method"].isin(["DP-GMM", "AFCL", *SCORED_PER_CLIENT])]
    return _by_dataset(chosen, labels, printed, "value", ("mean", "sd"), 2)


def runtime(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    printed: pd.DataFrame | None = None,
) -> Table:
    """Table 7: seconds of the fit, without scoring and without choosing v.

    Parameters
    ----------
    results : DataFrame
        Not used.
    timings : DataFrame
        One row a replication.
    labels, printed
        As in :func:`scores`.

    Returns
    -------
    Table
    """
    columns = ("mean_seconds", "sd_seconds")
    return _by_dataset(steady(timings), labels, printed, "seconds", columns, 2)


def published_scores(results: pd.DataFrame, score: str, scoring: str) -> pd.DataFrame:
    """Return one row a replication with the score by the chosen metric of each method.

    Parameters
    ----------
    results : DataFrame
    score : {"ari", "silhouette"}
    scoring : {"published", "pooled", "per_client"}

    Returns
    -------
    DataFrame
    """
    import pandas as pd

    if scoring not in _SCORINGS:
        raise ConfigurationError(
            f"Unknown scoring {scoring!r}. {nearest_names(scoring, _SCORINGS)}"
        )
    if scoring != "published":
        return final_scores(results, f"{score}_{scoring}")
    own = results["method"].isin(SCORED_PER_CLIENT)
    return pd.concat(
        [
            final_scores(results[~own], f"{score}_pooled"),
            final_scores(results[own], f"{score}_per_client"),
        ]
    )


def _by_dataset(
    rows: pd.DataFrame,
    labels: Mapping[str, str],
    printed: pd.DataFrame | None,
    value: str,
    printed_columns: tuple[str, str],
    digits: int,
    how: str = "",
) -> Table:
    """Lay out means, ours | theirs: a row a variant and method, a column a data set."""
    rows = rows.assign(dataset=rows["dataset"].replace(COLUMNS))
    cells = summarise(rows, ["variant", "method", "dataset"], value)
    cells = with_printed(cells, printed, ["dataset", "method"], printed_columns)
    order = {name: position for position, name in enumerate(labels)}
    cells = cells.sort_values(
        ["variant", "method"],
        key=lambda column: column.map(order) if column.name == "method" else column,
        kind="stable",
    )
    row = cells["variant"] + ", " + cells["method"].map(labels)
    layout = lay_out(cells, row, cells["dataset"], digits, "variant, method")
    return Table(cells, layout, f"{notes(cells)} {how}".strip())

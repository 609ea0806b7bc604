"""Figures 1 to 4 of the FedGEM paper, and what changes between the ways of running it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fedmix.cells.summary import final_scores, steady, summarise
from fedmix.views.figures.panels import in_words, legend_below, mean_with_band
from fedmix.views.figures.style import COLORS, MethodStyle, method_style
from fedmix.views.tables.fedgem import COLUMNS, SCORED_PER_CLIENT, published_scores

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IMBALANCES = {"nominal": "nominal", "client": "client imbalance", "cluster": "cluster imbalance"}
SCORES = {"ari": "adjusted Rand index", "silhouette": "silhouette"}
#: Grid value that an axis of the scalability study varies -> label.
AXES = {
    "d": "features",
    "n_per_client": "training points a client",
    "n_components": "clusters",
    "n_clients": "clients",
}
_VARIANTS = {
    "as_coded": MethodStyle(COLORS["vermillion"], "o", "-"),
    "as_written": MethodStyle(COLORS["blue"], "s", "--"),
    "corrected": MethodStyle(COLORS["green"], "D", ":"),
}


def sensitivity(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    score: str = "ari",
    variant: str = "as_coded",
    scoring: str = "published",
) -> Figure:
    """Figures 1 and 2: score and number of clusters against R_min, one column an imbalance.

    Parameters
    ----------
    results : DataFrame
        Results of ``fedgem_sensitivity``.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' printed names.
    score : {"ari", "silhouette"}, default="ari"
        Figure 1 or Figure 2.
    variant : str, default="as_coded"
    scoring : {"published", "pooled", "per_client"}, default="published"
        See :func:`fedmix.views.tables.fedgem.scores`.

    Returns
    -------
    matplotlib.figure.Figure
        Bands are one standard deviation over replications to either side.
    """
    counts = "n_clusters" if score == "ari" else "n_clusters_at_best_silhouette"
    chosen = results[results["variant"] == variant]
    figure = _score_and_count(
        published_scores(chosen, score, scoring),
        final_scores(chosen, counts),
        x=("r_min", "distance of the nearest centres, $R_{min}$"),
        score=SCORES[score],
        labels=labels,
    )
    _dash_at_truth(figure, results)
    return figure


def radius(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    variant: str = "as_coded",
    scoring: str = "published",
) -> Figure:
    """Figure 3: score and number of clusters against v, one column an imbalance.

    Parameters
    ----------
    results : DataFrame
        Results of ``fedgem_radius``.
    timings, labels, variant, scoring
        As in :func:`sensitivity`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    chosen = results[results["variant"] == variant]
    figure = _score_and_count(
        published_scores(chosen, "ari", scoring),
        final_scores(chosen, "n_clusters"),
        x=("v", "constant of the final radius, $v$"),
        score=SCORES["ari"],
        labels=labels,
    )
    for axis in figure.axes:
        axis.set_xscale("log")
    _dash_at_truth(figure, results)
    return figure


def scalability(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    variant: str = "as_coded",
) -> Figure:
    """Figure 4: seconds against features, points, clusters and clients.

    Parameters
    ----------
    results : DataFrame
        Not used.
    timings : DataFrame
        Timings of ``fedgem_scalability``.
    labels, variant
        As in :func:`sensitivity`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    chosen = steady(timings[timings["variant"] == variant])
    figure, panels = _panels(1, list(AXES))
    for axis, name in zip(panels[0], AXES, strict=True):
        rows = chosen[chosen["axis"] == name]
        for method in _in_order(rows, labels):
            cells = summarise(rows[rows["method"] == method], [name], "seconds")
            mean_with_band(axis, cells, name, labels[method], method_style(method))
        axis.set(xlabel=AXES[name], yscale="log")
    panels[0][0].set_ylabel("seconds")
    legend_below(figure)
    return figure


def benchmark_variants(
    results: pd.DataFrame, timings: pd.DataFrame, labels: Mapping[str, str], score: str = "ari"
) -> Figure:
    """Draw every method's score by variant, pooled and client by client, one column a data set.

    Parameters
    ----------
    results : DataFrame
        Results of ``fedgem_benchmark``.
    timings, labels, score
        As in :func:`sensitivity`.

    Returns
    -------
    matplotlib.figure.Figure
        Bars are one standard deviation over replications to either side.
    """
    results = results.assign(dataset=results["dataset"].replace(COLUMNS))
    datasets = list(dict.fromkeys(results["dataset"]))
    figure, panels = _panels(2, datasets)
    methods = _in_order(results, labels)
    for row, scoring in zip(panels, ("pooled", "per_client"), strict=True):
        for axis, dataset in zip(row, datasets, strict=True):
            rows = published_scores(results[results["dataset"] == dataset], score, scoring)
            for variant, cells in _by_variant(rows, ["method"]):
                shift = 0.2 * (list(_VARIANTS).index(variant) - 1)
                positions = [methods.index(m) + shift for m in cells["method"]]
                look = _VARIANTS[variant].keywords() | {"linestyle": "none"}
                axis.errorbar(
                    cells["mean"], positions, xerr=cells["sd"], label=in_words(variant), **look
                )
            axis.set_yticks(range(len(methods)), [labels[m] for m in methods])
            axis.invert_yaxis()
            axis.set_title(f"{dataset}, {in_words(scoring)}")
    for axis in panels[-1]:
        axis.set_xlabel(SCORES[score])
    legend_below(figure)
    return figure


def sensitivity_variants(
    results: pd.DataFrame, timings: pd.DataFrame, labels: Mapping[str, str]
) -> Figure:
    """Draw FedGEM's scores against R_min for every variant; arguments as in :func:`sensitivity`."""
    return _variants(results, "r_min", "distance of the nearest centres, $R_{min}$")


def radius_variants(
    results: pd.DataFrame, timings: pd.DataFrame, labels: Mapping[str, str]
) -> Figure:
    """Draw FedGEM's scores against v for every variant; arguments as in :func:`sensitivity`."""
    figure = _variants(results, "v", "constant of the final radius, $v$")
    for axis in figure.axes:
        axis.set_xscale("log")
    return figure


def scalability_variants(
    results: pd.DataFrame, timings: pd.DataFrame, labels: Mapping[str, str]
) -> Figure:
    """Draw FedGEM's seconds for every variant; arguments as in :func:`scalability`."""
    chosen = steady(timings[timings["method"] == "FedGEM"])
    figure, panels = _panels(1, list(AXES))
    for axis, name in zip(panels[0], AXES, strict=True):
        rows = chosen[chosen["axis"] == name]
        for variant, cells in _by_variant(rows, [name], "seconds"):
            mean_with_band(axis, cells, name, in_words(variant), _VARIANTS[variant])
        axis.set(xlabel=AXES[name], yscale="log")
    panels[0][0].set_ylabel("seconds, FedGEM")
    legend_below(figure)
    return figure


def _variants(results: pd.DataFrame, x: str, label: str) -> Figure:
    """Draw FedGEM's ARI by both metrics and its number of clusters, one line a variant."""
    own = results[results["method"] == "FedGEM"]
    rows = {
        "ARI, client by client": "ari_per_client",
        "ARI, pooled": "ari_pooled",
        "clusters": "n_clusters",
    }
    imbalances = _present(own)
    figure, panels = _panels(len(rows), imbalances)
    for row, (title, metric) in zip(panels, rows.items(), strict=True):
        for axis, imbalance in zip(row, imbalances, strict=True):
            scores = final_scores(own[own["imbalance"] == imbalance], metric)
            for variant, cells in _by_variant(scores, [x]):
                mean_with_band(axis, cells, x, in_words(variant), _VARIANTS[variant])
        row[0].set_ylabel(title)
    _name_columns(panels, imbalances, label)
    legend_below(figure)
    return figure


def _score_and_count(
    scores: pd.DataFrame,
    counts: pd.DataFrame,
    x: tuple[str, str],
    score: str,
    labels: Mapping[str, str],
) -> Figure:
    """Draw a row of scores above a row of cluster numbers, one line a method."""
    imbalances = _present(scores)
    figure, panels = _panels(2, imbalances)
    estimating = counts[counts["method"].isin(SCORED_PER_CLIENT)]
    for row, rows in zip(panels, (scores, estimating), strict=True):
        for axis, imbalance in zip(row, imbalances, strict=True):
            here = rows[rows["imbalance"] == imbalance]
            for method in _in_order(here, labels):
                cells = summarise(here[here["method"] == method], [x[0]])
                mean_with_band(axis, cells, x[0], labels[method], method_style(method))
    panels[0][0].set_ylabel(score)
    panels[1][0].set_ylabel("estimated clusters")
    _name_columns(panels, imbalances, x[1])
    legend_below(figure)
    return figure


def _panels(n_rows: int, columns: list[str]) -> tuple[Figure, list[list[Axes]]]:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        n_rows,
        len(columns),
        squeeze=False,
        sharey="row",
        figsize=(0.9 + 2.7 * len(columns), 0.8 + 2.4 * n_rows),
    )
    return figure, axes.tolist()


def _by_variant(
    rows: pd.DataFrame, by: list[str], value: str = "value"
) -> list[tuple[str, pd.DataFrame]]:
    """Return the summarised rows of each variant."""
    present = [v for v in _VARIANTS if v in set(rows["variant"])]
    return [(v, summarise(rows[rows["variant"] == v], by, value)) for v in present]


def _in_order(rows: pd.DataFrame, labels: Mapping[str, str]) -> list[str]:
    """Return the methods present, in the study's order."""
    present = set(rows["method"])
    return [name for name in labels if name in present]


def _present(rows: pd.DataFrame) -> list[str]:
    """Return the imbalances that were run, in the paper's order."""
    return [name for name in IMBALANCES if name in set(rows["imbalance"])]


def _name_columns(panels: list[list[Axes]], imbalances: list[str], label: str) -> None:
    for axis, name in zip(panels[0], imbalances, strict=True):
        axis.set_title(IMBALANCES[name])
    for axis in panels[-1]:
        axis.set_xlabel(label)


def _dash_at_truth(figure: Figure, results: pd.DataFrame) -> None:
    """Mark the true number of clusters in the lower row."""
    for axis in figure.axes[len(figure.axes) // 2 :]:
        axis.axhline(results["n_components"].iloc[0], color="0.5", linestyle=":", linewidth=1)

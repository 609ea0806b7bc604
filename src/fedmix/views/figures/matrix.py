"""The matrix as one picture: mean ranks of all methods over all data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fedmix.views.figures.panels import in_words
from fedmix.views.figures.style import method_style
from fedmix.views.tables.matrix import critical_difference, mean_ranks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"ari_pooled": "ARI of all points", "ari_per_client": "mean ARI of the clients"}


def ranks(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    metrics: Sequence[str],
) -> Figure:
    """Draw mean ranks, a panel a metric, with intervals and the critical difference.

    Parameters
    ----------
    results : DataFrame
        Results of the study ``matrix``.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' names in figures.
    metrics : sequence of str
        Scores of which more is better.

    Returns
    -------
    matplotlib.figure.Figure
        Points are mean ranks, best on top; lines are 95 % bootstrap intervals over replications.
        The bar on top is Nemenyi's critical difference over the data sets.
    """
    import matplotlib.pyplot as plt

    n_settings = results["setting"].nunique()
    n_methods = results["method"].nunique()
    figure, axes = plt.subplots(
        1, len(metrics), squeeze=False, figsize=(4.6 * len(metrics), 1.2 + 0.27 * n_methods)
    )
    for axis, metric in zip(axes[0], metrics, strict=True):
        _draw(axis, mean_ranks(results, metric), labels)
        if n_methods > 1:
            _draw_critical_difference(axis, critical_difference(n_methods, n_settings))
        axis.set(title=_TITLES.get(metric, in_words(metric)))
        axis.set_xlabel(f"mean rank over {n_settings} settings (1 is best)")
    return figure


def _draw(axis: Axes, frame: pd.DataFrame, labels: Mapping[str, str]) -> None:
    for place, row in enumerate(frame.itertuples()):
        look = method_style(row.method)
        axis.plot([row.low, row.high], [place, place], color=look.color, linestyle="-")
        axis.plot(row.mean_rank, place, color=look.color, marker=look.marker)
    axis.set_yticks(range(len(frame)), [labels.get(name, name) for name in frame["method"]])
    axis.set_ylim(len(frame) - 0.3, -1.8)
    axis.set_xlim(0.5, len(frame) + 0.5)


def _draw_critical_difference(axis: Axes, width: float) -> None:
    axis.plot([1, 1 + width], [-0.9, -0.9], color="black", marker="|", linestyle="-")
    axis.text(1, -1.2, "critical difference", fontsize="x-small")

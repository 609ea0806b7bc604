"""Figures 1 to 3 of two-phase mixed regression, and of the studies beyond the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fedmix.views.figures.panels import in_words, line_with_band
from fedmix.views.figures.style import method_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def convergence(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    left: Sequence[str],
    right: Sequence[str],
    phase1_rounds: int = 5,
) -> Figure:
    """Draw the model error by round: local training on the left, methods on the right.

    Parameters
    ----------
    results : DataFrame
        Results of ``mixed_regression``; each variant and setting takes one row of panels.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' printed names.
    left, right : sequence of str
        The methods of each panel.
    phase1_rounds : int, default=5
        Where a dotted line marks the end of Phase 1.

    Returns
    -------
    matplotlib.figure.Figure
        Medians over replications; bands run from the first to the third quartile.
    """
    import matplotlib.pyplot as plt

    paths = results[results["round"].notna() & (results["metric"] == "model_error")]
    places = paths[["variant", "setting"]].drop_duplicates().to_numpy()
    figure, axes = plt.subplots(
        len(places), 2, squeeze=False, sharey="row", figsize=(8.4, 0.4 + 3.1 * len(places))
    )
    for row, (variant, setting) in zip(axes, places, strict=True):
        here = paths[(paths["variant"] == variant) & (paths["setting"] == setting)]
        for axis, methods in zip(row, (left, right), strict=True):
            for method in methods:
                _curve(axis, here[here["method"] == method], method, labels)
            axis.axvline(phase1_rounds, color="0.6", linestyle=":", linewidth=0.8, zorder=0)
            axis.set(yscale="log", xlabel="round")
            axis.legend()
        row[0].set(title=f"{setting}: local training in Phase 2", ylabel="model error")
        row[1].set_title(f"{setting}: methods")
    return figure


def final_error(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    labels: Mapping[str, str],
    x: str,
    xlabel: str,
    panel: str | None = None,
) -> Figure:
    """Draw the model error at the end against one value of the setting.

    Parameters
    ----------
    results : DataFrame
        Results of one of the studies ``mixed_regression_*``.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' printed names.
    x, xlabel : str
        Column of the setting, and its name on the axis; its values are drawn evenly spaced.
    panel : str, optional
        Column of the setting whose values take a panel each.

    Returns
    -------
    matplotlib.figure.Figure
        Medians over replications; bands run from the first to the third quartile.
    """
    import matplotlib.pyplot as plt

    final = results[results["round"].isna() & (results["metric"] == "model_error")]
    panels = [None] if panel is None else list(dict.fromkeys(final[panel]))
    ticks = sorted(set(final[x]))
    figure, axes = plt.subplots(
        1, len(panels), squeeze=False, sharey=True, figsize=(2.0 + 2.8 * len(panels), 3.2)
    )
    for axis, value in zip(axes[0], panels, strict=True):
        chosen = final if value is None else final[final[panel] == value]
        for method in dict.fromkeys(chosen["method"]):
            quartiles = _quartiles(chosen[chosen["method"] == method], x)
            places = [ticks.index(v) for v in quartiles.index]
            _median_with_band(axis, places, quartiles, method, labels)
        axis.set(yscale="log", xlabel=xlabel, title=in_words(value or ""))
        axis.set_xticks(range(len(ticks)), [f"{tick:g}" for tick in ticks])
    axes[0][0].set_ylabel("model error at the end")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right upper")
    return figure


def _curve(axis: Axes, paths: pd.DataFrame, method: str, labels: Mapping[str, str]) -> None:
    if paths.empty:
        return
    # The oracle's first error is 0, which a log axis cannot show.
    quartiles = _quartiles(paths[paths["value"] > 0], "round")
    marks = max(1, len(quartiles) // 8)
    _median_with_band(axis, quartiles.index, quartiles, method, labels, markevery=marks)


def _quartiles(scores: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return quartiles of the value over replications: one row a value of ``by``."""
    return scores.groupby(by)["value"].quantile([0.25, 0.5, 0.75]).unstack()


def _median_with_band(
    axis: Axes,
    x: Sequence[float],
    quartiles: pd.DataFrame,
    method: str,
    labels: Mapping[str, str],
    markevery: int = 1,
) -> None:
    x = [float(value) for value in x]
    band, look = (quartiles[0.25], quartiles[0.75]), method_style(method)
    line_with_band(axis, x, quartiles[0.5], band, labels[method], look, markevery=markevery)

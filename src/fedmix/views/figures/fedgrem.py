"""Figures of the FedGrEM study: one a table, and Figure 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fedmix.cells.summary import final_scores, summarise
from fedmix.views.figures.panels import in_words, legend_below, mean_with_band
from fedmix.views.figures.style import method_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def misclustering(
    results: pd.DataFrame, timings: pd.DataFrame, labels: Mapping[str, str]
) -> Figure:
    """Draw error against contamination, one line a method, one panel a variant.

    Parameters
    ----------
    results : DataFrame
        Results of ``fedgrem_real`` on one data set.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' printed names.

    Returns
    -------
    matplotlib.figure.Figure
        Bands are one standard deviation over replications to either side.
    """
    import matplotlib.pyplot as plt

    scores = final_scores(results, "misclustering")
    scores = scores.assign(share=100 * scores["n_contaminated"] / scores["n_clients"])
    variants = list(dict.fromkeys(scores["variant"]))
    figure, axes = plt.subplots(
        1, len(variants), sharey=True, squeeze=False, figsize=(0.8 + 3.6 * len(variants), 3.4)
    )
    for axis, variant in zip(axes[0], variants, strict=True):
        chosen = summarise(scores[scores["variant"] == variant], ["method", "share"], scale=100)
        _lines(axis, chosen, "share", labels)
        axis.set(title=in_words(variant), xlabel="contaminated clients (%)")
    axes[0][0].set_ylabel("mis-clustering error (%)")
    legend_below(figure)
    return figure


def simulation(
    results: pd.DataFrame, timings: pd.DataFrame, labels: Mapping[str, str], methods: list[str]
) -> Figure:
    """Draw Figure 3: log errors against h/SNR; columns are panels as printed, rows variants.

    Parameters
    ----------
    results : DataFrame
        Results of ``fedgrem_simulation``; the metric ``snr`` gives the x axis.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' printed names.
    methods : list of str
        The methods to draw.

    Returns
    -------
    matplotlib.figure.Figure
        Bands are one standard deviation of the log error.
    """
    import matplotlib.pyplot as plt

    results = results[results["method"].isin(methods)]
    variants = list(dict.fromkeys(results["variant"]))
    panels = [(m, model) for m in _ERRORS for model in ("gaussian", "regression")]
    figure, axes = plt.subplots(
        len(variants), 4, squeeze=False, sharex="col", figsize=(12, 0.7 + 2.5 * len(variants))
    )
    for row, variant in zip(axes, variants, strict=True):
        for axis, (metric, model) in zip(row, panels, strict=True):
            chosen = results[(results["variant"] == variant) & (results["model"] == model)]
            _lines(axis, _log_errors(chosen, metric), "share", labels)
            axis.set_title(f"{_MODELS[model]}: {_ERRORS[metric]}")
        row[0].set_ylabel(f"{in_words(variant)}\nlog error")
    for axis in axes[-1]:
        axis.set_xlabel("heterogeneity h / SNR (%)")
    legend_below(figure)
    return figure


def axis(
    results: pd.DataFrame, timings: pd.DataFrame, labels: Mapping[str, str], axis: str
) -> Figure:
    """Draw how the error moves along one axis of the real-data study.

    Parameters
    ----------
    results : DataFrame
        Results of ``fedgrem_axes`` on the settings of one axis.
    timings : DataFrame
        Not used.
    labels : mapping of str to str
        The methods' printed names.
    axis : str
        The column that varies; ``"penalty"`` varies FedGrEM itself (methods ``FedGrEM-C<value>``).

    Returns
    -------
    matplotlib.figure.Figure
        Error bars are one standard deviation over replications to either side.
    """
    import matplotlib.pyplot as plt

    scores = final_scores(results, "misclustering")
    if axis == "penalty":
        scores = scores[scores["method"].str.startswith(_PENALTY_PREFIX)]
        place = scores["method"].str.removeprefix(_PENALTY_PREFIX)
        scores = scores.assign(place=place, method="FedGrEM")
    else:
        scores = scores.assign(place=scores[axis].map(in_words))
    cells = summarise(scores, ["method", "place"], scale=100)
    places = list(dict.fromkeys(cells["place"]))
    drawn = list(dict.fromkeys(cells["method"]))
    figure, axes = plt.subplots(figsize=(1.6 + 0.9 * len(places), 3.6))
    for position, method in enumerate(drawn):
        line = cells[cells["method"] == method].set_index("place").loc[places]
        offset = 0.6 * ((position + 0.5) / len(drawn) - 0.5)
        axes.errorbar(
            np.arange(len(places)) + offset,
            line["mean"],
            yerr=line["sd"],
            label=labels[method],
            **method_style(method).keywords() | {"linestyle": "none"},
        )
    axes.set_xticks(range(len(places)), places, rotation=20 if len(places) > 4 else 0)
    axes.set(xlabel=_AXES.get(axis, axis), ylabel="mis-clustering error (%)")
    legend_below(figure)
    return figure


_PENALTY_PREFIX = "FedGrEM-C"
_AXES = {"penalty": "penalty constant C", "contamination": "kind of contamination"}
_ERRORS = {"weights_error": "mixing weights", "means_error": "means"}
_MODELS = {"gaussian": "Gaussian mixture", "regression": "Regressions"}


def _log_errors(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Summarise log errors by method and by the mean of h/SNR in percent."""
    snr = final_scores(results, "snr")
    snr = snr[snr["status"] == "ok"].groupby("h")["value"].mean()
    scores = final_scores(results, metric)
    scores = scores.assign(
        share=100 * scores["h"] / scores["h"].map(snr), value=np.log(scores["value"])
    )
    return summarise(scores, ["method", "share"])


def _lines(axis: Axes, cells: pd.DataFrame, x: str, labels: Mapping[str, str]) -> None:
    for name, line in cells.groupby("method", sort=False):
        mean_with_band(axis, line, x, labels[name], method_style(str(name)))

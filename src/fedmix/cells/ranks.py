"""The order of the methods: beside the printed one, and over many settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmix.cells.items import Item
from fedmix.cells.verdicts import STAND_IN

if TYPE_CHECKING:
    import pandas as pd

_RESAMPLES = 2000


def rank_agreement(cells: pd.DataFrame, items: Mapping[str, Item]) -> pd.DataFrame:
    """Compare the order of the methods with the printed one, setting by setting.

    Parameters
    ----------
    cells : DataFrame
        Of :mod:`fedmix.cells.frame`.
    items : mapping of str to Item
        They say whether the lowest or the highest is best.

    Returns
    -------
    DataFrame
        ``paper, item, variant, setting, n_methods, kendall_tau, best_printed, best_ours,
        same_best``; the best ones are empty where no order of merit is meant (seconds). Stand-ins
        and settings with fewer than two methods of ours are left out; tau is missing where one
        side has ties only.
    """
    import pandas as pd

    done = cells[(cells["n"] > 0) & ~cells["verdict"].isin(["", STAND_IN])]
    keys = ["paper", "item", "variant", "setting"]
    rows = [
        dict(zip(keys, key, strict=True)) | _agreement(group, items[key[1]].printed["best"])
        for key, group in done.groupby(keys, sort=False)
        if len(group) > 1
    ]
    names = ["n_methods", "kendall_tau", "best_printed", "best_ours", "same_best"]
    return pd.DataFrame(rows, columns=[*keys, *names])


def _agreement(group: pd.DataFrame, best: str) -> dict[str, Any]:
    from scipy.stats import kendalltau

    tau = kendalltau(group["printed_mean"], group["mean"]).statistic
    row = {"n_methods": len(group), "kendall_tau": float(tau)}
    if best == "none":
        return row | {"best_printed": "", "best_ours": "", "same_best": None}
    sign = 1.0 if best == "lowest" else -1.0
    printed = sign * group["printed_mean"]
    theirs = set(group.loc[printed == printed.min(), "label"])  # ties in print share it
    ours = group.loc[(sign * group["mean"]).idxmin(), "label"]
    return row | {
        "best_printed": ", ".join(sorted(theirs)),
        "best_ours": ours,
        "same_best": ours in theirs,
    }


def data_of(cells: pd.DataFrame, same: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return, for every setting, the data set that it is made of.

    Settings of one data set, clean and contaminated, are not independent; neither are two
    labellings of the same points.

    Parameters
    ----------
    cells : DataFrame
        With ``setting`` and ``setting_dataset``.
    same : mapping of str to str, optional
        Data set -> the one whose points it shares.
    """
    names = zip(cells["setting"], cells["setting_dataset"], strict=True)
    return {setting: (same or {}).get(name, name) for setting, name in names}


def mean_ranks(
    cells: pd.DataFrame, metric: str, same: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Average the methods' ranks over replications, then settings of one data set, then data sets.

    Parameters
    ----------
    cells : DataFrame
        Of one item that shows the ranks, see :func:`fedmix.cells.derived.rank`.
    metric : str
        Such as ``"rank: ari_pooled"``.
    same : mapping of str to str, optional
        See :func:`data_of`.

    Returns
    -------
    DataFrame
        A row a method, best first: ``method, label, mean_rank, low, high``; the last two are a
        95 % bootstrap interval over replications, drawn within each setting.
    """
    import pandas as pd

    chosen = cells[cells["metric"] == metric]
    labels = dict(zip(chosen["method"], chosen["label"], strict=True))
    long = chosen.explode(["replications", "values"])
    wide = long.pivot(index=["setting", "replications"], columns="method", values="values")
    wide = wide.astype(float)[list(labels)]
    by_setting = {name: own.to_numpy() for name, own in wide.groupby(level="setting", sort=False)}
    data = data_of(chosen, same)
    settings = Counter(data.values())
    weights = [1 / settings[data[name]] for name in by_setting]
    rng = np.random.default_rng(0)
    draws = [
        own[rng.integers(len(own), size=(_RESAMPLES, len(own)))].mean(1)
        for own in by_setting.values()
    ]
    average = partial(np.average, axis=0, weights=weights)
    low, high = np.quantile(average(draws), [0.025, 0.975], axis=0)
    mean = average([own.mean(axis=0) for own in by_setting.values()])
    names = {"method": list(labels), "label": list(labels.values())}
    frame = pd.DataFrame({**names, "mean_rank": mean, "low": low, "high": high})
    return frame.sort_values(["mean_rank", "method"], ignore_index=True)


def critical_difference(n_methods: int, n_data: int, level: float = 0.05) -> float:
    """Return Nemenyi's critical difference of mean ranks.

    Parameters
    ----------
    n_methods : int
        Methods compared.
    n_data : int
        Independent data sets that they are compared on.
    level : float, default=0.05
        Level of the test of all pairs together.

    References
    ----------
    Demsar (2006). Statistical comparisons of classifiers over multiple data sets. JMLR 7.
    """
    from scipy.stats import studentized_range

    quantile = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data)))

"""Mean ranks of methods over data sets, and the difference that so few data sets can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

_RESAMPLES = 2000


def mean_ranks(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Average the methods' ranks over replications and settings.

    Parameters
    ----------
    cells : DataFrame
        The frame of cells.
    metric : str
        ``rank: <score>``, the ranks within each replication.

    Returns
    -------
    DataFrame
        A row a method, best first: ``method, label, mean_rank, low, high``; the last two are a
        95 % bootstrap interval over replications, drawn within each setting.
    """
    import pandas as pd

    own = cells[cells["metric"] == metric].drop_duplicates(["setting", "method"])
    long = own.explode(["replications", "values"])
    wide = long.pivot(index=["setting", "replications"], columns="method", values="values")
    by_setting = [
        ranks.to_numpy(dtype=float) for _, ranks in wide.groupby(level="setting", sort=False)
    ]
    rng = np.random.default_rng(0)
    draws = [own[rng.integers(len(own), size=(_RESAMPLES, len(own)))].mean(1) for own in by_setting]
    low, high = np.quantile(np.mean(draws, axis=0), [0.025, 0.975], axis=0)
    mean = np.mean([own.mean(axis=0) for own in by_setting], axis=0)
    labels = own.drop_duplicates("method").set_index("method")["label"]
    frame = pd.DataFrame({"method": wide.columns, "label": labels.reindex(wide.columns).to_numpy()})
    frame = frame.assign(mean_rank=mean, low=low, high=high)
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

"""Whether the methods of a printed row come out in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedmix.cells.printed import setting_of
from fedmix.cells.verdicts import STAND_IN

if TYPE_CHECKING:
    import pandas as pd


def rank_agreement(cells: pd.DataFrame) -> pd.DataFrame:
    """Compare the order of the methods, setting by setting.

    A row here is what the methods are compared on: one contamination level, one data set, one
    heterogeneity h (for Tables 4 and 5 the step constants take the methods' part).

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.audit_cells`.

    Returns
    -------
    DataFrame
        ``paper, table, title, compared_on, variant, n_methods, kendall_tau, best_printed,
        best_ours, same_best``; the best ones are empty where no order of merit is meant
        (seconds). Stand-ins and rows with fewer than two methods of ours are left out; tau is
        missing where one side has ties only.
    """
    import pandas as pd

    done = cells[(cells["n"] > 0) & (cells["verdict"] != STAND_IN)].copy()
    done["compared_on"] = [_label(record) for record in done.to_dict("records")]
    keys = ["paper", "table", "title", "compared_on", "variant"]
    rows = [
        dict(zip(keys, key, strict=True)) | _agreement(group)
        for key, group in done.groupby(keys, sort=False)
        if len(group) > 1
    ]
    names = ["n_methods", "kendall_tau", "best_printed", "best_ours", "same_best"]
    return pd.DataFrame(rows, columns=[*keys, *names])


def _agreement(group: pd.DataFrame) -> dict[str, Any]:
    from scipy.stats import kendalltau

    tau = kendalltau(group["printed_mean"], group["mean"]).statistic
    best = group["best"].iloc[0]
    row = {"n_methods": len(group), "kendall_tau": float(tau)}
    if best == "none":
        return row | {"best_printed": "", "best_ours": "", "same_best": None}
    sign = 1.0 if best == "lowest" else -1.0
    printed = sign * group["printed_mean"]
    theirs = set(group.loc[printed == printed.min(), "printed_method"])  # ties in print share it
    ours = group.loc[(sign * group["mean"]).idxmin(), "printed_method"]
    return row | {
        "best_printed": ", ".join(sorted(theirs)),
        "best_ours": ours,
        "same_best": ours in theirs,
    }


def _label(cell: dict[str, Any]) -> str:
    """Return a setting in words, under the first of its names where it has several."""
    parts = []
    for key, value in setting_of(cell).items():
        first = value[0] if isinstance(value, list) else value
        parts.append(f"{key} {first:g}" if isinstance(first, float) else f"{key} {first}")
    return ", ".join(part for part in parts if not part.startswith("model "))

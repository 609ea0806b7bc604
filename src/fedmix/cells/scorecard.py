"""The audit in small tables: counts of verdicts, and the methods' order beside the published one.

A table counts one variant: the authors' if it was run, else the inferred one, else the text's. If
its protocol is unknown, it counts the nearest protocol (:mod:`fedmix.cells.verdicts`). It never
takes the best variant for each value. An agreement counts separately if other variants were run and
none of them differs. Beside the counts stand those that an exact replication would be expected to
get, how many values are the same in substance, and the table's answer in words.

The functions take all cells, from :func:`fedmix.cells.frame.complete`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fedmix.cells.answers import answer
from fedmix.cells.calibration import SCORED, expected_counts
from fedmix.cells.claims import CLAIM_VERDICTS
from fedmix.cells.items import SIGN, Item
from fedmix.cells.papers import Paper
from fedmix.cells.verdicts import (
    COUNTED,
    DIAGNOSTIC,
    NOT_JUDGED,
    NOT_RUN,
    NUMBER,
    STAND_IN,
    judge_numbers,
    printed_cells,
)


def score_tables(
    cells: pd.DataFrame, items: Mapping[str, Item], papers: Mapping[str, Paper]
) -> pd.DataFrame:
    """Return one row per published table: the counts of its variant, and where differences lie.

    Tables stand in the order of ``items``, which is the papers'. An item says which value is best,
    and the unit. A paper has the margins of substance.

    Returns
    -------
    DataFrame
        ``paper, item, variant, role``, one column per :data:`COUNTED`; ``expected: agrees`` and so
        on, the counts that an exact replication would be expected to get; ``same, other, compared``
        (values that are the same and that are not, in substance, of all that have a margin);
        ``margin`` (the largest margin of substance, in the unit that is shown);
        ``power`` (the mean over the table's values that have one), ``power_of`` (their number),
        ``below``, ``above``, ``median_in_se`` and ``direction``. The direction is a sentence, or
        empty if fewer than two values can be compared. ``answer`` and ``more`` are those of
        :func:`fedmix.cells.answers.answer`.
    """
    numbers = judge_numbers(cells)
    judged = printed_cells(cells)
    compared = judged[~judged["verdict"].isin([STAND_IN, NOT_JUDGED, NOT_RUN])]
    expected = expected_counts(cells).add_prefix("expected: ").to_dict("index")
    nothing = dict.fromkeys((f"expected: {name}" for name in SCORED), 0.0)
    rows = []
    for (paper, item), own in numbers.groupby(["paper", "item"], sort=False):
        role = own["role"].iloc[0]
        here = compared[(compared["item"] == item) & (compared["role"] == role)]
        row = {"paper": paper, "item": item, "variant": own["variant"].max(), "role": role}
        row |= {name: int((own["counted"] == name).sum()) for name in COUNTED}
        row |= expected.get(item, nothing) | _in_substance(here, papers.get(paper))
        row |= {"power": own["power"].mean(), "power_of": int(own["power"].notna().sum())}
        row |= _direction(here["difference"], here["difference_in_se"])
        shown = judged[judged["item"] == item]
        rows.append(row | answer(shown, items.get(item), row))
    order = {name: place for place, name in enumerate(items)}
    rows.sort(key=lambda row: order.get(row["item"], len(order)))
    return pd.DataFrame(rows)


def _in_substance(cells: pd.DataFrame, paper: Paper | None) -> dict[str, Any]:
    """Return how many intervals lie within the paper's margins of substance, and how many outside.

    Both are of the ``compared``, which have a margin and an interval.
    """
    sizes = {name: margin["size"] for name, margin in paper.margins.items()} if paper else {}
    margin = cells["metric"].map(sizes).astype(float) / cells["scale"]
    is_outside = (cells["low"] > margin) | (cells["high"] < -margin)
    return {
        "same": int((cells[["low", "high"]].abs().max(axis=1) <= margin).sum()),
        "other": int(is_outside.sum()),
        "compared": int((margin.notna() & cells["low"].notna()).sum()),
        "margin": margin.max(),
    }


def _direction(differences: pd.Series, in_se: pd.Series) -> dict[str, Any]:
    sides = {"below": int((differences < 0).sum()), "above": int((differences > 0).sum())}
    n, median = len(differences), float(in_se.median())
    side = max(sides, key=lambda name: sides[name])
    sentence = ""
    if n > 1:
        how_many = f"All {n}" if sides[side] == n else f"{sides[side]} of {n}"
        sentence = f"{how_many} lie {side} the published values"
        if median == median:
            sentence += f"; the median difference is {median:+z.1f} standard errors"
        sentence += "."
    return {**sides, "median_in_se": median, "direction": sentence}


def counts(cells: pd.DataFrame) -> pd.DataFrame:
    """Count the published values of each paper, in rows, by :data:`COUNTED`, in columns."""
    numbers = judge_numbers(cells)
    table = numbers.pivot_table(index="paper", columns="counted", aggfunc="size", fill_value=0)
    return table.reindex(columns=list(COUNTED), fill_value=0)


def scorecard(cells: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """Count each paper's published values and claims by verdict.

    Papers are in rows, in the claims' order. Columns are such as ``"cells: agrees"``, where a
    published value counts by the verdict in the variant that counts, and ``"claims: holds"``.
    """
    by_cell = counts(cells)
    by_claim = pd.crosstab(claims["paper"], claims["verdict"])
    by_claim = by_claim.reindex(columns=list(CLAIM_VERDICTS), fill_value=0)
    table = by_cell.add_prefix("cells: ").join(by_claim.add_prefix("claims: "), how="outer")
    order = list(dict.fromkeys([*claims["paper"], *cells["paper"].unique()]))
    return table.reindex(order, fill_value=0).fillna(0).astype(int).rename_axis("paper")


def cells_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that have a verdict, one row each, in the published unit.

    A diagnostic variant runs some settings only; its other cells are left out.
    """
    judged = printed_cells(cells)
    ran = judged["n"] + judged["failed"] > 0
    judged = judged[ran | (judged["role"] != DIAGNOSTIC)]
    shown = judged[["mean", "sd"]].div(judged["scale"], axis=0)
    power = judge_numbers(cells)[[*NUMBER, "power"]]
    columns = [
        *("paper", "item", "row", "column", "variant", "role", "n", "failed", "mean", "sd"),
        *("printed_text", "printed_mean", "printed_sd", "difference", "difference_in_sd"),
        *("difference_in_se", "low", "high", "sd_ratio", "sd_ratio_low", "sd_ratio_high"),
        *("needed", "draws", "verdict", "power"),
    ]
    return judged.assign(**shown).merge(power, on=NUMBER)[columns]


def rank_agreement(cells: pd.DataFrame, items: Mapping[str, Item]) -> pd.DataFrame:
    """Compare the order of the methods with the published order, setting by setting.

    The columns of the best are empty if no value is better than another, as for seconds. Stand-ins
    are left out, and so are settings in which we ran fewer than two methods. Kendall's tau is
    missing if all values of one side are equal.
    """
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
    if best not in SIGN:
        return row | {"best_printed": "", "best_ours": "", "same_best": None}
    printed = SIGN[best] * group["printed_mean"]
    theirs = set(group.loc[printed == printed.min(), "label"])  # more than one if tied
    ours = group.loc[(SIGN[best] * group["mean"]).idxmin(), "label"]
    return row | {
        "best_printed": ", ".join(sorted(theirs)),
        "best_ours": ours,
        "same_best": ours in theirs,
    }

"""How many printed numbers and claims have which verdict, and the audit in small tables.

A table's count is that of one variant, the authors' where it was run and else the text's; never of
the best variant number by number. An agreement where other variants ran, and none is shown to
differ, tells nothing of any of them, and is counted apart.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

from fedmix.cells.claims import CLAIM_VERDICTS
from fedmix.cells.roles import headline
from fedmix.cells.verdicts import (
    AGREEING,
    AGREES,
    DIFFERS,
    NOT_JUDGED,
    NOT_RUN,
    STAND_IN,
    UNDECIDED,
    VERDICTS,
)

if TYPE_CHECKING:
    import pandas as pd

# What names a printed number of an item, whatever a variant calls its row and column.
NUMBER = ["paper", "item", "printed_file", "printed_line"]
#: An agreement that tells no variant from another.
NONE_DIFFERS = "agrees but tells nothing"
#: What a printed number counts as, in a reader's order.
COUNTED = tuple(
    name
    for verdict in VERDICTS
    for name in ((verdict, NONE_DIFFERS) if verdict == AGREES else (verdict,))
)


def printed_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that have a verdict: a printed number and a variant each."""
    return cells[cells["verdict"] != ""]


def headline_roles(cells: pd.DataFrame) -> dict[str, str]:
    """Return, for every item, the role of the variant that answers for it."""
    judged = printed_cells(cells)
    return {item: headline(roles) for item, roles in judged.groupby("item", sort=False)["role"]}


def judge_numbers(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row a printed number: what the headline's variant makes of it, and all others.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.frame.complete`.

    Returns
    -------
    DataFrame
        :data:`NUMBER`, ``row, column, variant, role`` and ``verdict`` of the headline's variant;
        ``agree`` and ``differ`` (lists of all variants, diagnostic ones included); ``power``, the
        share that differs among the variants that are decided, missing where fewer than two are;
        ``counted``, of :data:`COUNTED`; and ``note``, a sentence such as ``"differs as_written,
        agrees as_coded"`` where variants fall out differently.
    """
    import pandas as pd

    roles = headline_roles(cells)
    columns = [*NUMBER, "row", "column", "variant", "role", "verdict"]
    rows = [
        dict(zip(NUMBER, key, strict=True)) | _judge(own.to_dict("records"), roles[key[1]])
        for key, own in printed_cells(cells)[columns].groupby(NUMBER, sort=False)
    ]
    names = ["verdict", "counted", "power", "agree", "differ", "note"]
    return pd.DataFrame(rows, columns=[*NUMBER, "row", "column", "variant", "role", *names])


def _judge(variants: list[dict[str, Any]], role: str) -> dict[str, Any]:
    answering = [v for v in variants if role and v["role"] == role]
    place = answering[0] if answering else variants[0]
    verdict = place["verdict"] if answering else NOT_RUN
    agree = [v["variant"] for v in variants if v["verdict"] in AGREEING]
    differ = [v["variant"] for v in variants if v["verdict"] == DIFFERS]
    decided = len(agree) + len(differ)
    power = len(differ) / decided if decided > 1 else nan
    tried = decided + sum(v["verdict"] == UNDECIDED for v in variants)
    says_nothing = verdict in AGREEING and tried > 1 and not differ
    return {
        "row": place["row"],
        "column": place["column"],
        "variant": place["variant"] if answering else "",
        "role": role,
        "verdict": verdict,
        "counted": NONE_DIFFERS if says_nothing else verdict,
        "power": power,
        "agree": agree,
        "differ": differ,
        "note": f"differs {', '.join(differ)}, agrees {', '.join(agree)}" * bool(agree and differ),
    }


def score_tables(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row a printed table: its headline's counts and on which side of the print we are.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.frame.complete`.

    Returns
    -------
    DataFrame
        ``paper, item, variant, role``, a column of :data:`COUNTED` each, ``power`` (the mean over
        its numbers), ``below``, ``above``, ``median_in_se`` and ``direction``, a sentence. Where
        fewer than two numbers can be held against the print it is empty.
    """
    import pandas as pd

    numbers = judge_numbers(cells)
    judged = printed_cells(cells)
    compared = judged[~judged["verdict"].isin([STAND_IN, NOT_JUDGED, NOT_RUN])]
    rows = []
    for (paper, item), own in numbers.groupby(["paper", "item"], sort=False):
        role = own["role"].iloc[0]
        here = compared[(compared["item"] == item) & (compared["role"] == role)]
        rows.append(
            {"paper": paper, "item": item, "variant": own["variant"].max(), "role": role}
            | {name: int((own["counted"] == name).sum()) for name in COUNTED}
            | {"power": own["power"].mean()}
            | _direction(here["difference"], here["difference_in_se"])
        )
    return pd.DataFrame(rows)


def _direction(differences: pd.Series, in_se: pd.Series) -> dict[str, Any]:
    below, above = int((differences < 0).sum()), int((differences > 0).sum())
    n, median = len(differences), float(in_se.median())
    sides = {"below": below, "above": above}
    side = max(sides, key=lambda name: sides[name])
    sentence = ""
    if n > 1:
        how_many = f"All {n}" if sides[side] == n else f"{sides[side]} of {n}"
        sentence = f"{how_many} lie {side} the print"
        if median == median:
            sentence += f"; the median difference is {median:+.1f} standard errors"
        sentence += "."
    return {**sides, "median_in_se": median, "direction": sentence}


def counts(cells: pd.DataFrame) -> pd.DataFrame:
    """Return how many printed numbers of each paper count as what, by their headline's variant.

    Returns
    -------
    DataFrame
        Papers in rows, :data:`COUNTED` in columns.
    """
    numbers = judge_numbers(cells)
    table = numbers.pivot_table(index="paper", columns="counted", aggfunc="size", fill_value=0)
    return table.reindex(columns=list(COUNTED), fill_value=0)


def scorecard(cells: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """Return, for each paper, how many printed numbers and claims have which verdict.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.frame.complete`; a printed number counts by its headline's variant.
    claims : DataFrame
        Of :func:`fedmix.cells.claims.evaluate_claims`.

    Returns
    -------
    DataFrame of int
        Papers in rows, in the claims' order; columns such as ``"cells: agrees"`` and
        ``"claims: holds"``.
    """
    import pandas as pd

    by_cell = counts(cells)
    by_claim = pd.crosstab(claims["paper"], claims["verdict"])
    by_claim = by_claim.reindex(columns=list(CLAIM_VERDICTS), fill_value=0)
    table = by_cell.add_prefix("cells: ").join(by_claim.add_prefix("claims: "), how="outer")
    order = list(dict.fromkeys([*claims["paper"], *cells["paper"]]))
    return table.reindex(order, fill_value=0).fillna(0).astype(int).rename_axis("paper")


def cells_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that have a verdict, one row each, in the unit of the print.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.frame.complete`.
    """
    judged = printed_cells(cells)
    shown = judged[["mean", "sd"]].div(judged["scale"], axis=0)
    power = judge_numbers(cells)[[*NUMBER, "power"]]
    columns = ["paper", "item", "row", "column", "variant", "role", "n", "failed", "mean", "sd"]
    columns += ["printed_text", "printed_mean", "printed_sd"]
    columns += ["difference", "difference_in_sd", "difference_in_se"]
    columns += ["low", "high", "sd_ratio", "sd_ratio_low", "sd_ratio_high", "needed", "verdict"]
    return judged.assign(**shown).merge(power, on=NUMBER)[[*columns, "power"]]

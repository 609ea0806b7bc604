"""How many printed numbers and claims have which verdict, and the audit in small tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmix.cells.claims import CLAIM_VERDICTS
from fedmix.cells.verdicts import AGREEING, DIFFERS, NOT_RUN, VERDICTS

if TYPE_CHECKING:
    import pandas as pd

# What names a printed number.
NUMBER = ["paper", "item", "row", "column"]


def printed_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that have a verdict: a printed number and a variant each."""
    return cells[cells["verdict"] != ""]


def summarise_variants(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row a printed number: its best verdict and which variants agree with it.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.frame.complete`.

    Returns
    -------
    DataFrame
        :data:`NUMBER`, ``verdict`` (the best over variants that are not diagnostic), ``variant``
        (the best one), ``agree`` and ``differ`` (lists of all variants) and ``note``, a sentence
        such as ``"differs as_written, agrees as_coded"`` where variants fall out differently.
    """
    import pandas as pd

    groups: dict[tuple, dict[str, str]] = {}
    deciding: dict[tuple, list[str]] = {}
    columns = printed_cells(cells)[[*NUMBER, "variant", "verdict", "diagnostic"]]
    for *key, variant, verdict, diagnostic in columns.itertuples(index=False):
        groups.setdefault(tuple(key), {})[variant] = verdict
        deciding.setdefault(tuple(key), []).extend([] if diagnostic else [variant])
    rows = []
    for key, verdicts in groups.items():
        # Where nothing but diagnostic variants was run, no variant answers for the paper.
        best = min(deciding[key], key=lambda v: VERDICTS.index(verdicts[v]), default="")
        agree = [v for v, verdict in verdicts.items() if verdict in AGREEING]
        differ = [v for v, verdict in verdicts.items() if verdict == DIFFERS]
        note = f"differs {', '.join(differ)}, agrees {', '.join(agree)}" if agree and differ else ""
        rows.append((*key, verdicts.get(best, NOT_RUN), best, agree, differ, note))
    return pd.DataFrame(rows, columns=[*NUMBER, "verdict", "variant", "agree", "differ", "note"])


def counts(cells: pd.DataFrame) -> pd.DataFrame:
    """Return how many printed numbers of each paper have which verdict, best variant counted.

    Returns
    -------
    DataFrame
        Papers in rows, :data:`fedmix.cells.verdicts.VERDICTS` in columns.
    """
    best = summarise_variants(cells)
    table = best.pivot_table(index="paper", columns="verdict", aggfunc="size", fill_value=0)
    return table.reindex(columns=list(VERDICTS), fill_value=0)


def scorecard(cells: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """Return, for each paper, how many printed numbers and claims have which verdict.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.frame.complete`; a printed number counts by its best variant.
    claims : DataFrame
        Of :func:`fedmix.cells.claims.evaluate_claims`.

    Returns
    -------
    DataFrame of int
        Papers in rows, in the claims' order; columns such as ``"cells: reproduced"`` and
        ``"claims: holds"``.
    """
    import pandas as pd

    by_cell = counts(cells)
    by_claim = pd.crosstab(claims["paper"], claims["verdict"])
    by_claim = by_claim.reindex(columns=list(CLAIM_VERDICTS), fill_value=0)
    table = by_cell.add_prefix("cells: ").join(by_claim.add_prefix("claims: "), how="outer")
    order = list(dict.fromkeys([*claims["paper"], *cells["paper"]]))
    return table.reindex(order, fill_value=0).fillna(0).astype(int).rename_axis("paper")


def claims_table(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the claims in words: id, paper, section, claim, verdict, where it holds.

    Parameters
    ----------
    claims : DataFrame
        Of :func:`fedmix.cells.claims.evaluate_claims`.
    """
    return claims.set_index("id")[["paper", "section", "claim", "verdict", "where"]]


def cells_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that have a verdict, one row each, in the unit of the print.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.frame.complete`.
    """
    judged = printed_cells(cells)
    shown = judged[["mean", "sd"]].div(judged["scale"], axis=0)
    columns = [*NUMBER, "variant", "n", "failed", "mean", "sd", "printed_text", "printed_mean"]
    columns += ["printed_sd", "difference", "difference_in_sd", "difference_in_se"]
    columns += ["low", "high", "sd_ratio", "sd_ratio_low", "sd_ratio_high", "needed", "verdict"]
    return judged.assign(**shown)[columns]

"""The audit in a few small tables, to be written as CSV, Markdown or LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmix.cells.audit import counts
from fedmix.cells.claims import CLAIM_VERDICTS

if TYPE_CHECKING:
    import pandas as pd


def scorecard(cells: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """Return, for each paper, how many printed cells and claims have which verdict.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.audit_cells`; a printed cell counts by its best variant.
    claims : DataFrame
        Of :func:`fedmix.cells.evaluate_claims`.

    Returns
    -------
    DataFrame of int
        Papers in rows; columns such as ``"cells: reproduced"`` and ``"claims: holds"``.
    """
    import pandas as pd

    by_cell = counts(cells)
    by_claim = pd.crosstab(claims["paper"], claims["verdict"])
    by_claim = by_claim.reindex(columns=list(CLAIM_VERDICTS), fill_value=0)
    table = by_cell.add_prefix("cells: ").join(by_claim.add_prefix("claims: "), how="outer")
    return table.fillna(0).astype(int).rename_axis("paper")


def claims_table(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the claims in words: id, paper, section, claim, verdict, where it holds.

    Parameters
    ----------
    claims : DataFrame
        Of :func:`fedmix.cells.evaluate_claims`.
    """
    return claims.set_index("id")[["paper", "section", "claim", "verdict", "where"]]


def cells_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the audited cells, one row each, with numbers only where a program wants them.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.audit_cells`.
    """
    columns = ["paper", "table", "row", "column", "variant", "n", "n_failed"]
    columns += ["scaled_mean", "scaled_sd", "printed_mean", "printed_sd", "difference"]
    columns += ["difference_in_sd", "difference_in_se", "relative_speed", "verdict"]
    return cells[columns].rename(columns={"scaled_mean": "mean", "scaled_sd": "sd"})

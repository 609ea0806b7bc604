"""The outcome of a search for one target: all protocols ranked, and the runs of the nearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fedmix.cells.protocols.design import without_idle
from fedmix.cells.protocols.score import cell_names, joint_distance, score_tables
from fedmix.cells.protocols.space import Space

if TYPE_CHECKING:
    import pandas as pd

#: How many of the nearest protocols are shown.
SHOWN = 20


def told_apart(rows: pd.DataFrame, found_for: str, target: str) -> pd.DataFrame:
    """Return the protocols that were found for one target, named for use with another target.

    Variations of two targets can have the same name. So a variation from another target gets that
    target's name in brackets.
    """
    if found_for == target:
        return rows
    drawn = ~rows["protocol"].str.contains("-")
    return rows.assign(protocol=rows["protocol"].where(drawn, rows["protocol"] + f" ({found_for})"))


def rank_protocols(
    space: Space,
    runs: pd.DataFrame,
    printed: Mapping[str, pd.DataFrame],
    chosen: Sequence[pd.DataFrame],
) -> pd.DataFrame:
    """Score all protocols on all their runs, and rank them, nearest first.

    Parameters
    ----------
    space : Space
    runs : DataFrame
        The runs of all rungs.
    printed : mapping of str to DataFrame
        The published values, see :func:`fedmix.cells.protocols.score.printed_cells`.
    chosen : sequence of DataFrame
        Each rung's protocols, with their choices.

    Returns
    -------
    DataFrame
        One row per protocol and table: ``rank``; ``rung``, the last rung that the protocol reached
        (protocols that reached a later rung come first); ``protocol, table``; the columns of
        :func:`fedmix.cells.protocols.score.score_protocols`; ``joint_distance`` from all tables;
        ``entered``, the rung in which the protocol was first run; and the choices.
    """
    import pandas as pd

    scores = score_tables(space, runs, printed)
    summary = joint_distance(scores).rename("joint_distance").reset_index()
    protocols = without_idle(space, pd.concat(chosen).drop_duplicates("protocol"), printed)
    reached = {p: rung for rung, own in enumerate(chosen) for p in own["protocol"]}
    summary["rung"] = summary["protocol"].map(reached)
    summary = summary.sort_values(
        ["rung", "joint_distance", "protocol"], ascending=[False, True, True]
    )
    summary.insert(0, "rank", range(1, len(summary) + 1))
    whole = summary.merge(scores, on="protocol", sort=False).merge(protocols, on="protocol")
    return whole.sort_values(["rank", "table"], ignore_index=True)


def drawn_nearest(ranked: pd.DataFrame) -> pd.DataFrame:
    """Return the nearest of the protocols that the first rung drew; variations are left out."""
    return ranked[ranked["entered"].astype(str) == "0"].nsmallest(SHOWN, "rank")


def nearest_cells(
    ranked: pd.DataFrame, runs: pd.DataFrame, printed: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return every replication of the nearest protocols beside the published values.

    Each replication has a row, because outcomes can have two modes, which a mean hides.

    Returns
    -------
    DataFrame
        ``rank, protocol, table``; the setting that varies by row, under its own name; ``method,
        replication, value, printed_mean, printed_sd``.
    """
    import pandas as pd

    nearest = ranked.loc[ranked["rank"] <= SHOWN, ["rank", "protocol"]].drop_duplicates()
    theirs = pd.concat([cells.assign(table=table) for table, cells in printed.items()])
    theirs = theirs.rename(columns={"mean": "printed_mean", "sd": "printed_sd"})
    cell = ["table", *cell_names(next(iter(printed.values())))]
    cells = nearest.merge(runs, on="protocol").merge(theirs, on=cell)
    by = ["rank", *cell, "replication"]
    return cells.sort_values(by, ignore_index=True)

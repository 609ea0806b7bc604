"""The outcome of a search for one target: the scores of all protocols, and the judged runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from fedmix.cells.protocols.drawing import read_protocols, without_idle
from fedmix.cells.protocols.score import cell_names, score_tables
from fedmix.cells.protocols.space import DRAWN, Space

if TYPE_CHECKING:
    import pandas as pd

#: Kinds of runs beside the drawn ones: of the optimiser, and on fresh replications.
TRIED, JUDGED = "tried", "judged"


def best_trials(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trial with the least confirmed objective of each seed."""
    best = trials.sort_values(["confirmed", "trial"], kind="stable").drop_duplicates("seed")
    return best.sort_values("seed", ignore_index=True)


def score_search(
    space: Space,
    design: pd.DataFrame,
    trials: pd.DataFrame,
    runs: Mapping[str, pd.DataFrame],
    printed: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Score all protocols of a search.

    Parameters
    ----------
    space : Space
    design, trials : DataFrame
        The drawn protocols, and those that the optimiser tried.
    runs : mapping of str to DataFrame
        The runs of each kind: "drawn", "tried" and "judged".
    printed : mapping of str to DataFrame
        The published values, see :func:`fedmix.cells.protocols.score.printed_cells`.

    Returns
    -------
    DataFrame
        One row per kind, protocol and table: ``kind, protocol, table``; the columns of
        :func:`fedmix.cells.protocols.score.score_protocols`; the choices; and of judged protocols
        ``rank``, by the distance from all tables together, and the distances from the rows that the
        search ``saw`` and from those ``held_out`` (missing if there are none).
    """
    import pandas as pd

    protocols = without_idle(space, pd.concat([design, trials]), printed)
    protocols = protocols[["protocol", *space.choices]]
    parts = []
    for kind in (DRAWN, TRIED, JUDGED):
        own = score_tables(space, runs[kind], printed)
        own.insert(0, "kind", kind)
        parts.append(own)
    judged = parts[-1]
    for name, wanted in (("saw", True), ("held_out", False)):
        judged[name] = _distances_on(space, runs[JUDGED], printed, judged, wanted)
    joint = np.square(judged["distance"]).groupby(judged["protocol"]).transform("mean")
    judged["rank"] = joint.rank(method="dense").astype("Int64")
    return pd.concat(parts).merge(protocols, on="protocol", sort=False)


def _distances_on(
    space: Space,
    runs: pd.DataFrame,
    printed: Mapping[str, pd.DataFrame],
    judged: pd.DataFrame,
    searched: bool,
) -> list[float]:
    """Return the distances of judged protocols on the rows that the search saw, or did not."""
    seen = [
        (value in space.searched_rows(table)) == searched
        for table, value in zip(runs["table"], runs[space.row], strict=True)
    ]
    if not any(seen):
        return [float("nan")] * len(judged)
    found = score_tables(space, runs[seen], printed).set_index(["protocol", "table"])["distance"]
    index = judged[["protocol", "table"]].itertuples(index=False, name=None)
    return [found.get(place, float("nan")) for place in index]


def judged_cells(
    scores: pd.DataFrame, judged: pd.DataFrame, printed: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return every fresh replication of the judged protocols beside the published values.

    Each replication has a row, because outcomes can have two modes, which a mean hides.

    Returns
    -------
    DataFrame
        ``rank, protocol, table``; the setting that varies by row, under its own name; ``method,
        replication, value, printed_mean, printed_sd``.
    """
    import pandas as pd

    ranks = scores.loc[scores["kind"] == JUDGED, ["rank", "protocol"]].drop_duplicates()
    theirs = pd.concat([cells.assign(table=table) for table, cells in printed.items()])
    theirs = theirs.rename(columns={"mean": "printed_mean", "sd": "printed_sd"})
    cell = ["table", *cell_names(next(iter(printed.values())))]
    cells = ranks.merge(judged, on="protocol").merge(theirs, on=cell)
    return cells.sort_values(["rank", *cell, "replication"], ignore_index=True)


def read_trials(paths: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read the trials of all seeds, with their choices as text."""
    import pandas as pd

    trials = pd.concat(map(read_protocols, paths), ignore_index=True)
    trials["complete"] = trials["complete"] == "True"
    trials["confirmed"] = pd.to_numeric(trials["confirmed"])
    return trials.astype({"seed": int, "trial": int, "objective": float})


def read_part(path: str | os.PathLike, space: Space) -> pd.DataFrame:
    """Read one part of a search from CSV, with choices as text ("none" is a name, "2" as well)."""
    import pandas as pd

    texts = dict.fromkeys(["protocol", *space.choices], str)
    part = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
    return part.fillna({name: "" for name in space.choices if name in part})

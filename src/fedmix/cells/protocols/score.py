"""How near a protocol comes to a published table, and whether the paper's method leads under it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedmix.cells.items import Item
from fedmix.cells.measured import identity_of
from fedmix.cells.printed import PrintedTable
from fedmix.cells.protocols.space import Claim, Column, Space, Table
from fedmix.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

RESAMPLES = 200
INTERVAL = (0.025, 0.975)


def printed_cells(
    space: Space, items: Mapping[str, Item], published: str | os.PathLike
) -> dict[str, pd.DataFrame]:
    """Return every table's printed cells in our unit.

    Parameters
    ----------
    space : Space
    items : mapping of str to Item
        The tables' items.
    published : path-like
        ``data/published``.

    Returns
    -------
    dict of str to DataFrame
        Table -> the row's value under the row's name, ``method, mean, sd``, a row of the table
        after the other.

    Raises
    ------
    DataError
        If a row and method that is run has no printed cell, or no standard deviation.
    """
    import pandas as pd

    found = {}
    for name, table in space.tables.items():
        item = items[table.item]
        printed = PrintedTable(item, Path(published))
        rows = []
        for value in table.rows:
            for method in space.methods.values():
                names, _ = printed.names_of(cell_identity(space, table, value, method))
                cell = printed.number(names) if names else None
                if cell is None or not cell.sd > 0:
                    raise DataError(
                        f"protocols/{space.name}.yaml of {space.paper}: {name} has no printed mean "
                        f"and standard deviation of {method.label} with {space.row} {value}; see "
                        "its `printed` in tables.yaml."
                    )
                rows.append((value, method.name, cell.mean * item.scale, cell.sd * item.scale))
        found[name] = pd.DataFrame(rows, columns=[space.row, "method", "mean", "sd"])
    return found


def cell_identity(space: Space, table: Table, value: Any, method: Column) -> dict[str, Any]:
    """Return what names a method in a row, as the cells' columns do."""
    plain = (str, int, float, bool)  # none in units of the data
    parameters = {
        f"method_{name}": given
        for name, given in method.parameters.items()
        if isinstance(given, plain)
    }
    setting = {**table.setting, space.row: value}
    return parameters | identity_of(setting, method.name, method.label)


def cell_names(printed: pd.DataFrame) -> list[str]:
    """Return the two columns that tell printed cells apart: the row's name, and the method."""
    return list(printed.columns[:2])


def errors_of(runs: pd.DataFrame, printed: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return each protocol's errors: a row a replication, a column a printed cell that it ran.

    Columns are pairs (row, method) in the printed order. Replications that were not run
    for all rows are left out, so that all cells of a protocol have the same.
    """
    cell = cell_names(printed)
    index = ["protocol", "replication"]
    wide = runs.pivot(index=index, columns=cell, values="value")
    ran = runs.assign(ran=1.0).pivot(index=index, columns=cell, values="ran")
    order = [pair for pair in printed.set_index(cell).index if pair in wide]
    found = {}
    for protocol, there in ran[order].groupby(level="protocol"):
        there = there.dropna(axis=1, how="all").dropna()
        found[str(protocol)] = wide.loc[there.index, there.columns].droplevel("protocol")
    return found


def score_protocols(runs: pd.DataFrame, printed: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """Score every protocol on one table.

    Parameters
    ----------
    runs : DataFrame
        Of :meth:`fedmix.protocols.Bench.run`.
    printed : DataFrame
        One table's of :func:`printed_cells`.
    claim : Claim

    Returns
    -------
    DataFrame
        One row a protocol: ``protocol, rows, cells, replications``; ``distance``, the root mean
        square over cells of (our mean - printed mean) / printed sd, infinite where a fit diverged;
        ``sd_distance``, that of log(our sd / printed sd); ``rank_correlation`` of the methods, the
        mean over rows; ``effect``, the method's value less that of the best that it is held
        against, the mean over rows, and ``printed_effect``, the same of the published values;
        ``rows_lowest``, in how many rows it is below all of them (above them, if that is the
        claim), and ``lowest``, whether in all. Columns ``_low`` and ``_high`` bound 95 % of a
        bootstrap over replications.
    """
    import pandas as pd

    values = printed.set_index(cell_names(printed))
    rows = []
    for protocol, errors in errors_of(runs, printed).items():
        own = values.loc[errors.columns]
        rows.append({"protocol": protocol, **_score(errors, own, claim)})
    return pd.DataFrame(rows)


def score_tables(
    space: Space, runs: pd.DataFrame, printed: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Score every protocol on every table that it ran, see :func:`score_protocols`."""
    import pandas as pd

    parts = []
    for table, own in runs.groupby("table", sort=False):
        scores = score_protocols(own, printed[str(table)], space.claim)
        scores.insert(0, "table", table)
        parts.append(scores)
    return pd.concat(parts, ignore_index=True)


def joint_distance(scores: pd.DataFrame) -> pd.Series:
    """Return each protocol's distance from all tables: the root mean square of its distances."""
    square = scores.assign(square=np.square(scores["distance"])).groupby("protocol")["square"]
    return np.sqrt(square.mean())


def distances(means: FloatArray, printed_means: FloatArray, printed_sds: FloatArray) -> FloatArray:
    """Return root mean squares over the last axis; infinite where a mean is missing."""
    deviations = (means - printed_means) / printed_sds
    return np.nan_to_num(np.sqrt(np.square(deviations).mean(axis=-1)), nan=np.inf)


def _score(errors: pd.DataFrame, printed: pd.DataFrame, claim: Claim) -> dict[str, Any]:
    values = errors.to_numpy()
    n = len(values)
    rng = np.random.default_rng(0)
    resampled = values[rng.integers(n, size=(RESAMPLES, n))].mean(axis=1)
    means = values.mean(axis=0)
    centre, sd = printed["mean"].to_numpy(), printed["sd"].to_numpy()
    names = errors.columns.get_level_values(1)
    layout = len(names) // names.nunique(), names.nunique()  # rows, methods
    methods = list(names[: layout[1]])
    effects = leads(means.reshape(layout), methods, claim)
    low, high = np.quantile(distances(resampled, centre, sd), INTERVAL, method="nearest")
    effect = leads(resampled.reshape(-1, *layout), methods, claim).mean(axis=-1)
    effect_low, effect_high = np.quantile(effect, INTERVAL, method="nearest")
    return {
        "rows": layout[0],
        "cells": len(means),
        "replications": n,
        "distance": float(distances(means, centre, sd)),
        "distance_low": float(low),
        "distance_high": float(high),
        "sd_distance": _sd_distance(values, sd),
        "rank_correlation": _rank_correlation(
            _behind(claim.sign * means.reshape(layout)), claim.sign * centre.reshape(layout)
        ),
        "effect": float(effects.mean()),
        "effect_low": float(effect_low),
        "effect_high": float(effect_high),
        "printed_effect": float(leads(centre.reshape(layout), methods, claim).mean()),
        "rows_lowest": int((claim.sign * effects < 0).sum()),
        "lowest": bool((claim.sign * effects < 0).all()),
    }


def leads(means: FloatArray, methods: Sequence[str], claim: Claim) -> FloatArray:
    """Return a method's value less that of the best it is held against, of (..., rows, methods).

    A method that diverged is behind all others, see :func:`_behind`. Of equal errors the means
    differ in their last digits: what is below a trillionth is no lead.
    """
    values = _behind(claim.sign * means)
    others = [m in claim.than if claim.than else m != claim.method for m in methods]
    lead = values[..., methods.index(claim.method)] - values[..., others].min(axis=-1)
    return claim.sign * lead.round(12)


def _behind(values: FloatArray) -> FloatArray:
    """Return values of which low ones are good; a missing one counts as the row's worst, or 1."""
    worst = np.fmax.reduce(values, axis=-1, initial=1.0, keepdims=True)
    return np.where(np.isnan(values), worst, values)


def _sd_distance(values: FloatArray, printed_sd: FloatArray) -> float:
    sd = values.std(axis=0, ddof=1)
    with np.errstate(divide="ignore"):
        return float(np.sqrt(np.square(np.log(sd / printed_sd)).mean()))


def _rank_correlation(ours: FloatArray, theirs: FloatArray) -> float:
    """Return the mean over rows; missing where all methods err alike in one."""
    from scipy.stats import spearmanr

    if (np.ptp(ours, axis=1) == 0).any():
        return float("nan")
    return float(np.mean([spearmanr(a, b).statistic for a, b in zip(ours, theirs, strict=True)]))

"""How near protocols are to a published table, and whether the paper's method leads under them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedmix.cells.effects import resampled_means
from fedmix.cells.items import Item
from fedmix.cells.measured import identity_of
from fedmix.cells.printed import PrintedTable, names_of
from fedmix.cells.protocols.space import (
    COMPARED,
    DRAWN,
    JUDGED,
    TRIED,
    Claim,
    Column,
    Space,
    Table,
)
from fedmix.errors import DataError

FloatArray = NDArray[np.float64]
RESAMPLES = 200
INTERVAL = (0.025, 0.975)


def printed_cells(
    space: Space, items: Mapping[str, Item], published: str | os.PathLike
) -> dict[str, pd.DataFrame]:
    """Return the published values of every table, in our unit and row by row.

    The columns are the setting that varies by row, ``method``, ``mean`` and ``sd``. ``published``
    is ``data/published``. It is an error if a method that is run has no published mean, or no
    positive standard deviation, in a row.
    """
    found = {}
    for name, table in space.tables.items():
        item = items[table.item]
        printed = PrintedTable(item, Path(published))
        rows = []
        for value in table.rows:
            for method in space.methods.values():
                names, _ = names_of(item, cell_identity(space, table, value, method))
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
    """Return what identifies a method in a row, under the names of the cells' columns."""
    parameters = {
        f"method_{name}": given
        for name, given in method.parameters.items()
        if isinstance(given, (str, int, float, bool))  # leaves out values in units of the data
    }
    return parameters | identity_of({**table.setting, space.row: value}, method.name, method.label)


def errors_of(runs: pd.DataFrame, printed: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return each protocol's errors: one row per replication, one column per cell that it ran.

    The columns are pairs (row, method) in the published order. A replication that was not run for
    all rows is left out, so that all cells of a protocol have the same replications.
    """
    cells = printed.set_index(list(printed.columns[:2])).index
    marked = runs.fillna({"value": np.inf})  # a fit that diverged, unlike one that did not run
    wide = marked.pivot(index=["protocol", "replication"], columns=cells.names, values="value")
    ran = wide[[cell for cell in cells if cell in wide]].groupby(level="protocol")
    return {
        str(protocol): own.dropna(axis="columns", how="all")
        .dropna()
        .replace(np.inf, np.nan)
        .droplevel("protocol")
        for protocol, own in ran
    }


def score_tables(
    runs: pd.DataFrame, printed: Mapping[str, pd.DataFrame], claim: Claim
) -> pd.DataFrame:
    """Score every protocol on every table that it ran, one row per table and protocol.

    ``runs`` come from :meth:`fedmix.cells.protocols.running.Runner.run`. The scores are

    - ``distance``: the root mean square over cells of (our mean - published mean) / published sd;
      infinite where a fit diverged; ``others`` is the same over the columns of all other methods;
    - ``effect``: the mean over rows of :func:`leads`;
    - ``lead``: the mean lead as a share of the published one, over the rows in which the method
      leads as published, missing if there are none; and the ``least_lead`` and the ``most_lead`` of
      a single row;
    - ``rows_lowest``: the number of rows in which the method is below all the others (above them,
      if the claim says so); ``lowest``: whether that is so in all rows.

    Columns that end in ``_low`` and ``_high`` are the ends of a 95 % bootstrap interval over
    replications.
    """
    rows = []
    for table, own in runs.groupby("table", sort=False):
        cells = printed[str(table)]
        values = cells.set_index(list(cells.columns[:2]))
        rows += [
            {"table": table, "protocol": protocol}
            | _score(errors, values.loc[errors.columns], claim)
            for protocol, errors in errors_of(own, cells).items()
        ]
    return pd.DataFrame(rows)


def layout_of(cells: pd.MultiIndex) -> tuple[list[str], tuple[int, int]]:
    """Return the methods of cells (row, method), and the numbers of rows and of methods."""
    names = cells.get_level_values(1)
    n_methods = names.nunique()
    return list(names[:n_methods]), (len(names) // n_methods, n_methods)


def distances(
    means: FloatArray,
    printed_means: FloatArray,
    printed_sds: FloatArray,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return root mean squares over the last axis; infinite where a mean is missing."""
    squares = np.square((means - printed_means) / printed_sds)
    return np.nan_to_num(np.sqrt(np.average(squares, axis=-1, weights=weights)), nan=np.inf)


def _score(errors: pd.DataFrame, printed: pd.DataFrame, claim: Claim) -> dict[str, Any]:
    values = errors.to_numpy()
    resampled = resampled_means(values, RESAMPLES, np.random.default_rng(0))
    means = values.mean(axis=0)
    centre, sd = printed["mean"].to_numpy(), printed["sd"].to_numpy()
    methods, layout = layout_of(errors.columns)
    effects = leads(means.reshape(layout), methods, claim)
    printed_effects = leads(centre.reshape(layout), methods, claim)
    resampled_effects = leads(resampled.reshape(-1, *layout), methods, claim).mean(axis=-1)
    nearest, farthest = np.quantile(distances(resampled, centre, sd), INTERVAL, method="nearest")
    least, most = np.quantile(resampled_effects, INTERVAL, method="nearest")
    other = errors.columns.get_level_values(1) != claim.method
    leading = claim.sign * printed_effects < 0
    ours, theirs = effects[leading], printed_effects[leading]
    shares = ours / theirs if leading.any() else np.array([np.nan])
    lowest = claim.sign * effects < 0
    return {
        "rows": layout[0],
        "cells": len(means),
        "replications": len(values),
        "distance": float(distances(means, centre, sd)),
        "distance_low": nearest,
        "distance_high": farthest,
        "others": float(distances(means[other], centre[other], sd[other])),
        "effect": effects.mean(),
        "effect_low": least,
        "effect_high": most,
        "lead": ours.mean() / theirs.mean() if leading.any() else np.nan,
        "least_lead": shares.min(),
        "most_lead": shares.max(),
        "rows_lowest": lowest.sum(),
        "lowest": lowest.all(),
    }


def filled(values: FloatArray, sign: int) -> FloatArray:
    """Return values in which a method that diverged is the worst of its row, the last axis.

    It is at least 1 where low values are good (``sign`` 1), and at most -1 where high ones are.
    """
    signed = sign * values
    worst = np.fmax.reduce(signed, axis=-1, initial=1.0, keepdims=True)
    return sign * np.where(np.isnan(signed), worst, signed)


def leads(means: FloatArray, methods: Sequence[str], claim: Claim) -> FloatArray:
    """Return the claim's method minus the best method that it is compared with, for each row.

    ``means`` has the shape (..., rows, methods), the result (..., rows). A method that diverged has
    the value of :func:`filled`. Differences are rounded to 12 decimals, because the means of equal
    errors can differ in their last digits.
    """
    values = claim.sign * filled(means, claim.sign)
    others = [m in claim.than if claim.than else m != claim.method for m in methods]
    lead = values[..., methods.index(claim.method)] - values[..., others].min(axis=-1)
    return claim.sign * lead.round(12)


def objective(
    runs: pd.DataFrame,
    printed: Mapping[str, pd.DataFrame],
    claim: Claim,
    contrast_weight: float = 1.0,
) -> float:
    """Return a protocol's distance from the cells of its tables and from their contrasts.

    It is the root mean square of all differences, in published standard deviations, where a
    contrast counts ``contrast_weight`` times; the root mean square over tables if there are
    several; infinite if a fit diverged.
    """
    parts = []
    for table, own in runs.groupby("table", sort=False):
        cells = printed[str(table)]
        cell = list(cells.columns[:2])
        means = own.groupby(cell, sort=False)["value"].agg(lambda each: each.mean(skipna=False))
        values = cells.set_index(cell).loc[means.index]
        methods, shape = layout_of(means.index)
        ours, theirs, sds = (
            part.to_numpy().reshape(shape) for part in (means, values["mean"], values["sd"])
        )
        measured, published = (
            np.concatenate([part.ravel(), contrasts(part, methods, claim)])
            for part in (ours, theirs)
        )
        n_contrasts = len(measured) - sds.size
        unit = sds[:, methods.index(claim.method)].mean()
        units = np.concatenate([sds.ravel(), np.full(n_contrasts, unit)])
        weights = np.repeat([1.0, contrast_weight], [sds.size, n_contrasts])
        parts.append(distances(measured, published, units, weights))
    return float(np.sqrt(np.mean(np.square(parts))))


def contrasts(means: FloatArray, methods: list[str], claim: Claim) -> FloatArray:
    """Return what a table says about its method, from means of shape (rows, methods).

    The method's lead over the best other one in each row, its lead over the baseline in each row,
    and its change from the first row to the last.
    """
    own = means[:, methods.index(claim.method)]
    parts = [leads(means, methods, claim), own[-1:] - own[:1]]
    if claim.baseline:
        parts.append(own - means[:, methods.index(claim.baseline)])
    return np.concatenate(parts)


def score_search(
    space: Space,
    design: pd.DataFrame,
    trials: pd.DataFrame,
    runs: Mapping[str, pd.DataFrame],
    printed: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Score all protocols of a search, one row per kind, protocol and table, with the choices.

    ``design`` and ``trials`` are the protocols that were drawn and that the optimiser tried, and
    ``runs`` are by kind: "drawn", "tried", "compared" and "judged". Judged protocols also have the
    distances from the rows that the search ``saw`` and from those ``held_out``, if any; and their
    ``rank``, by the objective on all rows of the compared runs, so that fresh replications choose
    nothing.
    """
    claim, place = space.claim, ["table", "protocol"]
    parts = {kind: score_tables(runs[kind], printed, claim) for kind in (DRAWN, TRIED, JUDGED)}
    judged = parts[JUDGED].set_index(place).assign(saw=np.nan, held_out=np.nan)
    fresh = runs[JUDGED]
    rows = zip(fresh["table"], fresh[space.row], strict=True)
    seen = [value in space.searched_rows(table) for table, value in rows]
    for name, own in fresh.groupby(np.where(seen, "saw", "held_out")):
        judged[name] = score_tables(own, printed, claim).set_index(place)["distance"]
    judged = judged.reset_index()
    # Two seeds may end at one objective: the first is ranked before.
    compared = runs[COMPARED].groupby("protocol", sort=False)
    weight = space.search_of(printed).contrast_weight
    objectives = compared.apply(objective, printed, claim, weight, include_groups=False)
    ranks = objectives.rank(method="first")
    parts[JUDGED] = judged.assign(rank=judged["protocol"].map(ranks).astype("Int64"))
    scores = pd.concat(parts, names=["kind"]).reset_index("kind")
    protocols = space.without_idle(pd.concat([design, trials]), printed)
    return scores.merge(protocols[["protocol", *space.choices]], on="protocol", sort=False)


def judged_cells(
    scores: pd.DataFrame, judged: pd.DataFrame, printed: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return every fresh replication of the judged protocols beside the published values.

    Each replication has a row, because outcomes can have two modes, which a mean hides.
    """
    ranks = scores.loc[scores["kind"] == JUDGED, ["rank", "protocol"]].drop_duplicates()
    theirs = pd.concat([cells.assign(table=table) for table, cells in printed.items()])
    theirs = theirs.rename(columns={"mean": "printed_mean", "sd": "printed_sd"})
    cell = ["table", *theirs.columns[:2]]
    cells = ranks.merge(judged, on="protocol").merge(theirs, on=cell)
    return cells.sort_values(["rank", *cell, "replication"], ignore_index=True)


def read_protocols(path: str | os.PathLike) -> pd.DataFrame:
    """Read protocols or trials from CSV; their choices are text, "none" and "2" as well."""
    numbers = {"seed": int, "start": int, "trial": int, "complete": bool, "objective": float}
    kinds = defaultdict(lambda: str, numbers)
    return pd.read_csv(path, dtype=kinds, keep_default_na=False)

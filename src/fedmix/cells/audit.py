"""Ours beside theirs, cell by cell and variant by variant."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmix.cells.effects import mean_effect
from fedmix.cells.evidence import SECONDS, Evidence, Place, of_variants
from fedmix.cells.printed import setting_of, stand_in_settings
from fedmix.cells.verdicts import (
    AGREEING,
    DIFFERS,
    NOT_RUN,
    STAND_IN,
    UNDECIDED,
    VERDICTS,
    compare,
    speed_verdict,
)

if TYPE_CHECKING:
    import pandas as pd

# What names a printed cell.
CELL = ["paper", "table", "title", "row", "column"]


def audit_cells(
    results: pd.DataFrame,
    timings: pd.DataFrame | None,
    published: pd.DataFrame,
    stand_ins: Sequence[Mapping[str, Any]] = (),
    diagnostic: Mapping[str, Collection[str]] | None = None,
) -> pd.DataFrame:
    """Hold every printed cell against ours, in every variant that was run.

    Parameters
    ----------
    results, timings : DataFrame
        Whatever is there, finished or not; see :class:`fedmix.cells.evidence.Evidence`.
    published : DataFrame
        Of :func:`fedmix.cells.load`.
    stand_ins : sequence of mapping
        The ``stand_ins`` of ``config/published.yaml``: which settings take a printed one's place
        where the latter was not run.
    diagnostic : mapping of str to collection of str, optional
        By study, the variants that only show what one switch does.

    Returns
    -------
    DataFrame
        One row a printed cell and variant: the columns of ``published``, then ``variant``,
        ``diagnostic``,
        ``setting``, ``mean, sd, se, n, n_failed`` in our unit, ``scaled_mean, scaled_sd`` in the
        printed unit, ``difference`` (printed unit), ``difference_in_sd``, ``difference_in_se``,
        ``relative_speed`` (seconds only) and ``verdict``. A table that was not run has its cells
        once, with an empty variant.

    Examples
    --------
    >>> cells = audit_cells(results, timings, published.load())      # doctest: +SKIP
    >>> cells.groupby(["paper", "variant", "verdict"]).size()        # doctest: +SKIP
    """
    import pandas as pd

    evidence = Evidence(results, timings)
    rows = [
        row
        for _, table in published.groupby(["paper", "table", "title"], sort=False)
        for row in _audit_table(table, evidence, stand_ins)
    ]
    cells = _judge_seconds(pd.DataFrame(rows))
    cells["diagnostic"] = of_variants(cells, diagnostic or {})
    return cells


def summarise_variants(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row a printed cell: its best verdict and which variants agree with it.

    Returns
    -------
    DataFrame
        :data:`CELL`, ``verdict`` (the best over variants that are not diagnostic), ``variant`` (the
        best one), ``agree`` and ``differ`` (lists of all variants) and ``note``, a sentence such as
        ``"differs as_written, agrees as_coded"`` where variants fall out differently (else empty).
    """
    import pandas as pd

    groups: dict[tuple, dict[str, str]] = {}
    deciding: dict[tuple, list[str]] = {}
    columns = cells[[*CELL, "variant", "verdict", "diagnostic"]]
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
    return pd.DataFrame(rows, columns=[*CELL, "verdict", "variant", "agree", "differ", "note"])


def _audit_table(
    table: pd.DataFrame, evidence: Evidence, stand_ins: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    records = table.to_dict("records")
    matched = [_places_of(cell, evidence, stand_ins) for cell in records]
    # Every cell appears in every variant that the table was run in, so that none is forgotten.
    variants = sorted({variant for places, _ in matched for variant in places}) or [""]
    return [
        _audit_cell(cell, places.get(variant), is_stand_in, variant, evidence)
        for variant in variants
        for cell, (places, is_stand_in) in zip(records, matched, strict=True)
    ]


def _places_of(
    cell: Mapping[str, Any], evidence: Evidence, stand_ins: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Place], bool]:
    """Return the place of a printed cell in each variant, and whether a stand-in took it."""
    wanted = setting_of(cell)
    places = _with_method(cell, wanted, evidence)
    if places:
        return places, False
    for replaced in stand_in_settings(wanted, stand_ins):
        places = _with_method(cell, replaced, evidence)
        if places:
            return places, True
    return {}, False


def _with_method(
    cell: Mapping[str, Any], wanted: Mapping[str, Any], evidence: Evidence
) -> dict[str, Place]:
    places = evidence.places(cell["study"], wanted)
    return {p.variant: p for p in places if cell["method"] in evidence.methods(p)}


def _audit_cell(
    cell: Mapping[str, Any],
    place: Place | None,
    is_stand_in: bool,
    variant: str,
    evidence: Evidence,
) -> dict[str, Any]:
    values = np.array([])
    if place is not None:
        values = evidence.values(place, cell["method"], cell["metric"]).to_numpy()
    n = len(values)
    effect = mean_effect(values) if n else None
    mean = effect.mean if effect else np.nan
    sd = float(values.std(ddof=1)) if n > 1 else np.nan
    scale = cell["scale"]
    comparison = compare(
        mean / scale,
        sd / scale,
        n,
        cell["printed_mean"],
        cell["printed_sd"],
        cell["printed_replications"],
        cell["digits"],
    )
    verdict = STAND_IN if is_stand_in and n else comparison.verdict
    return dict(cell) | {
        "variant": variant,
        "setting": place.setting if place else "",
        "mean": mean,
        "sd": sd,
        "se": effect.se if n > 1 else np.nan,
        "n": n,
        "n_failed": evidence.n_failed(place, cell["method"]) if place else 0,
        "scaled_mean": mean / scale,
        "scaled_sd": sd / scale,
        "difference": comparison.difference,
        "difference_in_sd": comparison.in_sd,
        "difference_in_se": comparison.in_se,
        "relative_speed": np.nan,
        "verdict": verdict,
    }


def _judge_seconds(cells: pd.DataFrame) -> pd.DataFrame:
    """Judge seconds by the methods' ratios within a row of the printed table."""
    timed = cells[(cells["metric"] == SECONDS) & (cells["n"] > 0)]
    for _, row in timed.groupby(["paper", "table", "variant", "setting"], sort=False):
        if row["verdict"].eq(STAND_IN).all():
            continue
        logs = np.log(row["scaled_mean"] / row["printed_mean"])
        ratios = np.exp(logs - logs.mean())
        cells.loc[row.index, "relative_speed"] = ratios
        alone = len(row) < 2  # with nothing to compare with, every ratio would be 1
        cells.loc[row.index, "verdict"] = UNDECIDED if alone else ratios.map(speed_verdict)
    return cells


def counts(cells: pd.DataFrame) -> pd.DataFrame:
    """Return how many printed cells of each paper have which verdict, best variant counted.

    Returns
    -------
    DataFrame
        Papers in rows, :data:`fedmix.cells.verdicts.VERDICTS` in columns.
    """
    best = summarise_variants(cells)
    table = best.pivot_table(index="paper", columns="verdict", aggfunc="size", fill_value=0)
    return table.reindex(columns=list(VERDICTS), fill_value=0)

"""The answer of a published table in one to three sentences, written from its numbers.

The first sentence says whether the order of the methods holds, and by how much the leading method
leads beside what is published. The second says how many values agree. The last one says on what the
answer depends: the lead in the other variants, the text's own first of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from fedmix.cells.verdicts import (
    AGREEING,
    AGREES_IN_MEAN,
    AUTHORS,
    CANNOT_DECIDE,
    COMPARABLE,
    DIFFERS,
    FAIR,
    INFERRED,
    NEAREST,
    NONE_DIFFERS,
    NOT_JUDGED,
    NOT_RUN,
    STAND_IN,
    UNDECIDED,
    UNKNOWN,
    WRITTEN,
    distance,
    nearest_role,
)

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.cells.items import Item

# A lead between these multiples of the published one has the same size.
_SAME_SIZE = 0.8, 1.25
_IN_WORDS = {
    AUTHORS: "with the authors' program",
    INFERRED: "in the inferred variant",
    WRITTEN: "as the text says",
    NEAREST: "under the nearest protocol of the search",
    FAIR: "with errors corrected and strong baselines",
}
_FEWEST_METHODS = 3


@dataclass(frozen=True)
class Lead:
    """How far one method is ahead of the best of the others, on average over a table's settings.

    Parameters
    ----------
    method : str
        The method that is best in most of the table's settings, as published.
    ours, published : float
        Positive where it is ahead, in the published unit.
    kept, settings : int
        The settings in which the method published as best is best or tied in ours, and all.
    """

    method: str
    ours: float
    published: float
    kept: int
    settings: int


def lead_of(cells: pd.DataFrame, direction: str, method: str = "") -> Lead | None:
    """Return a table's lead in one variant; None where no method leads as published.

    Parameters
    ----------
    cells : DataFrame
        The cells of one variant of one table.
    direction : {"lowest", "highest", "none"}
        Which published value is best.
    method : str, optional
        The label of the method whose lead is measured; by default the one published as best most
        often.
    """
    sign = {"lowest": 1.0, "highest": -1.0}.get(direction)
    able = cells[(cells["n"] >= COMPARABLE) & cells["printed_mean"].notna()]
    if sign is None or able["label"].nunique() < _FEWEST_METHODS:
        return None
    able = able.assign(ours=sign * able["mean"] / able["scale"], theirs=sign * able["printed_mean"])
    settings = [own for _, own in able.groupby("setting", sort=False) if len(own) > 1]
    winners = [own.loc[own["theirs"].idxmin()] for own in settings]
    labels = [winner["label"] for winner in winners]
    method = method or max(dict.fromkeys(labels), key=labels.count)
    leads = [_ahead(own, method) for own in settings if (own["label"] == method).any()]
    if not leads:
        return None
    ours, published = map(fmean, zip(*leads, strict=True))
    if published <= 0:  # another method is best in every setting, so that none leads
        return None
    kept = sum(winner["best"] != "" for winner in winners)
    return Lead(method, ours, published, kept, len(settings))


def _ahead(setting: pd.DataFrame, method: str) -> tuple[float, float]:
    """Return how far the method is ahead in one setting, in ours and as published."""
    is_own, sides = setting["label"] == method, setting[["ours", "theirs"]]
    ours, theirs = sides[~is_own].min() - sides[is_own].min()
    return float(ours), float(theirs)


def answer(cells: pd.DataFrame, item: Item | None, score: Mapping[str, Any]) -> str:
    """Return the answer of one table.

    Parameters
    ----------
    cells : DataFrame
        The cells of the table with a verdict, in all variants.
    item : Item or None
        It says which value is best and in which unit.
    score : mapping
        The table's row of :func:`fedmix.cells.scorecard.score_tables`: its role and counts.
    """
    if cells["verdict"].isin([NOT_JUDGED]).all():
        return "Run times are noted and not judged."
    if not score["role"]:
        return "Not run yet."
    if cells["verdict"].isin([STAND_IN, NOT_RUN]).all():
        return "Not compared: other data stand in for the paper's."
    direction, unit = (item.direction, item.unit) if item else ("none", "")
    counted = cells[cells["role"] == score["role"]]
    found = lead_of(counted, direction)
    parts = [] if found is None else [_order(found, unit)]
    parts += [_values(cells, score), _same(score, unit)]
    if found:
        parts += _dependence(cells, score["role"], found, direction, unit)
    parts += [*_text_says_no(cells, score["role"]), *_assigned_once(counted)]
    return " ".join(part for part in parts if part)


def _order(lead: Lead, unit: str) -> str:
    share = f" in {lead.kept} of {lead.settings} settings" if lead.kept < lead.settings else ""
    order = f"The order holds{share}" if lead.kept else "The order does not hold"
    published = _amount(lead.published, unit)
    if lead.ours <= 0:
        behind = _amount(-lead.ours, unit)
        return (
            f"{order}: {lead.method} is {behind} behind where a lead of {published} is published."
        )
    low, high = _SAME_SIZE
    ratio = lead.ours / lead.published
    size = (
        "its size too"
        if low <= ratio <= high
        else "the size in part"
        if ratio < low
        else ("and more than its size")
    )
    ours = _amount(lead.ours, unit)
    return f"{order}, {size}: {lead.method} leads by {ours} where {published} are published."


def _values(cells: pd.DataFrame, score: Mapping[str, Any]) -> str:
    """Return a sentence on the counts, beside those expected of an exact replication."""
    if any(score[name] for name in UNKNOWN):
        return f"Nobody knows how the table was made; {_nearest(cells, score)}."
    agreeing = sum(score[name] for name in (*AGREEING, NONE_DIFFERS))
    open_ = score[UNDECIDED] + score[CANNOT_DECIDE] + score[AGREES_IN_MEAN]
    total = agreeing + open_ + score[DIFFERS]
    expected = sum(score[f"expected: {name}"] for name in AGREEING)
    return (
        f"{agreeing} of {total} values agree, where {expected:.0f} of an exact replication would "
        f"be expected to; {score[DIFFERS]} differ and {open_} are open."
    )


def _nearest(cells: pd.DataFrame, score: Mapping[str, Any]) -> str:
    """Say how near the nearest protocol comes to a table's published values."""
    own = cells[cells["role"] == nearest_role(cells, score["role"])]
    near, open_, far = (score[name] for name in UNKNOWN)
    in_mean = int(own["verdict"].eq(AGREES_IN_MEAN).sum())
    told = f" ({in_mean} of them in mean only)" if in_mean else ""
    return (
        f"the nearest protocol, on replications that did not choose it, is {distance(own):.2f} "
        f"published standard deviations away: of {near + open_ + far} values it agrees with "
        f"{near}{told} and differs from {far}"
    )


def _same(score: Mapping[str, Any], unit: str) -> str:
    """Return a sentence on the values that are the same in substance."""
    if not score["compared"]:
        return ""
    verb = "is" if score["other"] == 1 else "are"
    return (
        f"To within {_amount(score['margin'], unit)}, {score['same']} of {score['compared']} "
        f"values are the same and {score['other']} {verb} not."
    )


def _dependence(
    cells: pd.DataFrame, role: str, lead: Lead, direction: str, unit: str
) -> Iterator[str]:
    """Yield a sentence on the lead in the other variants that count."""
    told = []
    for other, words in _IN_WORDS.items():
        own = lead_of(cells[cells["role"] == other], direction, lead.method)
        if other == role or own is None:
            continue
        told.append(f"{words} {_in_variant(own, lead, unit)}")
    if told:
        yield f"The lead depends on how it is run: {', '.join(told)}."


def _in_variant(own: Lead, counted: Lead, unit: str) -> str:
    if own.ours > 0:
        return f"it is {_amount(own.ours, unit)}"
    if counted.ours > 0:
        return "it is gone"
    return f"{own.method} is {_amount(-own.ours, unit)} behind"


def _text_says_no(cells: pd.DataFrame, role: str) -> Iterator[str]:
    text = cells[(cells["role"] == WRITTEN) & ~cells["verdict"].isin([NOT_RUN, STAND_IN])]
    differing = int(text["verdict"].eq(DIFFERS).sum())
    if role != WRITTEN and 2 * differing > len(text):
        yield f"The text's own variant says no: it differs from {differing} of {len(text)} values."


def _assigned_once(cells: pd.DataFrame) -> Iterator[str]:
    """Yield whether the published spread is that within one partition draw, or over many.

    That a paper draws its partition once is an inference. If it drew one in each replication, its
    standard deviations would include the variance between draws.
    """
    import numpy as np

    own = cells[(cells["draws_sd"] > 0) & (cells["sd"] > 0) & (cells["printed_sd"] > 0)]
    if own.empty:
        return
    once = own["sd"] / own["scale"]
    anew = np.hypot(once, own["draws_sd"])
    nearer = np.log(own["printed_sd"] / once).abs() < np.log(own["printed_sd"] / anew).abs()
    speaks = "one partition draw" if 2 * nearer.sum() > len(own) else "a draw in each replication"
    yield (
        f"The published standard deviations speak for {speaks}: they are nearer to those within "
        f"one draw in {nearer.sum()} of {len(own)} values."
    )


def _amount(value: float, unit: str) -> str:
    return f"{value:.1f} points" if unit == "percent" else f"{value:.2g}"

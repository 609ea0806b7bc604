"""The answer of a published table in a few sentences, written from its numbers.

They say whether the method published as best is best in ours, by how much it leads, and how many
values agree. More sentences say how the other variants differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from fedmix.cells.frame import BEST
from fedmix.cells.items import SIGN, Item
from fedmix.cells.verdicts import (
    AGREEING,
    AGREES_IN_MEAN,
    CANNOT_DECIDE,
    COMPARABLE,
    DIFFERS,
    INFERRED,
    NEAR,
    NONE_DIFFERS,
    NOT_JUDGED,
    NOT_RUN,
    SEARCHED,
    SOURCES,
    STAND_IN,
    UNDECIDED,
    UNKNOWN,
    WRITTEN,
    distance,
    headline,
)

_FEWEST_METHODS = 3


@dataclass(frozen=True)
class Lead:
    """How far one method is ahead of the best of the others, on average over a table's settings."""

    #: The method that is best in most of the table's settings, as published.
    method: str
    #: Positive where it is ahead, in the published unit.
    ours: float
    published: float
    #: Settings in which the method published as best is best or tied in ours; all; those in which
    #: it is best.
    kept: int
    settings: int
    best: int


def lead_of(cells: pd.DataFrame, direction: str, method: str = "") -> Lead | None:
    """Return a table's lead in one variant; None where no method leads as published.

    ``cells`` are those of the variant, and ``direction`` says which published value is best.
    ``method`` is the label of the method whose lead is measured; by default the one published as
    best most often.
    """
    sign = SIGN.get(direction)
    able = cells[(cells["n"] >= COMPARABLE) & ~cells["is_stand_in"] & cells["printed_mean"].notna()]
    if sign is None or able["label"].nunique() < _FEWEST_METHODS:
        return None
    able = able.assign(ours=sign * able["mean"] / able["scale"], theirs=sign * able["printed_mean"])
    settings = [
        own  # where the method published as best has values of ours
        for _, own in able.groupby("setting", sort=False)
        if len(own) > 1 and own["theirs"].min() == (sign * _published_beside(cells, own)).min()
    ]
    if not settings:
        return None
    winners = [own.loc[own["theirs"].idxmin()] for own in settings]
    labels = [winner["label"] for winner in winners]
    method = method or max(dict.fromkeys(labels), key=labels.count)
    leads = []
    for own in settings:
        is_own, sides = own["label"] == method, own[["ours", "theirs"]]
        if is_own.any():
            leads.append(sides[~is_own].min() - sides[is_own].min())
    if not leads:
        return None
    ours, published = map(fmean, zip(*leads, strict=True))
    if published <= 0:  # another method is best in every setting, so that none leads
        return None
    kept = sum(winner["best"] != "" for winner in winners)
    best = sum(winner["best"] == BEST for winner in winners)
    return Lead(method, ours, published, kept, len(settings), best)


def _published_beside(cells: pd.DataFrame, own: pd.DataFrame) -> pd.Series:
    """Return the published values of the setting of some cells, whose methods have one axis.

    That of a method that was not run has no setting of ours, but it has a row and a column.
    """
    axis = "row" if own["row"].nunique() == 1 else "column"
    return cells.loc[cells[axis] == own[axis].iloc[0], "printed_mean"]


def answer(cells: pd.DataFrame, item: Item | None, score: Mapping[str, Any]) -> dict[str, str]:
    """Return the ``answer`` of one table, and ``more`` sentences, which may be empty.

    ``cells`` are those of the table with a verdict, in all variants. ``score`` is its row of
    :func:`fedmix.cells.scorecard.score_tables`.
    """
    if cells["verdict"].isin([NOT_JUDGED]).all():
        return {"answer": "Run times are noted and not judged.", "more": ""}
    if not score["role"]:
        return {"answer": "Not run yet.", "more": ""}
    counted = cells[cells["role"] == score["role"]]
    if counted["verdict"].isin([STAND_IN, NOT_RUN]).all():
        why = f"no replication of variant {_name(counted)} has finished"
        if counted["verdict"].eq(STAND_IN).any():
            why = "other data stand in for the paper's"
        return {"answer": f"Not compared: {why}.", "more": ""}
    direction, unit = (item.direction, item.unit) if item else ("none", "")
    found = lead_of(counted, direction)
    is_unknown = any(score[name] for name in UNKNOWN)
    parts = [_order(found, unit)] if found else []
    parts += [_not_reported(cells), _nearest(counted, score)] if is_unknown else [_values(score)]
    more = []
    if found and is_unknown:
        own = counted[counted["label"] == found.method]
        more.append(f"For {found.method} alone, this protocol {_agreement(own)}.")
    more.append(_same(score, unit))
    if found:
        more.append(_elsewhere(cells, score["role"], found, direction, unit))
    more += [_text_says_no(cells, score["role"]), _assigned_once(counted)]
    return {"answer": " ".join(filter(None, parts)), "more": " ".join(filter(None, more))}


def _order(lead: Lead, unit: str) -> str:
    settings = f"{lead.settings} setting" + "s" * (lead.settings > 1)
    tied = lead.kept - lead.best
    more = f". In {tied} more no test finds a better one" if tied else ""
    return (
        f"The method published as best has the best mean in {lead.best} of {settings}{more}. "
        f"On average {lead.method} is {_ahead_or_behind(lead, unit)}, "
        f"where a lead of {_amount(lead.published, unit)} is published."
    )


def _ahead_or_behind(lead: Lead, unit: str) -> str:
    if lead.ours == 0:
        return "level with the best other method"
    return f"{_amount(abs(lead.ours), unit)} {'ahead' if lead.ours > 0 else 'behind'}"


def _values(score: Mapping[str, Any]) -> str:
    """Return a sentence on the counts, beside those expected of an exact replication."""
    agreeing = sum(score[name] for name in (*AGREEING, NONE_DIFFERS))
    undecided, never = score[UNDECIDED] + score[AGREES_IN_MEAN], score[CANNOT_DECIDE]
    differ, total = score[DIFFERS], agreeing + undecided + never + score[DIFFERS]
    return (
        f"{agreeing} of {total} values agree. {_expected(score)} {differ or 'None'} "
        f"differ{'s' * (differ < 2)}{_open(undecided, never)}."
    )


def _expected(score: Mapping[str, Any]) -> str:
    n = sum(score[f"expected: {name}"] for name in AGREEING)
    return f"An exact replication would be expected to agree with {n:.0f}."


def _not_reported(cells: pd.DataFrame) -> str:
    """Say why a table's protocol is unknown."""
    role = headline(cells["role"])
    if role == INFERRED:
        return "The paper does not report how the table was made."
    own = cells[cells["role"] == role]
    return f"Variant {_name(own)} {_agreement(own)}."


def _nearest(cells: pd.DataFrame, score: Mapping[str, Any]) -> str:
    """Say how near the nearest protocol comes to a table's published values."""
    origin = "The nearest protocol that we know is inferred from published values."
    if not cells["role"].eq(INFERRED).all():
        n = cells["n"].max()
        origin = f"The protocol that our search chose was tested on {n} new replications."
    drawn = ", on one draw of the data" if (cells["draws_sd"] > 0).any() else ""
    return (
        f"{origin} It is {distance(cells):.2f} published standard deviations away{drawn}. "
        f"It {_agreement(cells)}. {_expected(score)}"
    )


def _agreement(cells: pd.DataFrame) -> str:
    agree, differ = cells["verdict"].isin(NEAR).sum(), cells["verdict"].eq(DIFFERS).sum()
    in_mean = cells["verdict"].eq(AGREES_IN_MEAN).sum()
    note = f" ({'' if in_mean == agree else f'{in_mean} of them '}in mean only)" if in_mean else ""
    undecided, never = (cells["verdict"].eq(name).sum() for name in (UNDECIDED, CANNOT_DECIDE))
    return (
        f"agrees with {agree} of {len(cells)} values{note} and differs from {differ}"
        f"{_open(undecided, never)}"
    )


def _open(undecided: int, never: int) -> str:
    """Return the end of a sentence on the values that are not decided, or nothing."""
    parts = [f"{_are(undecided)} undecided"] if undecided else []
    parts += [f"{never} cannot be decided by more runs unless our means change"] if never else []
    return f"; {' and '.join(parts)}" if parts else ""


def _same(score: Mapping[str, Any], unit: str) -> str:
    """Return a sentence on the values that are the same in substance."""
    if not score["compared"]:
        return ""
    left = score["compared"] - score["same"] - score["other"]
    return (
        f"To within {_amount(score['margin'], unit)}, {score['same']} of {score['compared']} "
        f"values {'is' if score['same'] == 1 else 'are'} the same, {_are(score['other'])} not "
        f"and {_are(left)} undecided."
    )


def _elsewhere(cells: pd.DataFrame, role: str, lead: Lead, direction: str, unit: str) -> str:
    """Return a sentence on the lead in the other variants that have a role."""
    leads = []
    for other in (name for name in SOURCES if name != role):
        own = cells[cells["role"] == other]
        found = lead_of(own, direction, lead.method)
        if found:
            leads.append(f"{_ahead_or_behind(found, unit)} ({_name(own)})")
    return f"In other variants {lead.method} is {', '.join(leads)}." if leads else ""


def _text_says_no(cells: pd.DataFrame, role: str) -> str:
    text = cells[(cells["role"] == WRITTEN) & ~cells["verdict"].isin([NOT_RUN, STAND_IN])]
    differing = int(text["verdict"].eq(DIFFERS).sum())
    if role == WRITTEN or 2 * differing <= len(text):
        return ""
    return f"Variant {_name(text)} differs from {differing} of {len(text)} values."


def _name(cells: pd.DataFrame) -> str:
    return str(cells["variant"].iloc[0]).replace("_", " ")


def _assigned_once(cells: pd.DataFrame) -> str:
    """Say whether most published spreads are those within one draw, or over many.

    That a paper draws something once is an inference. If it drew it in each replication, its
    standard deviations would include the variance between draws. A search draws partitions anew.
    """
    able = cells[(cells["sd"] > 0) & (cells["printed_sd"] > 0) & (cells["role"] != SEARCHED)]
    own = able[able["draws_sd"] > 0]
    if 2 * len(own) <= len(able):
        return ""
    once = own["sd"] / own["scale"]
    anew = np.hypot(once, own["draws_sd"])
    nearer = np.log(own["printed_sd"] / once).abs() < np.log(own["printed_sd"] / anew).abs()
    n = int(nearer.sum())
    return (
        f"The published standard deviation is nearer to ours within one draw in {n} of "
        f"{len(own)} values, and nearer to ours over many draws in {len(own) - n}."
    )


def _are(n: int) -> str:
    return f"{n} {'is' if n == 1 else 'are'}"


def _amount(value: float, unit: str) -> str:
    return f"{value:.1f} points" if unit == "percent" else f"{value:.2g}"

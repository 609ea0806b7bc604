"""Predicates about what a theorem predicts: exponents, knees, and what its condition promises."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log, sqrt
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from fedmix.cells.effects import Effect, Finding, knee, share_effect
from fedmix.cells.effects import exponent as exponent_of
from fedmix.cells.predicates import (
    Check,
    Column,
    MethodName,
    MethodNames,
    MetricName,
    Share,
    check,
    predicate,
)
from fedmix.cells.trends import groups_by, means_along, methods_of

if TYPE_CHECKING:
    from fedmix.cells.evidence import Evidence, Place

Ratio = Annotated[float, Field(gt=0)]


@predicate
def scales(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodNames,
    along: Column,
    exponent: float,
    tolerance: Share = 0.1,
    at_most: bool = False,
    above_zero: bool = False,
    per: Column | None = None,
) -> Iterator[Check]:
    """Check that a score goes as a power of a setting's value: the slope of the log of its means.

    Parameters
    ----------
    evidence, places, metric, method, along, per
        As of :func:`fedmix.cells.trends.trend`.
    exponent : float
        The power that theory has.
    tolerance : float
        By how much the slope may differ; a tenth by default, for logarithms that a rate leaves out
        bend it by about as much.
    at_most : bool
        Whether theory bounds the power from above: an error may fall faster, or grow more slowly.
    above_zero : bool
        Whether it is what adds, in squares, to the mean score where the setting's value is 0.
    """
    for label, group in groups_by(places, along, per):
        for name in methods_of(evidence, group, method):
            xs, effects = means_along(evidence, group, name, metric, along)
            base = effects[0] if above_zero and xs and xs[0] == 0 else None
            if not xs or (above_zero and base is None):
                continue
            found = exponent_of(xs, effects, base)
            if found is None:
                continue
            off = Effect(found.mean - exponent, found.se, found.n)
            finding = Finding.below(off, tolerance) if at_most else Finding.within(off, tolerance)
            bound = "at most " if at_most else ""
            detail = f"slope {found.with_interval()}, predicted {bound}{exponent:g}"
            yield check(group[0], f"{label}{name}", finding, detail)


@predicate
def knee_moves(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    along: Column,
    column: Column,
    at: Any,
    than: Any,
    ratio: Ratio,
    factor: Ratio = 1.5,
) -> Iterator[Check]:
    """Check by what ratio the knee of a rising score moves between two values of a setting.

    The knee is where the score has done half of its way along ``along``.

    Parameters
    ----------
    evidence, places, metric, method
        As of :func:`fedmix.cells.trends.trend`.
    along : str
        The setting's column on the x axis.
    column, at, than
        The other column and its two values.
    ratio : float
        The knee at the first over that at the second, as theory has it.
    factor : float
        By how much the ratio may be off, up or down.
    """
    knees = []
    for value in (at, than):
        group = [place for place in places if place.has({column: value})]
        xs, effects = means_along(evidence, group, method, metric, along)
        knees.append(knee(xs, effects) if len(xs) > 1 else None)
    one, other = knees
    if one is None or other is None:
        return
    moved = Effect(one.mean - other.mean, sqrt(one.se**2 + other.se**2), min(one.n, other.n))
    off = Effect(moved.mean - log(ratio), moved.se, moved.n)
    detail = (
        f"knee at {along} {exp(one.mean):.3g} and {exp(other.mean):.3g}, ratio "
        f"{exp(moved.mean):.3g}, predicted {ratio:.3g}"
    )
    yield check(
        places[0], f"{column} {at} against {than}", Finding.within(off, log(factor)), detail
    )


@predicate
def promised(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    condition: MetricName,
    method: MethodName,
    share: Share = 0.9,
) -> Iterator[Check]:
    """Check that a score is 1 in more than a share of the replications where its condition is 1.

    Settings in which the condition never holds are passed over: nothing is promised there.
    """
    for place in places:
        held = evidence.values(place, method, condition)
        kept = evidence.values(place, method, metric).reindex(held.index[held == 1]).dropna()
        if len(kept):
            detail = f"{int(kept.sum())} of {len(kept)} replications where {condition} holds"
            found = Finding.above(share_effect(kept.to_numpy() == 1, share))
            yield check(place, place.setting, found, detail)


@predicate
def breaks(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    condition: MetricName,
    method: MethodName,
    share: Share = 0.1,
) -> Iterator[Check]:
    """Check that a score is 0 in more than a share of the replications where its condition is 0.

    It is the converse of :func:`promised`: that the condition is not far from needed.
    """
    for place in places:
        held = evidence.values(place, method, condition)
        kept = evidence.values(place, method, metric).reindex(held.index[held == 0]).dropna()
        if len(kept):
            failed = kept.to_numpy() == 0
            detail = f"{failed.sum()} of {len(kept)} replications where {condition} does not hold"
            yield check(place, place.setting, Finding.above(share_effect(failed, share)), detail)

"""Predicates about how a score moves along a setting's value."""

from __future__ import annotations

from collections.abc import Iterator
from math import log, sqrt
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from fedmix.cells.effects import Effect, Finding, all_of, bootstrap_effect, slope
from fedmix.cells.predicates import (
    Check,
    Column,
    MethodName,
    MethodNames,
    MetricName,
    Share,
    check,
    methods_at,
    predicate,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fedmix.cells.evidence import Evidence, Place


@predicate
def trend(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodNames,
    along: Column,
    direction: Literal["rising", "falling"],
    per: Column | None = None,
) -> Iterator[Check]:
    """Check that a score rises, or falls, along a setting's value (slope of the means).

    Parameters
    ----------
    evidence, places
        All results; the settings to look at.
    metric : str
        The score.
    method : str, list of str or "all"
        Each method is checked for itself.
    along : str
        The setting's column on the x axis.
    direction : {"rising", "falling"}
        What is claimed.
    per : str, optional
        Another column of the setting; one trend for each of its values.
    """
    for place, label, name, xs, effects in _series(evidence, places, metric, method, along, per):
        steep = slope(xs, effects)
        found = Finding.above(steep) if direction == "rising" else Finding.below(steep)
        detail = f"{metric} of {name}, slope in {along}: {steep}"
        yield check(place, f"{label}{name}", found, detail)


@predicate
def flat(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodNames,
    along: Column,
    tolerance: Share,
    per: Column | None = None,
) -> Iterator[Check]:
    """Check that a score's change over a setting's values is within a share of its mean.

    Parameters are those of :func:`trend`; ``tolerance`` is the share.
    """
    for place, label, name, xs, effects in _series(evidence, places, metric, method, along, per):
        steep = slope(xs, effects)
        reach = max(xs) - min(xs)
        bound = tolerance * abs(fmean(e.mean for e in effects)) / reach
        detail = f"{metric} of {name}, change over {along}: {steep.mean * reach:+.3g}"
        yield check(place, f"{label}{name}", Finding.within(steep, bound), detail)


@predicate
def grows_less(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    than: MethodNames,
    along: Column,
    factor: Share = 1.0,
    per: Column | None = None,
) -> Iterator[Check]:
    """Check that a score grows, first value to last, by a smaller factor than others'.

    Parameters are those of :func:`trend`; the growth may be up to ``factor`` times the other's.
    """
    import numpy as np

    for label, group in groups_by(places, along, per):
        growth = _log_growth(evidence, group, method, metric, along)
        findings, details = [], []
        for name in methods_of(evidence, group, than):
            other = _log_growth(evidence, group, name, metric, along)
            if name == method or growth is None or other is None:
                continue
            se = sqrt(growth.se**2 + other.se**2)
            difference = Effect(growth.mean - other.mean, se, min(growth.n, other.n))
            findings.append(Finding.below(difference, log(factor)))
            details.append(f"{np.exp(other.mean):.3g} for {name}")
        if findings:
            detail = f"growth {np.exp(growth.mean):.3g}, against {'; '.join(details)}"
            yield check(group[0], f"{label}{method}", all_of(findings), detail)


@predicate
def lower_at(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    column: Column,
    at: Any,
    than: Any,
    per: Column | None = None,
    relative_to: MethodName | None = None,
) -> Iterator[Check]:
    """Check that a score is lower at one value of a setting than at another (unpaired).

    With ``relative_to`` it is the logarithm of the score over that method's: settings of different
    difficulty can then be compared, and a few runs that failed do not decide alone.
    """
    for label, group in groups_by(places, column, per):
        effect = _between(evidence, group, metric, method, column, (at, than), relative_to)
        if effect:
            said = f"{metric} of {method}"
            if relative_to:
                said = f"log of {said} over that of {relative_to}"
            detail = f"{said} at {column} {at} minus at {than}: {effect}"
            yield check(group[0], label or method, Finding.below(effect), detail)


@predicate
def same_at(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    column: Column,
    at: Any,
    than: Any,
    tolerance: Share,
    per: Column | None = None,
) -> Iterator[Check]:
    """Check that a score differs by at most ``tolerance`` between two values of a setting."""
    for label, group in groups_by(places, column, per):
        effect = _between(evidence, group, metric, method, column, (at, than))
        if effect:
            detail = f"{metric} of {method} at {column} {at} minus at {than}: {effect}"
            yield check(group[0], label or method, Finding.within(effect, tolerance), detail)


@predicate
def falls_then_levels(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    first: MethodName,
    middle: MethodName,
    last: MethodName,
    tolerance: Share,
) -> Iterator[Check]:
    """Check that a score falls from the first method to the middle one, then stays level.

    The methods are one method at three values of a parameter. ``tolerance`` is the share of the
    middle mean that the rest of the way may differ by.
    """
    for place in places:
        start, turn, end = (evidence.score(place, n, metric) for n in (first, middle, last))
        if not (start and turn and end):
            continue
        drop, rest = turn.minus(start), end.minus(turn)
        if drop and rest:
            bound = tolerance * abs(turn.effect.mean)
            found = all_of([Finding.below(drop), Finding.within(rest, bound)])
            detail = f"{first} to {middle}: {drop}; {middle} to {last}: {rest}"
            yield check(place, place.setting, found, detail)


@predicate
def moves_more(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    than_metric: MetricName,
    method: MethodName,
    along: Column,
    per: Column | None = None,
) -> Iterator[Check]:
    """Check that one metric's means span a larger share of their average than another's.

    The error is a bootstrap's over replications, in which the two metrics stay together.
    """
    for label, group in groups_by(places, along, per):
        found = [_both(evidence, place, method, metric, than_metric) for place in group]
        samples = [values for values in found if len(values)]
        if len(samples) > 1:
            difference = bootstrap_effect(samples, _difference_of_spans)
            detail = f"relative span of {metric} minus that of {than_metric}: {difference}"
            yield check(group[0], label or method, Finding.above(difference), detail)


def _series(
    evidence: Evidence,
    places: list[Place],
    metric: str,
    method: str | list[str],
    along: str,
    per: str | None,
) -> Iterator[tuple[Place, str, str, list[float], list[Effect]]]:
    """Yield each group's first place and label, each method, its x values and means."""
    for label, group in groups_by(places, along, per):
        for name in methods_of(evidence, group, method):
            xs, effects = means_along(evidence, group, name, metric, along)
            if len(xs) > 1:
                yield group[0], label, name, xs, effects


def _both(
    evidence: Evidence, place: Place, method: str, metric: str, other: str
) -> NDArray[np.float64]:
    """Return two metrics of the replications that have both, (n, 2)."""
    import pandas as pd

    values = [evidence.values(place, method, name) for name in (metric, other)]
    return pd.concat(values, axis=1, join="inner").to_numpy(dtype=float)


def _difference_of_spans(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far means (..., settings, 2) reach by their average, the first less the second."""
    reach = means.max(axis=-2) - means.min(axis=-2)
    spans = reach / abs(means.mean(axis=-2))
    return spans[..., 0] - spans[..., 1]


def groups_by(places: list[Place], along: str, per: str | None) -> list[tuple[str, list[Place]]]:
    """Split places by the column ``per``; places without ``along`` are left out."""
    groups: dict[str, list[Place]] = {}
    for place in places:
        if along in place.values:
            label = "" if per is None else f"{place.values.get(per, '?')}: "
            groups.setdefault(label, []).append(place)
    return list(groups.items())


def methods_of(evidence: Evidence, group: list[Place], chosen: str | list[str]) -> list[str]:
    """Return the chosen methods that were run at any of some places."""
    return list(dict.fromkeys(m for p in group for m in methods_at(evidence, p, chosen)))


def means_along(
    evidence: Evidence, group: list[Place], method: str, metric: str, along: str
) -> tuple[list[float], list[Effect]]:
    """Return the values on the x axis, ascending, and the mean score at each."""
    found = [
        (float(place.values[along]), score.effect)
        for place in group
        if (score := evidence.score(place, method, metric))
    ]
    found.sort(key=lambda pair: pair[0])
    return [x for x, _ in found], [effect for _, effect in found]


def _log_growth(
    evidence: Evidence, group: list[Place], method: str, metric: str, along: str
) -> Effect | None:
    """Return log(last mean / first mean), its standard error by the delta method."""
    xs, effects = means_along(evidence, group, method, metric, along)
    if len(xs) < 2 or effects[0].mean <= 0 or effects[-1].mean <= 0:
        return None
    first, last = effects[0], effects[-1]
    se = sqrt((first.se / first.mean) ** 2 + (last.se / last.mean) ** 2)
    return Effect(log(last.mean / first.mean), se, min(first.n, last.n))


def _between(
    evidence: Evidence,
    group: list[Place],
    metric: str,
    method: str,
    column: str,
    values: tuple[Any, Any],
    relative_to: str | None = None,
) -> Effect | None:
    """Return the difference between two values of a setting; None if one was not run.

    With ``relative_to`` it is that of the logarithms of the scores over that method's.
    """
    pair = []
    for value in values:
        found = [p for p in group if p.has({column: value})]
        score = evidence.score(found[0], method, metric) if found else None
        reference = evidence.score(found[0], relative_to, metric) if found and relative_to else None
        if score and relative_to:
            ratio = score.over(reference) if reference else None
            score = ratio.log() if ratio else None
        if score is None:
            return None
        pair.append(score)
    return pair[0].apart_from(pair[1])

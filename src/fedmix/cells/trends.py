"""Predicates about how a score changes from setting to setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import exp, log
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from fedmix.cells.effects import Effect, Score, all_of, bootstrap_effect, knee, slope
from fedmix.cells.effects import exponent as exponent_of
from fedmix.cells.predicates import (
    Check,
    Column,
    MethodName,
    MethodNames,
    MetricName,
    Positive,
    Share,
    check,
    methods_at,
    predicate,
    score_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fedmix.cells.evidence import Evidence, Place

_KNEE_FACTOR = 1.5  # by which the ratio of two knees may be off


@predicate
def trend(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodNames,
    along: Column,
    direction: Literal["rising", "falling", "level"],
    tolerance: Share = 0.0,
    per: Column | None = None,
) -> Iterator[Check]:
    """Check that a score rises, falls or stays level along a setting's value.

    A score rises or falls if the slope of its means is positive or negative.

    Parameters
    ----------
    method : str, list of str or "all"
        The methods. Each is checked separately.
    along : str
        The setting's column on the x axis.
    direction : {"rising", "falling", "level"}
        What is claimed.
    tolerance : float
        A level score changes, from the smallest to the largest value, by no more than this share
        of its mean.
    per : str, optional
        Another column of the setting. Each of its values has a trend of its own.
    """
    for place, named, name, xs, effects in _series(evidence, places, metric, method, along, per):
        steep = slope(xs, effects)
        detail = f"{metric} of {name}, slope in {along}: {steep}"
        if direction == "level":
            reach = xs[-1] - xs[0]
            found = steep.within(tolerance * abs(fmean(e.mean for e in effects)) / reach)
            detail = f"{metric} of {name}, change over {along}: {steep.mean * reach:+.3g}"
        else:
            found = steep.above() if direction == "rising" else steep.below()
        yield check(place, named, found, detail)


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
    method, along, per
        As in :func:`trend`.
    exponent : float
        The power that theory predicts.
    tolerance : float, default=0.1
        By how much the slope may differ from ``exponent``. Rates leave out logarithms, which change
        the slope by about a tenth.
    at_most : bool, default=False
        Whether theory bounds the power from above: an error may fall faster, or grow more slowly.
    above_zero : bool, default=False
        Whether to look at the part of the score that comes on top of the mean score where the
        setting's value is 0: the root of the difference of their squares.
    """
    for place, named, _, xs, effects in _series(evidence, places, metric, method, along, per):
        found = exponent_of(xs, effects, above_zero)
        if found is not None:
            off = found - exponent
            finding = off.below(tolerance) if at_most else off.within(tolerance)
            bound = "at most " if at_most else ""
            detail = f"slope {found.with_interval()}, predicted {bound}{exponent:g}"
            yield check(place, named, finding, detail)


@predicate
def grows_less(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    than: MethodNames,
    along: Column,
    per: Column | None = None,
) -> Iterator[Check]:
    """Check that a score grows, first value to last, by a smaller factor than others'.

    The growths of two methods are compared as if they were independent. Both methods have the same
    data, so the interval is too wide where their scores vary together.

    The parameters are those of :func:`trend`.
    """
    for label, group in _groups(places, along, per):
        growth = _log_growth(evidence, group, method, metric, along)
        others = {
            name: other
            for name in _methods(evidence, group, than)
            if name != method
            if (other := _log_growth(evidence, group, name, metric, along))
        }
        if growth and others:
            found = all_of([(growth - other).below() for other in others.values()])
            told = "; ".join(f"{exp(other.mean):.3g} for {name}" for name, other in others.items())
            detail = f"growth {exp(growth.mean):.3g}, against {told}"
            yield check(group[0], _named(label, method), found, detail)


@predicate
def changes(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    column: Column,
    at: Any,
    than: Any,
    direction: Literal["lower", "higher", "same"],
    tolerance: Share = 0.0,
    per: Column | None = None,
    relative_to: MethodName | None = None,
    rounds_to: Share | None = None,
) -> Iterator[Check]:
    """Check that a score is lower, higher or the same at one value of a setting than at another.

    The two settings have different data, so the comparison is unpaired.

    Parameters
    ----------
    column, at, than
        The setting's column and its two values.
    direction : {"lower", "higher", "same"}
        What the claim says of the score at the value ``at``.
    tolerance : float
        Scores that differ by no more than this are the same.
    relative_to : str, optional
        Compare the logarithm of the ratio of the score to this method's score. Settings of
        different difficulty can then be compared, and a few runs with a large error do not decide
        alone.
    per, rounds_to
        As in :func:`trend` and :func:`fedmix.cells.comparisons.ordered`.
    """
    for label, group in _groups(places, column, per):
        one, other = (
            _at(evidence, group, {column: value}, metric, method, relative_to, rounds_to)
            for value in (at, than)
        )
        if not (one and other):
            continue
        effect = one.effect - other.effect
        what = metric if rounds_to is None else "rounds"
        said, where = f"{what} of {method} at {column} {at}", label or method
        if relative_to:
            said = f"log of {what} of {method} over that of {relative_to} at {column} {at}"
        elif rounds_to is not None:
            said, where = f"rounds of {method} at {at}", f"{at} against {than}"
        found = {
            "lower": effect.below(),
            "higher": effect.above(),
            "same": effect.within(tolerance),
        }
        yield check(group[0], where, found[direction], f"{said} minus at {than}: {effect}")


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
    ratio: Positive,
) -> Iterator[Check]:
    """Check by what ratio the knee of a rising score moves between two values of a setting.

    The knee is the value of ``along`` at which the score is halfway between its first and its last
    mean.

    Parameters
    ----------
    along : str
        The setting's column on the x axis.
    column, at, than
        The other column and its two values.
    ratio : float
        The knee at ``at`` divided by the knee at ``than``, as theory predicts it. The ratio found
        may be larger or smaller by up to a factor of 1.5.
    """
    knees = []
    for value in (at, than):
        group = [place for place in places if place.has({column: value})]
        xs, effects = _means(evidence, group, method, metric, along)
        knees.append(knee(xs, effects) if len(xs) > 1 else None)
    one, other = knees
    if one is None or other is None:
        return
    moved = one - other
    detail = (
        f"knee at {along} {exp(one.mean):.3g} and {exp(other.mean):.3g}, ratio "
        f"{exp(moved.mean):.3g}, predicted {ratio:.3g}"
    )
    found = (moved - log(ratio)).within(log(_KNEE_FACTOR))
    yield check(places[0], f"{column} {at} against {than}", found, detail)


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

    The error comes from a bootstrap over replications, which keeps the two metrics of a replication
    together.
    """
    import pandas as pd

    for label, group in _groups(places, along, per):
        samples = []
        for place in group:
            values = [evidence.values(place, method, name) for name in (metric, than_metric)]
            both = pd.concat(values, axis=1, join="inner")
            if len(both):
                samples.append(both.to_numpy(dtype=float))
        if len(samples) > 1:
            difference = bootstrap_effect(samples, _difference_of_spans)
            detail = f"relative span of {metric} minus that of {than_metric}: {difference}"
            yield check(group[0], label or method, difference.above(), detail)


def _series(
    evidence: Evidence,
    places: list[Place],
    metric: str,
    method: str | list[str],
    along: str,
    per: str | None,
) -> Iterator[tuple[Place, str, str, list[float], list[Effect]]]:
    """Yield first place, name in a check, method, ascending x and means, by group and method."""
    for label, group in _groups(places, along, per):
        for name in _methods(evidence, group, method):
            xs, effects = _means(evidence, group, name, metric, along)
            if len(set(xs)) > 1:
                yield group[0], _named(label, name), name, xs, effects


def _groups(places: list[Place], along: str, per: str | None) -> list[tuple[str, list[Place]]]:
    """Group places by the value of ``per``, and leave out places without ``along``."""
    groups: dict[str, list[Place]] = {}
    for place in places:
        if along in place.values:
            value = place.values.get(per, "?") if per else ""
            label = value if isinstance(value, str) else f"{per} {value:g}"
            groups.setdefault(label, []).append(place)
    return list(groups.items())


def _named(label: str, method: str) -> str:
    return f"{label}: {method}" if label else method


def _methods(evidence: Evidence, group: list[Place], chosen: str | list[str]) -> list[str]:
    """Return the chosen methods that were run at some place of a group."""
    return list(dict.fromkeys(m for p in group for m in methods_at(evidence, p, chosen)))


def _means(
    evidence: Evidence, group: list[Place], method: str, metric: str, along: str
) -> tuple[list[float], list[Effect]]:
    """Return the x values in ascending order, and the mean score at each."""
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
    """Return the logarithm of the last mean divided by the first."""
    _, effects = _means(evidence, group, method, metric, along)
    return effects[-1].log_over(effects[0]) if len(effects) > 1 else None


def _at(
    evidence: Evidence,
    group: list[Place],
    where: Mapping[str, Any],
    metric: str,
    method: str,
    relative_to: str | None,
    rounds_to: float | None,
) -> Score | None:
    """Return the score that :func:`changes` compares at one value; None if it was not run."""
    place = next((p for p in group if p.has(where)), None)
    if place is None:
        return None
    score = score_of(evidence, place, method, metric, rounds_to)
    if not score or not relative_to:
        return score
    reference = score_of(evidence, place, relative_to, metric, rounds_to)
    ratio = score.over(reference) if reference else None
    return ratio.log() if ratio else None


def _difference_of_spans(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first metric's span minus the second's; ``means`` has shape (..., settings, 2).

    A span is the largest mean minus the smallest, divided by the average over settings.
    """
    reach = means.max(axis=-2) - means.min(axis=-2)
    spans = reach / abs(means.mean(axis=-2))
    return spans[..., 0] - spans[..., 1]

"""Predicates about one setting: methods beside one another, beside a number, round by round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from fedmix.cells.effects import Effect, Finding, all_of, any_of, mean_effect, share_effect
from fedmix.cells.predicates import (
    Check,
    MethodName,
    MethodNames,
    MetricName,
    Part,
    Positive,
    Round,
    Share,
    check,
    methods_at,
    predicate,
    score_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.cells.evidence import Evidence, Place


@predicate
def ordered(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    direction: Literal["below", "above"],
    than: MethodNames,
    than_metric: MetricName | None = None,
    factor: Share = 1.0,
    margin: Share = 0.0,
    need: Literal["all", "any"] = "all",
    rounds_to: Share | None = None,
    targets: dict[str, float] | None = None,
) -> Iterator[Check]:
    """Check that a method's score is below, or above, that of others (paired).

    Parameters
    ----------
    metric, method : str
        The score, and the method that the claim is about.
    direction : {"below", "above"}
        The claimed side of the others.
    than : str, list of str or "all"
        The others. Methods that were not run are ignored.
    than_metric : str, optional
        The others' metric; ``metric`` by default.
    factor, margin : float
        The bound is ``factor`` times the others' score, eased by ``margin``. "Below half" is factor
        0.5; "not more than 0.05 above" is "below" with margin 0.05.
    need : {"all", "any"}
        Whether the claim must hold against all others or against one of them.
    rounds_to : float, optional
        Instead of the score, compare the rounds until it is this many times its final value.
    targets : dict, optional
        Data set -> the truth. Compare the distances to the truth. Settings of other data sets are
        ignored.
    """
    claimed = Effect.below if direction == "below" else Effect.above
    find = partial(claimed, bound=margin if direction == "below" else -margin)
    scale = "" if factor == 1.0 else f"{factor:g} × "
    for place in places:
        target = None if targets is None else targets.get(place.values.get("dataset", ""))
        if targets is not None and target is None:
            continue
        said = f"{metric} of {method} minus {scale}that of"
        if target is not None:
            said = f"distance to {target:g}, less that of"
        elif rounds_to is not None:
            said = f"rounds of {method} minus {scale}rounds of"
        others = [name for name in methods_at(evidence, place, than) if name != method]
        metrics = {method: metric} | dict.fromkeys(others, than_metric or metric)
        scores = {
            name: score if target is None else score.distance_to(target)
            for name, own in metrics.items()
            if (score := score_of(evidence, place, name, own, rounds_to))
        }
        ours = scores.pop(method, None)
        effects = {n: ours.minus(s.times(factor)) for n, s in scores.items()} if ours else {}
        yield from _checked(place, effects, find, said, all_of if need == "all" else any_of)


@predicate
def usually(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    direction: Literal["below", "above"],
    than: MethodName,
    factor: Share = 1.0,
    at_round: Round | None = None,
) -> Iterator[Check]:
    """Check that a method's score is below, or above, another's in most replications.

    Shares say more than means if a score has two modes, as when a start either succeeds or fails.

    Parameters
    ----------
    metric, method, direction, than, factor
        As in :func:`ordered`.
    at_round : int, optional
        Compare the scores in this round of the trajectories, not the final scores.
    """
    for place in places:
        ours, theirs = (_values(evidence, place, m, metric, at_round) for m in (method, than))
        difference = (ours - factor * theirs).dropna().to_numpy()
        if len(difference):
            count = int((difference < 0 if direction == "below" else difference > 0).sum())
            medians = f"{ours.median():.3g} and {theirs.median():.3g}"
            detail = f"in {count} of {len(difference)} replications; medians {medians}"
            found = share_effect(count, len(difference), 0.5).above()
            yield check(place, place.setting, found, detail)


@predicate
def similar(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodNames,
    to: MethodName,
    tolerance: Share,
) -> Iterator[Check]:
    """Check that scores equal a reference's up to a tolerance (an equivalence test, paired).

    Parameters
    ----------
    method : str, list of str or "all"
        The methods to compare with the reference, ``to``.
    tolerance : float
        The largest difference, as a share of the reference's mean, because scores differ in scale.
    """
    for place in places:
        reference = evidence.score(place, to, metric)
        if not reference:
            continue
        bound = tolerance * abs(reference.effect.mean)
        compared = {
            name: evidence.score(place, name, metric)
            for name in methods_at(evidence, place, method)
            if name != to
        }
        effects = {name: ours.minus(reference) for name, ours in compared.items() if ours}
        said = f"{metric} minus {to}'s, within ±{bound:.2g}:"
        yield from _checked(place, effects, partial(Effect.within, bound=bound), said)


@predicate
def between(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    low: float | None = None,
    high: float | None = None,
    targets: dict[str, float] | None = None,
) -> Iterator[Check]:
    """Check that a method's mean score lies between two bounds.

    With ``targets``, data set -> truth, the bounds are multiples of the truth: ``low=1.5`` means
    "at least 1.5 times the truth". Settings of other data sets are ignored.
    """
    for place in places:
        score = evidence.score(place, method, metric)
        unit = 1.0 if targets is None else targets.get(place.values.get("dataset", ""))
        if not score or unit is None:
            continue
        effect = score.effect
        findings = [effect.above(low * unit)] if low is not None else []
        findings += [effect.below(high * unit)] if high is not None else []
        detail = f"{metric} of {method}: {effect}" + (f", truth {unit:g}" if targets else "")
        yield check(place, place.setting, all_of(findings), detail)


@predicate
def fails(
    evidence: Evidence, places: list[Place], method: MethodName, share: Part = 0.1
) -> Iterator[Check]:
    """Check that more than a share of a method's replications diverge or fail."""
    for place in places:
        runs = evidence.runs(place, method)
        if runs:
            failed, total = runs
            found = share_effect(failed, total, share).above()
            yield check(place, place.setting, found, f"{failed} of {total} failed")


@predicate
def predicted(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    condition: MetricName,
    method: MethodName,
    share: Part,
    holds: bool = True,
) -> Iterator[Check]:
    """Check that a score equals its condition in more than a share of the replications.

    Score and condition are 0 or 1. Only the replications in which the condition equals ``holds``
    count. A setting without such replications is ignored, because nothing is predicted there.

    Parameters
    ----------
    condition : str
        The metric that is 1 where a theorem's condition holds.
    holds : bool, default=True
        Whether to look at replications in which the condition holds. False looks at the others: if
        the score is 0 there, the condition is close to necessary.
    """
    for place in places:
        held = evidence.values(place, method, condition)
        there = held.index[held == holds]
        scores = evidence.values(place, method, metric).reindex(there).dropna().to_numpy()
        if len(scores):
            count = int((scores == holds).sum())
            where = f"{condition} {'holds' if holds else 'does not hold'}"
            detail = f"{count} of {len(scores)} replications where {where}"
            found = share_effect(count, len(scores), share).above()
            yield check(place, place.setting, found, detail)


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

    The three are one method at three values of a parameter. The last mean may differ from the
    middle mean by the share ``tolerance`` of the middle mean.
    """
    for place in places:
        start, turn, end = (evidence.score(place, n, metric) for n in (first, middle, last))
        if not (start and turn and end):
            continue
        drop, rest = turn.minus(start), end.minus(turn)
        if drop and rest:
            bound = tolerance * abs(turn.effect.mean)
            found = all_of([drop.below(), rest.within(bound)])
            detail = f"{first} to {middle}: {drop}; {middle} to {last}: {rest}"
            yield check(place, place.setting, found, detail)


@predicate
def falls_by_round(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    rounds: Round,
    factor: Positive,
) -> Iterator[Check]:
    """Check that some rounds bring the score below ``factor`` times its start (geometrically)."""
    import numpy as np

    for place, logs in _log_paths(evidence, places, metric, method, rounds):
        change = (logs[rounds] - logs[0]).dropna()
        if change.empty:
            continue
        effect = mean_effect(change)
        detail = f"log of the ratio after {rounds} rounds: {effect}"
        yield check(place, place.setting, effect.below(np.log(factor)), detail)


@predicate
def slows_after(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    split: Annotated[Round, Field(ge=1)],
    until: Round,
) -> Iterator[Check]:
    """Check that the score keeps falling after a round, but more slowly than before it."""
    for place, logs in _log_paths(evidence, places, metric, method, until):
        early = (logs[split] - logs[0]) / split
        late = (logs[until] - logs[split]) / (until - split)
        change = (early - late).dropna()
        if change.empty:
            continue
        slower = mean_effect(change)
        falling = mean_effect(late.dropna())
        detail = f"log change a round: {early.mean():.3g} before, {late.mean():.3g} after"
        found = all_of([slower.below(), falling.below()])
        yield check(place, place.setting, found, detail)


def _checked(
    place: Place,
    effects: Mapping[str, Effect | None],
    find: Callable[[Effect], Finding],
    said: str,
    decide: Callable[[list[Finding]], Finding] = all_of,
) -> Iterator[Check]:
    """Yield a place's check from the effects by method; no check if no effect is known."""
    known = {name: effect for name, effect in effects.items() if effect}
    if known:
        listed = "; ".join(f"{name}: {effect}" for name, effect in known.items())
        found = decide([find(effect) for effect in known.values()])
        yield check(place, place.setting, found, f"{said} {listed}")


def _values(
    evidence: Evidence, place: Place, method: str, metric: str, at_round: int | None
) -> pd.Series:
    """Return the final scores, or those in a round, by replication (empty if there are none)."""
    import pandas as pd

    if at_round is None:
        return evidence.values(place, method, metric)
    path = evidence.path(place, method, metric)
    until = path.loc[:, path.columns <= at_round] if len(path) else path
    return pd.Series(dtype=float) if until.empty else until.iloc[:, -1]


def _log_paths(
    evidence: Evidence, places: list[Place], metric: str, method: str, until: int
) -> Iterator[tuple[Place, pd.DataFrame]]:
    """Yield the logarithm of a score by round, for each place with the round ``until``.

    It is missing where the score is 0, as the oracle's first error is.
    """
    import numpy as np

    for place in places:
        path = evidence.path(place, method, metric)
        if until in path:
            yield place, np.log(path.where(path > 0))

"""Predicates that compare methods with one another, or with a number, at one setting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from fedmix.cells.effects import all_of, any_of, mean_effect, paired_effect
from fedmix.cells.predicates import (
    Check,
    Column,
    MethodName,
    MethodNames,
    MetricName,
    Round,
    Share,
    methods_at,
    predicate,
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
    at_round: Round | None = None,
) -> Iterator[Check]:
    """Check that a method's score is below, or above, that of others (paired).

    Parameters
    ----------
    evidence, places
        All results; the settings to look at.
    metric, method : str
        The score and the method it is claimed of.
    direction : {"below", "above"}
        On which side of the others it is said to be.
    than : str, list of str or "all"
        The others; those that were not run are passed over.
    than_metric : str, optional
        The others' metric if it is not the same.
    factor, margin : float
        The bound is ``factor`` times the others' score, eased by ``margin``: "below half" is
        factor .5, "not more than .05 above" is below with margin .05.
    need : {"all", "any"}
        Whether it must hold against all others or against any one.
    at_round : int, optional
        Compare at this round of the trajectories rather than at the end.
    """
    for place in places:
        ours = _scores(evidence, place, method, metric, at_round)
        answers, details = [], []
        for name in methods_at(evidence, place, than):
            theirs = _scores(evidence, place, name, than_metric or metric, at_round)
            effect = paired_effect(ours, factor * theirs)
            if name != method and effect:
                below = direction == "below"
                answers.append(effect.below(margin) if below else effect.above(-margin))
                details.append(f"{name}: {effect}")
        if answers:
            scale = "" if factor == 1.0 else f"{factor:g} × "
            detail = f"{metric} of {method} minus {scale}that of {'; '.join(details)}"
            answer = (all_of if need == "all" else any_of)(answers)
            yield Check(place.variant, place.setting, answer, detail)


@predicate
def similar(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodNames,
    to: MethodName,
    tolerance: Share,
    absolute: bool = False,
) -> Iterator[Check]:
    """Check that scores equal a reference's up to a tolerance (an equivalence test, paired).

    Parameters
    ----------
    evidence, places
        All results; the settings to look at.
    metric : str
        The score.
    method : str, list of str or "all"
        Methods to compare with the reference.
    to : str
        The reference.
    tolerance : float
        Share of the reference's mean, or a difference if ``absolute``.
    absolute : bool
        False by default: scores differ in scale.
    """
    for place in places:
        reference = evidence.values(place, to, metric)
        bound = tolerance if absolute else tolerance * abs(reference.mean())
        answers, details = [], []
        for name in methods_at(evidence, place, method):
            effect = paired_effect(evidence.values(place, name, metric), reference)
            if name != to and effect:
                answers.append(effect.within(bound))
                details.append(f"{name}: {effect}")
        if answers:
            detail = f"{metric} minus {to}'s, within ±{bound:.2g}: {'; '.join(details)}"
            yield Check(place.variant, place.setting, all_of(answers), detail)


@predicate
def nearest(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    than: MethodNames,
    targets: dict[Any, float],
    by: Column = "dataset",
) -> Iterator[Check]:
    """Check that a method's score is nearer than others' to the truth (paired).

    ``targets`` gives the truth for each value of the setting's column ``by``.
    """
    for place in places:
        if place.values.get(by) not in targets:
            continue
        target = targets[place.values[by]]
        ours = (evidence.values(place, method, metric) - target).abs()
        answers, details = [], []
        for name in methods_at(evidence, place, than):
            effect = paired_effect(ours, (evidence.values(place, name, metric) - target).abs())
            if name != method and effect:
                answers.append(effect.below())
                details.append(f"{name}: {effect}")
        if answers:
            detail = f"distance to {target:g}, less that of {'; '.join(details)}"
            yield Check(place.variant, place.setting, all_of(answers), detail)


@predicate
def between(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    low: float | None = None,
    high: float | None = None,
    targets: dict[Any, float] | None = None,
    by: Column = "dataset",
) -> Iterator[Check]:
    """Check that a method's mean score lies between two bounds.

    With ``targets`` the bounds are shares of the truth at each value of the column ``by``:
    ``low=1.5`` says "at least half as many again as there are".
    """
    for place in places:
        values = evidence.values(place, method, metric)
        if not len(values) or (targets is not None and place.values.get(by) not in targets):
            continue
        unit = 1.0 if targets is None else targets[place.values[by]]
        effect = mean_effect(values)
        answers = [effect.above(low * unit)] if low is not None else []
        answers += [effect.below(high * unit)] if high is not None else []
        detail = f"{metric} of {method}: {effect}" + (f", truth {unit:g}" if targets else "")
        yield Check(place.variant, place.setting, all_of(answers), detail)


@predicate
def fails(
    evidence: Evidence, places: list[Place], method: MethodName, share: Share = 0.1
) -> Iterator[Check]:
    """Check that at least a share of a method's replications diverge or fail."""
    for place in places:
        if method not in evidence.methods(place):
            continue
        failed = evidence.n_failed(place, method)
        finished = [len(evidence.values(place, method, m)) for m in evidence.metrics(place, method)]
        total = failed + max(finished, default=0)
        answer = "yes" if failed >= share * total and failed else "no"
        yield Check(place.variant, place.setting, answer, f"{failed} of {total} failed")


def _scores(
    evidence: Evidence, place: Place, method: str, metric: str, at_round: int | None
) -> pd.Series:
    """Return final scores, or those of a round (of the last one, if there were fewer)."""
    if at_round is None:
        return evidence.values(place, method, metric)
    path = evidence.path(place, method, metric)
    if path.empty:
        return evidence.values(place, method, metric).iloc[:0]
    return path[min(at_round, path.columns.max())].dropna()

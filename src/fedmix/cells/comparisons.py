"""Predicates that compare methods with one another, or with a number, at one setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from fedmix.cells.effects import (
    Effect,
    Finding,
    Replications,
    Score,
    all_of,
    any_of,
    share_effect,
)
from fedmix.cells.predicates import (
    Check,
    Column,
    MethodName,
    MethodNames,
    MetricName,
    Round,
    Share,
    check,
    methods_at,
    predicate,
)

if TYPE_CHECKING:
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
    claimed = Finding.below if direction == "below" else Finding.above
    find = partial(claimed, bound=margin if direction == "below" else -margin)
    scale = "" if factor == 1.0 else f"{factor:g} × "
    said = f"{metric} of {method} minus {scale}that of"
    for place in places:
        ours = _score(evidence, place, method, metric, at_round)
        others = _others(evidence, place, method, than, than_metric or metric, at_round)
        effects = {n: ours.minus(theirs.times(factor)) for n, theirs in others.items() if ours}
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
    share: Share = 0.5,
    at_round: Round | None = None,
) -> Iterator[Check]:
    """Check that a method's score is below, or above, another's in most replications.

    Shares say more than means where a score has two modes, such as a start that arrives or not.

    Parameters
    ----------
    evidence, places, metric, method, direction, factor, at_round
        As of :func:`ordered`.
    than : str
        The other method.
    share : float
        More of the replications than this, half of them by default.
    """
    for place in places:
        ours = _score(evidence, place, method, metric, at_round)
        theirs = _score(evidence, place, than, metric, at_round)
        if not (isinstance(ours, Replications) and isinstance(theirs, Replications)):
            continue
        ratio = (ours.values - factor * theirs.values).dropna().to_numpy()
        if len(ratio):
            flags = ratio < 0 if direction == "below" else ratio > 0
            medians = f"{ours.values.median():.3g} and {theirs.values.median():.3g}"
            detail = f"in {flags.sum()} of {len(flags)} replications; medians {medians}"
            found = Finding.above(share_effect(flags, share))
            yield check(place, place.setting, found, detail)


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
        reference = evidence.score(place, to, metric)
        if not reference:
            continue
        bound = tolerance if absolute else tolerance * abs(reference.effect.mean)
        compared = _others(evidence, place, to, method, metric)
        effects = {name: ours.minus(reference) for name, ours in compared.items()}
        said = f"{metric} minus {to}'s, within ±{bound:.2g}:"
        yield from _checked(place, effects, partial(Finding.within, bound=bound), said)


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
        ours = evidence.score(place, method, metric)
        if place.values.get(by) not in targets or not ours:
            continue
        target = targets[place.values[by]]
        others = _others(evidence, place, method, than, metric)
        effects = {
            name: ours.distance_to(target).minus(theirs.distance_to(target))
            for name, theirs in others.items()
        }
        said = f"distance to {target:g}, less that of"
        yield from _checked(place, effects, Finding.below, said)


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
        score = evidence.score(place, method, metric)
        if not score or (targets is not None and place.values.get(by) not in targets):
            continue
        unit = 1.0 if targets is None else targets[place.values[by]]
        effect = score.effect
        findings = [Finding.above(effect, low * unit)] if low is not None else []
        findings += [Finding.below(effect, high * unit)] if high is not None else []
        detail = f"{metric} of {method}: {effect}" + (f", truth {unit:g}" if targets else "")
        yield check(place, place.setting, all_of(findings), detail)


@predicate
def fails(
    evidence: Evidence, places: list[Place], method: MethodName, share: Share = 0.1
) -> Iterator[Check]:
    """Check that more than a share of a method's replications diverge or fail."""
    for place in places:
        runs = evidence.runs(place, method)
        if runs:
            failed, total = runs
            found = Finding.above(Effect(failed / total - share, 0.0, total))
            yield check(place, place.setting, found, f"{failed} of {total} failed")


def _others(
    evidence: Evidence,
    place: Place,
    method: str,
    chosen: str | list[str],
    metric: str,
    at_round: int | None = None,
) -> dict[str, Score]:
    """Return the scores of the chosen methods that were run, but one's own."""
    found = {
        name: _score(evidence, place, name, metric, at_round)
        for name in methods_at(evidence, place, chosen)
        if name != method
    }
    return {name: score for name, score in found.items() if score}


def _checked(
    place: Place,
    effects: Mapping[str, Effect | None],
    find: Callable[[Effect], Finding],
    said: str,
    decide: Callable[[list[Finding]], Finding] = all_of,
) -> Iterator[Check]:
    """Yield the check of a place from the effects by method; none if no effect is known."""
    known = {name: effect for name, effect in effects.items() if effect}
    if known:
        listed = "; ".join(f"{name}: {effect}" for name, effect in known.items())
        found = decide([find(effect) for effect in known.values()])
        yield check(place, place.setting, found, f"{said} {listed}")


def _score(
    evidence: Evidence, place: Place, method: str, metric: str, at_round: int | None
) -> Score | None:
    """Return the final score, or that of a round (of the last one, if there were fewer)."""
    if at_round is None:
        return evidence.score(place, method, metric)
    path = evidence.path(place, method, metric)
    return None if path.empty else Replications(path[min(at_round, path.columns.max())].dropna())

"""Predicates about the way a score falls from round to round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fedmix.cells.effects import Finding, all_of, mean_effect, paired_effect, unpaired_effect
from fedmix.cells.predicates import (
    Check,
    Column,
    MethodName,
    MetricName,
    Round,
    Share,
    check,
    predicate,
)

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.cells.evidence import Evidence, Place


@predicate
def falls_by_round(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    rounds: Round,
    factor: Share,
) -> Iterator[Check]:
    """Check that some rounds bring the score below ``factor`` times its start (geometrically)."""
    import numpy as np

    for place, logs in _log_paths(evidence, places, metric, method, rounds):
        change = (logs[rounds] - logs[0]).dropna()
        if change.empty:
            continue
        effect = mean_effect(change)
        detail = f"log of the ratio after {rounds} rounds: {effect}"
        yield check(place, place.setting, Finding.below(effect, np.log(factor)), detail)


@predicate
def slows_after(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    split: Round,
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
        found = all_of([Finding.below(slower), Finding.below(falling)])
        yield check(place, place.setting, found, detail)


@predicate
def faster_than(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    than: MethodName,
    level: Share,
) -> Iterator[Check]:
    """Check that a method reaches ``level`` times its final score in fewer rounds (paired)."""
    for place in places:
        paths = [evidence.path(place, name, metric) for name in (method, than)]
        if any(path.empty for path in paths):
            continue
        effect = paired_effect(*(_rounds_to(path, level) for path in paths))
        if effect:
            detail = f"rounds of {method} minus rounds of {than}: {effect}"
            yield check(place, place.setting, Finding.below(effect), detail)


@predicate
def slower_at(
    evidence: Evidence,
    places: list[Place],
    metric: MetricName,
    method: MethodName,
    column: Column,
    at: Any,
    than: Any,
    level: Share,
) -> Iterator[Check]:
    """Check that a method needs more rounds at one value of a setting than at another."""
    pair = []
    for value in (at, than):
        found = [p for p in places if p.has({column: value})]
        path = evidence.path(found[0], method, metric) if found else None
        if path is None or path.empty:
            return
        pair.append(_rounds_to(path, level))
    effect = unpaired_effect(*pair)
    if effect:
        detail = f"rounds of {method} at {at} minus at {than}: {effect}"
        yield check(places[0], f"{at} against {than}", Finding.above(effect), detail)


def _log_paths(
    evidence: Evidence, places: list[Place], metric: str, method: str, until: int
) -> Iterator[tuple[Place, pd.DataFrame]]:
    """Yield the logarithms of a score by round where a round was reached.

    They are missing where an error is 0, as the oracle's first one.
    """
    import numpy as np

    for place in places:
        path = evidence.path(place, method, metric)
        if until in path:
            yield place, np.log(path.where(path > 0))


def _rounds_to(path: pd.DataFrame, level: float) -> pd.Series:
    """Return the first round at or below ``level`` times the last score, by replication.

    A trajectory that ends early stays at its last score.
    """
    filled = path.ffill(axis=1)
    last = filled.iloc[:, -1]
    return filled.le(level * last, axis=0).idxmax(axis=1).astype(float)

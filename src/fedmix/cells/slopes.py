"""How a score scales: slopes of its logarithm, and where it turns."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

from fedmix.cells.effects import Effect

#: The confidence of the intervals that are shown; verdicts use that of their effects.
SHOWN = 0.95


def slope(xs: Sequence[float], effects: Sequence[Effect]) -> Effect:
    """Return the least-squares slope of means of different data, with its Monte-Carlo error.

    Parameters
    ----------
    xs : sequence of float
        Two different ones at least.
    effects : sequence of Effect
        The mean at each.
    """
    import numpy as np

    centred = np.asarray(xs) - np.mean(xs)
    weights = centred / np.sum(centred**2)
    mean = float(weights @ [e.mean for e in effects])
    variance = float(np.sum([(w * e.se) ** 2 for w, e in zip(weights, effects, strict=True) if w]))
    return Effect(mean, sqrt(variance), min(e.n for e in effects))


def exponent(
    xs: Sequence[float], effects: Sequence[Effect], above: Effect | None = None
) -> Effect | None:
    """Return the slope of the log of a score in the log of x: b of ``x^b``.

    Parameters
    ----------
    xs : sequence of float
        Those that are not positive have no logarithm and are left out.
    effects : sequence of Effect
        The mean score at each.
    above : Effect, optional
        What the score is taken above, such as its mean where x is 0: what adds to it in squares, as
        a bias does to noise. Means that do not exceed it are left out.

    Returns
    -------
    Effect or None
        None where fewer than two means are left.
    """
    if above is not None:
        effects = [_added(e, above) for e in effects]
    pairs = [(log(x), e.log()) for x, e in zip(xs, effects, strict=True) if x > 0]
    kept = [(x, e) for x, e in pairs if e is not None]
    if len(kept) < 2:
        return None
    return slope([x for x, _ in kept], [e for _, e in kept])


def _added(score: Effect, base: Effect) -> Effect:
    """Return what adds to ``base`` in squares to make ``score``; 0 where nothing does."""
    added = sqrt(max(score.mean**2 - base.mean**2, 0.0))
    if added == 0.0:
        return Effect(0.0, 0.0, min(score.n, base.n))
    se = sqrt((score.mean * score.se) ** 2 + (base.mean * base.se) ** 2) / added
    return Effect(added, se, min(score.n, base.n))


def knee(xs: Sequence[float], effects: Sequence[Effect]) -> Effect | None:
    """Return the log of the x at which a score has done half of its way, first mean to last.

    Between two values the score is taken to be linear in x. The error is that of the score there
    over its slope.

    Returns
    -------
    Effect or None
        None where the score does not rise, or comes past half of its way before the first positive
        x.
    """
    half = (effects[0].mean + effects[-1].mean) / 2
    if effects[-1].mean <= effects[0].mean:
        return None
    after = next(i for i, e in enumerate(effects) if e.mean >= half)
    one, two = effects[after - 1], effects[after]
    steep = (two.mean - one.mean) / (xs[after] - xs[after - 1])
    x = xs[after - 1] + (half - one.mean) / steep
    if x <= 0:
        return None
    ends = (effects[0].se ** 2 + effects[-1].se ** 2) / 4
    se = sqrt(max(one.se, two.se) ** 2 + ends) / steep
    return Effect(log(x), se / x, min(e.n for e in effects))


def with_interval(effect: Effect) -> str:
    """Return ``"-0.49 [-0.52, -0.46]"``: an estimate with its 95 % interval."""
    half = effect.half_width_at(SHOWN)
    return f"{effect.mean:.2f} [{effect.mean - half:.2f}, {effect.mean + half:.2f}]"

"""Effects: estimates with their Monte-Carlo error, and the conclusions they support.

Intervals are two-sided 99 % Student intervals: many comparisons stand behind one claim, and a
single false alarm among them would decide it. Methods that saw the same data are compared
replication by replication (paired).

Predicates compare scores, which are replications of ours (:class:`Replications`) or a mean in print
(:class:`PrintedMean`). Both give the difference from another score as an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Any

from fedmix.cells.verdicts import CLAIM_CONFIDENCE, SHOWN_CONFIDENCE

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import ArrayLike

    Statistic = Callable[[np.ndarray], np.ndarray]

YES, NO, UNCLEAR = "yes", "no", "unclear"
_RESAMPLES = 1000


@dataclass(frozen=True)
class Effect:
    """An estimated mean and its Monte-Carlo standard error.

    Effects are added and subtracted as estimates from different data: their errors add in squares.
    A number has no error.

    Parameters
    ----------
    mean, se : float
        ``se`` is infinite where one replication only leaves it unknown.
    n : int
        Replications behind it. Of two effects it is the smaller number, so that the degrees of
        freedom err on the safe side.
    """

    mean: float
    se: float
    n: int

    def __add__(self, other: Effect | float) -> Effect:
        if isinstance(other, Effect):
            se = sqrt(self.se**2 + other.se**2)
            return Effect(self.mean + other.mean, se, min(self.n, other.n))
        return replace(self, mean=self.mean + other)

    def __neg__(self) -> Effect:
        return replace(self, mean=-self.mean)

    def __sub__(self, other: Effect | float) -> Effect:
        return self + -other

    def __abs__(self) -> Effect:
        return replace(self, mean=abs(self.mean))

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return self.half_width_at(CLAIM_CONFIDENCE)

    def half_width_at(self, confidence: float) -> float:
        """Return half the width of an interval of another confidence, such as 0.95."""
        from scipy.special import stdtrit

        if self.se in (0.0, inf):
            return self.se
        return float(stdtrit(self.n - 1, (1 + confidence) / 2)) * self.se

    def log(self) -> Effect | None:
        """Return the logarithm, its error by the delta method; None unless the mean is positive."""
        return Effect(log(self.mean), self.se / self.mean, self.n) if self.mean > 0 else None

    def log_over(self, other: Effect) -> Effect | None:
        """Return the logarithm of the ratio to another effect; None unless both are positive."""
        if self.mean <= 0 or other.mean <= 0:
            return None
        se = sqrt((other.se / other.mean) ** 2 + (self.se / self.mean) ** 2)
        return Effect(log(self.mean / other.mean), se, min(self.n, other.n))

    def below(self, bound: float = 0.0) -> str:
        """Return whether the effect is below ``bound``: yes, no or unclear."""
        if self.mean + self.half_width < bound:
            return YES
        return NO if self.mean - self.half_width >= bound else UNCLEAR

    def above(self, bound: float = 0.0) -> str:
        """Return whether the effect is above ``bound``: yes, no or unclear."""
        return (-self).below(-bound)

    def within(self, bound: float) -> str:
        """Return whether the effect lies in ``[-bound, bound]``: yes, no or unclear."""
        low, high = self.mean - self.half_width, self.mean + self.half_width
        if -bound <= low and high <= bound:
            return YES
        return NO if low > bound or high < -bound else UNCLEAR

    def with_interval(self) -> str:
        """Return ``"-0.49 [-0.52, -0.46]"``: the estimate with its 95 % interval."""
        half = self.half_width_at(SHOWN_CONFIDENCE)
        return f"{self.mean:.2f} [{self.mean - half:.2f}, {self.mean + half:.2f}]"

    def __str__(self) -> str:
        spread = "" if self.se == inf else f" ± {self.half_width:.2g}"
        mean = round(self.mean, 12) + 0.0  # sums of equal numbers differ in their last digits
        return f"{mean:+.3g}{spread} (n={self.n})"


@dataclass(frozen=True)
class Finding:
    """What is found of one difference.

    Parameters
    ----------
    answer : {"yes", "no", "unclear"}
    margin : Effect
        How far it lies on the claimed side of the bound; below zero on the other side.
    """

    answer: str
    margin: Effect

    @classmethod
    def below(cls, effect: Effect, bound: float = 0.0) -> Finding:
        """Return whether an effect is below a bound."""
        return cls(effect.below(bound), -effect + bound)

    @classmethod
    def above(cls, effect: Effect, bound: float = 0.0) -> Finding:
        """Return whether an effect is above a bound."""
        return cls(effect.above(bound), effect - bound)

    @classmethod
    def within(cls, effect: Effect, bound: float) -> Finding:
        """Return whether an effect lies in ``[-bound, bound]``."""
        return cls(effect.within(bound), -abs(effect) + bound)


def all_of(findings: list[Finding]) -> Finding:
    """Return yes if every answer is yes, no if any is no, unclear otherwise; the least margin."""
    answers = [finding.answer for finding in findings]
    answer = NO if NO in answers else UNCLEAR if UNCLEAR in answers else YES
    return Finding(answer, min((f.margin for f in findings), key=lambda margin: margin.mean))


def any_of(findings: list[Finding]) -> Finding:
    """Return yes if any answer is yes, no if every one is no, unclear otherwise; the best one."""
    answers = [finding.answer for finding in findings]
    answer = YES if YES in answers else UNCLEAR if UNCLEAR in answers else NO
    return Finding(answer, max((f.margin for f in findings), key=lambda margin: margin.mean))


def mean_effect(values: pd.Series | np.ndarray) -> Effect:
    """Return the mean of replications with its standard error."""
    import numpy as np

    values = np.asarray(values, dtype=float)
    n = len(values)
    se = float(values.std(ddof=1)) / sqrt(n) if n > 1 else inf
    return Effect(float(values.mean()), se, n)


def paired_effect(a: pd.Series, b: pd.Series) -> Effect | None:
    """Return the mean of ``a - b`` over the replications both have; None if they share none."""
    import numpy as np

    shared, of_a, of_b = np.intersect1d(a.index, b.index, return_indices=True)
    return mean_effect(a.to_numpy()[of_a] - b.to_numpy()[of_b]) if len(shared) else None


def unpaired_effect(a: pd.Series, b: pd.Series) -> Effect | None:
    """Return the difference of two means of different data; None if one has no replication."""
    return mean_effect(a) - mean_effect(b) if len(a) and len(b) else None


def share_effect(flags: np.ndarray, share: float) -> Effect:
    """Return how far the share of true flags lies above ``share``.

    The interval is Agresti and Coull's, which stays honest where all flags are the same.
    """
    import numpy as np

    n = len(flags) + 4
    estimate = (np.sum(flags) + 2) / n
    return Effect(float(estimate) - share, sqrt(estimate * (1 - estimate) / n), len(flags))


def bootstrap_effect(samples: Sequence[np.ndarray], statistic: Statistic) -> Effect:
    """Return a statistic of several samples' means, with its error by a bootstrap.

    Parameters
    ----------
    samples : sequence of arrays of shape (n_i, ...)
        Replications in rows, each sample drawn for itself; what stands in a row stays together.
    statistic : callable
        From means (..., samples, ...) to a number for each of the first axes.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    drawn = [own[rng.integers(len(own), size=(_RESAMPLES, len(own)))].mean(1) for own in samples]
    n = min(map(len, samples))
    se = float(np.std(statistic(np.stack(drawn, axis=1)), ddof=1)) if n > 1 else inf
    return Effect(float(statistic(np.stack([own.mean(axis=0) for own in samples]))), se, n)


def weighted_effect(weights: ArrayLike, effects: Sequence[Effect]) -> Effect:
    """Return a weighted sum of effects of different data."""
    import numpy as np

    weights = np.asarray(weights)
    mean = float(weights @ [effect.mean for effect in effects])
    pairs = zip(weights, effects, strict=True)
    variance = float(np.sum([(weight * effect.se) ** 2 for weight, effect in pairs if weight]))
    return Effect(mean, sqrt(variance), min(effect.n for effect in effects))


def slope(xs: Sequence[float], effects: Sequence[Effect]) -> Effect:
    """Return the least-squares slope of means of different data.

    Parameters
    ----------
    xs : sequence of float
        Two different ones at least.
    effects : sequence of Effect
        The mean at each.
    """
    import numpy as np

    centred = np.asarray(xs) - np.mean(xs)
    return weighted_effect(centred / np.sum(centred**2), effects)


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


@dataclass(frozen=True)
class Replications:
    """Replications of a score.

    Parameters
    ----------
    values : Series
        Indexed by replication.
    """

    values: pd.Series

    @property
    def effect(self) -> Effect:
        """The mean with its error."""
        return mean_effect(self.values)

    def times(self, factor: float) -> Replications:
        """Return the score times a factor."""
        return Replications(factor * self.values)

    def distance_to(self, target: float) -> Replications:
        """Return the absolute distance to a number."""
        return Replications((self.values - target).abs())

    def log(self) -> Replications:
        """Return the logarithm."""
        import numpy as np

        return Replications(np.log(self.values))

    def over(self, other: Any) -> Replications | None:
        """Return the ratio in the replications that both have; None if they share none."""
        ratio = (self.values / other.values).dropna()
        return Replications(ratio) if len(ratio) else None

    def minus(self, other: Any) -> Effect | None:
        """Return the difference on the same data; None if they share no replication."""
        return paired_effect(self.values, other.values)

    def apart_from(self, other: Any) -> Effect | None:
        """Return the difference of means of different data."""
        return unpaired_effect(self.values, other.values)


@dataclass(frozen=True)
class PrintedMean:
    """A printed mean, in our unit.

    Parameters
    ----------
    mean, sd : float
    n : int
        Replications behind it.
    """

    mean: float
    sd: float
    n: int

    @property
    def effect(self) -> Effect:
        """The mean with its error."""
        return Effect(self.mean, self.sd / sqrt(self.n), self.n)

    def times(self, factor: float) -> PrintedMean:
        """Return the score times a factor."""
        return PrintedMean(factor * self.mean, factor * self.sd, self.n)

    def distance_to(self, target: float) -> PrintedMean:
        """Return the mean's absolute distance to a number; the spread is the mean's own."""
        return replace(self, mean=abs(self.mean - target))

    def log(self) -> PrintedMean:
        """Return the logarithm, its spread by the delta method."""
        import numpy as np

        return PrintedMean(float(np.log(self.mean)), self.sd / self.mean, self.n)

    def over(self, other: Any) -> PrintedMean | None:
        """Return the ratio of two means, its spread by the delta method."""
        ratio = self.mean / other.mean
        spread = sqrt((self.sd / self.mean) ** 2 + (other.sd / other.mean) ** 2)
        return PrintedMean(ratio, abs(ratio) * spread, min(self.n, other.n))

    def minus(self, other: Any) -> Effect | None:
        """Return the difference of two means; nothing is known of what pairs them."""
        return self.effect - other.effect

    apart_from = minus


Score = Replications | PrintedMean

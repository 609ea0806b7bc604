"""Scores, and effects: estimates with their Monte-Carlo error and the conclusions they support.

A score is replications of ours (:class:`Replications`) or a published mean (:class:`PrintedMean`).
Both return the difference from another score as an effect.

Intervals are two-sided 99 % Student intervals. The level is high because one claim needs many
comparisons, and a single false alarm among them would decide it. Methods that saw the same data are
compared replication by replication (paired).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
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

    Sums and differences assume effects of different data: the squares of their errors add up. A
    plain number has no error. A sum has the smaller ``n`` of its two effects, so that the degrees
    of freedom are not too large. A single replication has an infinite ``se``.
    """

    mean: float
    se: float
    n: int

    def __add__(self, other: Effect | float) -> Effect:
        if isinstance(other, Effect):
            se = sqrt(self.se**2 + other.se**2)
            return Effect(self.mean + other.mean, se, min(self.n, other.n))
        return Effect(self.mean + other, self.se, self.n)

    def __neg__(self) -> Effect:
        return Effect(-self.mean, self.se, self.n)

    def __sub__(self, other: Effect | float) -> Effect:
        return self + -other

    def __abs__(self) -> Effect:
        return Effect(abs(self.mean), self.se, self.n)

    @property
    def half_width(self) -> float:
        """Half the width of the 99 % interval."""
        return self.half_width_at(CLAIM_CONFIDENCE)

    def half_width_at(self, confidence: float) -> float:
        """Return half the width of the interval of a given confidence, such as 0.95."""
        return self.se if self.se in (0.0, inf) else _student(self.n, confidence) * self.se

    def log(self) -> Effect | None:
        """Return the log, with its error by the delta method; None if the mean is not positive."""
        return Effect(log(self.mean), self.se / self.mean, self.n) if self.mean > 0 else None

    def log_over(self, other: Effect) -> Effect | None:
        """Return the logarithm of the ratio to another effect; None unless both are positive."""
        if self.mean <= 0 or other.mean <= 0:
            return None
        se = sqrt((other.se / other.mean) ** 2 + (self.se / self.mean) ** 2)
        return Effect(log(self.mean / other.mean), se, min(self.n, other.n))

    def below(self, bound: float = 0.0) -> Finding:
        """Return whether the effect is below ``bound``."""
        low, high = self.mean - self.half_width, self.mean + self.half_width
        answer = YES if high < bound else NO if low >= bound else UNCLEAR
        return Finding(answer, -self + bound)

    def above(self, bound: float = 0.0) -> Finding:
        """Return whether the effect is above ``bound``."""
        return (-self).below(-bound)

    def within(self, bound: float) -> Finding:
        """Return whether the effect lies in ``[-bound, bound]``."""
        low, high = self.mean - self.half_width, self.mean + self.half_width
        outside = low > bound or high < -bound
        answer = YES if -bound <= low and high <= bound else NO if outside else UNCLEAR
        return Finding(answer, -abs(self) + bound)

    def with_interval(self) -> str:
        """Return ``"-0.49 [-0.52, -0.46]"``: the estimate, and its 95 % interval if it has one."""
        if self.se == inf:
            return f"{self.mean:z.2f}"
        half = self.half_width_at(SHOWN_CONFIDENCE)
        return f"{self.mean:z.2f} [{self.mean - half:z.2f}, {self.mean + half:z.2f}]"

    def __str__(self) -> str:
        spread = "" if self.se == inf else f" ± {_rounded(self.half_width, 2)}"
        mean = round(self.mean, 12) + 0.0  # sums of equal numbers differ in their last digits
        return f"{_rounded(mean, 3, '+')}{spread} (n={self.n})"


@cache
def _student(n: int, confidence: float) -> float:
    """Return how many standard errors of ``n`` replications lie in half an interval."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + confidence) / 2))


def _rounded(value: float, digits: int, sign: str = "-") -> str:
    """Return a number with some significant digits, or whole where it needs no more of them."""
    whole = abs(value) >= 10**digits - 0.5
    return f"{value:{sign},.0f}" if whole else f"{value:{sign}.{digits}g}"


@dataclass(frozen=True)
class Finding:
    """What one difference shows."""

    answer: str
    #: How far the effect lies on the claimed side of the bound; negative on the other side.
    margin: Effect


def all_of(findings: list[Finding]) -> Finding:
    """Return the worst finding: no if any is no, yes if all are yes, else unclear."""
    return min(findings, key=_rank)


def any_of(findings: list[Finding]) -> Finding:
    """Return the best finding: yes if any is yes, no if all are no, else unclear."""
    return max(findings, key=_rank)


def _rank(finding: Finding) -> tuple[int, float]:
    """Return the rank of a finding: by its answer and then by its margin."""
    return (NO, UNCLEAR, YES).index(finding.answer), finding.margin.mean


def mean_effect(values: pd.Series | np.ndarray) -> Effect:
    """Return the mean of replications with its standard error."""
    import numpy as np

    values = np.asarray(values, dtype=float)
    n = len(values)
    mean = float(values.sum()) / n  # not mean and std, whose checks take most of the time
    variance = float(((values - mean) ** 2).sum()) / (n - 1) if n > 1 else inf
    return Effect(mean, sqrt(variance) / sqrt(n), n)


def share_effect(count: int, n: int, share: float) -> Effect:
    """Return how far a share of ``count`` in ``n`` replications lies above ``share``.

    The interval is Agresti and Coull's, which has a positive width even if the count is 0 or n. A
    single replication has none.
    """
    estimate = (count + 2) / (n + 4)
    se = sqrt(estimate * (1 - estimate) / (n + 4)) if n > 1 else inf
    return Effect(estimate - share, se, n)


def resampled_means(sample: np.ndarray, times: int, rng: np.random.Generator) -> np.ndarray:
    """Return the means of a sample in a bootstrap, which draws whole rows: its replications."""
    return sample[rng.integers(len(sample), size=(times, len(sample)))].mean(axis=1)


def bootstrap_effect(samples: Sequence[np.ndarray], statistic: Statistic) -> Effect:
    """Return a statistic of the means of several samples, with its error by the bootstrap.

    A sample has one replication per row. Each is resampled separately, by whole rows. The statistic
    maps means of shape (..., samples, ...) to an array of the shape of the leading axes.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    drawn = [resampled_means(own, _RESAMPLES, rng) for own in samples]
    n = min(map(len, samples))
    se = float(np.std(statistic(np.stack(drawn, axis=1)), ddof=1)) if n > 1 else inf
    return Effect(float(statistic(np.stack([own.mean(axis=0) for own in samples]))), se, n)


def weighted_effect(weights: ArrayLike, effects: Sequence[Effect]) -> Effect:
    """Return a weighted sum of effects on different data."""
    import numpy as np

    weights = np.asarray(weights)
    mean = float(weights @ [effect.mean for effect in effects])
    counted = [(w, effect) for w, effect in zip(weights, effects, strict=True) if w]
    variance = float(np.sum([(weight * effect.se) ** 2 for weight, effect in counted]))
    return Effect(mean, sqrt(variance), min(effect.n for _, effect in counted))


def slope(xs: Sequence[float], effects: Sequence[Effect]) -> Effect:
    """Return the least-squares slope of means on different data, at two different xs or more."""
    import numpy as np

    centred = np.asarray(xs) - np.mean(xs)
    return weighted_effect(centred / np.sum(centred**2), effects)


def exponent(
    xs: Sequence[float], effects: Sequence[Effect], above_zero: bool = False
) -> Effect | None:
    """Return the slope of the log of a score in the log of x: the exponent b of ``x^b``.

    ``effects`` are the mean scores at ``xs``, which ascend. Values that are not positive have no
    logarithm and are left out. The result is None if fewer than two means are left. With
    ``above_zero`` the slope is that of ``sqrt(score^2 - base^2)``, where the base is the mean score
    at x = 0. Means that do not exceed it are left out, and without it the result is None.
    """
    if above_zero:
        if not xs or xs[0] != 0:
            return None
        effects = [_added(e, effects[0]) for e in effects]
    pairs = [(log(x), e.log()) for x, e in zip(xs, effects, strict=True) if x > 0]
    kept = [(x, e) for x, e in pairs if e is not None]
    return slope(*zip(*kept, strict=True)) if len(kept) > 1 else None


def _added(score: Effect, base: Effect) -> Effect:
    """Return ``sqrt(score^2 - base^2)``, with its error; 0 if ``score`` is below ``base``."""
    added = sqrt(max(score.mean**2 - base.mean**2, 0.0))
    if added == 0.0:
        return Effect(0.0, 0.0, min(score.n, base.n))
    se = sqrt((score.mean * score.se) ** 2 + (base.mean * base.se) ** 2) / added
    return Effect(added, se, min(score.n, base.n))


def knee(xs: Sequence[float], effects: Sequence[Effect]) -> Effect | None:
    """Return the log of the x at which a score is halfway between its first and its last mean.

    The score is interpolated linearly between two values of x. The error of x is the error of the
    score there, divided by the slope of the score. The result is None if the score does not rise,
    or if that x is not positive.
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


@dataclass(frozen=True, eq=False)
class Replications:
    """A score as replications of ours: their numbers, and the score of each.

    Scores of the same number are of the same data.
    """

    # Arrays and not a Series: claims compare scores ten thousands of times.
    numbers: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, values: pd.Series) -> Replications:
        """Return the score with values that are indexed by replication."""
        return cls(values.index.to_numpy(), values.to_numpy(dtype=float))

    @property
    def values(self) -> pd.Series:
        """The scores, indexed by replication."""
        import pandas as pd

        return pd.Series(self.scores, index=self.numbers, dtype=float)

    @property
    def effect(self) -> Effect:
        """The mean with its error."""
        return mean_effect(self.scores)

    def times(self, factor: float) -> Replications:
        """Return the score times a factor."""
        return replace(self, scores=factor * self.scores)

    def distance_to(self, target: float) -> Replications:
        """Return the absolute distance to a number."""
        return replace(self, scores=abs(self.scores - target))

    def log(self) -> Replications | None:
        """Return the logarithm; None unless all scores are positive."""
        import numpy as np

        return replace(self, scores=np.log(self.scores)) if (self.scores > 0).all() else None

    def over(self, other: Any) -> Replications | None:
        """Return the ratio in the replications that both have; None if there are none."""
        ratio = (self.values / other.values).dropna()
        return Replications.of(ratio) if len(ratio) else None

    def minus(self, other: Any) -> Effect | None:
        """Return the paired difference, on the same data; None if they share no replication."""
        import numpy as np

        if np.array_equal(self.numbers, other.numbers):
            differences = self.scores - other.scores
        else:
            _, own, others = np.intersect1d(self.numbers, other.numbers, return_indices=True)
            differences = self.scores[own] - other.scores[others]
        return mean_effect(differences) if len(differences) else None


@dataclass(frozen=True)
class PrintedMean:
    """A score as a published mean over ``n`` replications, in our unit."""

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
        """Return the mean's absolute distance to a number, with the same standard deviation."""
        return replace(self, mean=abs(self.mean - target))

    def log(self) -> PrintedMean | None:
        """Return the logarithm, by the delta method; None unless the mean is positive."""
        return PrintedMean(log(self.mean), self.sd / self.mean, self.n) if self.mean > 0 else None

    def over(self, other: Any) -> PrintedMean | None:
        """Return the ratio of two means, by the delta method; None if one of them is 0."""
        if not self.mean or not other.mean:
            return None
        ratio = self.mean / other.mean
        spread = sqrt((self.sd / self.mean) ** 2 + (other.sd / other.mean) ** 2)
        return PrintedMean(ratio, abs(ratio) * spread, min(self.n, other.n))

    def minus(self, other: Any) -> Effect | None:
        """Return the difference of two means, unpaired: their replications are unknown."""
        return self.effect - other.effect


Score = Replications | PrintedMean


def paired_effect(a: pd.Series, b: pd.Series) -> Effect | None:
    """Return the mean of ``a - b`` over the replications that both have; None if there are none."""
    return Replications.of(a).minus(Replications.of(b))

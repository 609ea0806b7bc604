"""Differences with their uncertainty, and what may be said of them.

Intervals are two-sided 99 % Student intervals: many comparisons stand behind one claim, and a
single false alarm among them would decide it. Methods that saw the same data are compared
replication by replication (paired).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import TYPE_CHECKING

from fedmix.cells.verdicts import CLAIM_CONFIDENCE

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    Statistic = Callable[[np.ndarray], np.ndarray]

YES, NO, UNCLEAR = "yes", "no", "unclear"
_RESAMPLES = 1000


@dataclass(frozen=True)
class Effect:
    """An estimated mean and its Monte-Carlo standard error.

    Parameters
    ----------
    mean, se : float
        ``se`` is infinite where one replication only leaves it unknown.
    n : int
        Replications behind it (the smaller number of an unpaired difference).
    """

    mean: float
    se: float
    n: int

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

    def below(self, bound: float = 0.0) -> str:
        """Return whether the effect is below ``bound``: yes, no or unclear."""
        if self.mean + self.half_width < bound:
            return YES
        return NO if self.mean - self.half_width >= bound else UNCLEAR

    def above(self, bound: float = 0.0) -> str:
        """Return whether the effect is above ``bound``: yes, no or unclear."""
        return Effect(-self.mean, self.se, self.n).below(-bound)

    def within(self, bound: float) -> str:
        """Return whether the effect lies in ``[-bound, bound]``: yes, no or unclear."""
        low, high = self.mean - self.half_width, self.mean + self.half_width
        if -bound <= low and high <= bound:
            return YES
        return NO if low > bound or high < -bound else UNCLEAR

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
        return cls(effect.below(bound), Effect(bound - effect.mean, effect.se, effect.n))

    @classmethod
    def above(cls, effect: Effect, bound: float = 0.0) -> Finding:
        """Return whether an effect is above a bound."""
        return cls(effect.above(bound), Effect(effect.mean - bound, effect.se, effect.n))

    @classmethod
    def within(cls, effect: Effect, bound: float) -> Finding:
        """Return whether an effect lies in ``[-bound, bound]``."""
        return cls(effect.within(bound), Effect(bound - abs(effect.mean), effect.se, effect.n))


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
    """Return the difference of two means of different data; None if one has no replication.

    The smaller number of replications gives the degrees of freedom, which errs on the safe side.
    """
    if not len(a) or not len(b):
        return None
    one, other = mean_effect(a), mean_effect(b)
    return Effect(one.mean - other.mean, sqrt(one.se**2 + other.se**2), min(one.n, other.n))


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

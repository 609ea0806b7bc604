"""Scores that predicates compare: replications of ours, or a mean in print.

Both say how far one score is from another, with the error of that: ours replication by replication,
on the same data; printed means as independent ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any

from fedmix.cells.effects import Effect, mean_effect, paired_effect, unpaired_effect

if TYPE_CHECKING:
    import pandas as pd


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
        one, two = self.effect, other.effect
        return Effect(one.mean - two.mean, sqrt(one.se**2 + two.se**2), min(one.n, two.n))

    apart_from = minus


Score = Replications | PrintedMean

"""Scores: what predicates compare.

A score is replications of ours (:class:`Replications`) or a published mean (:class:`PrintedMean`).
Both return the difference from another score as an effect, see :mod:`fedmix.cells.effects`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import TYPE_CHECKING, Any

from fedmix.cells.effects import Effect, mean_effect

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def paired_effect(a: pd.Series, b: pd.Series) -> Effect | None:
    """Return the mean of ``a - b`` over the replications that both have; None if there are none."""
    return Replications.of(a).minus(Replications.of(b))


@dataclass(frozen=True, eq=False)
class Replications:
    """A score as replications of ours.

    Parameters
    ----------
    numbers : array of int
        The replications. Scores of the same number are of the same data.
    scores : array of float
        The score of each.
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
        return self if factor == 1.0 else replace(self, scores=factor * self.scores)

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
    """A score as a published mean, in our unit.

    Parameters
    ----------
    mean, sd : float
    n : int
        Number of replications.
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
        """Return the mean's absolute distance to a number, with the same standard deviation."""
        return replace(self, mean=abs(self.mean - target))

    def log(self) -> PrintedMean | None:
        """Return the logarithm, with its standard deviation by the delta method.

        It is None unless the mean is positive.
        """
        return PrintedMean(log(self.mean), self.sd / self.mean, self.n) if self.mean > 0 else None

    def over(self, other: Any) -> PrintedMean | None:
        """Return the ratio of two means, with its standard deviation by the delta method.

        It is None if one of them is 0.
        """
        if not self.mean or not other.mean:
            return None
        ratio = self.mean / other.mean
        spread = sqrt((self.sd / self.mean) ** 2 + (other.sd / other.mean) ** 2)
        return PrintedMean(ratio, abs(ratio) * spread, min(self.n, other.n))

    def minus(self, other: Any) -> Effect | None:
        """Return the difference of two means, unpaired: their replications are unknown."""
        return self.effect - other.effect


Score = Replications | PrintedMean

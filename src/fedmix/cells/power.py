"""What a table could have told apart: its smallest visible difference, and what it would take.

A difference is visible where a two-sided t-test at 5 % finds it in four of five repetitions.
Methods that saw the same data are compared replication by replication (paired).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

#: Level of the two-sided test, and the share of repetitions in which it finds the difference.
LEVEL, POWER = 0.05, 0.80
_MANY = 10_000  # replications, from which on t is normal


@dataclass(frozen=True)
class Contrast:
    """The difference of two methods in one setting, in the unit shown.

    Parameters
    ----------
    sd : float
        Standard deviation of a replication's difference.
    n : int
        Replications.
    printed : float, optional
        The printed difference.
    """

    sd: float
    n: int
    printed: float | None = None

    @property
    def visible(self) -> float:
        """The smallest difference that so many replications show."""
        return _visible_in_se(self.n) * self.sd / sqrt(self.n)

    @property
    def needed(self) -> float:
        """Replications that would show the printed difference; infinite where there is none."""
        if not self.printed:
            return inf
        in_sd = self.printed / self.sd if self.sd else inf
        n = max(2, ceil((_visible_in_se(_MANY) / in_sd) ** 2))  # no more than it takes
        while n < _MANY and in_sd * sqrt(n) < _visible_in_se(n):
            n += 1
        return float(n)


def contrasts(cells: pd.DataFrame, direction: str) -> list[Contrast]:
    """Return, for each setting of a table, how the printed best method compares with the next.

    Parameters
    ----------
    cells : DataFrame
        The table's rows of the frame of cells.
    direction : {"lowest", "highest", "none"}
        Which printed number is the best one; without such there is nothing to compare.
    """
    if direction == "none":
        return []
    printed = cells[cells["printed_mean"].notna() & (cells["n"] > 1)]
    places = printed.groupby(["variant", "setting", "metric"], sort=False)
    found = (_best_against_next(own.to_dict("records"), direction) for _, own in places)
    return [contrast for contrast in found if contrast is not None]


def differences(cells: pd.DataFrame, metric: str) -> list[Contrast]:
    """Return the contrasts of a metric that is itself a paired difference, such as a gain."""
    own = cells[(cells["metric"] == metric) & (cells["n"] > 1)]
    return list(_of_cells(own.to_dict("records")))


def _of_cells(cells: list[Mapping[str, Any]]) -> Iterator[Contrast]:
    for cell in cells:
        yield Contrast(cell["sd"] / cell["scale"], int(cell["n"]))


def _best_against_next(cells: list[Mapping[str, Any]], direction: str) -> Contrast | None:
    import pandas as pd

    ranked = sorted(cells, key=lambda c: c["printed_mean"], reverse=direction == "highest")
    if len(ranked) < 2:
        return None
    one, two = (pd.Series(c["values"], index=c["replications"]) / c["scale"] for c in ranked[:2])
    paired = (one - two).dropna()
    if len(paired) < 2:
        return None
    printed = abs(ranked[0]["printed_mean"] - ranked[1]["printed_mean"])
    return Contrast(float(paired.std()), len(paired), printed)


@cache
def _visible_in_se(n: int) -> float:
    """Return the visible difference of so many replications in standard errors, 2.8 for many."""
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    critical = t.ppf(1 - LEVEL / 2, n - 1)
    return float(brentq(lambda shift: nct.sf(critical, n - 1, shift) - POWER, 0.0, 3 * critical))

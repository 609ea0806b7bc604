"""The rule that holds a number of ours against a printed one.

With d the difference of the means, SE its Monte-Carlo standard error (ours, the printed mean's
own, and the printed rounding together) and s the printed standard deviation:

reproduced
    |d| <= 2 SE while 2 SE <= s (the run is precise enough to say so), or |d| <= s / 4.
close
    |d| <= s: less than the paper's own spread from one replication to the next.
differs
    |d| > s and |d| > 2 SE.
undecided
    |d| > s but within 2 SE, or fewer than two replications of ours.
stand-in
    Another data set stood in for the paper's: nothing can be reproduced.
not run
    No finished replication of ours.

Seconds of another machine and language are not comparable as such. They are judged by the
methods' ratios within a row: after dividing by the row's geometric mean of ours / theirs, a ratio
within a factor 1.25 is reproduced, within 2 close, and differs beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, log, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.cells.summary import summarise

REPRODUCED, CLOSE, DIFFERS = "reproduced", "close", "differs"
UNDECIDED, STAND_IN, NOT_RUN = "undecided", "stand-in", "not run"
# From what says most for the paper to what says least; a reader's order.
VERDICTS = (REPRODUCED, CLOSE, UNDECIDED, DIFFERS, STAND_IN, NOT_RUN)
AGREEING = frozenset({REPRODUCED, CLOSE})

_SAME_SPEED, _LIKE_SPEED = 1.25, 2.0


@dataclass(frozen=True)
class Comparison:
    """A difference of means in three units.

    Parameters
    ----------
    difference : float
        Ours minus theirs, in the printed unit.
    in_sd : float
        In printed standard deviations.
    in_se : float
        In standard errors of the difference.
    verdict : str
        By the rule of this module.
    """

    difference: float
    in_sd: float
    in_se: float
    verdict: str


def compare(
    values: ArrayLike,
    printed_mean: float,
    printed_sd: float,
    printed_replications: int,
    digits: int,
) -> Comparison:
    """Hold our replications against a printed mean, both in the printed unit.

    Parameters
    ----------
    values : array-like of shape (n,)
        Ours, one a finished replication.
    printed_mean, printed_sd, printed_replications : float, float, int
        Theirs.
    digits : int
        Decimals in print: rounding adds a uniform error of variance ``10**(-2 digits) / 12``.

    Returns
    -------
    Comparison
    """
    ours = summarise(values)
    if ours["n"] == 0:
        return Comparison(nan, nan, nan, NOT_RUN)
    difference = ours["mean"] - printed_mean
    in_sd = difference / printed_sd
    if ours["n"] < 2:
        return Comparison(difference, in_sd, nan, UNDECIDED)
    rounding = 10.0 ** (-2 * digits) / 12
    se = sqrt(ours["se"] ** 2 + printed_sd**2 / printed_replications + rounding)
    return Comparison(difference, in_sd, difference / se, _verdict(abs(difference), se, printed_sd))


def compare_speeds(ours: ArrayLike, printed: ArrayLike) -> tuple[NDArray[np.float64], list[str]]:
    """Hold the mean seconds of a row's methods against the printed ones.

    Parameters
    ----------
    ours, printed : array-like of shape (n_methods,)

    Returns
    -------
    ratios : ndarray of shape (n_methods,)
        Ours / theirs after the row's geometric mean was divided out.
    verdicts : list of str
        One method alone is undecided: its ratio is 1 whatever it takes.
    """
    logs = np.log(np.asarray(ours, dtype=float) / np.asarray(printed, dtype=float))
    ratios = np.exp(logs - logs.mean())
    alone = len(ratios) < 2
    return ratios, [UNDECIDED if alone else speed_verdict(ratio) for ratio in ratios]


def speed_verdict(ratio: float) -> str:
    """Judge a method's ours / theirs after its row's common factor was divided out."""
    if isnan(ratio):
        return NOT_RUN
    distance = abs(log(ratio))
    if distance <= log(_SAME_SPEED):
        return REPRODUCED
    return CLOSE if distance <= log(_LIKE_SPEED) else DIFFERS


def _verdict(distance: float, se: float, printed_sd: float) -> str:
    within_noise = distance <= 2 * se
    if (within_noise and 2 * se <= printed_sd) or distance <= printed_sd / 4:
        return REPRODUCED
    if distance <= printed_sd:
        return CLOSE
    return UNDECIDED if within_noise else DIFFERS

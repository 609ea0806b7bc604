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
from math import isnan, log, sqrt

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
    mean: float,
    sd: float,
    n: int,
    printed_mean: float,
    printed_sd: float,
    printed_replications: int,
    digits: int,
) -> Comparison:
    """Hold our mean against a printed one, both in the printed unit.

    Parameters
    ----------
    mean, sd, n : float, float, int
        Ours; ``n`` finished replications.
    printed_mean, printed_sd, printed_replications : float, float, int
        Theirs.
    digits : int
        Decimals in print: rounding adds a uniform error of variance ``10**(-2 digits) / 12``.

    Returns
    -------
    Comparison
    """
    if n == 0 or isnan(mean):
        return Comparison(float("nan"), float("nan"), float("nan"), NOT_RUN)
    difference = mean - printed_mean
    in_sd = difference / printed_sd
    if n < 2:
        return Comparison(difference, in_sd, float("nan"), UNDECIDED)
    rounding = 10.0 ** (-2 * digits) / 12
    se = sqrt(sd**2 / n + printed_sd**2 / printed_replications + rounding)
    return Comparison(difference, in_sd, difference / se, _verdict(abs(difference), se, printed_sd))


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

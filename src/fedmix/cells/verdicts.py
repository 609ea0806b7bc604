"""The rule that holds our number against a printed one: agreement is equivalence.

Absence of a proven difference is no agreement. The 90 % interval of the difference of the means
(Welch's, of both sides' replications, the rounding in print, and what either side drew only once)
decides whether ours agrees closely, agrees, differs or is undecided (:data:`RULES`). Where half the
printed spread is less than a unit of the last digit, that unit takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan, sqrt

from numpy.typing import ArrayLike

from fedmix.cells.summary import summarise

AGREES_CLOSELY, AGREES = "agrees closely", "agrees"
UNDECIDED, DIFFERS = "undecided", "differs"
STAND_IN, NOT_JUDGED, NOT_RUN = "stand-in", "not judged", "not run"
#: What each verdict says, in words.
RULES = {
    AGREES_CLOSELY: "the 90 % interval of the difference lies within a quarter of the printed sd",
    AGREES: "the 90 % interval of the difference lies within half a printed sd",
    UNDECIDED: "the interval reaches over the edge of half a printed sd: too few runs, or draws",
    DIFFERS: "the interval lies outside of half a printed sd",
    STAND_IN: "another data set took the paper's place: nothing can be reproduced",
    NOT_JUDGED: "seconds of another machine and language; operations and floats can be compared",
    NOT_RUN: "no finished replication of ours",
}
#: From what says most for the paper to what says least; a reader's order.
VERDICTS = tuple(RULES)
AGREEING = frozenset({AGREES_CLOSELY, AGREES})
#: The verdicts of this module's rule.
JUDGED = AGREEING | {UNDECIDED, DIFFERS}
#: Margins of equivalence, in printed standard deviations.
NARROW, WIDE = 0.25, 0.5
_CONFIDENCE = 0.90


@dataclass(frozen=True)
class Comparison:
    """Ours held against a printed number, in the printed unit.

    Parameters
    ----------
    difference, low, high : float
        Ours minus theirs, and its 90 % interval.
    difference_in_sd, difference_in_se : float
        The difference in printed standard deviations, and in its own standard errors.
    sd_ratio, sd_ratio_low, sd_ratio_high : float
        Our standard deviation over theirs, and its 90 % interval (as of normal samples).
    needed : float
        Replications of ours with which the interval would decide, if the difference stays as it is;
        infinite where the print's own error is too large for any number.
    verdict : str
        By the rule of this module.
    """

    difference: float = nan
    low: float = nan
    high: float = nan
    difference_in_sd: float = nan
    difference_in_se: float = nan
    sd_ratio: float = nan
    sd_ratio_low: float = nan
    sd_ratio_high: float = nan
    needed: float = nan
    verdict: str = NOT_RUN


def compare(
    values: ArrayLike,
    printed_mean: float,
    printed_sd: float,
    printed_replications: int,
    digits: int,
    draws: tuple[float, int] = (0.0, 2),
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
    draws : tuple of float and int
        Variance between draws that each side made once for all its replications, none by default,
        and of how many draws it is.

    Returns
    -------
    Comparison
    """
    ours = summarise(values)
    n, sd = int(ours["n"]), ours["sd"]
    if n == 0:
        return Comparison()
    difference = ours["mean"] - printed_mean
    in_sd = difference / printed_sd if printed_sd else nan
    if n < 2:
        return Comparison(difference, difference_in_sd=in_sd, verdict=UNDECIDED)
    own = sd**2 / n
    theirs = printed_sd**2 / printed_replications
    rounding = 10.0 ** (-2 * digits) / 12
    between = 2 * draws[0]
    se = sqrt(own + theirs + rounding + between)
    parts = (own, n), (theirs, printed_replications), (between, draws[1])
    half = _student(_degrees_of_freedom(*parts)) * se
    wide = max(WIDE * printed_sd, 10.0**-digits)
    low, high = difference - half, difference + half
    return Comparison(
        difference,
        low,
        high,
        in_sd,
        difference / se,
        *_sd_ratio(sd, n, printed_sd, printed_replications),
        _needed(sd, theirs + rounding + between, abs(abs(difference) - wide)),
        _verdict(low, high, wide, wide * NARROW / WIDE),
    )


def _verdict(low: float, high: float, wide: float, narrow: float) -> str:
    if -narrow <= low and high <= narrow:
        return AGREES_CLOSELY
    if -wide <= low and high <= wide:
        return AGREES
    return DIFFERS if low > wide or high < -wide else UNDECIDED


def _degrees_of_freedom(*parts: tuple[float, float]) -> float:
    """Return Welch and Satterthwaite's degrees of freedom of a sum of (variance, n)."""
    spread = sum(variance**2 / (n - 1) for variance, n in parts)
    return sum(variance for variance, _ in parts) ** 2 / spread if spread else inf


def _student(freedom: float) -> float:
    from scipy.special import ndtri, stdtrit

    level = (1 + _CONFIDENCE) / 2
    return float(ndtri(level) if freedom == inf else stdtrit(freedom, level))


def _sd_ratio(sd: float, n: int, printed_sd: float, printed_n: int) -> tuple[float, float, float]:
    """Return the ratio of the standard deviations with its interval by the F distribution."""
    from scipy.special import fdtri

    if printed_sd == 0:
        return nan, nan, nan
    level = (1 + _CONFIDENCE) / 2
    upper, lower = (fdtri(n - 1, printed_n - 1, p) for p in (level, 1 - level))
    ratio = sd / printed_sd
    return ratio, ratio / sqrt(upper), ratio / sqrt(lower)


def _needed(sd: float, printed_variance: float, room: float) -> float:
    """Return how many replications bring the interval to one side of the margin."""
    left = (room / _student(inf)) ** 2 - printed_variance
    return inf if left <= 0 else max(2.0, sd**2 / left)

"""Everything that decides the verdict on a published value, and the levels of other conclusions.

Agreement means equivalence: it is not enough that no difference was shown. The 90 % interval of the
difference of the means decides whether our mean agrees closely, agrees, differs or is undecided
(:data:`RULES`). It is Welch's interval. It counts the replications of both sides, the rounding of
the published value, and the partition draws that each side made only once. The margin is half of
the published standard deviation, or one unit of the last published digit if that is larger. Close
agreement needs half of the margin.

A study may have several variants. The variant that counts for the paper is the authors', else the
inferred one, else the text's. It decides what a published value counts as (:func:`judge_numbers`).
Where nobody knows how a table was made (:func:`unknown_protocols`), its values count apart, by how
near the nearest protocol comes.

The table of constants also has the levels for claims, for advice and for the power of a table, so
that all levels stand together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from math import inf, isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

from fedmix.cells.measured import SECONDS
from fedmix.cells.summary import summarise

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

# Confidence levels: of a difference from the published value; of an effect behind a claim, where
# one false alarm among many comparisons would decide; of an estimate that is only shown.
PRINT_CONFIDENCE, CLAIM_CONFIDENCE, SHOWN_CONFIDENCE = 0.90, 0.99, 0.95
SHOWN_QUANTILES = 0.025, 0.975
# Margins of equivalence with a published mean, in published standard deviations.
NARROW, WIDE = 0.25, 0.5
# The least gain that is worth an exchange.
WORTHWHILE = 0.01
# Level of the two-sided test behind a table's power, and how often it finds the difference.
TEST_LEVEL, TEST_POWER = 0.05, 0.80
# Level of the test that a claim depends on a choice, over all choices; and the share of protocols
# in which a claim may fail without depending on any.
CHOICE_LEVEL, RARELY = 0.01, 0.05
# A claim that holds in this share of shuffles of the methods' names says nothing of a method.
SAYS_NOTHING = 0.75

AGREES_CLOSELY, AGREES = "agrees closely", "agrees"
UNDECIDED, DIFFERS = "undecided", "differs"
STAND_IN, NOT_JUDGED, NOT_RUN = "stand-in", "not judged", "not run"
#: What each verdict says, in words.
RULES = {
    AGREES_CLOSELY: "the 90 % interval of the difference lies within half of the margin",
    AGREES: (
        "the interval lies within the margin: half of the published sd, or one unit of the last "
        "published digit if that is larger"
    ),
    UNDECIDED: (
        "the interval crosses an edge of the margin: too few replications or partition draws"
    ),
    DIFFERS: "the interval lies outside of the margin",
    STAND_IN: "another data set replaces the paper's, so that nothing can be compared",
    NOT_JUDGED: (
        "run times depend on the machine and the language; operations and floats can be compared"
    ),
    NOT_RUN: "no replication of ours has finished",
}
#: From the best verdict for a paper to the worst.
VERDICTS = tuple(RULES)
AGREEING = frozenset({AGREES_CLOSELY, AGREES})
#: What a published value counts as where its verdict alone would mislead.
NONE_DIFFERS = "agrees (not discriminating)"
NEAR_UNKNOWN, FAR_UNKNOWN = "protocol unknown: near", "protocol unknown: not near"
COUNTING_RULES = {
    NONE_DIFFERS: "ours agrees, but so does every variant that was run: it distinguishes none",
    NEAR_UNKNOWN: "nobody knows how the table was made, and the nearest protocol agrees",
    FAR_UNKNOWN: "nobody knows how the table was made, and the nearest protocol does not agree",
}
_AFTER = {AGREES: (NONE_DIFFERS,), DIFFERS: (NEAR_UNKNOWN, FAR_UNKNOWN)}
#: What a published value counts as, in the order of :data:`VERDICTS`. What is not judged is left
#: out.
COUNTED = tuple(
    name
    for verdict in VERDICTS
    if verdict != NOT_JUDGED
    for name in (verdict, *_AFTER.get(verdict, ()))
)
#: What identifies a published value of an item, whatever a variant calls its row and column.
NUMBER = ["paper", "item", "printed_file", "printed_line"]

AUTHORS, INFERRED, WRITTEN = "authors", "inferred", "written"
NEAREST, FAIR, DIAGNOSTIC = "nearest", "fair", "diagnostic"
#: What each role means that at most one variant of a study has. All other variants are diagnostic:
#: they show what one switch does.
SOURCES = {
    AUTHORS: "as the authors' program ran it",
    INFERRED: "inferred from the published values; no program of the authors is behind it",
    WRITTEN: "what the text says",
    NEAREST: "the protocol of the search that comes nearest to the published values",
    FAIR: "errors corrected, and strong baselines",
}

#: No variance between partition draws, with the smallest number of draws that has a variance.
NO_DRAWS = (0.0, 2)
# What a cell shares with its repetitions under other partition draws.
_DRAWN = ["setting_dataset", "method", "metric"]


@dataclass(frozen=True)
class Comparison:
    """Our replications compared with a published value, in the published unit.

    Parameters
    ----------
    difference, difference_in_sd, difference_in_se : float
        Our mean minus theirs, also in published standard deviations and in standard errors of the
        difference.
    low, high : float
        The 90 % interval of the difference.
    sd_ratio, sd_ratio_low, sd_ratio_high : float
        Our standard deviation over theirs, and its 90 % interval (as of normal samples).
    needed : float
        Replications of ours with which the interval would decide, if the difference stays as it is;
        infinite where the published value's own error is too large for any number.
    verdict : str
        One of :data:`RULES`.
    """

    difference: float = nan
    difference_in_sd: float = nan
    difference_in_se: float = nan
    low: float = nan
    high: float = nan
    sd_ratio: float = nan
    sd_ratio_low: float = nan
    sd_ratio_high: float = nan
    needed: float = nan
    verdict: str = NOT_RUN


#: The columns of a cell that :func:`judge` fills.
JUDGEMENT = tuple(field.name for field in fields(Comparison))


def compare(
    values: ArrayLike,
    printed_mean: float,
    printed_sd: float,
    printed_replications: int,
    digits: int,
    draws: tuple[float, int] = NO_DRAWS,
) -> Comparison:
    """Compare our replications with a published mean, both in the published unit.

    Parameters
    ----------
    values : array-like of shape (n,)
        One value per finished replication of ours.
    printed_mean, printed_sd, printed_replications : float, float, int
        Theirs.
    digits : int
        Published decimals: rounding adds a uniform error of variance ``10**(-2 digits) / 12``.
    draws : tuple of float and int, default=NO_DRAWS
        Variance between partition draws, where each side made one draw for all its replications,
        and the number of draws behind this variance.

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
        return Comparison(difference, in_sd, verdict=UNDECIDED)
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
        in_sd,
        difference / se,
        low,
        high,
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

    level = (1 + PRINT_CONFIDENCE) / 2
    return float(ndtri(level) if freedom == inf else stdtrit(freedom, level))


def _sd_ratio(sd: float, n: int, printed_sd: float, printed_n: int) -> tuple[float, float, float]:
    """Return the ratio of the standard deviations with its interval by the F distribution."""
    from scipy.special import fdtri

    if printed_sd == 0:
        return nan, nan, nan
    level = (1 + PRINT_CONFIDENCE) / 2
    upper, lower = (fdtri(n - 1, printed_n - 1, p) for p in (level, 1 - level))
    ratio = sd / printed_sd
    return ratio, ratio / sqrt(upper), ratio / sqrt(lower)


def _needed(sd: float, printed_variance: float, room: float) -> float:
    """Return how many replications bring the interval to one side of the margin."""
    left = (room / _student(inf)) ** 2 - printed_variance
    return inf if left <= 0 else max(2.0, sd**2 / left)


def judge(cells: pd.DataFrame) -> pd.DataFrame:
    """Decide the verdict of every cell; nothing else does.

    Parameters
    ----------
    cells : DataFrame
        Cells beside their published values, see :func:`fedmix.cells.frame.make_cells`. ``judged``
        is false where an item shows a published value of another metric. ``partition_draws`` names
        the study that repeats an item with other partition draws, one setting per draw. Where that
        study has no cells, the verdict does not count the variance between draws.

    Returns
    -------
    DataFrame
        The cells with the columns :data:`JUDGEMENT` in place of ``judged`` and ``partition_draws``.
    """
    import pandas as pd

    repeating = set(cells["partition_draws"]) & set(cells["study"])
    variances = {study: _between_draws(cells[cells["study"] == study]) for study in repeating}
    printed = cells[cells["printed_file"] != ""].astype({"digits": float})
    found = [_judged(cell, variances) for cell in printed.to_dict("records")]
    decided = pd.DataFrame(found, printed.index, JUDGEMENT).reindex(cells.index)
    numbers = decided.drop(columns="verdict").astype(float)
    verdicts = decided["verdict"].astype(object).fillna("").astype(str)
    return cells.drop(columns=["judged", "partition_draws"]).assign(**numbers, verdict=verdicts)


def _judged(
    cell: Mapping[str, Any], variances: Mapping[str, Mapping[tuple, tuple[float, int]]]
) -> dict[str, Any]:
    """Return how far a cell is from its published value, and the verdict."""
    noted = cell["metric"] == SECONDS
    excused = STAND_IN if cell["is_stand_in"] else NOT_JUDGED if noted else ""
    drawn = variances.get(cell["partition_draws"], {})
    variance, n_draws = drawn.get(tuple(cell.get(name) for name in _DRAWN), NO_DRAWS)
    scale, digits = cell["scale"], cell["digits"]
    found = compare(
        [value / scale for value in cell["values"]],
        cell["printed_mean"],
        cell["printed_sd"],
        int(cell["printed_replications"]),
        0 if isnan(digits) else int(digits),
        NO_DRAWS if excused else (variance / scale**2, n_draws),
    )
    verdict = excused if excused and (noted or cell["n"]) else found.verdict
    return asdict(found) | {"verdict": verdict if cell["judged"] else ""}


def _between_draws(cells: pd.DataFrame) -> dict[tuple, tuple[float, int]]:
    """Return the variance between partition draws, and their number, by data, method and metric.

    The variance is that of the draws' means, less the replications' share of it.
    """
    once = cells.drop_duplicates(["setting", *_DRAWN])
    found = {}
    for place, draws in once.groupby(_DRAWN):
        if len(draws) > 1:
            within = (draws["sd"] ** 2 / draws["n"]).mean()
            found[place] = (max(draws["mean"].var() - within, 0.0), len(draws))
    return found


def headline(roles: Iterable[str]) -> str:
    """Return the role that counts for a paper: the authors', else the inferred, else the text's.

    It is the empty string if none was run.
    """
    present = set(roles)
    return next((role for role in (AUTHORS, INFERRED, WRITTEN) if role in present), "")


def repeated(roles: Iterable[str]) -> Iterator[str]:
    """Yield every role but :data:`DIAGNOSTIC` that occurs again."""
    seen = set()
    for role in roles:
        if role in seen and role != DIAGNOSTIC:
            yield role
        seen.add(role)


def printed_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that have a verdict: those with a published value."""
    return cells[cells["verdict"] != ""]


def headline_roles(cells: pd.DataFrame) -> dict[str, str]:
    """Return, for every item, the role of the variant that its table counts."""
    judged = printed_cells(cells)
    return {item: headline(roles) for item, roles in judged.groupby("item", sort=False)["role"]}


def unknown_protocols(cells: pd.DataFrame) -> set[str]:
    """Return the tables of which nobody knows how they were made.

    Either the variant that counts was inferred from the table itself, or it differs from most of
    the table's values, while the nearest protocol of a search agrees with most.
    """
    roles, found = headline_roles(cells), set()
    for item, own in printed_cells(cells).groupby("item", sort=False):
        counted, nearest = (own.loc[own["role"] == r, "verdict"] for r in (roles[item], NEAREST))
        replaced = 2 * counted.eq(DIFFERS).sum() > len(counted)
        replaced &= 2 * nearest.isin(AGREEING).sum() > len(counted)
        if roles[item] == INFERRED or replaced:
            found.add(item)
    return found


def judge_numbers(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per published value: its verdict in the headline's variant and in all others.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.frame.complete`.

    Returns
    -------
    DataFrame
        :data:`NUMBER`, ``row, column, variant, role`` and ``verdict`` of the headline's variant;
        ``agree`` and ``differ`` (lists of all variants, diagnostic ones included); ``power``, the
        share that differs among the variants that are decided, missing where fewer than two are;
        ``counted``, of :data:`COUNTED`; and ``note``, a sentence such as ``"differs as_written,
        agrees as_coded"`` where variants fall out differently.
    """
    import pandas as pd

    roles, unknown = headline_roles(cells), unknown_protocols(cells)
    columns = [*NUMBER, "row", "column", "variant", "role", "verdict"]
    rows = [
        dict(zip(NUMBER, key, strict=True))
        | _judge(own.to_dict("records"), roles[key[1]], key[1] in unknown)
        for key, own in printed_cells(cells)[columns].groupby(NUMBER, sort=False)
    ]
    names = ["verdict", "counted", "power", "agree", "differ", "note"]
    return pd.DataFrame(rows, columns=[*NUMBER, "row", "column", "variant", "role", *names])


def _judge(variants: list[dict[str, Any]], role: str, unknown: bool) -> dict[str, Any]:
    answering = [v for v in variants if role and v["role"] == role]
    place = answering[0] if answering else variants[0]
    verdict = place["verdict"] if answering else NOT_RUN
    agree = [v["variant"] for v in variants if v["verdict"] in AGREEING]
    differ = [v["variant"] for v in variants if v["verdict"] == DIFFERS]
    decided = len(agree) + len(differ)
    power = len(differ) / decided if decided > 1 else nan
    tried = decided + sum(v["verdict"] == UNDECIDED for v in variants)
    says_nothing = verdict in AGREEING and tried > 1 and not differ
    counted = NONE_DIFFERS if says_nothing else verdict
    return {
        "row": place["row"],
        "column": place["column"],
        "variant": place["variant"] if answering else "",
        "role": role,
        "verdict": verdict,
        "counted": _nearness(variants, role) if unknown else counted,
        "power": power,
        "agree": agree,
        "differ": differ,
        "note": f"differs {', '.join(differ)}, agrees {', '.join(agree)}" * bool(agree and differ),
    }


def _nearness(variants: list[dict[str, Any]], role: str) -> str:
    """Return what a value of an unknown protocol counts as, by the nearest protocol that ran it."""
    of_role = {v["role"]: v["verdict"] for v in variants}
    verdict = of_role.get(NEAREST, of_role.get(role, NOT_RUN))
    if verdict in (STAND_IN, NOT_JUDGED, NOT_RUN):
        return verdict
    return NEAR_UNKNOWN if verdict in AGREEING else FAR_UNKNOWN

"""The test behind a verdict: our replications beside a published mean, and the verdict of a cell.

Agreement means equivalence: it is not enough that no difference was shown. The 90 % interval of the
difference of the means decides whether our mean agrees closely, agrees, differs or is undecided
(:data:`fedmix.cells.verdicts.RULES`). It is Welch's interval. It counts the replications of both
sides, the rounding of the published value, and what each side drew only once, such as a t-SNE.
The margin is half of the published standard deviation, or one unit of the last published digit if
that is larger. Close agreement needs half of the margin. The standard deviations must not be known
to differ by more than a factor of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import inf, isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

from fedmix.cells.measured import SECONDS, summarise
from fedmix.cells.verdicts import (
    AGREES,
    AGREES_CLOSELY,
    AGREES_IN_MEAN,
    CANNOT_DECIDE,
    DIFFERS,
    NARROW,
    NOT_JUDGED,
    NOT_RUN,
    PRINT_CONFIDENCE,
    SPREAD,
    STAND_IN,
    UNDECIDED,
    WIDE,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

#: No variance between draws, with the smallest number of draws that has a variance.
NO_DRAWS = (0.0, 2)
# What a cell shares with its repetitions under other draws; and what it also shares with
# them if their variance is its own, and not borrowed from another variant or setting.
_DRAWN = ["setting_dataset", "method", "metric"]
_OWN = ["variant", "setting_n_contaminated"]
#: Where the variance between draws comes from.
MEASURED, BORROWED = "measured", "borrowed"


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
        One of :data:`fedmix.cells.verdicts.RULES`.
    draws : {"", "measured", "borrowed"}
        Whether the variance between draws was measured for this variant and setting, or
        borrowed from others of the same data, method and metric; empty if none is counted.
    draws_sd, n_draws : float
        The standard deviation between draws that the interval counts, and the number of
        draws behind it.
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
    draws: str = ""
    draws_sd: float = 0.0
    n_draws: float = NO_DRAWS[1]


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

    ``values`` has one value per finished replication of ours. ``digits`` are published decimals:
    rounding adds a uniform error of variance ``10**(-2 digits) / 12``. ``draws`` are the variance
    between draws, where each side made one draw for all its replications, and the number of draws
    behind this variance.
    """
    ours = summarise(values)
    n, sd = int(ours["n"]), ours["sd"]
    if n == 0:
        return Comparison()
    difference = ours["mean"] - printed_mean
    in_sd = difference / printed_sd if printed_sd else nan
    if n < 2:
        return Comparison(difference, in_sd, verdict=UNDECIDED)
    found = decide(difference, sd, n, printed_sd, printed_replications, digits, draws)
    return Comparison(difference, in_sd, *(part.item() for part in found))


def decide(
    difference: ArrayLike,
    sd: ArrayLike,
    n: int,
    printed_sd: ArrayLike,
    printed_replications: int,
    digits: int,
    draws: tuple[float, int] = NO_DRAWS,
) -> tuple[NDArray, ...]:
    """Apply the rule to differences of means: the only place that does.

    Returns the fields of :class:`Comparison` from ``difference_in_se`` to ``verdict``, as arrays.
    ``difference`` is our mean minus theirs, and ``n`` is at least 2.
    """
    import numpy as np

    difference, sd, printed_sd = np.broadcast_arrays(difference, sd, printed_sd)
    own, theirs = sd**2 / n, printed_sd**2 / printed_replications
    rounding, between = 10.0 ** (-2 * digits) / 12, 2 * draws[0]
    se = np.sqrt(own + theirs + rounding + between)
    parts = (own, n), (theirs, printed_replications), (between, draws[1])
    half = _student(_degrees_of_freedom(*parts)) * se
    wide = margin_of(printed_sd, digits)
    ratio = _sd_ratio(sd, n, printed_sd, printed_replications)
    # How many replications bring the interval to one side of the margin.
    left = (np.abs(np.abs(difference) - wide) / _student(inf)) ** 2 - (theirs + rounding + between)
    needed = np.maximum(np.divide(sd**2, left, out=np.full(left.shape, inf), where=left > 0), 2.0)
    reach, nearest = np.abs(difference) + half, np.abs(difference) - half
    other_spread = (ratio[1] > SPREAD) | (ratio[2] < 1 / SPREAD)
    verdict = np.select(
        [
            (reach <= wide) & other_spread,
            reach <= wide * NARROW / WIDE,
            reach <= wide,
            nearest > wide,
            needed == inf,
        ],
        [AGREES_IN_MEAN, AGREES_CLOSELY, AGREES, DIFFERS, CANNOT_DECIDE],
        UNDECIDED,
    )
    return difference / se, difference - half, difference + half, *ratio, needed, verdict


def margin_of(printed_sd: ArrayLike, digits: int) -> NDArray:
    """Return the largest difference of means that agrees: half an sd, or one unit of the text."""
    import numpy as np

    return np.maximum(WIDE * np.asarray(printed_sd), 10.0**-digits)


def _degrees_of_freedom(*parts: tuple[Any, float]) -> NDArray:
    """Return Welch and Satterthwaite's degrees of freedom of a sum of (variance, n)."""
    import numpy as np

    spread = np.asarray(sum(variance**2 / (n - 1) for variance, n in parts), dtype=float)
    whole = sum(variance for variance, _ in parts) ** 2
    return np.divide(whole, spread, out=np.full(spread.shape, inf), where=spread > 0)


def _student(freedom: NDArray | float) -> NDArray:
    import numpy as np
    from scipy.special import ndtri, stdtrit

    level = (1 + PRINT_CONFIDENCE) / 2
    known = np.where(np.isinf(freedom), 1.0, freedom)
    return np.where(np.isinf(freedom), ndtri(level), stdtrit(known, level))


def _sd_ratio(
    sd: NDArray, n: int, printed_sd: NDArray, printed_n: int
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the ratio of the standard deviations with its interval by the F distribution."""
    import numpy as np
    from scipy.special import fdtri

    level = (1 + PRINT_CONFIDENCE) / 2
    upper, lower = (fdtri(n - 1, printed_n - 1, p) for p in (level, 1 - level))
    ratio = np.divide(sd, printed_sd, out=np.full(sd.shape, nan), where=printed_sd > 0)
    return ratio, ratio / sqrt(upper), ratio / sqrt(lower)


def judge(cells: pd.DataFrame) -> pd.DataFrame:
    """Decide the verdict of every cell; nothing else does.

    The cells of :func:`fedmix.cells.frame.make_cells` get the columns :data:`JUDGEMENT` in place of
    ``judged``, which is false where an item shows a published value of another metric, and
    ``other_draws``, which names the study that repeats an item with other draws, one setting per
    draw. Where that study has no cells, the verdict does not count the variance between draws.
    """
    import pandas as pd

    repeating = set(cells["other_draws"]) & set(cells["study"])
    variances = {study: between_draws(cells[cells["study"] == study]) for study in repeating}
    printed = cells[cells["printed_file"] != ""].astype({"digits": float})
    found = [_judged(cell, variances) for cell in _with_own(printed).to_dict("records")]
    decided = pd.DataFrame(found, printed.index, JUDGEMENT).reindex(cells.index)
    words = ["verdict", "draws"]
    numbers = decided.drop(columns=words).astype(float)
    texts = decided[words].astype(object).fillna("").astype(str)
    return cells.drop(columns=["judged", "other_draws"]).assign(**numbers, **texts)


def _judged(
    cell: Mapping[str, Any], variances: Mapping[str, Mapping[tuple, tuple[float, int]]]
) -> dict[str, Any]:
    """Return how far a cell is from its published value, and the verdict."""
    if not cell["judged"]:  # compared with nothing
        return asdict(Comparison(verdict=""))
    noted = cell["metric"] == SECONDS
    excused = NOT_JUDGED if noted else STAND_IN if cell["is_stand_in"] else ""
    drawn = {} if excused else variances.get(cell["other_draws"], {})
    shared, own = (tuple(cell.get(name, "") for name in names) for names in (_DRAWN, _OWN))
    source = MEASURED if (shared, own) in drawn else BORROWED if (shared, ()) in drawn else ""
    variance, n_draws = drawn.get((shared, own), drawn.get((shared, ()), NO_DRAWS))
    scale, digits = cell["scale"], cell["digits"]
    found = compare(
        [value / scale for value in cell["values"]],
        cell["printed_mean"],
        cell["printed_sd"],
        int(cell["printed_replications"]),
        0 if isnan(digits) else int(digits),
        (variance / scale**2, n_draws),
    )
    verdict = excused if excused and (noted or cell["n"]) else found.verdict
    if verdict == STAND_IN:
        found = Comparison()
    between = {"draws": source, "draws_sd": sqrt(variance) / scale, "n_draws": n_draws}
    return asdict(found) | {"verdict": verdict} | between


def between_draws(cells: pd.DataFrame) -> dict[tuple, tuple[float, int]]:
    """Return the variance between draws, and their number.

    The keys are what a cell shares with the draws: data, method and metric, with the variant and
    the contamination. The key with neither of these two is for cells that have to borrow.
    """
    once = _with_own(cells[cells["n"] > 1].drop_duplicates(["variant", "setting", *_DRAWN]))
    found: dict[tuple, tuple[float, int]] = {}
    for shared, draws in once.groupby(_DRAWN):
        of_variant = draws.groupby(_OWN)
        parts = {own: _variance(same) for own, same in of_variant if len(same) > 1}
        found |= {(shared, own): variance for own, variance in parts.items()}
        if parts:
            found[shared, ()] = max(parts.values())
    return found


def _with_own(cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells with a text in place of a missing variant or contamination."""
    columns = list(dict.fromkeys([*cells, *_OWN]))
    found = cells.reindex(columns=columns).astype(dict.fromkeys(_OWN, object))
    return found.fillna(dict.fromkeys(_OWN, ""))


def _variance(draws: pd.DataFrame) -> tuple[float, int]:
    """Return the variance of draws' means, less the replications' share of it, and their number."""
    within = (draws["sd"] ** 2 / draws["n"]).mean()
    return max(draws["mean"].var() - within, 0.0), len(draws)

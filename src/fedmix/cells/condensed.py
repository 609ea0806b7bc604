"""Conclusions from a whole table: slopes, advice, mean ranks and the differences it can show.

A table shows slopes or advice instead of its cells if its option ``condensed`` asks for them. Each
kind is a function of the table's cells and of that option (:data:`KINDS`).

A difference is called visible if a two-sided t-test at level 5 % has a power of 80 % to find it.
Methods that saw the same data are compared replication by replication (paired).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil, inf, sqrt
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from fedmix.cells.effects import YES, Effect, exponent, paired_effect, resampled_means
from fedmix.cells.verdicts import SHOWN_QUANTILES, TEST_LEVEL, TEST_POWER, WORTHWHILE
from fedmix.conditions import has_values

Cells = list[Mapping[str, Any]]
# The row, the column and the text of a place, and one of the cells that it is made of.
Saying = tuple[str, str, str, Mapping[str, Any]]

_RESAMPLES = 2000
_MANY = 10_000  # replications with which t is practically normal


def condense(cells: pd.DataFrame, option: Mapping[str, Any]) -> list[Saying]:
    """Return the places of a condensed table in one variant, row by row.

    ``cells`` are the table's rows of the frame of cells. ``option`` has a ``kind``, a name in
    :data:`KINDS`, and the parameters of that function.
    """
    given = dict(option)
    return list(KINDS[given.pop("kind")](cells.to_dict("records"), **given))


def slopes(cells: Cells, metric: str, rows: list[Mapping[str, Any]]) -> Iterator[Saying]:
    """Yield the slopes of log means with 95 % intervals, beside the predicted slopes.

    Each of ``rows`` is a :class:`fedmix.cells.items.CondensedRow`: ``along`` is the setting on the
    x axis, ``exponent`` the predicted slope, and ``above_zero`` is as in
    :func:`fedmix.cells.trends.scales`.
    """
    settings = [{k.removeprefix("setting_"): v for k, v in c.items()} for c in cells]
    for row in rows:
        where = row.get("where", {})
        own = [c for c, s in zip(cells, settings, strict=True) if has_values(s, where)]
        scored = [c for c in own if c["metric"] == metric]
        if not scored:
            continue
        yield row["row"], "predicted", f"{row['exponent']:+g}", scored[0]
        if "condition" in row:
            named = [c for c in own if c["metric"] == row["condition"]]
            failed = {c["setting"] for c in named if c["mean"] != 1}  # by any of the methods
            n = len({c["setting"] for c in named})
            text = f"{n - len(failed)} of {n}"
            yield row["row"], "conditions met (constants 1)", text, scored[0]
        for label in dict.fromkeys(c["label"] for c in scored):
            line = [c for c in scored if c["label"] == label]
            found = _exponent(line, row["along"], row.get("above_zero", False))
            if found:
                yield row["row"], label, found.with_interval(), line[0]


def advice(cells: Cells, metric: str, alone: str, harmed: str) -> Iterator[Saying]:
    """Yield, for every row, the method with the least error if federation pays.

    Each row is a regime. The gain is the difference between the best error without exchange, of any
    method, and the least error in the federation. Its 99 % interval decides:

    - federation does not pay if the whole interval is below one percentage point, the least gain
      that is worth an exchange (:data:`fedmix.cells.verdicts.WORTHWHILE`);
    - otherwise it pays if the whole interval is above 0;
    - otherwise the answer is undecided.

    If federation pays, the row also names the methods that the paired test cannot distinguish from
    the best one. They must have at least as many replications as the best one. The metrics are
    those of :class:`fedmix.cells.items.Condensed`.
    """
    for row in dict.fromkeys(c["row"] for c in cells):
        own = [c for c in cells if c["row"] == row and c["n"] > 1]
        mean = itemgetter("mean")
        together = sorted((c for c in own if c["metric"] == metric), key=mean)
        by_oneself = min((c for c in own if c["metric"] == alone), key=mean, default=None)
        if not together or by_oneself is None:
            continue
        best = together[0]
        gain = _paired(by_oneself, best)
        if gain is None:
            continue
        little = gain.below(WORTHWHILE).answer == YES
        pays = gain.above().answer == YES and not little
        pays_not = "no exchange" if little else "undecided"
        as_many = [c for c in together[1:] if c["n"] >= best["n"]]
        behind = [(c["label"], _paired(c, best)) for c in as_many]
        equal = [label for label, effect in behind if not effect or effect.above().answer != YES]
        lost = [c["mean"] for c in own if (c["metric"], c["label"]) == (harmed, best["label"])]
        points = f"{100 * gain.mean:+z.1f} ± {100 * gain.half_width:.1f}"
        yield row, "take", best["label"] if pays else pays_not, best
        yield row, "gain over the best fit alone", points, best
        yield row, "best fit alone", by_oneself["label"], by_oneself
        yield row, "clients harmed", f"{lost[0]:.0%}" if lost else "–", best
        yield row, "not distinguished", "; ".join(equal) if pays and equal else "–", best


def _paired(one: Mapping[str, Any], other: Mapping[str, Any]) -> Effect | None:
    first, second = (pd.Series(c["values"], c["replications"]) for c in (one, other))
    return paired_effect(first, second)


def _exponent(line: Cells, along: str, above_zero: bool) -> Effect | None:
    column = f"setting_{along}"
    ran = sorted((c for c in line if c["n"]), key=lambda c: float(c[column]))
    effects = [Effect(c["mean"], c["se"] if c["n"] > 1 else inf, c["n"]) for c in ran]
    return exponent([float(c[column]) for c in ran], effects, above_zero)


#: The kinds of condensed tables, by name.
KINDS: dict[str, Callable[..., Iterator[Saying]]] = {"slopes": slopes, "advice": advice}


def data_of(cells: pd.DataFrame, same: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the data set of every setting of some cells.

    Clean and contaminated settings of one data set are not independent. Two labellings of the same
    points are not independent either, so ``same`` can count them as one data set. It maps a data
    set to the one whose points it shares.
    """
    names = zip(cells["setting"], cells["setting_dataset"], strict=True)
    return {setting: (same or {}).get(name, name) for setting, name in names}


def mean_ranks(
    cells: pd.DataFrame, metric: str, same: Mapping[str, str] | None = None, direction: str = ""
) -> pd.DataFrame:
    """Average the methods' ranks over replications, then settings of a data set, then data sets.

    Parameters
    ----------
    cells : DataFrame
        The cells of one item that shows ranks, see :func:`fedmix.cells.measured.rank`.
    metric : str
        The rank to average, such as ``"rank: ari_pooled"``, or a score to be ranked.
    same : mapping of str to str, optional
        See :func:`data_of`.
    direction : {"", "lowest", "highest"}
        Which score is best. A method without a score in a replication ranks last there.

    Returns
    -------
    DataFrame
        One row per method, best first: ``method, label, mean_rank, low, high``. The last two are
        the ends of a 95 % bootstrap interval. The bootstrap draws replications within each setting.
        Replications that some methods of a setting have not run yet are left out. Without any
        score there are no rows.
    """
    used = ["setting", "setting_dataset", "method", "label", "replications", "values"]
    chosen = cells.loc[cells["metric"] == metric, used]
    labels = dict(zip(chosen["method"], chosen["label"], strict=True))
    long = chosen.explode(["replications", "values"])
    wide = long.pivot(index=["setting", "replications"], columns="method", values="values")
    wide = wide.astype(float)[list(labels)].dropna(how="all")  # a method that failed has none
    if direction:
        wide = wide.rank(axis=1, ascending=direction == "lowest", na_option="bottom")
    ranked = {
        name: own.dropna(subset=own.columns[own.notna().any()]).to_numpy()
        for name, own in wide.groupby(level="setting", sort=False)
    }
    by_setting = {name: own for name, own in ranked.items() if len(own)}
    if not by_setting:
        return pd.DataFrame(columns=["method", "label", "mean_rank", "low", "high"])
    data = data_of(chosen, same)
    settings = Counter(data[name] for name in by_setting)
    weights = [1 / settings[data[name]] for name in by_setting]
    rng = np.random.default_rng(0)
    draws = [resampled_means(own, _RESAMPLES, rng) for own in by_setting.values()]

    def average(ranks: list[np.ndarray]) -> np.ndarray:  # over the settings that a method ran
        known = np.ma.masked_invalid(ranks)
        return np.ma.filled(np.ma.average(known, axis=0, weights=weights), np.nan)

    low, high = np.quantile(average(draws), SHOWN_QUANTILES, axis=0)
    mean = average([own.mean(axis=0) for own in by_setting.values()])
    names = {"method": list(labels), "label": list(labels.values())}
    frame = pd.DataFrame({**names, "mean_rank": mean, "low": low, "high": high})
    return frame.sort_values(["mean_rank", "method"], ignore_index=True)


def critical_difference(n_methods: int, n_data: int) -> float:
    """Return Nemenyi's critical difference of mean ranks, for all pairs of methods together.

    The ``n_data`` data sets are independent.

    References
    ----------
    Demsar (2006). Statistical comparisons of classifiers over multiple data sets. JMLR 7.
    """
    from scipy.stats import studentized_range

    quantile = studentized_range.ppf(1 - TEST_LEVEL, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data)))


@dataclass(frozen=True)
class Contrast:
    """The difference between two methods in one setting, in the unit shown."""

    #: Standard deviation of the differences over replications.
    sd: float
    n: int
    #: The published difference.
    printed: float | None = None

    @property
    def visible(self) -> float:
        """The smallest difference that is visible with ``n`` replications."""
        return _visible_in_se(self.n) * self.sd / sqrt(self.n)

    @property
    def needed(self) -> float:
        """Replications that make the published difference visible; infinite if there is none."""
        if not self.printed:
            return inf
        in_sd = self.printed / self.sd if self.sd else inf
        n = max(2, ceil((_visible_in_se(_MANY) / in_sd) ** 2))  # no more than it takes
        while n < _MANY and in_sd * sqrt(n) < _visible_in_se(n):
            n += 1
        return float(n)


def contrasts(cells: pd.DataFrame, direction: str) -> list[Contrast]:
    """Return the contrast of the two methods with the best published values, by setting of a table.

    ``direction`` says which published value is the best: the ``"lowest"`` or the ``"highest"``.
    With ``"none"`` there is nothing to compare.
    """
    if direction == "none":
        return []
    able = cells[cells["printed_mean"].notna() & (cells["n"] > 1)]
    compared = ["printed_mean", "scale", "values", "replications"]
    found = []
    for _, own in able.groupby(["variant", "setting", "metric"], sort=False)[compared]:
        ranked = own.to_dict("records")
        ranked.sort(key=itemgetter("printed_mean"), reverse=direction == "highest")
        best, *others = ranked
        paired = _paired(best, others[0]) if others else None
        if paired and paired.n > 1:
            printed = abs(best["printed_mean"] - others[0]["printed_mean"])
            found.append(Contrast(paired.se * sqrt(paired.n) / best["scale"], paired.n, printed))
    return found


def differences(cells: pd.DataFrame, metric: str) -> list[Contrast]:
    """Return the contrasts of a metric that is itself a paired difference, such as a gain."""
    own = cells.loc[(cells["metric"] == metric) & (cells["n"] > 1), ["sd", "scale", "n"]]
    return [Contrast(sd / scale, n) for sd, scale, n in own.itertuples(index=False, name=None)]


@cache
def _visible_in_se(n: int) -> float:
    """Return the visible difference with n replications, in standard errors; 2.8 if n is large."""
    from scipy.special import nctdtrinc, stdtrit

    critical = stdtrit(n - 1, 1 - TEST_LEVEL / 2)
    return float(nctdtrinc(n - 1, 1 - TEST_POWER, critical))

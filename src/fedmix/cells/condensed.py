"""Tables that say one thing of many cells: how a score scales, which method to take.

A table asks for one by its option ``condensed``; each is a function here that takes the table's
cells and that option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedmix.cells.effects import Effect, paired_effect
from fedmix.cells.slopes import exponent, with_interval
from fedmix.conditions import has_values

if TYPE_CHECKING:
    import pandas as pd

    Cells = list[Mapping[str, Any]]


@dataclass(frozen=True)
class Saying:
    """One place of such a table.

    Parameters
    ----------
    row, column, text : str
    cell : mapping
        One of the cells behind it.
    """

    row: str
    column: str
    text: str
    cell: Mapping[str, Any]


def condense(cells: pd.DataFrame, told: Mapping[str, Any]) -> list[Saying]:
    """Return the places of a table in one variant, row by row.

    Parameters
    ----------
    cells : DataFrame
        The table's rows of the frame of cells.
    told : mapping
        ``kind``, of :data:`KINDS`, and what its function takes.
    """
    told = dict(told)
    return list(KINDS[told.pop("kind")](cells.to_dict("records"), **told))


def slopes(cells: Cells, metric: str, rows: list[Mapping[str, Any]]) -> Iterator[Saying]:
    """Yield slopes of log means with 95 % intervals, and what theory predicts.

    Parameters
    ----------
    cells : list of mapping
    metric : str
    rows : list of mapping
        ``row``, its name; ``where``; ``along``, a setting; ``exponent``, the predicted one;
        ``above_zero``, as of :func:`fedmix.cells.rates.scales`; ``condition``, the metric that is 1
        where the theorem's condition holds.
    """
    for told in rows:
        own = _where(cells, told.get("where", {}))
        scored = [c for c in own if c["metric"] == metric]
        if not scored:
            continue
        yield Saying(told["row"], "predicted", f"{told['exponent']:+g}", scored[0])
        if "condition" in told:
            named = [c for c in own if c["metric"] == told["condition"]]
            held = {c["setting"]: c["mean"] == 1 for c in named}
            text = f"{sum(held.values())} of {len(held)}"
            yield Saying(told["row"], "conditions met (constants 1)", text, scored[0])
        for label in dict.fromkeys(c["label"] for c in scored):
            line = [c for c in scored if c["label"] == label]
            found = _exponent(line, told["along"], told.get("above_zero", False))
            if found:
                yield Saying(told["row"], label, with_interval(found), line[0])


def advice(
    cells: Cells, metric: str, alone: str, harmed: str, worth: float = 0.01
) -> Iterator[Saying]:
    """Yield, for every regime (a row of the table), the method of least error, if federation pays.

    It does not pay where that method's gain over the best fit without exchange, whosever that is,
    is below ``worth`` beyond noise; it does where there is a gain beyond noise; else it is
    undecided. Named beside it are those not told apart from it on the same data, in as many
    replications.

    Parameters
    ----------
    cells : list of mapping
    metric, alone : str
        The error in the federation, and that of the same method's fit without exchange.
    harmed : str
        The share of clients that lose.
    worth : float, default=0.01
        The least gain worth an exchange, one percentage point.
    """
    for row in dict.fromkeys(c["row"] for c in cells):
        own = [c for c in cells if c["row"] == row and c["n"] > 1]
        together = sorted((c for c in own if c["metric"] == metric), key=_mean)
        by_oneself = min((c for c in own if c["metric"] == alone), key=_mean, default=None)
        if not together or by_oneself is None:
            continue
        best = together[0]
        gain = _difference(by_oneself, best)
        if gain is None:
            continue
        little = gain.below(worth) == "yes"
        pays = gain.above() == "yes" and not little
        pays_not = "no exchange" if little else "undecided"
        as_many = [c for c in together[1:] if c["n"] >= best["n"]]
        equal = [c["label"] for c in as_many if not _is_more(c, best)]
        lost = [c["mean"] for c in own if (c["metric"], c["label"]) == (harmed, best["label"])]
        points = f"{100 * gain.mean:+.1f} ± {100 * gain.half_width:.1f}"
        yield Saying(row, "take", best["label"] if pays else pays_not, best)
        yield Saying(row, "gain over the best fit alone", points, best)
        yield Saying(row, "best alone", by_oneself["label"], by_oneself)
        yield Saying(row, "clients harmed", f"{lost[0]:.0%}" if lost else "–", best)
        yield Saying(row, "not told apart", ", ".join(equal) if pays and equal else "–", best)


def _mean(cell: Mapping[str, Any]) -> float:
    return cell["mean"]


def _difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> Effect | None:
    """Return the paired difference of two cells of one setting."""
    import pandas as pd

    series = (pd.Series(c["values"], index=c["replications"]) for c in (one, other))
    return paired_effect(*series)


def _is_more(cell: Mapping[str, Any], best: Mapping[str, Any]) -> bool:
    effect = _difference(cell, best)
    return effect is not None and effect.above() == "yes"


def _where(cells: Cells, where: Mapping[str, Any]) -> Cells:
    return [c for c in cells if has_values({k.removeprefix("setting_"): c[k] for k in c}, where)]


def _exponent(line: Cells, along: str, above_zero: bool) -> Effect | None:
    pairs = [(float(c[f"setting_{along}"]), Effect(c["mean"], c["se"], c["n"])) for c in line]
    pairs.sort(key=lambda pair: pair[0])
    xs, effects = [x for x, _ in pairs], [e for _, e in pairs]
    base = effects[0] if above_zero and xs[0] == 0 else None
    return exponent(xs, effects, base)


#: Kinds of such tables by name.
KINDS: dict[str, Callable[..., Iterator[Saying]]] = {"slopes": slopes, "advice": advice}

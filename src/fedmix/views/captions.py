"""What a table and a figure share: their rows, the names of values, and the text below them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf
from statistics import median
from typing import Any

import pandas as pd

from fedmix.cells.condensed import contrasts, critical_difference, differences
from fedmix.cells.verdicts import COMPARABLE, RULES, SOURCES, TEST_LEVEL, TEST_POWER
from fedmix.errors import DataError
from fedmix.plot.scores import groups
from fedmix.revision import commit
from fedmix.views.format import SIGNS, number, number_of

_THREE_DIGITS = 99.5  # from here on, two digits would be written with an exponent


def cells_of(item: Mapping[str, Any], cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of an item in the frame of cells; it is an error if there is none."""
    own = cells[cells["item"] == item["name"]] if len(cells) else cells
    if own.empty:
        raise DataError(f"{item['title']}: no results yet; run the study first.")
    return own


def names_of(item: Mapping[str, Any]) -> dict[str, str]:
    """Return names of values for readers: titles of data sets, the rest from the item."""
    return {**item["datasets"], **item["options"].get("names", {})}


def in_words(name: object) -> str:
    """Return ``"as coded"`` for ``"as_coded"``; names of guides keep their underscores."""
    return re.sub(r"_(?!\S*\.md)", " ", str(name))


def sentences(*parts: str) -> str:
    """Join the sentences that are not empty."""
    return " ".join(part for part in parts if part)


def joined(names: Sequence[str]) -> str:
    """Return ``"a, b and c"``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def stand_in(cells: pd.DataFrame, datasets: Mapping[str, str]) -> str:
    """Return a sentence that names the stand-ins for the paper's data; empty without one.

    ``datasets`` gives the title of each data set.
    """
    if not cells["is_stand_in"].any():
        return ""
    names = cells.loc[cells["is_stand_in"], "setting_dataset"].unique()
    titles = joined([datasets.get(name, in_words(name)) for name in names])
    if (cells["printed_mean"].notna() & ~cells["is_stand_in"] & (cells["n"] > 0)).any():
        one = "Our version of {} stands in for the paper's: its values are not compared."
        several = "Our versions of {} stand in for the paper's: their values are not compared."
        return (one if len(names) == 1 else several).format(titles)
    return f"STAND-IN: our numbers come from {titles}, not from the paper's data."


def usual_n(cells: pd.DataFrame) -> int:
    """Return the most common number of finished replications over the cells that were run."""
    return int(_numbers_run(cells).mode().max())


def _numbers_run(cells: pd.DataFrame) -> pd.Series:
    """Return the replications of the cells that were run; of all cells if none was."""
    n, tried = cells["n"], cells["n"] + cells["failed"] > 0
    return n[tried] if tried.any() else n


def replications(cells: pd.DataFrame, preset: str, exceptions: str) -> str:
    """Return the cells' number of replications, how many failed, and the preset.

    ``exceptions`` follows the number where some cells have another one. ``preset`` is empty for
    results that no preset made.
    """
    exception = "" if _numbers_run(cells).nunique() == 1 else f" {exceptions}"
    failed = int(failed_fits(cells)["failed"].sum())
    left_out = f"; {number_of(failed, 'failed replication')} left out" if failed else ""
    origin = f" Preset {preset}." if preset else ""
    return f"n = {number_of(usual_n(cells), 'replication')}{exception}{left_out}.{origin}"


def failed_fits(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each method in each setting where replications failed."""
    fit = ["study", "variant", "setting", "method"]
    found = cells.loc[cells["failed"] > 0, [*fit, "label", "failed", "failures"]]
    return found.drop_duplicates(fit)


def failures(cells: pd.DataFrame) -> str:
    """Name the methods whose replications failed, how many, and how; empty if none did.

    Methods that failed in the same way stand together, with the message of the first.
    """
    by_kind: dict[str, tuple[str, list[str]]] = {}
    for label, each in failed_fits(cells).groupby("label", sort=False):
        kind, _, message = each["failures"].iloc[0].rstrip(".").partition(": ")
        own = by_kind.setdefault(kind, (message, []))[1]
        own.append(f"{label} ({each['failed'].sum()})")
    kinds = [
        f"{kind} in {joined(own)}, first: {message}" for kind, (message, own) in by_kind.items()
    ]
    return f"Failed replications, which are left out: {'; '.join(kinds)}." if kinds else ""


def written_by() -> str:
    """Name the commit that wrote a table or a figure."""
    return f"Commit {commit()}."


def origin(cells: pd.DataFrame) -> str:
    """Return when the cells' results were made and checked, and the commit that wrote this."""
    made, checked = (
        sorted({part for text in cells[name].unique() for part in text.split(", ") if part})
        for name in ("made", "checked")
    )
    return sentences(
        f"Run on {_several(made)}." if made else "",
        f"A sample was run again on {_several(checked)}, with equal results." if checked else "",
        f"Written at commit {commit()}.",
    )


def _several(texts: Sequence[str]) -> str:
    """Return some texts, and how many more there are."""
    more = [f"{len(texts) - 2} more"] if len(texts) > 2 else []
    return joined([*texts[:2], *more])


def left_out(names: Mapping[str, Sequence[str]]) -> str:
    """List the methods and data sets that were not run, grouped by reason."""
    return " ".join(f"Not run, {reason}: {_listed(own)}." for reason, own in names.items())


def _listed(names: Sequence[str]) -> str:
    return ("; " if any("," in name for name in names) else ", ").join(names)


def best_explained(cells: pd.DataFrame, direction: str) -> list[str]:
    """Explain what is in bold, or why nothing is in a table that has a best value."""
    if (cells["best"] != "").any():
        return [
            f"In bold: the best{_of_one_metric(cells)}, and the methods that a paired test finds "
            "worse than no other (99 % interval)."
        ]
    few = f"Nothing is in bold: fewer than {COMPARABLE} replications tell no methods apart."
    return [few] if direction != "none" and _numbers_run(cells).max() < COMPARABLE else []


def _of_one_metric(cells: pd.DataFrame) -> str:
    """Return the note that methods are compared within a metric, if their metrics differ."""
    pairs = cells[["method", "metric"]].drop_duplicates()
    mixed = pairs["method"].is_unique and pairs["metric"].nunique() > 1
    return " of those scored by the same metric" if mixed else ""


def leaderboard(ranked: pd.DataFrame, n_data: int, n: int, variant: str = "") -> str:
    """Tell mean ranks over data sets, and which neighbours Nemenyi's test does not distinguish.

    ``n_data`` are the independent data sets, and ``n`` the replications. The variant is named where
    a table has several.
    """
    if ranked.empty:
        return ""
    names, means = list(ranked["label"]), list(ranked["mean_rank"])
    listed = ", ".join(f"{name} {mean:.1f}" for name, mean in zip(names, means, strict=True))
    over = f"{number_of(n_data, 'independent data set')}{f' ({variant})' if variant else ''}"
    order = f"Ordered by mean rank over {over}: {listed}."
    if len(names) < 2:
        return order
    if n < COMPARABLE:
        return f"{order} With fewer than {COMPARABLE} replications, no groups are formed."
    width = critical_difference(len(names), n_data)
    same = [f"{names[first]} to {names[last]}" for first, last in groups(means, width)]
    alike = "; ".join(same) or "none"
    return f"{order} Not distinguished (critical difference {width:.1f}): {alike}."


def variants_explained(cells: pd.DataFrame, explained: Mapping[str, str]) -> list[str]:
    """Explain the variants that are shown and that the paper's folder describes.

    As in the table, diagnostic ones come last.
    """
    ordered = cells.sort_values("role", key=lambda role: ~role.isin(SOURCES), kind="stable")
    shown = [name for name in ordered["variant"].unique() if name in explained]
    return [f"Variant {in_words(name)}: {explained[name]}." for name in shown]


def marks_explained(cells: pd.DataFrame) -> str:
    """Explain the marks of the verdicts that occur; a verdict without a mark by its rule."""
    found = set(cells["verdict"].unique())
    known = [f"{sign} {verdict}" for verdict, sign in SIGNS.items() if sign and verdict in found]
    marks = f"Marks: {', '.join(known)}." if known else ""
    unmarked = [v for v, sign in SIGNS.items() if not sign and v in found]
    return sentences(marks, *(f"{v.capitalize()}: {RULES[v]}." for v in unmarked))


def power(cells: pd.DataFrame, direction: str, difference: str) -> str:
    """Return the smallest detectable difference, and the replications that printed ones need.

    ``direction`` is what is best, and ``difference`` a metric that is itself a difference, if there
    is one. The text is empty if a table has no differences.
    """
    found = differences(cells, difference) if difference else contrasts(cells, direction)
    if not found:
        return ""
    least = median(contrast.visible for contrast in found)
    visible = f"{least:.2g}" if least < _THREE_DIGITS else number(least)
    test = f"{TEST_POWER:.0%} power, level {TEST_LEVEL:.0%}, paired, median of {len(found)}"
    if difference:
        return f"These replications detect differences from zero of {visible} or more ({test})."
    needed = sorted(contrast.needed for contrast in found)
    middle, fewest, most = map(_number_needed, (median(needed), needed[0], needed[-1]))
    shown = (
        "No number of replications would show the published differences."
        if needed[0] == inf
        else f"The published differences would need {middle} replications (median; from {fewest} "
        f"to {most})."
    )
    return (
        f"These replications detect differences of {visible} or more between the method published "
        f"as best and the next{_of_one_metric(cells)} ({test}). {shown}"
    )


def _number_needed(n: float) -> str:
    return "infinitely many" if n == inf else f"{n:,.0f}"

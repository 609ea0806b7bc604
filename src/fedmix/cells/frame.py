"""One frame of cells: every value of ours, summarised once, beside the published one.

Tables, figures, claims and the page are views of this frame. A row is one metric of one method in
one setting, as one item shows it. A metric that no item shows has a row with an empty item.

``paper, item, row, column``
    The table or figure, and the place in it.
``study, variant, setting, setting_<name>``
    Where it was measured. ``role`` is the role of the variant
    (:data:`fedmix.cells.verdicts.SOURCES`).
``method, label, method_<name>``
    The method, its published name, its parameters.
``metric, mean, sd, se, median, q1, q3, n, failed, failures, replications, values``
    In our unit, over finished replications. ``failed`` counts the other replications, and
    ``failures`` says how they failed.
``made, checked``
    When and at which commit the replications were run, and by which check their evidence was
    adopted since.
``best``
    ``"best"`` or ``"tied"`` if the method is among the best of the item's methods in this setting
    (:func:`standings`).
``unit, scale, digits``
    How the item shows it: number shown x scale = our number.
``printed_mean, printed_sd, printed_text, printed_replications, printed_file, printed_line``
    The published value, in the unit shown; ``printed_text`` has the published digits.
``difference, difference_in_sd, difference_in_se, low, high, verdict, is_stand_in``
    Our mean minus the published one, in the unit shown, with its 90 % interval, and the verdict.
    They are empty if there is no published value, or if the item shows another metric; of a
    stand-in there is the verdict alone.
``sd_ratio, sd_ratio_low, sd_ratio_high, needed, draws``
    Our standard deviation divided by the published one, with its interval, the number of
    replications that would decide the verdict, and whether the variance between draws was
    measured or borrowed, with ``draws_sd, n_draws``.

The cells of single settings (:func:`make_cells`) have no verdicts yet: a verdict may depend on
settings of another study. :func:`complete` and :func:`judged_cells` return the frame with them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fedmix.cells.effects import YES, paired_effect
from fedmix.cells.equivalence import JUDGEMENT, judge
from fedmix.cells.items import SIGN, Item
from fedmix.cells.measured import (
    PLACE,
    RUN_METRICS,
    SECONDS,
    Measured,
    Metric,
    measure,
    metric_of,
    summarise,
)
from fedmix.cells.printed import PrintedNumber, PrintedTable, check_coverage, names_of
from fedmix.cells.verdicts import COMPARABLE
from fedmix.conditions import has_values, rows_with
from fedmix.storage import concatenate

BEST, TIED = "best", "tied"

_FIRST = ["paper", "item", "row", "column", *PLACE]
_NUMBERS = [
    *("metric", "unit", "mean", "sd", "se", "median", "q1", "q3", "n", "failed"),
    *("failures", "made", "checked", "replications", "values", "scale", "digits", "printed_mean"),
    *("printed_sd", "printed_text", "printed_replications", "printed_file", "printed_line"),
]
_JUDGED = [*JUDGEMENT, "is_stand_in", "role", "best"]
_UNJUDGED = ["is_stand_in", "judged", "other_draws", "role", "best"]
_TEXTS = [*_FIRST, "method", "label", "metric", "unit", "printed_text", "printed_file"]
_TEXTS += ["failures", "made", "checked", "role", "best", "verdict", "draws", "other_draws"]
_FLAGS = ["is_stand_in", "judged"]
_COUNTS = {
    **dict.fromkeys(("n", "failed"), "int64"),
    **dict.fromkeys(("digits", "printed_replications", "printed_line"), "Int64"),
}


def make_cells(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    items: Iterable[Item],
    published: str | Path,
    paper: str,
    labels: Mapping[str, str],
    roles: Mapping[str, str],
) -> pd.DataFrame:
    """Return the cells of one study's settings, without verdicts.

    The cells do not have the columns of a verdict yet. They have the columns ``judged`` and
    ``other_draws``, from which :func:`fedmix.cells.equivalence.judge` decides the verdict.

    Parameters
    ----------
    results, timings : DataFrame
        The rows of whole settings, because the methods of a setting are ranked together.
    items : iterable of Item
        The items that show the study, whose published values are in ``published``.
    paper : str
        The key of the paper that the study belongs to.
    labels, roles : mapping of str to str
        Method -> its name in tables; variant -> its role, one of
        :data:`fedmix.cells.verdicts.SOURCES`.

    Raises
    ------
    DataError
        If a replication of a cell occurs twice, or a published file does not match an item.
    """
    settings = []
    for key, own in results.groupby(PLACE, sort=False) if len(results) else ():
        timed = rows_with(timings, dict(zip(PLACE, key, strict=True))) if len(timings) else timings
        settings.append((own, timed))
    return cells_of(measure(settings, labels), items, published, paper, roles)


def cells_of(
    settings: Iterable[Measured],
    items: Iterable[Item],
    published: str | Path,
    paper: str,
    roles: Mapping[str, str],
) -> pd.DataFrame:
    """Return the cells of measured settings, see :func:`make_cells`."""
    tables = [(item, PrintedTable(item, published)) for item in items]
    rows = [
        cell | {"paper": paper, "role": roles[cell["variant"]]}
        for measured in settings
        for cell in _cells_of_setting(measured, tables)
    ]
    return _typed(rows)


def read_cells(paths: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read frames of cells as one frame; either none of them has verdicts, or all have."""
    return _typed(concatenate(paths))


def judged_cells(paths: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read the cells of some settings and judge them, for a table, a figure or ``explain``.

    The verdicts equal those of :func:`complete` if the cells of other draws are included.
    """
    return _ordered(judge(read_cells(paths)))


def complete(frame: pd.DataFrame, items: Iterable[Item], published: str | Path) -> pd.DataFrame:
    """Add the published values that have no cell of ours, and judge all cells.

    Items that are judged and have published values are completed in every variant that was run; an
    item that was not run gets an empty variant. A published value that belongs to no item, or to
    more than one, is a DataError.
    """
    items = list(items)
    check_coverage(items, published)
    missing = []
    for item in items:
        if not (item.judged and item.printed):
            continue
        numbers = PrintedTable(item, published)
        own = frame[frame["item"] == item.name]
        roles = dict(zip(own["variant"], own["role"], strict=True)) or {"": ""}
        done = set(zip(own["variant"], own["printed_file"], own["printed_line"], strict=True))
        missing += [
            _not_run(item, number) | {"variant": variant, "role": role}
            for variant, role in sorted(roles.items())
            for number in numbers
            if (variant, number.file, number.line) not in done
        ]
    parts = [frame, _typed(missing)] if missing else [frame]
    return _ordered(judge(pd.concat(parts, ignore_index=True)))


def _cells_of_setting(
    measured: Measured, tables: Iterable[tuple[Item, PrintedTable]]
) -> Iterator[dict[str, Any]]:
    shown = set()
    for item, table in tables:
        metrics = {name: metric_of(measured, name) for name in item.metrics}
        best = {}
        for name, scores in metrics.items():
            own = {method: s for method, s in scores.items() if name in item.metrics_of(method)}
            best[name] = standings(own, item.direction)
        for method, identity in measured.methods.items():
            names, is_stand_in = names_of(item, identity)
            values = {key.removeprefix("setting_"): v for key, v in identity.items()}
            if names is None or not has_values(values, item.where):
                continue
            for name in item.metrics_of(method):
                place = _place(item, {**identity, **names, "metric": name})
                numbers = _numbers(measured, method, name, metrics[name])
                if place and (numbers["n"] or numbers["failed"]):
                    partner = _partner(item, table.number(names), is_stand_in)
                    standing = {"best": best[name].get(method, "")}
                    yield {**identity, **place, **numbers, **partner, **standing}
                    shown.add((method, name))
    for method, identity in measured.methods.items():
        known = [metric for m, metric in measured.values if m == method]
        for name in known or RUN_METRICS:  # so that a method that never finished has rows too
            if (method, name) not in shown:
                unit = {"unit": SECONDS if name == SECONDS else ""}
                numbers = _numbers(measured, method, name, measured.metric(name))
                yield {**identity, **numbers, **unit}


def standings(scores: Metric, direction: str) -> dict[str, str]:
    """Return the methods that are best by a metric in one setting, by the direction of an item.

    Methods that saw the same data are compared replication by replication. The method with the best
    mean is ``"best"``. The methods that the paired test finds worse than no other are ``"tied"``: a
    best mean of scattered values does not make a tie of a method that a third one beats. Methods
    with fewer values than :data:`fedmix.cells.verdicts.COMPARABLE` are left out. Nothing is best if
    fewer than two are left, or if the direction is neither ``"highest"`` nor ``"lowest"``.
    """
    finished = {method: values for method, values in scores.items() if len(values) >= COMPARABLE}
    if direction not in SIGN or len(finished) < 2:
        return {}
    losses = {method: SIGN[direction] * values for method, values in finished.items()}
    winner = min(losses, key=lambda method: losses[method].mean())
    found = {winner: BEST}
    for method, values in losses.items():
        if method == winner or not paired_effect(values, losses[winner]):
            continue
        behind = (paired_effect(values, other) for m, other in losses.items() if m != method)
        if not any(effect and effect.above().answer == YES for effect in behind):
            found[method] = TIED
    return found


def _place(item: Item, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return where and how an item shows a cell; empty if the cell lacks a column of the item."""
    place = item.place_of(known)
    if place is None:
        return {}
    return {
        "item": item.name,
        "row": place[0],
        "column": place[1],
        "unit": item.unit,
        "scale": item.scale,
        "digits": item.digits,
    }


def _numbers(measured: Measured, method: str, metric: str, scores: Metric) -> dict[str, Any]:
    """Return the columns that summarise one method's scores, which it may lack."""
    values = scores[method] if method in scores else pd.Series(dtype=float)
    made, checked = measured.origins.get(method, ("", ""))
    return {
        "metric": metric,
        "made": made,
        "checked": checked,
        **summarise(values),
        "failed": measured.failed[method],
        "failures": measured.failures.get(method, ""),
        "replications": values.index.tolist(),
        "values": values.tolist(),
    }


def _partner(item: Item, number: PrintedNumber | None, is_stand_in: bool = False) -> dict[str, Any]:
    """Return a cell's published value, and the columns that its verdict depends on."""
    if number is None:
        return {}
    names = ("mean", "sd", "text", "replications", "file", "line")
    return {f"printed_{name}": getattr(number, name) for name in names} | {
        "is_stand_in": is_stand_in,
        "judged": item.judged,
        "other_draws": item.other_draws,
    }


def _not_run(item: Item, number: PrintedNumber) -> dict[str, Any]:
    """Return a cell for a published value that has no cell of ours."""
    metric = (item.metrics_of("") or [""])[0]
    unknown = dict.fromkeys(item.columns_named, _Unknown())
    known = {**unknown, "metric": metric, **number.names}
    return {
        **_place(item, known),
        "paper": item.paper,
        "study": item.study,
        "label": str(number.names.get("method", "")),
        "metric": metric,
        **_partner(item, number),
    }


class _Unknown:
    """A column of ours that a published value does not have, in any format."""

    def __format__(self, spec: str) -> str:
        return "–"


def _typed(rows: list[dict[str, Any]] | pd.DataFrame) -> pd.DataFrame:
    """Return rows as a frame with all columns, in their order and with their types."""
    frame = _ordered(pd.DataFrame(rows))
    texts, flags = ([c for c in names if c in frame] for names in (_TEXTS, _FLAGS))
    frame[texts] = frame[texts].astype(object).fillna("").astype(str)
    frame[flags] = frame[flags].eq(True)
    frame = frame.fillna({"scale": 1.0, "failed": 0, "n": 0})
    for name in ("replications", "values"):
        frame[name] = [list(own) if hasattr(own, "__len__") else [] for own in frame[name]]
    named = {*texts, *flags, *_COUNTS, "replications", "values"}
    floats = [c for c in (*_NUMBERS, *JUDGEMENT) if c in frame and c not in named]
    return frame.astype(dict.fromkeys(floats, "float64") | _COUNTS)


def _ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame's columns in order; missing ones are added, unknown ones left out."""
    last = _JUDGED if "verdict" in frame else _UNJUDGED
    settings = sorted(c for c in frame if c.startswith("setting_"))
    parameters = sorted(c for c in frame if c.startswith("method_"))
    names = [*_FIRST, *settings, "method", "label", *parameters, *_NUMBERS, *last]
    return frame.reindex(columns=names)

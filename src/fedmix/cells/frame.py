"""One frame of cells: every number of ours, summarised once, beside its printed partner.

All surfaces are views of this frame. A row is one metric of one method in one setting, as one item
shows it; a metric that no item shows has a row with an empty item.

``paper, item, row, column``
    Which table or figure, and where in it.
``study, variant, setting, setting_<name>``
    Where it was measured. ``role`` is what the variant stands for
    (:mod:`fedmix.cells.roles`).
``method, label, method_<name>``
    The method, its name in print, its parameters.
``metric, mean, sd, se, median, q1, q3, n, failed, replications, values``
    In our unit, over finished replications; ``failed`` counts the others.
``best``
    ``"best"`` or ``"tied"`` where the method is among the best of the item's at its place
    (:mod:`fedmix.cells.best`).
``unit, scale, digits``
    How the item shows it: number shown x scale = ours.
``printed_mean, printed_sd, printed_text, printed_replications, printed_file, printed_line``
    What is printed there, in the unit shown; ``printed_text`` with the digits of the print.
``difference, low, high, difference_in_sd, difference_in_se, verdict, is_stand_in``
    Ours less theirs in the unit shown with its 90 % interval, and the verdict; empty where nothing
    is printed or the item shows another metric than the print.
``sd_ratio, sd_ratio_low, sd_ratio_high, needed``
    Our spread over the printed one with its interval, and the replications that would decide.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.cells.best import standings
from fedmix.cells.derived import metric_of
from fedmix.cells.items import Item
from fedmix.cells.measured import PLACE, Measured, measure
from fedmix.cells.printed import PrintedNumber, PrintedTable, check_coverage
from fedmix.cells.summary import RUN_METRICS, SECONDS, summarise
from fedmix.cells.verdicts import NOT_JUDGED, NOT_RUN, STAND_IN, compare
from fedmix.conditions import has_values, rows_with
from fedmix.storage import concatenate

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.cells.measured import Metric

_FIRST = ["paper", "item", "row", "column", *PLACE]
_REST = [
    *("metric", "unit", "mean", "sd", "se", "median", "q1", "q3", "n", "failed"),
    *("replications", "values", "scale", "digits", "printed_mean", "printed_sd", "printed_text"),
    *("printed_replications", "printed_file", "printed_line", "difference", "difference_in_sd"),
    *("difference_in_se", "low", "high", "sd_ratio", "sd_ratio_low", "sd_ratio_high", "needed"),
    *("verdict", "is_stand_in", "role", "best"),
]
_TEXTS = ["item", "row", "column", "unit", "printed_text", "printed_file", "verdict"]
_TEXTS += ["role", "best"]
_WHOLE = ["n", "failed", "digits", "printed_replications", "printed_line"]
_NUMBERS = [
    *("mean", "sd", "se", "median", "q1", "q3", "scale", "printed_mean", "printed_sd"),
    *("difference", "difference_in_sd", "difference_in_se", "low", "high"),
    *("sd_ratio", "sd_ratio_low", "sd_ratio_high", "needed"),
]


def make_cells(
    results: pd.DataFrame,
    timings: pd.DataFrame,
    items: Iterable[Item],
    published: str | Path,
    paper: str,
    labels: Mapping[str, str],
    roles: Mapping[str, str],
) -> pd.DataFrame:
    """Return the cells of the settings of one study.

    Parameters
    ----------
    results, timings : DataFrame
        Of whole settings, for methods are ranked and timed against one another.
    items : iterable of Item
        What shows the study.
    published : path-like
        ``data/published``.
    paper : str
        The folder that the study belongs to.
    labels : mapping of str to str
        Method -> its name in tables.
    roles : mapping of str to str
        Variant -> what it stands for, of :data:`fedmix.cells.roles.ROLES`.

    Raises
    ------
    DataError
        If a replication of a cell occurs twice, or a printed file is not as an item says.
    """
    settings = []
    for key, own in results.groupby(PLACE, sort=False) if len(results) else ():
        timed = rows_with(timings, dict(zip(PLACE, key, strict=True))) if len(timings) else timings
        settings.append(measure(own, timed, labels))
    return cells_of(settings, items, published, paper, roles)


def cells_of(
    settings: Iterable[Measured],
    items: Iterable[Item],
    published: str | Path,
    paper: str,
    roles: Mapping[str, str],
) -> pd.DataFrame:
    """Return the cells of what was measured in some settings, see :func:`make_cells`."""
    tables = [(item, PrintedTable(item, published)) for item in items]
    rows = [
        cell | {"paper": paper, "role": roles[cell["variant"]]}
        for measured in settings
        for cell in _cells_of_setting(measured, tables)
    ]
    return _typed(rows)


def read_cells(paths: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read the cells of some settings, or of all of them, as one frame."""
    return _typed(concatenate(paths).to_dict("records"))


def complete(frame: pd.DataFrame, items: Iterable[Item], published: str | Path) -> pd.DataFrame:
    """Add the printed numbers that nothing of ours was held against, as ``"not run"``.

    Parameters
    ----------
    frame : DataFrame
        Cells of all settings.
    items : iterable of Item
        All items; those that are judged and have printed numbers are completed, once in every
        variant that the item was run in, or with an empty variant.
    published : path-like
        ``data/published``.

    Returns
    -------
    DataFrame

    Raises
    ------
    DataError
        If a printed number is held against no item, or more than one.
    """
    import pandas as pd

    items = list(items)
    check_coverage(items, published)
    missing = []
    for item in items:
        if not (item.judged and item.printed):
            continue
        own = frame[frame["item"] == item.name]
        roles = dict(zip(own["variant"], own["role"], strict=True)) or {"": ""}
        for variant in sorted(roles):
            here = own[own["variant"] == variant]
            done = set(zip(here["printed_file"], here["printed_line"], strict=True))
            missing += [
                _not_run(item, number) | {"variant": variant, "role": roles[variant]}
                for number in PrintedTable(item, published)
                if (number.file, number.line) not in done
            ]
    parts = [frame, _typed(missing)] if missing else [frame]
    return _ordered(pd.concat(parts, ignore_index=True))


def _cells_of_setting(
    measured: Measured, tables: Iterable[tuple[Item, PrintedTable]]
) -> Iterator[dict[str, Any]]:
    shown = set()
    for item, table in tables:
        metrics = {name: metric_of(measured, name) for name in item.metrics}
        best = {
            name: standings(_shown(item, name, scores), item.direction)
            for name, scores in metrics.items()
        }
        for method, identity in measured.methods.items():
            names, is_stand_in = table.names_of(identity)
            if names is None or not has_values(_setting_values(identity), item.where):
                continue
            for name in item.metrics_of(method):
                place = _place(item, {**identity, **names, "metric": name})
                numbers = _numbers(measured, method, name, metrics[name].get(method))
                if place and (numbers["n"] or numbers["failed"]):
                    partner = table.number(names)
                    compared = _compared(item, partner, numbers, is_stand_in)
                    standing = {"best": best[name].get(method, "")}
                    yield {**identity, **place, **numbers, **compared, **standing}
                    shown.add((method, name))
    for method, identity in measured.methods.items():
        own = [metric for m, metric in measured.values if m == method]
        for name in own or RUN_METRICS:  # a method that never finished has a row as well
            if (method, name) not in shown:
                unit = {"unit": SECONDS if name == SECONDS else ""}
                values = measured.values.get((method, name))
                yield {**identity, **_numbers(measured, method, name, values), **unit}


def _shown(item: Item, metric: str, scores: Metric) -> Metric:
    """Return the scores of the methods of which an item shows a metric."""
    return {method: s for method, s in scores.items() if metric in item.metrics_of(method)}


def _setting_values(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return a setting's values under their own names, its variant and id among them."""
    values = {k.removeprefix("setting_"): v for k, v in identity.items() if k != "setting"}
    return values | {"setting": identity["setting"]}


def _place(item: Item, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return where and how an item shows a cell; nothing if the cell lacks what the item names."""
    if any(name not in known for name in item.columns_named):
        return {}
    return {
        "item": item.name,
        "row": item.row.format(**known),
        "column": item.column.format(**known),
        "unit": item.unit,
        "scale": item.scale,
        "digits": item.digits,
    }


def _numbers(
    measured: Measured, method: str, metric: str, values: pd.Series | None
) -> dict[str, Any]:
    return {
        "metric": metric,
        **summarise([] if values is None else values),
        "failed": measured.failed[method],
        "replications": [] if values is None else values.index.tolist(),
        "values": [] if values is None else values.tolist(),
    }


def _compared(
    item: Item, partner: PrintedNumber | None, numbers: Mapping[str, Any], is_stand_in: bool
) -> dict[str, Any]:
    """Return the printed partner's columns and how far ours is from it."""
    if partner is None:
        return {}
    found = compare(
        [value / item.scale for value in numbers["values"]],
        partner.mean,
        partner.sd,
        partner.replications,
        item.digits or 0,
    )
    verdict = found.verdict
    if numbers["n"]:
        timed = numbers["metric"] == SECONDS
        verdict = STAND_IN if is_stand_in else NOT_JUDGED if timed else verdict
    judged = {"verdict": verdict if item.judged else "", "is_stand_in": is_stand_in}
    return _printed(partner) | asdict(found) | judged


def _printed(number: PrintedNumber) -> dict[str, Any]:
    return {
        "printed_mean": number.mean,
        "printed_sd": number.sd,
        "printed_text": number.text,
        "printed_replications": number.replications,
        "printed_file": number.file,
        "printed_line": number.line,
    }


def _not_run(item: Item, number: PrintedNumber) -> dict[str, Any]:
    """Return the cell of a printed number that nothing was held against."""
    metric = (item.metrics_of("") or [""])[0]
    known = dict.fromkeys(item.columns_named, "") | {"metric": metric} | dict(number.names)
    return {
        **_place(item, known),
        "paper": item.paper,
        "study": item.study,
        "label": str(number.names.get("method", "")),
        "metric": metric,
        **_printed(number),
        "verdict": NOT_RUN,
    }


def _typed(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a frame with all columns, in order and of their types."""
    import pandas as pd

    frame = _ordered(pd.DataFrame(rows))
    texts = [*PLACE, "paper", "method", "label", "metric", *_TEXTS]
    frame[texts] = frame[texts].astype(object).fillna("").astype(str)
    frame["scale"] = frame["scale"].fillna(1.0)
    for name in ("failed", "n"):
        frame[name] = frame[name].fillna(0)
    for name in ("replications", "values"):
        frame[name] = [list(own) if hasattr(own, "__len__") else [] for own in frame[name]]
    frame["is_stand_in"] = frame["is_stand_in"].eq(True)
    kinds = dict.fromkeys(_WHOLE, "Int64") | dict.fromkeys(_NUMBERS, "float64")
    return frame.astype(kinds | {"n": "int64", "failed": "int64"})


def _ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame's columns in their order, missing ones added, others left out."""
    settings = sorted(c for c in frame if c.startswith("setting_"))
    parameters = sorted(c for c in frame if c.startswith("method_"))
    return frame.reindex(columns=[*_FIRST, *settings, "method", "label", *parameters, *_REST])

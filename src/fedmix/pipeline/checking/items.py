"""Tables and figures, held against the studies that they show and the numbers in print."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from string import Formatter
from typing import Any

from fedmix.cells.items import ItemEntry
from fedmix.configuration import Document, Place
from fedmix.errors import nearest_names
from fedmix.pipeline.checking.conditions import condition_errors, value_errors
from fedmix.pipeline.checking.printed import PrintedFiles, printed_errors
from fedmix.pipeline.checking.vocabulary import Vocabulary
from fedmix.pipeline.plan import Study

# Options of a figure that name a column of the frame of cells.
_COLUMNS = ("series", "along", "level")


def item_errors(
    name: str,
    entries: Mapping[str, ItemEntry],
    studies: Mapping[str, Vocabulary],
    files: PrintedFiles,
) -> Iterator[str]:
    """Yield what an item names that its study, or the paper's printed file, does not have.

    Parameters
    ----------
    name : str
    entries : mapping of str to ItemEntry
        All items, which their schemas have passed.
    studies : mapping of str to Vocabulary
        What can be named of each study.
    files : PrintedFiles
    """
    entry = entries[name]
    item, content = entry.document, entry.document.content
    if content["study"] not in studies:
        hint = nearest_names(content["study"], studies)
        yield f"{item.place('study')}: unknown study {content['study']!r}. {hint}"
        return
    study = studies[content["study"]]
    if "where" in content:
        yield from condition_errors(item.part("where"), study.settings)
    yield from _shown_errors(item, study)
    printed = content.get("printed", {})
    if isinstance(printed, str):
        printed = entries[printed].document.content["printed"]
    elif printed:
        yield from printed_errors(item.part("printed"), entry.paper.key, study, files)
        if "draws" in printed:
            yield from _unknown(item.place("printed", "draws"), "study", printed["draws"], studies)
    for key in ("row", "column"):
        yield from _template_errors(item, key, {*study.cell_columns, *printed.get("columns", ())})
    if entry.file == "figures":
        yield from _option_errors(item.part("options"), study)
    else:
        for metric in content.get("options", {}).get("show", ()):
            place = item.place("options", "show", metric)
            yield from _unknown(place, "metric", metric, study.metrics)


def unmatched_errors(item: Document, plans: Mapping[str, Study]) -> Iterator[str]:
    """Yield that a preset changes an item, but runs none of the settings that it shows."""
    study, where = item.content["study"], item.content.get("where", {})
    if study not in plans:
        yield f"{item.place()}: the preset does not run {study!r}, which it shows"
    elif not any(setting.matches(where) for setting in plans[study].settings.values()):
        yield f"{item.place('where')}: the preset has no setting with all of these values"


def _shown_errors(part: Document, study: Vocabulary) -> Iterator[str]:
    """Yield unknown metrics and methods."""
    content = part.content
    for i, name in enumerate(content.get("methods", ())):
        yield from _unknown(part.place("methods", i), "method", name, study.methods)
    metric = content.get("metric", [])
    for i, one in enumerate(metric if isinstance(metric, list) else [metric]):
        place = part.place("metric", i) if isinstance(metric, list) else part.place("metric")
        for method, name in one.items() if isinstance(one, Mapping) else [("default", one)]:
            yield from _unknown(place, "method", method, ("default", *study.methods))
            yield from _unknown(place, "metric", name, study.metrics)


def _template_errors(item: Document, key: str, known: Collection[str]) -> Iterator[str]:
    try:
        names = [n for _, n, _, _ in Formatter().parse(item.content.get(key, "")) if n is not None]
    except ValueError as error:
        yield f"{item.place(key)}: {error}"
        return
    for name in names:
        yield from _unknown(item.place(key), "column", name, known)


def _option_errors(options: Document, study: Vocabulary) -> Iterator[str]:
    """Yield what a figure, a row or a column of its panels names in vain."""
    content, columns = options.content, study.cell_columns
    yield from _shown_errors(options, study)
    for key in _COLUMNS:
        if key in content:
            yield from _unknown(options.place(key), "column", content[key], columns)
    if "rank" in content:
        yield from _unknown(options.place("rank"), "metric", content["rank"], study.metrics)
    if "x" in content:
        yield from _expression_errors(options, {*columns, *study.metrics})
    for key, value in content.get("where", {}).items():
        name = key.removeprefix("setting_")
        yield from _unknown(options.place("where", key), "column", key, columns)
        if key in columns and (name != key or key == "variant"):
            yield from value_errors(options.place("where", key), name, value, study.settings)
    for key in ("rows", "columns"):
        panels = content.get(key, [])
        if isinstance(panels, str):
            yield from _unknown(options.place(key), "column", panels, columns)
        else:
            for i in range(len(panels)):
                yield from _option_errors(options.part(key, i), study)


def _expression_errors(options: Document, known: Collection[str]) -> Iterator[str]:
    try:
        tree = ast.parse(options.content["x"], mode="eval")
    except SyntaxError as error:
        yield f"{options.place('x')}: {error.msg}"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield from _unknown(options.place("x"), "column or metric", node.id, known)


def _unknown(place: Place, kind: str, name: Any, known: Collection[str]) -> Iterator[str]:
    if name not in known:
        yield f"{place}: unknown {kind} {name!r}. {nearest_names(str(name), known)}"

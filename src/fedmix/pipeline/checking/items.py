"""Check tables and figures against the studies and published values that they show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from string import Formatter
from typing import Any

from fedmix.cells.items import Item
from fedmix.cells.measured import identity_of
from fedmix.cells.papers import Paper
from fedmix.cells.printed import columns_of, plain, rows_of
from fedmix.cells.verdicts import NEAREST
from fedmix.configuration import Document, Place, Problems, read_document
from fedmix.declarations import names_in
from fedmix.errors import did_you_mean, nearest_names
from fedmix.pipeline.checking import Vocabulary, condition_errors, unknown, value_errors
from fedmix.pipeline.plan import Study

# Options of a figure whose value is a column of the frame of cells.
_COLUMNS = ("series", "along", "level")
Rows = list[dict[str, str]]
PrintedFiles = dict[str, dict[str, Rows]]  # paper -> file -> rows of text by column
#: Columns of ours that name a method. All others but its parameters belong to the setting.
_OF_METHODS = ("label", "method")
_DECIMAL = re.compile(r"-?\d+(\.\d+)?")
_SHOWN = 3  # unmatched rows of a file


def read_printed(folder: Path) -> PrintedFiles:
    """Return the published values below ``data/published`` as text."""
    found: PrintedFiles = {}
    problems = Problems()
    for path in sorted(folder.glob("*/*.csv")):
        paper, name = path.parts[-2:]
        with problems.kept():
            rows = rows_of(path, f"data/published/{paper}/{name}")
            found.setdefault(paper, {})[name] = rows
    problems.raise_all()
    return found


def item_errors(
    item: Item, document: Document, studies: Mapping[str, Vocabulary], files: PrintedFiles
) -> Iterator[str]:
    """Yield the names in an item that its study or the file of published values does not have.

    Parameters
    ----------
    item : Item
    document : Document
        The item's part of the configuration.
    studies : mapping of str to Vocabulary
        What can be named of each study.
    files : PrintedFiles
    """
    if item.study not in studies:
        yield from unknown(document.place("study"), "study", item.study, studies)
        return
    study = studies[item.study]
    if item.where:
        yield from condition_errors(document.part("where"), study.settings)
    yield from _shown_errors(document, study)
    if item.printed and item.judged:
        yield from _printed_errors(document.part("printed"), item.paper, study, files)
        if item.partition_draws:
            yield from unknown(
                document.place("printed", "partition_draws"), "study", item.partition_draws, studies
            )
    known = {*study.cell_columns, *item.printed.get("columns", ())}
    for key, template in (("row", item.row), ("column", item.column)):
        for _, name, _, _ in Formatter().parse(template):
            if name is not None:
                yield from unknown(document.place(key), "column", name, known)
    if item.kind == "figure":
        yield from _option_errors(document.part("options"), study)
    for option in ("show", "metrics"):
        for metric in item.options.get(option, ()):
            place = document.place("options", option, metric)
            yield from unknown(place, "metric", metric, study.metrics)
    for option in ("difference", "leaderboard"):
        if metric := item.options.get(option):
            yield from unknown(document.place("options", option), "metric", metric, study.metrics)


def unmatched_errors(item: Item, document: Document, plans: Mapping[str, Study]) -> Iterator[str]:
    """Yield an error if a preset changes an item but runs none of its settings."""
    if item.study not in plans:
        yield f"{document.place()}: the preset does not run {item.study!r}, which it shows"
    elif not any(setting.matches(item.where) for setting in plans[item.study].settings.values()):
        yield f"{document.place('where')}: the preset has no setting with all of these values"


def paper_errors(
    paper: Paper, items: Iterable[Item], studies: Mapping[str, Vocabulary]
) -> Iterator[str]:
    """Yield the names in a paper's ``about.yaml`` that its items do not show.

    Parameters
    ----------
    paper : Paper
    items : iterable of Item
        The paper's items.
    studies : mapping of str to Vocabulary
        The paper's studies.
    """
    about = read_document(paper.folder / "about.yaml")
    variants = {setting.variant for study in studies.values() for setting in study.settings}
    for name in paper.variants:
        yield from unknown(about.place("variants", name), "variant", name, {*variants, NEAREST})
    drawn = {name for study in studies.values() for name in study.methods} | variants
    items = [item for item in items if item.study in studies]
    drawn.update(metric for item in items for metric in item.metrics)
    if paper.looks.keys() - drawn:
        drawn.update(text for item in items for text in _written(item, studies[item.study]))
    for name in paper.looks:
        yield from unknown(about.place("looks", name), "series", name, drawn)


def _written(item: Item, study: Vocabulary) -> Iterator[str]:
    """Yield the texts that an item's templates give for a study's settings."""
    for setting in study.settings:
        known = {f"setting_{name}": value for name, value in setting.identity.items()}
        for template in (item.row, item.column):
            with suppress(KeyError, ValueError, TypeError):  # not a setting's column
                yield template.format(**known)


def _shown_errors(part: Document, study: Vocabulary) -> Iterator[str]:
    """Yield unknown metrics and methods."""
    content = part.content
    for i, name in enumerate(content.get("methods", ())):
        yield from unknown(part.place("methods", i), "method", name, study.methods)
    metric = content.get("metric", [])
    for i, one in enumerate(metric if isinstance(metric, list) else [metric]):
        place = part.place("metric", i) if isinstance(metric, list) else part.place("metric")
        for method, name in one.items() if isinstance(one, Mapping) else [("default", one)]:
            yield from unknown(place, "method", method, ("default", *study.methods))
            yield from unknown(place, "metric", name, study.metrics)


def _option_errors(options: Document, study: Vocabulary) -> Iterator[str]:
    """Yield the unknown names in the options of a figure, or of a row or column of panels."""
    content, columns = options.content, study.cell_columns
    yield from _shown_errors(options, study)
    for key in _COLUMNS:
        if isinstance(content.get(key), str):
            yield from unknown(options.place(key), "column", content[key], columns)
    if "rank" in content:
        yield from unknown(options.place("rank"), "metric", content["rank"], study.metrics)
    for name in names_in(content["x"]) if "x" in content else ():
        known = {*columns, *study.metrics}
        yield from unknown(options.place("x"), "column or metric", name, known)
    for key, value in content.get("where", {}).items():
        name = key.removeprefix("setting_")
        yield from unknown(options.place("where", key), "column", key, columns)
        if key in columns and (name != key or key == "variant"):
            yield from value_errors(options.place("where", key), name, value, study.settings)
    for key in ("rows", "columns"):
        panels = content.get(key, [])
        if isinstance(panels, str):
            yield from unknown(options.place(key), "column", panels, columns)
        else:
            for i in range(len(panels)):
                yield from _option_errors(options.part(key, i), study)


def _printed_errors(
    printed: Document, paper: str, study: Vocabulary, files: PrintedFiles
) -> Iterator[str]:
    """Yield the names in an item's ``printed`` that the file or the study does not have."""
    content, known = printed.content, files.get(paper, {})
    if content["file"] not in known:
        hint = nearest_names(content["file"], known)
        yield f"{printed.place('file')}: no file {content['file']!r} of {paper}. {hint}"
        return
    rows = known[content["file"]]
    header = list(rows[0]) if rows else []
    all_rows = [row for own in known.values() for row in own]  # items share translations
    for key in ("mean", "sd"):
        yield from unknown(printed.place(key), "printed column", content[key], header)
    for column, value in content.get("where", {}).items():
        place = printed.place("where", column)
        yield from unknown(place, "printed column", column, header)
        yield from _never_printed(place, column, value, rows)
    for column, ours in columns_of(content).items():
        place = printed.place("columns", column)
        yield from unknown(place, "printed column", column, header)
        if ours["column"] not in study.cell_columns:
            yield from unknown(place, "column of cells", ours["column"], study.cell_columns)
            continue
        names = [*ours.get("names", {}).items()]
        names += content.get("stand_in", {}).get(column, {}).items()
        for name, theirs in names:
            yield from _never_ours(place, ours["column"], name, study)
            yield from _never_printed(place, column, theirs, all_rows)
    for column in content.get("stand_in", {}):
        place = printed.place("stand_in", column)
        yield from unknown(place, "printed column", column, content["columns"])
    yield from _not_numbers(printed, paper, rows)
    yield from _unmatched_rows(printed, paper, study, rows)


def _not_numbers(printed: Document, paper: str, rows: Rows) -> Iterator[str]:
    """Yield the published means and standard deviations that are not decimal numbers."""
    for key in ("mean", "sd"):
        column = printed.content[key]
        for line, row in enumerate(rows, start=2):
            text = row.get(column, "0")  # a missing column is an error of its own
            if _has(row, printed) and not _DECIMAL.fullmatch(text):
                yield (
                    f"{printed.place(key)}: {paper}/{printed.content['file']}, line {line}: "
                    f"{column} is {text!r}, expected a decimal number such as 13.3"
                )


def _has(row: Mapping[str, str], printed: Document) -> bool:
    """Return whether a published row has the values in ``where``."""
    where = printed.content.get("where", {}).items()
    return all(plain(row.get(column, "")) == plain(value) for column, value in where)


def _never_printed(place: Place, column: str, value: Any, rows: Rows) -> Iterator[str]:
    texts = {row[column] for row in rows if column in row}
    if texts and not any(plain(value) == plain(text) for text in texts):
        hint = nearest_names(str(value), texts)
        yield f"{place}: {value!r} is not printed under {column!r}. {hint}"


def _never_ours(place: Place, column: str, value: Any, study: Vocabulary) -> Iterator[str]:
    if column.startswith("setting_"):
        yield from value_errors(place, column.removeprefix("setting_"), value, study.settings)
    elif column == "label" and value not in study.labels:
        yield f"{place}: no method is labelled {value!r}. {nearest_names(value, study.labels)}"


def _unmatched_rows(printed: Document, paper: str, study: Vocabulary, rows: Rows) -> Iterator[str]:
    """Yield the published rows that no setting and no method of the study can match."""
    columns = columns_of(printed.content)
    if not all(column in row for row in rows for column in columns):
        return  # which is an error of its own
    of_settings = {
        column: ours
        for column, ours in columns.items()
        if ours["column"] not in _OF_METHODS and not ours["column"].startswith("method_")
    }
    stand_in = printed.content.get("stand_in", {})
    identities = [identity_of(s.identity, "", "") | dict(s.identity) for s in study.settings]
    places = {own for one in identities for own in _printed_keys(one, of_settings, stand_in)}
    named = {
        column: {
            text
            for value in (study.labels if ours["column"] == "label" else study.methods)
            for text in _texts(value, ours, stand_in.get(column, {}))
        }
        for column, ours in columns.items()
        if ours["column"] in _OF_METHODS
    }
    wrong = []
    for line, row in enumerate(rows, start=2):
        if not _has(row, printed):
            continue
        if tuple(plain(row[column]) for column in of_settings) not in places:
            values = ", ".join(f"{column} {row[column]!r}" for column in of_settings)
            wrong.append(f"line {line}: no setting of the study has {values}")
        for column, known in named.items():
            if plain(row[column]) not in known:
                hint = did_you_mean(row[column], known)
                wrong.append(f"line {line}: no method is called {row[column]!r}. {hint}".rstrip())
    file = f"{paper}/{printed.content['file']}"
    for text in wrong[:_SHOWN]:
        yield f"{printed.place('columns')}: {file}, {text}"
    if len(wrong) > _SHOWN:
        more = len(wrong) - _SHOWN
        yield f"{printed.place('columns')}: {file}, and {more} more rows match nothing"


def _printed_keys(
    identity: Mapping[str, Any], columns: Mapping[str, Any], stand_in: Mapping[str, Any]
) -> Iterator[tuple[str, ...]]:
    """Yield what a setting can have in the printed columns, as itself and as a stand-in."""
    if any(ours["column"] not in identity for ours in columns.values()):
        return
    found: list[tuple[str, ...]] = [()]
    for column, ours in columns.items():
        texts = _texts(identity[ours["column"]], ours, stand_in.get(column, {}))
        found = [(*key, text) for key in found for text in texts]
    yield from found


def _texts(value: Any, ours: Mapping[str, Any], stand_in: Mapping[Any, Any]) -> list[str]:
    """Return how a value of ours can be printed."""
    named = value if isinstance(value, list) else ours.get("names", {}).get(value, value)
    texts = [plain(named)]
    if not isinstance(named, list) and named in stand_in:
        texts.append(plain(stand_in[named]))
    return texts

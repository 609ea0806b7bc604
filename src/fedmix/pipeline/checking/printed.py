"""Check the published values, and what tables and figures say of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from fedmix.cells.items import Item
from fedmix.cells.measured import identity_of
from fedmix.cells.printed import columns_of, plain, rows_of
from fedmix.configuration import Document, Place, Problems
from fedmix.errors import ConfigurationError, did_you_mean, nearest_names
from fedmix.pipeline.checking import Vocabulary, unknown, unknown_names, value_errors

Rows = list[dict[str, str]]
RowsByLine = dict[int, dict[str, str]]  # those that an item shows
PrintedFiles = dict[str, dict[str, Rows]]  # paper -> file -> rows of text by column
#: Columns of ours that name a method. All others but its parameters belong to the setting.
_OF_METHODS = ("label", "method")
_SHOWN = 3  # unmatched rows of a file


def read_printed(folder: Path) -> PrintedFiles:
    """Return the published values below ``data/published`` as text."""
    found: PrintedFiles = {}
    problems = Problems()
    for path in sorted(folder.glob("*/*.csv")):
        paper, name = path.parts[-2:]
        with problems.kept():
            rows = rows_of(path, f"data/published/{paper}/{name}")
            if not rows:
                raise ConfigurationError(
                    f"data/published/{paper}/{name}: expected a line with the names of columns and "
                    "a line for each published value. Add them, or remove the file."
                )
            found.setdefault(paper, {})[name] = rows
    problems.raise_all()
    return found


def coverage_errors(
    items: Mapping[str, Item], documents: Mapping[str, Document], files: PrintedFiles
) -> Iterator[str]:
    """Yield published values that no item of any paper has, or more than one."""
    papers = {item.paper for item in items.values()}
    for paper, own in files.items():
        if paper not in papers:
            hint = did_you_mean(paper, papers)
            yield f"data/published/{paper}: no tables.yaml or figures.yaml of such a paper. {hint}"
            continue
        for name, rows in own.items():
            shown = {
                key: documents[key].part("printed")
                for key, item in items.items()
                if item.judged and (item.paper, item.printed.get("file")) == (paper, name)
            }
            for line, row in enumerate(rows, start=2):
                having = [key for key, printed in shown.items() if _has(row, printed)]
                if len(having) != 1:
                    yield (
                        f"data/published/{paper}/{name}:{line}: expected one table or figure that "
                        f"has this value under `printed`, got {' and '.join(having) or 'none'}. "
                        "Change `where` of `printed`, or remove the value."
                    )
                    break


def printed_errors(
    printed: Document, paper: str, study: Vocabulary, files: PrintedFiles
) -> Iterator[str]:
    """Yield the names in an item's ``printed`` that the file or the study does not have."""
    content, known = printed.content, files.get(paper, {})
    if content["file"] not in known:
        where, hint = f"data/published/{paper}", nearest_names(content["file"], known)
        yield f"{printed.place('file')}: no file {content['file']!r} in {where}. {hint}"
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
    yield from unknown_names(printed, "printed column", content["columns"], "stand_in")
    shown = {line: row for line, row in enumerate(rows, start=2) if _has(row, printed)}
    yield from _not_numbers(printed, paper, shown)
    yield from _named_twice(printed, paper, shown)
    yield from _unmatched_rows(printed, paper, study, shown)


def _not_numbers(printed: Document, paper: str, shown: RowsByLine) -> Iterator[str]:
    """Yield the published means and standard deviations that are not decimal numbers."""
    numbers = (
        ("mean", r"-?\d+(\.\d+)?", "a decimal number such as 13.3"),
        ("sd", r"\d+(\.\d+)?", "a decimal number from 0, as in 1.2"),
    )
    for key, pattern, expected in numbers:
        column = printed.content[key]
        for line, row in shown.items():
            text = row.get(column, "0")  # a missing column is an error of its own
            if not re.fullmatch(pattern, text):
                yield (
                    f"{printed.place(key)}: {paper}/{printed.content['file']}, line {line}: "
                    f"{column} is {text!r}, expected {expected}"
                )


def _named_twice(printed: Document, paper: str, shown: RowsByLine) -> Iterator[str]:
    """Yield the published rows that have the same values in `columns` as an earlier row."""
    columns = columns_of(printed.content)
    first: dict[tuple[str, ...], int] = {}
    for line, row in shown.items():
        if not columns.keys() <= row.keys():
            continue
        key = tuple(plain(row[column]) for column in columns)
        if first.setdefault(key, line) != line:
            yield (
                f"{printed.place('columns')}: {paper}/{printed.content['file']}, line {line}: line "
                f"{first[key]} has the same {', '.join(columns)}. Remove one, or name a column "
                "that tells them apart."
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


def _unmatched_rows(
    printed: Document, paper: str, study: Vocabulary, shown: RowsByLine
) -> Iterator[str]:
    """Yield the published rows that no setting and no method of the study can match."""
    columns = columns_of(printed.content)
    if not {ours["column"] for ours in columns.values()} <= study.cell_columns or not all(
        column in row for row in shown.values() for column in columns
    ):
        return  # which are errors of their own
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
    for line, row in shown.items():
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
    if all(ours["column"] in identity for ours in columns.values()):
        yield from product(
            *(
                _texts(identity[ours["column"]], ours, stand_in.get(column, {}))
                for column, ours in columns.items()
            )
        )


def _texts(value: Any, ours: Mapping[str, Any], stand_in: Mapping[Any, Any]) -> list[str]:
    """Return how a value of ours can be printed."""
    named = value if isinstance(value, list) else ours.get("names", {}).get(value, value)
    texts = [plain(named)]
    if not isinstance(named, list) and named in stand_in:
        texts.append(plain(stand_in[named]))
    return texts

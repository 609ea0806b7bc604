"""Places of printed numbers, held against the files that hold them."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from fedmix.configuration import Document, Place
from fedmix.errors import nearest_names
from fedmix.pipeline.checking.conditions import value_errors
from fedmix.pipeline.checking.vocabulary import Vocabulary


class PrintedFiles:
    """The printed numbers as text.

    Parameters
    ----------
    folder : pathlib.Path
        ``data/published``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _tables(self) -> dict[str, list[dict[str, str]]]:
        found = {}
        for path in sorted(self._folder.glob("*/*.csv")):
            with open(path, encoding="utf-8", newline="") as stream:
                found[f"{path.parent.name}/{path.name}"] = list(csv.DictReader(stream))
        return found

    def of(self, paper: str) -> dict[str, list[dict[str, str]]]:
        """Return a paper's files by name: rows of texts by column."""
        return {
            name.partition("/")[2]: rows
            for name, rows in self._tables.items()
            if name.startswith(f"{paper}/")
        }


def printed_errors(
    printed: Document, paper: str, study: Vocabulary, files: PrintedFiles
) -> Iterator[str]:
    """Yield what an item's ``printed`` names that neither the file nor the study has."""
    content, known = printed.content, files.of(paper)
    if content["file"] not in known:
        hint = nearest_names(content["file"], known)
        yield f"{printed.place('file')}: no file {content['file']!r} of {paper}. {hint}"
        return
    rows = known[content["file"]]
    header = list(rows[0]) if rows else []
    all_rows = [row for own in known.values() for row in own]  # items share what translates names
    for key in ("mean", "sd"):
        yield from _missing(printed.place(key), content[key], header)
    for column, value in content.get("where", {}).items():
        yield from _missing(printed.place("where", column), column, header)
        yield from _never_printed(printed.place("where", column), column, value, rows)
    for column, ours in content["columns"].items():
        place = printed.place("columns", column)
        yield from _missing(place, column, header)
        ours = {"column": ours} if isinstance(ours, str) else ours
        if ours["column"] not in study.cell_columns:
            hint = nearest_names(ours["column"], study.cell_columns)
            yield f"{place}: cells have no column {ours['column']!r}. {hint}"
            continue
        places = [*ours.get("names", {}).items()]
        places += content.get("stand_in", {}).get(column, {}).items()
        for name, theirs in places:
            yield from _never_ours(place, ours["column"], name, study)
            yield from _never_printed(place, column, theirs, all_rows)
    for column in content.get("stand_in", {}):
        yield from _missing(printed.place("stand_in", column), column, content["columns"])


def _missing(place: Place, column: str, header: Collection[str]) -> Iterator[str]:
    if column not in header:
        yield f"{place}: no printed column {column!r}. {nearest_names(column, header)}"


def _never_printed(
    place: Place, column: str, value: Any, rows: list[dict[str, str]]
) -> Iterator[str]:
    texts = {row[column] for row in rows if column in row}
    if texts and not any(_same(value, text) for text in texts):
        hint = nearest_names(str(value), texts)
        yield f"{place}: {value!r} is not printed under {column!r}. {hint}"


def _never_ours(place: Place, column: str, value: Any, study: Vocabulary) -> Iterator[str]:
    if column.startswith("setting_"):
        yield from value_errors(place, column.removeprefix("setting_"), value, study.settings)
    elif column == "label" and value not in study.labels:
        yield f"{place}: no method is labelled {value!r}. {nearest_names(value, study.labels)}"


def _same(value: Any, text: str) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(text) == value
        except ValueError:
            return False
    return str(value) == text

"""Check that every published value can have a partner among the settings and methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fedmix.cells.measured import identity_of
from fedmix.configuration import Document
from fedmix.errors import did_you_mean
from fedmix.pipeline.checking.vocabulary import Vocabulary

Rows = list[dict[str, str]]

#: Columns of ours that name a method. All others but its parameters belong to the setting.
_OF_METHODS = ("label", "method")
_SHOWN = 3  # unmatched rows of a file


def unmatched_rows(printed: Document, paper: str, study: Vocabulary, rows: Rows) -> Iterator[str]:
    """Yield the published rows that no setting and no method of the study can match.

    Parameters
    ----------
    printed : Document
        An item's ``printed``.
    paper, study, rows
        The paper's key, what its study names, and the rows of the file.
    """
    columns = {
        column: {"column": ours} if isinstance(ours, str) else ours
        for column, ours in printed.content["columns"].items()
    }
    if not all(column in row for row in rows for column in columns):
        return  # which is an error of its own
    where = printed.content.get("where", {}).items()
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
        if any(plain(row.get(column, "")) != plain(value) for column, value in where):
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


def plain(value: Any) -> str:
    """Return a value as text, in which 1 equals 1.0."""
    if isinstance(value, bool):
        return str(value)
    try:
        return f"{float(value):.9g}"
    except (TypeError, ValueError):
        return str(value)


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

"""Build the tables that people ask for by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fedmix.errors import ConfigurationError, DataError
from fedmix.storage import concatenate, write_text
from fedmix.views.tables.format import to_latex, to_markdown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Table:
    """A table in two forms.

    Parameters
    ----------
    cells : DataFrame
        One row a cell, all numbers: for programs, written as CSV.
    layout : DataFrame of str
        The paper's rows and columns: for people, written as Markdown and LaTeX.
    notes : str
        A sentence below the table, e.g. what a cell shows.
    """

    cells: pd.DataFrame
    layout: pd.DataFrame
    notes: str = ""


def find_builder(package: str, name: str) -> Callable[..., Any]:
    """Return the function ``module.function`` of a package of ``fedmix.views``."""
    module, _, function = name.partition(".")
    try:
        return getattr(import_module(f"{package}.{module}"), function)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"items: there is no builder {package}.{name} ({error})") from None


def read_item(
    item: Mapping[str, Any],
    results: Iterable[str],
    timings: Iterable[str],
    printed: str | None = None,
) -> dict[str, Any]:
    """Return what a builder is called with: results, timings, labels and its own options.

    Parameters
    ----------
    item : mapping
        Title, labels, options and, for a table with printed values, which of them it shows.
    results, timings : iterable of path-like
        Collected settings.
    printed : path-like, optional
        The file of printed values.

    Raises
    ------
    DataError
        If no result is there yet.
    """
    frames = {"results": concatenate(results), "timings": concatenate(timings)}
    if frames["results"].empty:
        raise DataError(f"{item['title']}: no results yet; run the study first.")
    if printed:
        frames["printed"] = _printed_rows(printed, item["printed"])
    return {**frames, "labels": item["labels"], **item["options"]}


def _printed_rows(path: str, where: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    rows = pd.read_csv(path)
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows


def build_table(
    item: Mapping[str, Any],
    results: Iterable[str],
    timings: Iterable[str],
    outputs: Iterable[str | os.PathLike],
    printed: str | None = None,
) -> None:
    """Build a table and write it in the form that each output's suffix names.

    Parameters
    ----------
    item : mapping
        Title, caption, builder, options and the methods' labels.
    results, timings : iterable of path-like
        Collected settings.
    outputs : iterable of path-like
        Ending in ``csv``, ``md`` or ``tex``.
    printed : path-like, optional
        The file of printed values.
    """
    builder = find_builder("fedmix.views.tables", item["builder"])
    table = builder(**read_item(item, results, timings, printed))
    caption = " ".join(filter(None, [f"{item['title']}.", item["caption"], table.notes]))
    writers = {
        "csv": lambda: table.cells.to_csv(index=False),
        "md": lambda: to_markdown(table.layout, caption),
        "tex": lambda: to_latex(table.layout, caption),
    }
    for output in outputs:
        suffix = os.fspath(output).rpartition(".")[2]
        write_text(output, writers[suffix]())

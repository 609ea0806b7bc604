"""Explain a kept number from the pages of the evidence alone, where nothing has been run."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from fedmix.cells.verdicts import RULES
from fedmix.errors import DataError
from fedmix.pipeline.explain import find_cells

#: The pages that are made from the evidence.
KEPT = Path("docs") / "reproduction"


def answer_of(folder: Path, item: str) -> str:
    """Return a table's answer in words, from a folder's ``scores.csv``; empty if unknown."""
    path = folder / "scores.csv"
    if not path.is_file():
        return ""
    with open(path, encoding="utf-8", newline="") as file:
        return next(
            (row.get("answer", "") for row in csv.DictReader(file) if row["item"] == item), ""
        )


def explain_kept(folder: Path, item: str, row: str, column: str) -> Iterator[str]:
    """Yield what the kept evidence says of a number, in every variant that ran it.

    Parameters
    ----------
    folder : Path
        With ``cells.csv`` and ``scores.csv``, usually ``docs/reproduction``.
    item, row, column : str
        As for :func:`fedmix.pipeline.explain.find_cells`.

    Raises
    ------
    ConfigurationError
        If the item, row or column is unknown.
    DataError
        If there are no kept cells.
    """
    import pandas as pd

    path = folder / "cells.csv"
    if not path.is_file():
        raise DataError(f"{path}: no such file; `make kept` makes it from the evidence.")
    frame = pd.read_csv(path, dtype={"row": str, "column": str}, keep_default_na=False)
    cells = find_cells(frame, item, row, column)
    yield from [answer_of(folder, item), ""]
    for cell in cells:
        yield cell["variant"] or "not run"
        yield f"  published: {cell['printed_text']}"
        if cell["n"]:
            yield f"  ours: {cell['mean']} (sd {cell['sd']}), {cell['n']} replications"
            yield f"  ours minus theirs: {cell['difference']}, 90 % [{cell['low']}, {cell['high']}]"
        yield f"  verdict: {cell['verdict']} ({RULES[cell['verdict']]})"
        if cell["draws"]:
            yield f"  variance between partition draws: {cell['draws']}"
        yield ""

"""Keep the outcome of a run where it can be read without running anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.cells.claims import claims_table
from fedmix.cells.scorecard import COUNTED, cells_table, score_tables, scorecard
from fedmix.errors import DataError
from fedmix.storage import write_text
from fedmix.views.tables.format import to_markdown

if TYPE_CHECKING:
    import pandas as pd

#: What the folder may weigh in a repository, in bytes.
LIMIT = 5_000_000


def export_reproduction(
    folder: str | os.PathLike,
    cells: pd.DataFrame,
    claims: pd.DataFrame,
    provenance: Mapping[str, str],
    tables: Iterable[str | os.PathLike],
    figures: Iterable[str | os.PathLike],
    command: str,
) -> None:
    """Write tables, figures, scorecard, claims and provenance of a run into a folder.

    Parameters
    ----------
    folder : path-like
        Usually ``docs/reproduction``; what an earlier export left there is replaced.
    cells : DataFrame
        The frame of cells of all settings.
    claims : DataFrame
        Of :func:`fedmix.cells.claims.evaluate_claims`.
    provenance : mapping of str to str
        How it was run.
    tables : iterable of path-like
        CSV and Markdown files.
    figures : iterable of path-like
        SVG files, each with its caption beside it in a file that ends in ``.md``.
    command : str
        What regenerates the folder.

    Raises
    ------
    DataError
        If the folder would be larger than :data:`LIMIT`; it names the largest files.
    """
    folder = Path(folder)
    parts = {"tables": [Path(t) for t in tables], "figures": [Path(f) for f in figures]}
    _check_size([*parts["tables"], *parts["figures"]])
    for name, sources in parts.items():
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
        for source in sources:
            shutil.copyfile(source, folder / name / source.name)
    score, scores = scorecard(cells, claims), score_tables(cells)
    listed = claims_table(claims)
    summary = listed[["paper", "section", "claim", "verdict", "where", "remarks"]]
    write_text(folder / "cells.csv", cells_table(cells).to_csv(index=False))
    write_text(folder / "scorecard.csv", score.to_csv())
    write_text(folder / "scores.csv", scores.to_csv(index=False))
    write_text(folder / "claims.csv", listed.to_csv())
    write_text(folder / "claims.md", to_markdown(summary, "# Claims"))
    write_text(
        folder / "README.md",
        _readme(score, scores, provenance, parts["tables"], parts["figures"], command),
    )


def _check_size(files: list[Path]) -> None:
    total = sum(f.stat().st_size for f in files)
    if total > LIMIT:
        largest = sorted(files, key=lambda f: f.stat().st_size)[-3:]
        names = ", ".join(f"{f.name} ({f.stat().st_size // 1000} kB)" for f in largest)
        raise DataError(
            f"The reproduction would weigh {total // 1000} kB, more than {LIMIT // 1000} kB. "
            f"The largest files: {names}."
        )


def _readme(
    score: pd.DataFrame,
    scores: pd.DataFrame,
    provenance: Mapping[str, str],
    tables: list[Path],
    figures: list[Path],
    command: str,
) -> str:
    """Return the folder's front page: scorecard, provenance and a list of what is there."""
    lines = ["# A reproduction that can be read without running anything", ""]
    lines += ["Ours beside the papers' printed numbers. This folder is written by", ""]
    lines += ["```sh", command, "```", "", "## Scorecard", "", to_markdown(score.T)]
    lines += [
        "A printed cell counts by one variant, the authors' or else the text's, which `scores.csv` "
        "names table by table; `cells.csv` has every variant.",
        "",
    ]
    lines += ["## How it was run", "", "| | |", "|---|---|"]
    lines += [f"| {key} | {value} |" for key, value in provenance.items()]
    lines += ["", "## Tables", ""]
    comes_to = {row["item"]: _in_words(row) for row in scores.to_dict("records")}
    lines += [
        f"- [{t.stem}](tables/{t.name}){comes_to.get(t.stem, '')}"
        for t in tables
        if t.suffix == ".md"
    ]
    lines += ["", "## Figures", ""]
    for figure in figures:
        caption = figure.with_suffix(".md").read_text(encoding="utf-8").strip()
        lines += [f"![{figure.stem}](figures/{figure.name})", "", caption, ""]
    return "\n".join([*lines, "Claims: [claims.md](claims.md)"]) + "\n"


def _in_words(score: Mapping[str, Any]) -> str:
    """Return what a printed table comes to, by the variant that answers for the paper."""
    counts = ", ".join(f"{score[name]} {name}" for name in COUNTED if score[name])
    variant = score["variant"] or "no variant"
    return f": {variant}, {counts}. {score['direction']}".rstrip()

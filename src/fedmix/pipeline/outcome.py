"""What a run has come to: its files, its verdicts, and methods that failed throughout."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.pipeline.plan import Study

if TYPE_CHECKING:
    import pandas as pd

# What a file is, or the folder of pages, which has no suffix.
_KINDS = {
    ".html": "the scorecard, to open",
    "": "behind it, a page for every printed table",
    ".parquet": "every number, for programs",
    ".zip": "the archive of all results",
}


def count_outcomes(results: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return how often each method of a setting ended how, and its first error.

    Parameters
    ----------
    results : DataFrame
        Collected rows of one setting.

    Returns
    -------
    dict
        By method: ``replications`` by status, and ``error``, the message of the first replication
        that raised one (empty if there is none).
    """
    if results.empty:
        return {}
    outcomes = {}
    for method, rows in results.groupby("method", sort=False):
        ends = rows.drop_duplicates("replication")
        errors = ends.loc[ends["status"] == "error", "message"]
        outcomes[str(method)] = {
            "replications": {str(k): int(n) for k, n in ends["status"].value_counts().items()},
            "error": str(errors.iloc[0]) if len(errors) else "",
        }
    return outcomes


def failed_throughout(studies: Iterable[Study], workdir: str | os.PathLike = ".") -> list[str]:
    """Return the methods that raised an error in every replication of a study's variant.

    A method that diverges or takes too long has shown what it does, and this is a result. One that
    only raises errors has not run: a parameter is wrong, or the method.

    Parameters
    ----------
    studies : iterable of Study
        Where to look; settings that are not collected do not count.
    workdir : path-like, default="."
        Where Snakemake works.

    Returns
    -------
    list of str
        A sentence each, with the first error.
    """
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    errors: dict[tuple[str, str, str], str] = {}
    for study in studies:
        for setting in study.settings.values():
            path = Path(workdir, "results", study.name, setting.folder, "outcomes.json")
            outcomes = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            for method, outcome in outcomes.items():
                key = (study.name, setting.variant, method)
                counts.setdefault(key, Counter()).update(outcome["replications"])
                errors[key] = errors.get(key) or outcome["error"]
    return [
        f"{study}, variant {variant}: every replication of {method} failed, "
        f"the first with {errors[study, variant, method]}"
        for (study, variant, method), count in counts.items()
        if set(count) == {"error"}
    ]


def summary_lines(made: Iterable[str], workdir: str | os.PathLike = ".") -> Iterator[str]:
    """Yield what a run has made, for people.

    Parameters
    ----------
    made : iterable of str
        Tables, figures and pages that the run was to make; those that are there are told.
    workdir : path-like, default="."
        Where Snakemake works.
    """
    there = [Path(path) for path in made if Path(workdir, path).exists()]
    for kind in ("tables", "figures"):
        for folder in dict.fromkeys(path.parent for path in there if path.parent.name == kind):
            names = sorted({path.stem for path in there if path.parent == folder})
            yield f"{kind} in {folder}: {', '.join(names)}"
    yield from _verdicts(Path(workdir), there)
    alone = [path for path in there if path.parent.parent == Path("results")]
    yield from (f"{_KINDS.get(path.suffix, 'made')}: {path}" for path in alone)


def _verdicts(workdir: Path, made: Iterable[Path]) -> Iterator[str]:
    """Yield the counts of verdicts, if this run has audited its results."""
    titles = {"cells": "printed numbers, each in every variant", "claims": "claims"}
    for path in made:
        if path.parent.name == "audit" and path.suffix == ".csv" and path.stem in titles:
            with open(workdir / path, encoding="utf-8", newline="") as stream:
                counts = Counter(row["verdict"] for row in csv.DictReader(stream))
            told = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
            yield f"{titles[path.stem]}: {told or 'none'}"

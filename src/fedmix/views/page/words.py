"""Results in words for a reader: the names of data sets and methods, and how a run was made."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from fedmix import __version__
from fedmix.revision import LIBRARIES
from fedmix.storage import write_text
from fedmix.views.captions import in_words


def names_of(tables: Iterable[Mapping[str, Any]], cells: pd.DataFrame) -> dict[str, str]:
    """Return data set -> title, of all tables, and method -> label, of all cells."""
    titles = {key: name for table in tables for key, name in table["datasets"].items()}
    named = cells.loc[cells["method"] != "", ["method", "label"]].drop_duplicates("method")
    return titles | dict(zip(named["method"], named["label"], strict=True))


def translator(names: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that replaces identifiers in a sentence by the names that readers know.

    Parameters
    ----------
    names : mapping of str to str
        From :func:`names_of`. A name that is the first word of its title (``digits``, "Digits
        (8x8)") is an ordinary word, and stays; ``emnist``, "EMNIST Balanced", is none.

    Examples
    --------
    >>> translate = translator({"frog_a": "Frog A", "LocalEM": "Local-EM"})
    >>> translate("yes in 1 of 1: frog_a-contaminated0, means_error of LocalEM")
    'yes in 1 of 1: Frog A-contaminated0, means error of Local-EM'
    """
    known = {
        key: name
        for key, name in names.items()
        if not name.startswith((f"{key} ", f"{key.capitalize()} "))
    }
    longest_first = sorted(map(re.escape, known), key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(longest_first)})(?!\w)|\w+_\w+(?!\S*\.md)")

    def translate(text: str) -> str:
        return pattern.sub(lambda found: known.get(found[0], in_words(found[0])), text)

    return translate


def describe_run(options: Mapping[str, Any], timings: pd.DataFrame) -> dict[str, str]:
    """Describe a run for a reader who wants to repeat it.

    Parameters
    ----------
    options : mapping
        The preset and the options that override it.
    timings : DataFrame
        The timings of all studies.

    Returns
    -------
    dict of str to str
        Name -> text, in the order to be shown.
    """
    if timings.empty:  # nothing has been run yet, so there are no columns
        timings = timings.reindex(columns=["study", "replication", "cpu_seconds", "made"])
    replications = timings.groupby("study")["replication"].nunique()
    overrides = [f"{k}={v}" for k, v in options.items() if k != "preset" and v not in (None, False)]
    made = [json.loads(text) for text in timings["made"].unique()]  # what results say of themselves
    dates = sorted(origin["date"] for origin in made)

    def listed(*names: str) -> str:
        found = {", ".join(f"{name} {origin[name]}".strip() for name in names) for origin in made}
        return "; ".join(sorted(found))

    def alone(name: str) -> str:
        return "; ".join(sorted({origin[name] for origin in made} - {""}))

    return {
        "Preset": " ".join([str(options["preset"]), *overrides]),
        "Replications, at most": ", ".join(f"{study} {n}" for study, n in replications.items()),
        "Runs": f"{len(timings)} (one method on one replication of one setting)",
        "Core-hours of the methods": f"{timings['cpu_seconds'].sum() / 3600:.2f}",
        "Made": " to ".join(dict.fromkeys(dates[:1] + dates[-1:])),
        "fedmix": ", ".join(filter(None, [__version__, listed("commit")])),
        "Libraries": listed(*LIBRARIES),
        "Python": alone("python"),
        "Processor": alone("processor"),
    }


def write_description(path: str | os.PathLike, description: Mapping[str, str]) -> None:
    """Write the description of a run as CSV, one line per fact."""
    write_text(path, pd.Series(description, name="is").rename_axis("what").to_csv())


def read_description(path: str | os.PathLike) -> dict[str, str]:
    """Read a description that :func:`write_description` wrote."""
    return pd.read_csv(path, index_col="what", dtype=str, keep_default_na=False)["is"].to_dict()

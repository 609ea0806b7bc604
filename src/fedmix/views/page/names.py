"""What data sets and methods are called among people."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fedmix.views.captions import in_words
from fedmix.views.page.context import PageContext

if TYPE_CHECKING:
    import pandas as pd


def names_of(context: PageContext) -> dict[str, str]:
    """Return data set -> its title and method -> its label, of all that the pages show."""
    titles = {key: name for table in context.tables for key, name in table["datasets"].items()}
    return titles | _labels(context.cells)


def _labels(cells: pd.DataFrame) -> dict[str, str]:
    named = cells[cells["method"] != ""].drop_duplicates("method")
    return dict(zip(named["method"], named["label"], strict=True))


def translator(names: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that puts names for people into a sentence that was made from results.

    Parameters
    ----------
    names : mapping of str to str
        Of :func:`names_of`. A name that its title only goes on from (``digits``, "Digits (8x8)")
        is a word of the language, and stays.

    Examples
    --------
    >>> told = translator({"frog_a": "Frog A", "LocalEM": "Local-EM"})
    >>> told("yes in 1 of 1: frog_a-contaminated0, means_error of LocalEM")
    'yes in 1 of 1: Frog A-contaminated0, means error of Local-EM'
    """
    known = {key: name for key, name in names.items() if not name.lower().startswith(f"{key} ")}
    longest_first = sorted(known, key=len, reverse=True)
    pattern = re.compile(
        "|".join([*(rf"(?<![\w-]){re.escape(key)}(?!\w)" for key in longest_first), r"\w+_\w+"])
    )

    def translate(text: str) -> str:
        return pattern.sub(lambda found: known.get(found[0], in_words(found[0])), text)

    return translate

"""Write tables as Markdown, and format their numbers and marks.

A table is a data frame of strings whose index names the rows and whose columns name the columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf

import pandas as pd

_TAG = re.compile(r"<(?=[A-Za-z/!?])")  # what begins raw HTML in Markdown
_MILLION = 1e6
_FOUR_DIGITS = 999.5  # from here on, three digits would be written with an exponent
# Smaller numbers of seconds are given in milliseconds.
_MILLISECONDS_BELOW = 0.1


def number(value: float, digits: int | None = None) -> str:
    """Return a number with the given decimals, or three significant digits; "–" if missing.

    Examples
    --------
    >>> number(13.3, 2), number(0.04387), number(53224.0), number(5533904.0)
    ('13.30', '0.0439', '53,224', '5.53M')
    """
    if is_missing(value):
        return "–"
    if digits is not None:
        return f"{value:z.{digits}f}"
    shown, unit = (value / _MILLION, "M") if _MILLION <= abs(value) < inf else (value, "")
    return (f"{shown:,.0f}" if abs(shown) >= _FOUR_DIGITS else f"{shown:z.3g}") + unit


def signed(value: float) -> str:
    """Return a number with three significant digits and its sign; "–" if missing."""
    return f"+{number(value)}" if value >= 0 else number(value)


def with_spread(parts: Sequence[str]) -> str:
    """Return ``"0.262 (0.016)"``, the papers' format; a missing spread, "–", is left out."""
    value, *spread = parts
    spread = [part for part in spread if part != "–"]
    return f"{value} ({', '.join(spread)})" if spread and value != "–" else value


def seconds(values: Sequence[float]) -> str:
    """Return seconds, the value and its spread, as ``"12.3 ms (0.4)"`` or ``"5.12 s"``."""
    factor, unit = (1000.0, "ms") if values[0] < _MILLISECONDS_BELOW else (1.0, "s")
    value, *spread = [number(factor * value) for value in values]
    return with_spread([value if value == "–" else f"{value} {unit}", *spread])


def without_html(text: str) -> str:
    """Return a text for Markdown that shows tags of HTML instead of using them.

    Examples
    --------
    >>> without_html("p < 0.05 <script>")
    'p < 0.05 &lt;script>'
    """
    return _TAG.sub("&lt;", text)


def to_markdown(table: pd.DataFrame, caption: str = "", notes: Sequence[str] = ()) -> str:
    """Return a Markdown table with its caption above and its notes below, one per line.

    Tags of HTML are shown as text.
    """
    header = [str(table.index.name or ""), *map(str, table.columns)]
    lines = [header, ["---"] * len(header)]
    lines += [[str(name), *map(_text, row)] for name, *row in table.itertuples()]
    body = "\n".join(
        "| " + " | ".join(c.replace("|", r"\|") for c in line) + " |" for line in lines
    )
    below = "\n\n" + "\n".join(f"- {note}" for note in notes) if notes else ""
    return without_html((f"{caption}\n\n" if caption else "") + body + below + "\n")


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, NA or empty."""
    return bool(pd.isna(value)) or value == ""


def _text(value: object) -> str:
    if is_missing(value):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

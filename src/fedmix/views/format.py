"""How verdicts and numbers are written on every surface: signs, colours, words, digits, Markdown.

A table in Markdown is a data frame whose index names the rows and whose columns name the columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from fedmix.cells import claims, verdicts

if TYPE_CHECKING:
    import pandas as pd

#: Verdict on a published value or a claim, or what a value counts as -> its sign and colour. Signs
#: differ in shape too. Agreement is blue (Okabe and Ito's colours), difference vermillion.
MARKS = {
    verdicts.AGREES_CLOSELY: ("●", "#0072b2"),
    verdicts.AGREES: ("◐", "#56b4e9"),
    verdicts.NONE_DIFFERS: ("◎", "#8fd6c4"),
    verdicts.AGREES_IN_MEAN: ("◒", "#009e73"),
    verdicts.UNDECIDED: ("?", "#a3a3a3"),
    verdicts.CANNOT_DECIDE: ("∅", "#7d6aa8"),
    verdicts.DIFFERS: ("○", "#d55e00"),
    verdicts.NEAR_UNKNOWN: ("⊙", "#e6c229"),
    verdicts.OPEN_UNKNOWN: ("⊚", "#c2a878"),
    verdicts.FAR_UNKNOWN: ("⊗", "#96701b"),
    verdicts.STAND_IN: ("◇", "#cc79a7"),
    verdicts.NOT_JUDGED: ("", ""),
    verdicts.NOT_RUN: ("–", "#d9dde0"),
    claims.HOLDS: ("●", "#0072b2"),
    claims.MOSTLY: ("◕", "#56b4e9"),
    claims.PARTLY_UNTESTED: ("◔", "#8fd6c4"),
    claims.DEPENDS: ("◇", "#e6c229"),
    claims.MIXED: ("◑", "#7d6aa8"),
    claims.TOO_FEW: ("?", "#a3a3a3"),
    claims.REVERSED: ("○", "#d55e00"),
    claims.UNTESTABLE: ("–", "#d9dde0"),
}
SIGNS = {verdict: sign for verdict, (sign, _) in MARKS.items()}
COLORS = {verdict: color for verdict, (_, color) in MARKS.items() if color}
_PLURALS = {
    verdicts.AGREES_CLOSELY: "agree closely",
    verdicts.AGREES: "agree",
    verdicts.NONE_DIFFERS: "agree (not discriminating)",
    verdicts.AGREES_IN_MEAN: "agree in mean only",
    verdicts.DIFFERS: "differ",
    claims.HOLDS: "hold",
    claims.MOSTLY: "hold in most settings",
    claims.DEPENDS: "depend on an unreported choice",
}
_TAG = re.compile(r"<(?=[A-Za-z/!?])")  # what begins raw HTML in Markdown
_MILLION = 1e6
_FOUR_DIGITS = 999.5  # from here on, three digits would be written with an exponent
# Smaller numbers of seconds are given in milliseconds.
_MILLISECONDS_BELOW = 0.1


def as_verb(verdict: str, n: int) -> str:
    """Return a verdict after its number, such as ``"differs"`` after 1 and ``"differ"`` after 2."""
    return verdict if n == 1 else _PLURALS.get(verdict, verdict)


def tally(counts: Mapping[str, int]) -> str:
    """Return the counts of verdicts in words, such as ``"12 agree, 1 differs"``; "–" for none.

    Those of an unknown protocol follow together: ``"protocol unknown: 5 near, 11 undecided"``.
    """
    known = [f"{n} {as_verb(v, n)}" for v, n in counts.items() if n and v not in verdicts.UNKNOWN]
    near = [
        f"{counts[v]} {v.removeprefix(verdicts.PROTOCOL_UNKNOWN)}"
        for v in verdicts.UNKNOWN
        if counts.get(v)
    ]
    together = [verdicts.PROTOCOL_UNKNOWN + ", ".join(near)] if near else []
    return "; ".join(filter(None, [", ".join(known), *together])) or "–"


def number_of(n: int, noun: str) -> str:
    """Return a number and its noun, such as ``1 replication`` or ``20 replications``."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


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
    import pandas as pd  # which a plan does not need

    return bool(pd.isna(value)) or value == ""


def _text(value: object) -> str:
    if is_missing(value):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

"""Tables as Markdown and LaTeX (booktabs), and the signs in them.

A table is a data frame of strings whose index names the rows and whose columns name the columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# A verdict's sign is told by its shape, not by its colour alone.
SYMBOLS = {
    "reproduced": "●",
    "close": "◐",
    "differs": "○",
    "undecided": "?",
    "stand-in": "◇",
    "not run": "–",
}
_LATEX_SYMBOLS = {
    "●": r"$\bullet$",
    "◐": r"$\odot$",
    "○": r"$\circ$",
    "◇": r"$\diamond$",
    "–": "--",
    "±": r"$\pm$",
    "τ": r"$\tau$",
}
_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_LATEX_PATTERN = re.compile("|".join(map(re.escape, [*_LATEX_SPECIAL, *_LATEX_SYMBOLS])))


def mean_sd(mean: float | None, sd: float | None, digits: int = 3) -> str:
    """Return ``"0.262 (0.016)"``, the papers' way; a missing mean is an en dash.

    Parameters
    ----------
    mean, sd : float or None
        NaN and None mean missing; a missing sd is left out.
    digits : int
        Decimals, as printed in the paper.
    """
    if _missing(mean):
        return "–"
    return f"{mean:.{digits}f}" + ("" if _missing(sd) else f" ({sd:.{digits}f})")


def to_markdown(table: pd.DataFrame, caption: str = "") -> str:
    """Return a Markdown table; the caption, if any, stands above it."""
    header = [_name_of_index(table), *map(str, table.columns)]
    lines = [header, ["---"] * len(header)]
    lines += [[str(name), *map(_text, row)] for name, row in zip(*_rows(table), strict=True)]
    body = "\n".join(
        "| " + " | ".join(c.replace("|", r"\|") for c in line) + " |" for line in lines
    )
    return (f"{caption}\n\n" if caption else "") + body + "\n"


def to_latex(table: pd.DataFrame, caption: str = "") -> str:
    r"""Return a LaTeX table in booktabs' manner, ready for ``\input`` in a paper.

    The document needs ``\usepackage{booktabs}``.
    """
    names, rows = _rows(table)
    header = [_name_of_index(table), *map(str, table.columns)]
    body = [" & ".join(map(escape_latex, header)) + r" \\", r"\midrule"]
    body += [
        " & ".join(map(escape_latex, [str(name), *map(_text, row)])) + r" \\"
        for name, row in zip(names, rows, strict=True)
    ]
    lines = [r"\begin{table}[tb]", r"\centering"]
    lines += [rf"\caption{{{escape_latex(caption)}}}"] if caption else []
    lines += [rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}", r"\toprule", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def escape_latex(text: str) -> str:
    """Return ``text`` with LaTeX's special signs, and ours for the verdicts, made safe."""
    replacements: Mapping[str, str] = {**_LATEX_SPECIAL, **_LATEX_SYMBOLS}
    return _LATEX_PATTERN.sub(lambda found: replacements[found.group()], text)


def _rows(table: pd.DataFrame) -> tuple[Sequence[object], Sequence[Sequence[object]]]:
    return list(table.index), table.to_numpy(dtype=object).tolist()


def _name_of_index(table: pd.DataFrame) -> str:
    return str(table.index.name or "")


def _missing(value: object) -> bool:
    return value is None or value != value  # only NaN differs from itself


def _text(value: object) -> str:
    if _missing(value):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

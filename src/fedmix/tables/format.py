"""Tables as CSV, Markdown and LaTeX (booktabs), ours beside theirs.

A table is a data frame of strings whose index names the rows and whose columns name the columns.
:func:`beside` makes one from audited cells; the writers take any.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedmix.storage import write_text

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


def beside(
    cells: pd.DataFrame, rows: str = "row", columns: str = "column", variant: str | None = None
) -> pd.DataFrame:
    """Lay audited cells out as the paper's table, ours and theirs in one cell.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.audit.audit_cells`, one table of one paper.
    rows, columns : str
        Columns of ``cells`` that name the table's rows and columns; their order is kept.
    variant : str or None
        The variant to show; None if ``cells`` holds one variant only.

    Returns
    -------
    DataFrame of str
        Cells such as ``"0.267 (0.015) | 0.262 (0.016) ●"``: ours, theirs, verdict.

    Raises
    ------
    ValueError
        If a cell of the table occurs twice, e.g. because several variants are mixed.
    """
    chosen = cells if variant is None else cells[cells["variant"] == variant]
    if chosen.duplicated([rows, columns]).any():
        raise ValueError(
            "A table's cell occurs more than once; name one variant and pass one table's cells. "
            f"Variants present: {sorted(set(chosen['variant']))}."
        )
    text = chosen.assign(
        text=[
            f"{mean_sd(c.scaled_mean, c.scaled_sd, c.digits)} | "
            f"{mean_sd(c.printed_mean, c.printed_sd, c.digits)} {SYMBOLS[c.verdict]}"
            for c in chosen.itertuples()
        ]
    )
    wide = text.pivot(index=rows, columns=columns, values="text").fillna("")
    return wide.loc[list(dict.fromkeys(chosen[rows])), list(dict.fromkeys(chosen[columns]))]


def to_markdown(table: pd.DataFrame, caption: str = "") -> str:
    """Return a Markdown table; the caption, if any, stands above it."""
    header = [_name_of_index(table), *map(str, table.columns)]
    lines = [header, ["---"] * len(header)]
    lines += [[str(name), *map(_text, row)] for name, row in zip(*_rows(table), strict=True)]
    body = "\n".join(
        "| " + " | ".join(c.replace("|", r"\|") for c in line) + " |" for line in lines
    )
    return (f"{caption}\n\n" if caption else "") + body + "\n"


def to_latex(table: pd.DataFrame, caption: str = "", label: str = "") -> str:
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
    lines += [rf"\label{{{label}}}"] if label else []
    lines += [rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}", r"\toprule", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def escape_latex(text: str) -> str:
    """Return ``text`` with LaTeX's special signs, and ours for the verdicts, made safe."""
    replacements: Mapping[str, str] = {**_LATEX_SPECIAL, **_LATEX_SYMBOLS}
    return _LATEX_PATTERN.sub(lambda found: replacements[found.group()], text)


def write_all(
    table: pd.DataFrame, stem: str | os.PathLike, caption: str = "", label: str = ""
) -> list[Path]:
    """Write a table as ``.csv``, ``.md`` and ``.tex``.

    Parameters
    ----------
    table : DataFrame
        Strings or numbers; the index names the rows.
    stem : path-like
        Path without suffix.
    caption, label : str
        LaTeX's caption and label; the caption also stands above the Markdown table.

    Returns
    -------
    list of pathlib.Path
        The three files.
    """
    texts = {
        "csv": table.to_csv(index_label=_name_of_index(table)),
        "md": to_markdown(table, caption),
        "tex": to_latex(table, caption, label),
    }
    paths = []
    for suffix, text in texts.items():
        paths.append(Path(f"{os.fspath(stem)}.{suffix}"))
        write_text(paths[-1], text)
    return paths


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

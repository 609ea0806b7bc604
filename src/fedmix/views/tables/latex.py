r"""Write tables for a paper: rules by booktabs, numbers aligned by siunitx, the best in bold.

The document needs ``\usepackage{booktabs}`` and ``\usepackage{siunitx}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from fedmix.views.tables.layout import Block, Entry, Part

#: The second line of each file.
PACKAGES = r"% \usepackage{booktabs,siunitx}"
_SYMBOLS = {
    # Verdicts' signs, by those that LaTeX has without a package
    "●": r"$\bullet$",
    "◐": r"$\odot$",
    "◎": r"$\oslash$",
    "◒": r"$\ominus$",
    "∅": r"$\emptyset$",
    "○": r"$\circ$",
    "⊙": r"$\ast$",
    "⊚": r"$\star$",
    "⊗": r"$\otimes$",
    "◇": r"$\diamond$",
    "–": "--",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\to$",
    "²": r"$^2$",
    "³": r"$^3$",
    "≈": r"$\approx$",
    "≠": r"$\ne$",
    "∞": r"$\infty$",
    "√": r"$\surd$",
}
_SPECIAL = {
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
    # LaTeX's default encoding prints these as other characters.
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': "''",
    # At the start of a line they would belong to the command that ends the line above.
    "[": "{[}",
    "*": "{*}",
}
_LETTERS = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"
_NAMES = (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
_GREEK = {sign: rf"$\{name}$" for sign, name in zip(_LETTERS, _NAMES.split(), strict=True)}
_ESCAPED = str.maketrans(_SYMBOLS | _SPECIAL | _GREEK)
_NUMBER = re.compile(r"-?(\d+)(?:\.(\d+))?")
_WITH_SPREAD = re.compile(r"(.*?)(?: \((.*)\))?")
_MISSING = "–"
_HEAD = 13  # characters in a line of a column's head, as many as "13.25 (11.20)"
_BELOW = r"\\"
# Font sizes, and how many characters fit in a line of a one-column article.
_SIZES = {"footnotesize": 82, "scriptsize": 94}
_SMALLEST = "scriptsize"
_PARTS = 2  # a table is split into at most this many parts before a smaller font is tried


@dataclass(frozen=True)
class _Line:
    name: str
    parts: list[Part]


def to_latex(
    block: Block, caption: str, notes: Sequence[str], label: str, corner: str, usual_n: int
) -> str:
    r"""Return a table ready for ``\input`` in a paper; the block has one metric per place.

    Published values have a row below ours. A cell with another than the usual number of
    replications has a note. Columns that do not fit in a line are split into parts below each
    other; the font is smaller if there would be many parts.
    """
    lines = list(_lines(block, usual_n))
    size, beside = _fitted(block.columns, lines)
    parts = [_tabular(corner, block.columns, lines, own) for own in beside]
    return "\n".join(
        [
            r"\begin{table}[tb]",
            rf"\centering\{size}\setlength{{\tabcolsep}}{{3pt}}",
            r"\sisetup{detect-weight, mode=text, group-minimum-digits=4}",
            rf"\caption{{{escape_latex(caption)}}}",
            rf"\label{{tab:{label}}}",
            r"\par\smallskip",
            "\n\\par\\medskip\n".join(parts),
            rf"\par\smallskip\raggedright {escape_latex(' '.join(notes))}",
            r"\end{table}",
            "",
        ]
    )


def escape_latex(text: str) -> str:
    """Return ``text`` with LaTeX's special characters, the verdicts' marks and Greek escaped."""
    return text.translate(_ESCAPED)


def _lines(block: Block, usual_n: int) -> Iterator[_Line]:
    """Yield our rows, each followed by its row of published values if there are any."""
    for row in block.rows:
        entries = [next(iter(block.entries.get((row, c), [])), None) for c in block.columns]
        yield _Line(row, [_ours(entry, usual_n) for entry in entries])
        if any(entry and entry.printed for entry in entries):
            printed = [_split(entry.printed if entry else "") for entry in entries]
            yield _Line("  published", printed)


def _ours(entry: Entry | None, usual_n: int) -> Part:
    if entry is None:
        return Part(_MISSING)
    part = _split(entry.ours)
    n = entry.cell.get("n", usual_n)
    after = [part.after, entry.mark, "" if n == usual_n else f"n = {n}"]
    return Part(part.ours, " ".join(filter(None, after)), entry.is_best)


def _split(text: str) -> Part:
    """Split ``"13.25 (1.20)"`` into its number and the text after it."""
    found = _WITH_SPREAD.fullmatch(text)
    value, spread = found.groups() if found else (text, None)
    plain = value.replace(",", "")  # siunitx groups digits itself
    value = plain if _NUMBER.fullmatch(plain) else value
    return Part(value, f"({spread})" if spread else "")


def _fitted(columns: list[str], lines: list[_Line]) -> tuple[str, list[list[int]]]:
    """Return the largest font in which the table has few parts, and the columns of each part."""
    found = {s: list(_side_by_side(columns, lines, width)) for s, width in _SIZES.items()}
    size = next((s for s, parts in found.items() if len(parts) <= _PARTS), _SMALLEST)
    return size, found[size]


def _side_by_side(columns: list[str], lines: list[_Line], width: int) -> Iterator[list[int]]:
    """Yield the positions of the columns that fit in a line."""
    free = width - max(len(line.name) for line in lines)
    here: list[int] = []
    room = free
    for i, column in enumerate(columns):
        head = max(map(len, _head_lines(column)))
        widest = max(len(part.ours + part.after) for part in _column(lines, i))
        taken = 2 + max(head, widest + 1)
        if here and taken > room:
            yield here
            here, room = [], free
        here.append(i)
        room -= taken
    yield here


def _tabular(corner: str, columns: list[str], lines: list[_Line], own: list[int]) -> str:
    formats = [_format(_column(lines, i)) for i in own]
    heads = [rf"\multicolumn{{2}}{{c}}{{{_head(columns[i])}}}" for i in own]
    rules = "".join(rf"\cmidrule(lr){{{2 * k + 2}-{2 * k + 3}}}" for k in range(len(own)))
    body = [
        " & ".join([_name(line.name), *(_cell(line.parts[i]) for i in own)]) + r" \\"
        for line in lines
    ]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l {' '.join(formats)}}}",
            r"\toprule",
            " & ".join([escape_latex(corner), *heads]) + r" \\",
            rules,
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _name(name: str) -> str:
    indent = r"\quad " if name.startswith("  ") else ""
    return indent + escape_latex(name.strip())


def _head_lines(column: str) -> list[str]:
    """Return a column's name in lines about as wide as a number with its spread."""
    return [line for part in column.split(", ") for line in wrap(part, _HEAD) or [""]]


def _head(column: str) -> str:
    """Return a column's name as a stack of lines."""
    parts = [escape_latex(line) for line in _head_lines(column)]
    return parts[0] if len(parts) == 1 else rf"\shortstack{{{_BELOW.join(parts)}}}"


def _column(lines: list[_Line], i: int) -> list[Part]:
    return [line.parts[i] for line in lines]


def _digits(part: Part) -> tuple[int, int] | None:
    """Return the digits before and after the point; None if it is not a number."""
    found = _NUMBER.fullmatch(part.ours)
    return (len(found[1]), len(found[2] or "")) if found else None


def _format(parts: list[Part]) -> str:
    """Return a column's format: aligned numbers and the text after them, or text."""
    sizes = [_digits(part) for part in parts if part.ours != _MISSING]
    found = [size for size in sizes if size]
    if not found or len(found) < len(sizes):
        return r"r@{\,}l"
    before, after = (max(sizes) for sizes in zip(*found, strict=True))
    sign = "-" * any(part.ours.startswith("-") for part in parts)
    return rf"S[table-format={sign}{before}.{after}]@{{\,}}l"


def _cell(part: Part) -> str:
    value = part.ours if _digits(part) else f"{{{escape_latex(part.ours)}}}"
    after = escape_latex(part.after)
    if not part.is_best:
        return f"{value} & {after}".rstrip()
    return rf"\bfseries {value} & \bfseries {after}".rstrip()

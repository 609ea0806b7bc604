"""What was found of a published value or of a claim, in a run that was judged.

It is read from ``cells.csv``, ``scores.csv`` and ``claims.csv`` in a folder: the ``audit`` of a
run, or the kept pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import ceil, inf, isnan, nan
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from fedmix.cells import verdicts
from fedmix.cells.claims import reason_of
from fedmix.cells.equivalence import margin_of
from fedmix.cells.printed import rows_of
from fedmix.errors import ConfigurationError, DataError, did_you_mean, nearest_names
from fedmix.views.format import number_of
from fedmix.views.tables.layout import named

Cell = Mapping[str, Any]
#: Row or column of the frame -> its name in the table.
Names = Mapping[str, str]
_RANK = {role: rank for rank, role in enumerate(verdicts.SOURCES)}
#: The pages that are made from the evidence.
KEPT = Path("docs") / "reproduction"
_ANSWERS = ("yes", "no", "unclear")


def find_cells(
    frame: pd.DataFrame, item: str, row: str, column: str, names: Names = MappingProxyType({})
) -> list[Cell]:
    """Return an item's cells at a row and a column, one per variant, by their roles.

    ``frame`` is from :func:`fedmix.cells.frame.judged_cells`. Item, row and column are named as in
    the frame, or as in the table, where ``names`` has other names of rows and columns. Spaces and
    capitals do not matter.
    """
    problems: list[str] = []
    other: dict[str, str] = {"row": column, "column": row}
    swapped = 0
    for name, wanted in (("item", item), ("row", row), ("column", column)):
        known = {value: named(value, names) for value in frame[name].unique() if value}
        same = _same(wanted, known)
        if same:
            frame = frame[frame[name].isin([value for value, _ in same])]
            continue
        problems.append(f"No cells with {name} {wanted!r}. {nearest_names(wanted, known.values())}")
        if name == "item":
            break
        swapped += bool(_same(other[name], known))
    if swapped == len(other):
        problems.append(f"The row is {column!r} and the column {row!r}: exchange the two.")
    if problems:
        raise ConfigurationError(" ".join(problems), problems)
    return sorted(frame.to_dict("records"), key=lambda cell: _RANK.get(cell["role"], len(_RANK)))


def _same(wanted: str, known: Names) -> list[tuple[str, str]]:
    """Return the entries of a mapping that have a name as their key or as their value."""
    return [own for own in known.items() if _plain(wanted) in map(_plain, own)]


def _plain(name: str) -> str:
    """Return a name without spaces and capitals, so that "0%" finds "0 %"."""
    return "".join(name.split()).casefold()


def variant_lines(cell: Cell, variants: Names) -> Iterator[str]:
    """Yield what a cell's variant stands for, and what ``variants`` says that it is, if known."""
    if role := cell["role"]:
        words = verdicts.SOURCES.get(role, "one switch of a reading changed, to measure its effect")
        yield f"role: {role} ({words})"
    if what := variants.get(cell["variant"]):
        yield f"what it is: {what}"


def verdict_lines(cell: Cell) -> Iterator[str]:
    """Yield a cell's margin and verdict and, if its variant counts, what the value counts as."""
    if cell["verdict"] not in (verdicts.STAND_IN, verdicts.NOT_JUDGED, verdicts.NOT_RUN):
        yield from _margin_lines(cell)
    yield f"verdict: {cell['verdict']} ({verdicts.RULES[cell['verdict']]})"
    needed = _number(cell.get("needed", ""))
    if cell["verdict"] == verdicts.UNDECIDED and needed < inf:
        yield f"{ceil(needed)} replications of ours would decide, if our mean stays as it is"
    if counted := cell.get("counted"):
        rule = verdicts.COUNTING_RULES.get(counted)
        yield f"the published value counts as: {counted}" + (f" ({rule})" if rule else "")


def _margin_lines(cell: Cell) -> Iterator[str]:
    """Yield the margin that decides the verdict, and what it is."""
    spread = _number(cell.get("printed_sd", ""))
    if isnan(spread):
        return
    _, _, decimals = cell["printed_text"].partition(" ")[0].partition(".")
    margin = float(margin_of(spread, len(decimals)))
    is_half = margin == verdicts.WIDE * spread
    of = "half of the published sd" if is_half else "one unit of the last digit"
    yield f"margin: {margin:.4g} to either side ({of})"


def _number(value: Any) -> float:
    """Return a number of a cell, which is an empty text in a file that has none."""
    return nan if value == "" else float(value)


def mark_counted(cells: pd.DataFrame) -> pd.DataFrame:
    """Add ``counted`` to all cells: what a published value counts as, in its variant that counts.

    It is empty in other variants, and for run times, which do not count. The cells have all
    variants of each item, see :func:`fedmix.cells.frame.complete`.
    """
    numbers = verdicts.judge_numbers(cells)
    numbers = numbers[numbers["counted"] != verdicts.NOT_JUDGED]
    own = [*verdicts.NUMBER, "variant"]
    return cells.merge(numbers[[*own, "counted"]], "left", own).fillna({"counted": ""})


def answer_of(folder: Path, item: str) -> str:
    """Return a table's answer in words, from a folder's ``scores.csv``; empty if unknown."""
    score = _score(folder, item)
    return " ".join(filter(None, (score.get(part, "") for part in ("answer", "more"))))


def _score(folder: Path, item: str) -> Mapping[str, str]:
    """Return a table's row of a folder's ``scores.csv``; empty if there is none."""
    return next((row for row in rows_of(folder / "scores.csv") if row["item"] == item), {})


def kept_cells(folder: Path, item: str, row: str, column: str, names: Names) -> list[Cell]:
    """Return the cells of a published value in a folder's ``cells.csv``, one per variant.

    The variant that counts is the first, and has ``counted``: what the value counts as. The folder
    is usually ``docs/reproduction``. The other parameters are those of :func:`find_cells`.
    """
    path = folder / "cells.csv"
    if not path.is_file():
        raise DataError(f"{path}: no such file; `make kept` makes it from the evidence.")
    frame = pd.read_csv(path, dtype={"row": str, "column": str}, keep_default_na=False)
    tables = list(dict.fromkeys(filter(None, frame["item"])))
    if _plain(item) not in map(_plain, tables):
        raise ConfigurationError(
            f"The kept results explain the published values of a table, and know none of {item!r}. "
            f"{nearest_names(item, tables)} {KEPT / 'README.md'} has all other tables and "
            "figures. A claim is explained by its id alone, without a row and a column."
        )
    cells = find_cells(frame, item, row, column, names)
    role = _score(folder, cells[0]["item"]).get("role", "")
    judged = verdicts.judge_number(cells, role)
    counted = "" if judged["counted"] == verdicts.NOT_JUDGED else judged["counted"]
    first = [{**cell, "counted": counted} for cell in cells if cell["role"] == role]
    return [*first, *(cell for cell in cells if cell["role"] != role)]


def explain_kept(
    folder: Path,
    item: str,
    row: str,
    column: str,
    names: Names = MappingProxyType({}),
    variants: Names = MappingProxyType({}),
) -> Iterator[str]:
    """Yield what the kept evidence says of a number, in every variant that ran it.

    ``variants`` says what each variant is. The other parameters are those of :func:`kept_cells`.
    """
    cells = kept_cells(folder, item, row, column, names)
    yield from [answer_of(folder, cells[0]["item"]), ""]
    for cell in cells:
        yield cell["variant"] or "not run"
        if cell["variant"]:
            yield from (f"  {line}" for line in variant_lines(cell, variants))
        yield f"  published: {cell['printed_text']}"
        if cell["n"]:  # a single replication has no spread, and a stand-in is not compared
            spread, low = (f"{cell[name]}" for name in ("sd", "low"))
            ours = f"  ours: {cell['mean']}" + f" (sd {spread})" * bool(spread)
            yield f"{ours}, {number_of(cell['n'], 'replication')}"
            if f"{cell['difference']}":
                interval = f", 90 % [{low}, {cell['high']}]" * bool(low)
                yield f"  ours minus theirs: {cell['difference']}{interval}"
        yield from (f"  {line}" for line in verdict_lines(cell))
        if cell["draws"]:
            yield f"  variance between draws: {cell['draws']}"
        yield ""
    if any(cell["verdict"] == verdicts.NOT_RUN for cell in cells):
        yield "docs/whole_run.md says what has been run, and which data are missing."


def explain_claim(folder: Path, name: str, asked: str = "") -> Iterator[str]:
    """Yield what is known of a claim, by its id in ``claims.yaml``, one line a fact.

    ``folder`` has ``claims.csv``: ``docs/reproduction``, or ``audit`` in the folder of a run, which
    the options ``asked`` of the command line ask for.
    """
    path = folder / "claims.csv"
    if not path.is_file():
        raise DataError(
            f"{path}: no such file. `{f'snakemake --cores 2 audit {asked}'.strip()}` makes it; "
            "with --kept, explain shows the kept results."
        )
    claims = {row["id"]: row for row in rows_of(path)}
    if name not in claims:
        hint = did_you_mean(name, claims)
        raise ConfigurationError(
            f"There is no claim {name!r}. {f'{hint} ' if hint else ''}{path} has all claims. For a "
            "number of a table, give its row and its column too."
        )
    claim = claims[name]
    yield claim["claim"]
    quote = f"“{claim['quote']}” ({claim['section']})" if claim["quote"] else claim["section"]
    yield f"  the paper: {quote}"
    verdict = claim["verdict"]
    yield f"  verdict: {verdict} ({reason_of(verdict, claim['remarks'])})"
    yield f"  where: {claim['where']}"
    if claim["predicate"]:
        yield f"  predicate: {claim['predicate']}"
    sources = {"published": "the published values themselves", **verdicts.SOURCES}
    for source, words in sources.items():
        yield from _source(claim, source, words)
    if claim["chance"]:
        yield f"  by chance: it holds in {float(claim['chance']):.0%} of the shuffles"
    remarks = re.split("; (?=[A-Z])", claim["remarks"])  # a remark can have a semicolon
    yield from (f"  remark: {remark}" for remark in remarks if remark)
    yield ""


def _source(claim: Mapping[str, str], source: str, words: str) -> Iterator[str]:
    """Yield the answers of one source of results, if it has any."""
    counts = [(answer, int(claim[f"{source}_{answer}"])) for answer in _ANSWERS]
    if not any(n for _, n in counts):
        return
    found = ", ".join(f"{answer} in {n}" for answer, n in counts if n)
    decides = ", which decides the verdict" * (source == claim["source"])
    yield f"  {source}{decides} ({words}): {found}{_margin(claim, source)}"


def _margin(claim: Mapping[str, str], source: str) -> str:
    names = ("median", "smallest", "low", "high")
    numbers = [claim[f"{source}_{name}"] for name in names]
    if not all(numbers):
        return ""
    median, smallest, low, high = (f"{float(number):+.3g}" for number in numbers)
    return f"; margin {median} (median), {smallest} (least, 99 % [{low}, {high}])"

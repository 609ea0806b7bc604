"""Turn data frames into the structures that the pages' templates show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import ceil, isfinite
from typing import Any
from zlib import crc32

import pandas as pd

from fedmix.cells.calibration import SCORED
from fedmix.cells.claims import CLAIM_VERDICTS, SOURCES
from fedmix.cells.equivalence import BORROWED
from fedmix.cells.scorecard import scorecard
from fedmix.cells.verdicts import CANNOT_DECIDE, COUNTED, UNDECIDED, VERDICTS, printed_cells
from fedmix.views.captions import best_explained, failed_fits, in_words, sentences
from fedmix.views.format import is_missing, number_of, signed, tally
from fedmix.views.page.contents import Page, PageContext, items_named
from fedmix.views.tables.build import blocks_of, described, notes
from fedmix.views.tables.layout import Block, Entry

# The columns that identify a cell of a table, for its anchor and its explanation.
ANCHOR = ("item", "variant", "setting", "method", "metric", "row", "column")
_REST = "Further tables and figures"


def slug(text: object) -> str:
    """Return a text in the form of a CSS class or an anchor."""
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-")


def score_views(
    cells: pd.DataFrame, claims: pd.DataFrame, papers: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the scorecard: the counts of verdicts for each paper with cells or claims."""
    table = scorecard(cells, claims)
    table = table[table.any(axis="columns")]
    return [
        {
            "key": key,
            "name": name,
            "cells": _counts(table.loc[key], COUNTED, "cells: "),
            "claims": _counts(table.loc[key], CLAIM_VERDICTS, "claims: "),
        }
        for key, name in papers.items()
        if key in table.index
    ]


def variant_counts(cells: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the counts of verdicts on published values for each variant of a study."""
    judged = printed_cells(cells[["paper", "study", "variant", "verdict"]])
    ran = judged[judged["variant"] != ""]
    return [
        {
            "study": study,
            "variant": variant,
            "counts": {v: int((group["verdict"] == v).sum()) for v in VERDICTS},
        }
        for (_, study, variant), group in ran.groupby(["paper", "study", "variant"], sort=False)
    ]


def failure_rows(cells: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows ``study, variant, method, failures, failed`` of what did not finish."""
    kinds = ["study", "variant", "method", "failures"]
    found = failed_fits(cells).groupby(kinds, as_index=False, sort=False)
    return found["failed"].sum().to_dict("records")


def table_views(
    tables: Iterable[Mapping[str, Any]], context: PageContext, numbers: pd.DataFrame
) -> list[dict[str, Any]]:
    """Return the tables, each in all variants that were run.

    The first variant is the one that the score counts. It is complete; the others leave out rows
    and columns that were not run. The tables are some of the context's, and the numbers are from
    :func:`fedmix.cells.verdicts.judge_numbers`.
    """
    views = []
    for table in tables:
        own = context.cells[context.cells["item"] == table["name"]]
        ranked = context.ranks[context.ranks["item"] == table["name"]]
        noted = numbers[(numbers["item"] == table["name"]) & (numbers["note"] != "")]
        score = _score(context.scores, table["name"])
        counted = score["variant"] if score else ""
        blocks = sorted(blocks_of(table, own), key=lambda block: in_words(block.variant) != counted)
        views.append(
            {
                "id": slug(table["name"]),
                "files": downloads(table, own),
                "title": table["title"],
                "caption": described(table, own),
                "notes": [
                    *best_explained(own, table["direction"]),
                    *notes({**table, "variants": {}}, own),  # each variant has its own sentence
                ],
                "printed": bool((own["printed_text"] != "").any()),
                "variants": [
                    _variant_view(
                        block,
                        ranked[ranked["variant"] == block.variant],
                        context.explanations,
                        table,
                    )
                    for block in [*blocks[:1], *(other.that_ran() for other in blocks[1:])]
                ],
                "moved": noted["note"].value_counts().to_dict(),
                "score": score,
            }
        )
    return views


def downloads(table: Mapping[str, Any], own: pd.DataFrame) -> dict[str, str]:
    """Return format -> file of a table that was run, in the folder of the pages."""
    ran = (own["n"] + own["failed"] > 0).any()
    return {"CSV": f"{table['name']}.csv", "LaTeX": f"{table['name']}.tex"} if ran else {}


def claim_views(claims: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the claims in the registry's order, with what the page shows of them."""
    return [
        row
        | {"order": CLAIM_VERDICTS.index(row["verdict"]), "sources": _sources(row)}
        | {"chance_shown": in_percent(row["chance"])}
        for row in claims.to_dict("records")
    ]


def in_percent(share: float | None) -> str:
    """Return a share in percent; empty without one."""
    return "" if is_missing(share) else f"{share:.0%}"


def _sources(claim: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the counts and margins of each source that answers a claim."""
    names = ("yes", "no", "unclear", "median", "smallest", "low", "high")
    found = [{n: claim[f"{source}_{n}"] for n in names} | {"name": source} for source in SOURCES]
    return [
        row | {"margins": _margins(row)} for row in found if row["yes"] + row["no"] + row["unclear"]
    ]


def _margins(source: Mapping[str, Any]) -> str:
    """Return the median and the least margin, the latter with its interval if it has one."""
    least = signed(source["smallest"])
    if isfinite(source["high"] - source["low"]):
        least += f" ({signed(source['low'])} to {signed(source['high'])})"
    return f"{signed(source['median'])}; {least}"


def page_lines(
    pages: Iterable[Page], scores: pd.DataFrame, claims: pd.DataFrame
) -> dict[str, list[dict[str, Any]]]:
    """Return one line per page for each paper, with the scores of its table and claims."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for page in pages:
        lines.setdefault(page.paper, []).append(
            {
                "name": page.name,
                "title": page.title if page.is_published else _REST,
                "about": page.tables[0]["caption"] if page.tables and page.is_published else "",
                "score": _score(scores, page.name),
                "claims": claim_counts(about(page, claims, "section")),
            }
        )
    return lines


def claim_counts(claims: pd.DataFrame) -> dict[str, int]:
    """Return the counts of the verdicts that occur."""
    found = claims["verdict"].value_counts()
    return {verdict: int(found[verdict]) for verdict in CLAIM_VERDICTS if verdict in found}


def about(page: Page, entries: pd.DataFrame, place: str) -> pd.DataFrame:
    """Return a paper's claims, or discrepancies, on what the title of a page names.

    ``place`` is their column that says where in the paper they stand.
    """
    named = items_named(page.title)
    there = entries[place].map(lambda text: bool(items_named(text) & named)).astype(bool)
    return entries[there & (entries["paper"] == page.paper)]


def score_in_words(score: Mapping[str, Any]) -> str:
    """Return the score of a published table as text; empty where no value is judged."""
    counted = _counts(score, COUNTED)
    if not counted:
        return ""
    expected = _expected(score)
    return sentences(
        f"{in_words(score['variant']) or 'no variant'}, {tally(counted)}.",
        score["direction"],
        f"An exact replication would be expected to get: {expected}." if expected else "",
    )


def _score(scores: pd.DataFrame, item: str) -> dict[str, Any] | None:
    """Return the score of one table; None for a table without published values."""
    for row in scores[scores["item"] == item].to_dict("records"):
        shown = {"variant": in_words(row["variant"]), "counts": _counts(row, COUNTED)}
        return row | shown | {"power": in_percent(row["power"]), "expected": _expected(row)}
    return None


def _expected(score: Mapping[str, Any]) -> str:
    """Return what an exact replication would be expected to get, such as ``"12 agree"``.

    The largest remainders are rounded up, so that the counts add up to the number of values.
    """
    shares = {name: score[f"expected: {name}"] for name in SCORED}
    known = {name: int(share) for name, share in shares.items()}
    missing = round(sum(shares.values())) - sum(known.values())
    for name in sorted(shares, key=lambda name: known[name] - shares[name])[:missing]:
        known[name] += 1
    return tally(known) if any(known.values()) else ""


def _counts(row: Any, verdicts: Iterable[str], prefix: str = "") -> dict[str, int]:
    """Return the counts of the verdicts that occur, from columns that start with the prefix."""
    return {verdict: int(row[prefix + verdict]) for verdict in verdicts if row[prefix + verdict]}


def anchor(cell: Mapping[str, Any]) -> str:
    """Return the anchor of a cell on its page; cells that differ only in signs have others."""
    text = "-".join(str(cell[name]) for name in ANCHOR)
    return f"{slug(text)}-{crc32(text.encode()):x}"


def _variant_view(
    block: Block, ranks: pd.DataFrame, explanations: Mapping[str, str], table: Mapping[str, Any]
) -> dict[str, Any]:
    rows = [
        {
            "name": row,
            "paper": table["papers"].get(row, ""),
            "cells": [
                [
                    _cell_view(entry, explanations)
                    for entry in block.entries.get((row, column), [])
                    if entry.cell
                ]
                for column in block.columns
            ],
        }
        for row in block.rows
    ]
    verdicts = [e.verdict for entries in block.entries.values() for e in entries if e.verdict]
    return {
        "name": in_words(block.variant) or "not run",
        "what": table["variants"].get(block.variant, ""),
        "columns": block.columns,
        "rows": rows,
        "counts": {v: verdicts.count(v) for v in VERDICTS if v in verdicts},
        "ranks": ranks.to_dict("records"),
    }


def _cell_view(entry: Entry, explanations: Mapping[str, str]) -> dict[str, Any]:
    cell, name = entry.cell, anchor(entry.cell)
    return {
        "anchor": name,
        "ours": entry.ours,
        "best": entry.is_best,
        "theirs": entry.printed,
        "verdict": entry.verdict,
        "value": "" if is_missing(cell["mean"]) else cell["mean"],
        "note": _note(entry),
        "explanation": explanations.get(name, ""),
    }


def _note(entry: Entry) -> str:
    """Return the numbers behind a verdict, shown when a reader points at a cell."""
    cell = entry.cell
    parts = [entry.verdict, f"n = {cell['n']}"]
    if cell["failed"]:
        parts.append(f"{cell['failed']} failed ({cell['failures']})")
    if not is_missing(cell["low"]):
        interval = f"{signed(cell['low'])} to {signed(cell['high'])}"
        parts.append(f"difference {signed(cell['difference'])}, 90 % interval {interval}")
    if not is_missing(cell["sd_ratio"]):
        parts.append(f"sd {cell['sd_ratio']:.2g} times the published one")
    if entry.verdict == UNDECIDED and not is_missing(cell["needed"]):
        parts.append(f"about {number_of(ceil(cell['needed']), 'replication')} would decide")
    if entry.verdict == CANNOT_DECIDE:
        parts.append("more replications would not decide unless our mean changes")
    if cell["draws"] == BORROWED:
        parts.append("variance between draws borrowed from another variant or setting")
    return ", ".join(part for part in parts if part)

"""From data frames to what the page's template walks over."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fedmix.cells.audit import counts, summarise_variants
from fedmix.cells.claims import CLAIM_VERDICTS
from fedmix.cells.evidence import SECONDS
from fedmix.cells.verdicts import VERDICTS
from fedmix.views.tables.format import mean_sd

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

_ITEMS = re.compile(r"(Table|Figure)s? (\d+(?:(?:-| and |, )\d+)*)")


def slug(text: object) -> str:
    """Return a text as a name for CSS classes and anchors."""
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-")


def items_named(section: str) -> set[str]:
    """Return the tables and figures that a section's reference names.

    Examples
    --------
    >>> sorted(items_named("4.2, Tables 1-3; Figures 1 and 4 right"))
    ['Figure 1', 'Figure 4', 'Table 1', 'Table 2', 'Table 3']
    """
    found = set()
    for kind, numbers in _ITEMS.findall(section):
        for part in re.split(r" and |, ", numbers):
            first, _, last = part.partition("-")
            found |= {f"{kind} {n}" for n in range(int(first), int(last or first) + 1)}
    return found


def score_views(
    cells: pd.DataFrame, claims: pd.DataFrame, papers: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the scorecard: for each paper with cells or claims, how many have which verdict."""
    by_cell = counts(cells)
    views = []
    for key, name in papers.items():
        verdicts = by_cell.loc[key].to_dict() if key in by_cell.index else {}
        found = claims.loc[claims["paper"] == key, "verdict"].value_counts()
        if not len(verdicts) and not len(found):
            continue
        views.append(
            {
                "key": key,
                "name": name,
                "cells": _bar({v: int(verdicts.get(v, 0)) for v in VERDICTS}),
                "claims": _bar({v: int(found.get(v, 0)) for v in CLAIM_VERDICTS}),
            }
        )
    return views


def variant_counts(cells: pd.DataFrame) -> list[dict[str, Any]]:
    """Return, for each study's variant, how many printed cells have which verdict."""
    ran = cells[cells["variant"] != ""]
    return [
        {
            "paper": paper,
            "study": study,
            "variant": variant,
            "counts": {v: int((group["verdict"] == v).sum()) for v in VERDICTS},
        }
        for (paper, study, variant), group in ran.groupby(["paper", "study", "variant"], sort=False)
    ]


def table_views(
    cells: pd.DataFrame, ranks: pd.DataFrame, claims: pd.DataFrame, paper: str
) -> list[dict[str, Any]]:
    """Return the printed tables of a paper, each in every variant that was run."""
    own = cells[cells["paper"] == paper]
    notes = summarise_variants(own)
    views = []
    for (number, title), table in own.groupby(["table", "title"], sort=False):
        here = (notes["table"] == number) & (notes["title"] == title) & (notes["note"] != "")
        ranked = ranks[(ranks["paper"] == paper) & (ranks["table"] == number)]
        views.append(
            {
                "id": f"{paper}-table-{number}",
                "label": f"Table {number}",
                "title": title,
                "timed": bool((table["metric"] == SECONDS).any()),
                "variants": [
                    _variant_view(variant, group, ranked[ranked["variant"] == variant])
                    for variant, group in table.groupby("variant", sort=False)
                ],
                "moved": notes.loc[here, "note"].value_counts().to_dict(),
                "claims": claims_about(claims, paper, f"Table {number}"),
            }
        )
    return sorted(views, key=lambda view: int(view["label"].split()[1]))


def claim_views(claims: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the claims; those of a paper together, in the registry's order."""
    order = {name: position for position, name in enumerate(CLAIM_VERDICTS)}
    return [row | {"order": order[row["verdict"]]} for row in claims.to_dict("records")]


def claims_about(claims: pd.DataFrame, paper: str, title: str) -> list[dict[str, Any]]:
    """Return the claims of a paper whose section names a table or figure that a title names."""
    own = claims[claims["paper"] == paper].to_dict("records")
    return [claim for claim in own if items_named(claim["section"]) & items_named(title)]


def _bar(numbers: dict[str, int]) -> dict[str, Any]:
    total = sum(numbers.values())
    parts = [
        {"verdict": verdict, "n": n, "percent": 100 * n / total}
        for verdict, n in numbers.items()
        if n
    ]
    return {"total": total, "parts": parts}


def _variant_view(variant: str, group: pd.DataFrame, ranks: pd.DataFrame) -> dict[str, Any]:
    columns = list(dict.fromkeys(group["column"]))
    rows: dict[str, dict[str, Any]] = {}
    for cell in group.to_dict("records"):
        rows.setdefault(cell["row"], {})[cell["column"]] = _cell_view(cell)
    return {
        "name": variant or "not run",
        "columns": columns,
        "rows": [{"name": n, "cells": [row.get(c) for c in columns]} for n, row in rows.items()],
        "counts": _nonzero(group["verdict"]),
        "ranks": ranks.to_dict("records"),
    }


def _cell_view(cell: dict[str, Any]) -> dict[str, Any]:
    return {
        "ours": mean_sd(cell["scaled_mean"], cell["scaled_sd"], cell["digits"]),
        "theirs": mean_sd(cell["printed_mean"], cell["printed_sd"], cell["digits"]),
        "verdict": cell["verdict"],
        "value": cell["scaled_mean"] if cell["n"] else "",
        "note": _note(cell),
    }


def _note(cell: dict[str, Any]) -> str:
    """Return the numbers behind a verdict, for the reader who points at a cell."""
    parts = [cell["verdict"], f"n = {cell['n']}"]
    if cell["n_failed"]:
        parts.append(f"{cell['n_failed']} failed")
    if cell["n"] and cell["metric"] == SECONDS:
        if cell["relative_speed"] == cell["relative_speed"]:
            parts.append(f"{cell['relative_speed']:.2f} times the row's common factor")
    elif cell["n"]:
        parts.append(f"difference {cell['difference']:+.3g} = {cell['difference_in_sd']:+.2g} sd")
        if cell["n"] > 1:
            parts.append(f"{cell['difference_in_se']:+.2g} standard errors")
    return ", ".join(parts)


def _nonzero(verdicts: Iterable[str]) -> dict[str, int]:
    listed = list(verdicts)
    return {v: listed.count(v) for v in VERDICTS if v in listed}

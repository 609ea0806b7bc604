"""Every published number has one verdict on all kept surfaces, and in the answer of `explain`."""

import pandas as pd
import pytest

from fedmix.cells.verdicts import NEAREST
from fedmix.pipeline.explain import explain_kept
from synthetic_results import ROOT, shipped_items

KEPT = ROOT / "docs" / "reproduction"
TEXT = {"row": str, "column": str, "variant": str, "verdict": str, "printed_text": str}
TABLES = sorted(item.name for item in shipped_items().values() if item.kind == "table")


def read(path) -> pd.DataFrame:
    frame = pd.read_csv(path, dtype=TEXT, keep_default_na=False)
    return frame[frame["printed_text"] != ""]


CELLS = read(KEPT / "cells.csv")
PLACE = ["variant", "row", "column", "printed_text"]


def verdicts_of(frame: pd.DataFrame) -> dict[tuple[str, ...], tuple[str, int]]:
    """Return (variant, row, column, published text) -> verdict and number of replications."""
    return {
        tuple(cell[name] for name in PLACE): (cell["verdict"], int(cell["n"] or 0))
        for cell in frame.to_dict("records")
    }


def explained(item: str, row: str, column: str) -> dict[str, tuple[str, str]]:
    """Return variant -> published text and verdict, as `explain --kept` says them."""
    found, variant, published = {}, "", ""
    for line in list(explain_kept(KEPT, item, row, column))[2:]:
        if line and not line.startswith(" "):
            variant = line
        elif line.startswith("  published: "):
            published = line.removeprefix("  published: ")
        elif line.startswith("  verdict: "):
            found[variant] = published, line.removeprefix("  verdict: ").partition(" (")[0]
    return found


@pytest.mark.parametrize("item", [name for name in TABLES if name in set(CELLS["item"])])
def test_a_published_number_has_one_verdict_in_all_files_and_explanations(item):
    own = CELLS[CELLS["item"] == item]
    path = KEPT / "tables" / f"{item}.csv"
    shown = verdicts_of(read(path)) if path.is_file() else {}
    kept = verdicts_of(own)
    assert shown == {place: kept[place] for place in shown}
    ran = verdicts_of(own[own["role"] != NEAREST])
    assert {place for place, (_, n) in ran.items() if n} <= set(shown)
    for (row, column), cells in own.groupby(["row", "column"], sort=False):
        wanted = {
            cell["variant"] or "not run": (cell["printed_text"], cell["verdict"])
            for cell in cells.to_dict("records")
        }
        said = explained(item, row, column)
        assert {name: said[name] for name in wanted} == wanted

"""Freeze the plan of the analysis: every rule, role, margin, predicate and claim, hashed and dated.

``python docs/analysis_plan.py`` says whether the plan is the frozen one.
``python docs/analysis_plan.py REASON`` freezes it anew; the page then lists what was changed, the
reason, and the verdicts of the claims that it touched.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from datetime import date
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from fedmix.cells import predicates, verdicts
from fedmix.cells.claims import CLAIM_RULES, SHUFFLES
from fedmix.cells.papers import read_claims, read_papers
from fedmix.cells.printed import rows_of

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "analysis_plan.md"
ENTRIES = ROOT / "docs" / "analysis_plan.csv"
VERDICTS = ROOT / "docs" / "reproduction" / "claims.csv"
CHANGES = "## Changes since the first plan"
_LEVELS = (
    *("PRINT_CONFIDENCE", "CLAIM_CONFIDENCE", "NARROW", "WIDE", "SPREAD", "TEST_LEVEL"),
    *("TEST_POWER", "CHOICE_LEVEL", "RARELY", "DECIDING_REPLICATIONS", "SAYS_LITTLE"),
)
_ABOUT = """\
# The plan of the analysis

`python docs/analysis_plan.py REASON` writes this page from the configuration and the code. It says
what counts, by which rule and margin, and which claims are tested by which predicate. The first
plan was frozen on 2026-11-24, before at least 93 % of the kept replications ran. Every later change
is listed at the end, with its reason and the verdicts that it touched. Most of them came after the
results were known.
"""


def entries() -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and text of everything that decides a verdict."""
    for kind, rules in (
        ("rule for a published value", verdicts.RULES),
        ("what a value counts as", verdicts.COUNTING_RULES),
        ("rule for a claim", CLAIM_RULES),
        ("role", verdicts.SOURCES),
    ):
        yield from ((kind, name, text) for name, text in rules.items())
    for name in _LEVELS:
        yield "level", name.lower().replace("_", " "), str(getattr(verdicts, name))
    yield "level", "shuffles", str(SHUFFLES)
    papers = read_papers(ROOT / "config")
    for paper in papers.values():
        for metric, margin in paper.margins.items():
            text = f"{margin['size']}: {margin['reason']}"
            yield "margin of substance", f"{paper.name}: {metric}", text
        yield from _roles(paper.folder)
    for name in predicates.names():
        text = (predicates.get(name).__doc__ or "").strip().splitlines()[0]
        yield "predicate", name, text
    for claim in read_claims(papers):
        yield "claim", claim["id"], _in_words(claim)


def _in_words(claim: dict[str, Any]) -> str:
    """Return what a claim says and how it is tested, in one line."""
    left_out = ("id", "paper", "quote", "note", "claim", "predicate", "parameters")
    parts = [f"{key} {value}" for key, value in claim.items() if key not in left_out]
    test = ""
    if "predicate" in claim:
        test = (
            f" {claim['predicate']}: {predicates.in_words(claim['predicate'], claim['parameters'])}"
        )
    return f"{claim['claim']}{test} ({'; '.join(parts)})"


def _roles(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the role of every variant of a paper's studies."""
    for path in sorted((folder / "studies").glob("*.yaml")):
        study = yaml.safe_load(path.read_text(encoding="utf-8"))
        for name, variant in study.get("variants", {}).items():
            yield "role of a variant", f"{path.stem}: {name}", variant.get("role", "diagnostic")


def digest(texts: Iterator[str] | list[str]) -> str:
    """Return the first twelve digits of a hash."""
    return sha256("\n".join(texts).encode()).hexdigest()[:12]


def current() -> dict[tuple[str, str], str]:
    """Return the hash of every entry of the plan as it is now."""
    return {(kind, name): digest([text]) for kind, name, text in entries()}


def frozen() -> dict[tuple[str, str], str]:
    """Return the hash of every entry of the frozen plan; empty without one."""
    return {(row["kind"], row["name"]): row["hash"] for row in rows_of(ENTRIES)}


def touched() -> list[tuple[str, str]]:
    """Return the entries that differ from the frozen plan, those of either side included."""
    old, new = frozen(), current()
    return [key for key in {**old, **new} if old.get(key) != new.get(key)]


def freeze(reason: str) -> None:
    """Write the page and the hashes, and add what changed to the list of changes."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    changes = page.partition(CHANGES)[2].strip()
    added = _change(reason) if frozen() else ""
    lines = [_ABOUT, f"As of {date.today()}, hash `{digest(list(current().values()))}`.", ""]
    for kind, own in groupby(entries(), key=lambda entry: entry[0]):
        lines += ["", f"## {kind.capitalize()}", ""]
        lines += [f"- **{name}**: {text}" for _, name, text in own]
    lines += ["", CHANGES, "", *(part for part in (added, changes) if part)]
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    with open(ENTRIES, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["kind", "name", "hash"])
        rows.writerows([kind, name, hashed] for (kind, name), hashed in current().items())


def _change(reason: str) -> str:
    found = {row["id"]: row["verdict"] for row in rows_of(VERDICTS)}
    names = [
        f"{name} ({found[name]})" if kind == "claim" and name in found else f"{kind} {name}"
        for kind, name in touched()
    ]
    said = reason.removesuffix(".")
    touches = f"{len(names)}: {', '.join(names)}" if names else "no rule and no claim"
    return f"- {date.today()}: {said}. It touches {touches}."


def main(arguments: list[str]) -> int:
    """Freeze the plan for a reason, or say how it differs from the frozen one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reason", nargs="?", help="freeze the plan anew, for this reason")
    reason = parser.parse_args(arguments).reason
    if reason:
        freeze(reason)
        return 0
    changed = touched()
    print("The plan is the frozen one." if not changed else "Not in the frozen plan:")
    for kind, name in changed:
        print(f"  {kind} {name}")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

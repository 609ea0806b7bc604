"""Write into docs/audit_changes.md what changed since the first audit, and why.

    python docs/audit_changes.py [folder]

The folder holds ``claims.csv`` and ``scores.csv`` of a run, as ``results/<preset>/audit`` does; by
default it is docs/reproduction.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

from fedmix.cells.claims import CLAIM_RULES, UNTESTABLE
from fedmix.cells.effects import NO, UNCLEAR, YES
from fedmix.cells.papers import read_claims, read_papers
from fedmix.cells.printed import rows_of
from fedmix.cells.verdicts import COUNTED
from fedmix.configuration import read_yaml

ROOT = Path(__file__).parents[1]
FIRST, KEPT = ROOT / "docs" / "first_audit", ROOT / "docs" / "reproduction"
PAGE = ROOT / "docs" / "audit_changes.md"
BEGIN = "<!-- changes: begin (python docs/audit_changes.py) -->"
END = "<!-- changes: end -->"
DROPPED, WAITING = "dropped", "not run again yet"

Row = Mapping[str, str]


def main(folder: Path = KEPT) -> None:
    """Replace the text between the markers."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n{changes(folder)}\n{END}{tail}", encoding="utf-8")


def changes(folder: Path = KEPT) -> str:
    """Return the verdicts on tables and claims in the first audit and now."""
    return "\n".join(["### Tables", "", *_tables(folder), "", "### Claims", "", *_claims(folder)])


def _tables(folder: Path) -> Iterator[str]:
    """Yield each table's counts: first by the best variant of each value, now by one variant."""
    now = {row["item"]: row for row in rows_of(folder / "scores.csv")}
    yield "| table | first audit, each value by its best variant | now, by one variant | side |"
    yield "|---|---|---|---|"
    for row in rows_of(FIRST / "tables.csv"):
        then = _counts({name: n for name, n in row.items() if name != "item"})
        score = now.get(row["item"], {})
        found = f"{score['variant']}: {_counts(score)}" if score.get("variant") else ""
        side = score["direction"] if found else ""
        yield f"| {row['item']} | {then} | {found or WAITING} | {side} |"


def _counts(row: Row) -> str:
    names = COUNTED if "variant" in row else list(row)
    found = ", ".join(f"{row[name]} {name}" for name in names if int(row[name]))
    return found or "noted, not judged"


def _claims(folder: Path) -> Iterator[str]:
    """Yield the claims whose verdict changed, and how many did not."""
    reasons = read_yaml(FIRST / "reasons.yaml")
    exported = {row["id"]: row for row in rows_of(folder / "claims.csv")}
    verdicts = verdicts_now(folder)
    first = {row["id"]: row["verdict"] for row in rows_of(FIRST / "claims.csv")}
    moved = {n: old for n, old in first.items() if old != verdicts.get(n, DROPPED)}
    waiting = sum(verdicts.get(name) == WAITING for name in first)
    added = [name for name in verdicts if name not in first]
    yield (
        f"Of {len(first)} claims, {len(moved) - waiting} have another verdict, {waiting} wait for "
        f"a run and {len(first) - len(moved)} have the same. New claims: {', '.join(added)}."
    )
    yield ""
    yield "| claim | first audit | now | why |"
    yield "|---|---|---|---|"
    for name, old in moved.items():
        new = verdicts.get(name, DROPPED)
        why = " ".join(filter(None, [_why(name, reasons), _rule(new)]))
        yield f"| {name} | {old} | {new}{_answers(exported.get(name, {}))} | {why} |"


def verdicts_now(folder: Path = KEPT) -> dict[str, str]:
    """Return the verdict of every claim of the registry in a run, or that it waits for one."""
    exported = {row["id"]: row for row in rows_of(folder / "claims.csv")}
    claims = read_claims(read_papers(ROOT / "config"))
    return {claim["id"]: _verdict(claim, exported.get(claim["id"], {})) for claim in claims}


def _verdict(claim: Row, exported: Row) -> str:
    verdict = exported.get("verdict", UNTESTABLE)
    return WAITING if verdict == UNTESTABLE and "untestable" not in claim else verdict


def _answers(exported: Row) -> str:
    """Return in how many settings the source of a verdict says yes, if there is a source."""
    source = exported.get("source")
    if not source:
        return ""
    answers = [int(exported[f"{source}_{answer}"]) for answer in (YES, NO, UNCLEAR)]
    return f" (yes in {answers[0]} of {sum(answers)}, {source})"


def _rule(verdict: str) -> str:
    """Return the meaning of a verdict; empty if the reason already gives it."""
    has_rule = verdict in CLAIM_RULES and verdict != UNTESTABLE
    return f"Now: {CLAIM_RULES[verdict]}." if has_rule else ""


def _why(name: str, reasons: list[dict]) -> str:
    return next(r["why"] for r in reasons if any(fnmatch(name, one) for one in r["ids"]))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

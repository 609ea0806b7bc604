"""Write into docs/audit_changes.md which verdicts of the first audit changed, and why."""

from __future__ import annotations

import csv
from fnmatch import fnmatch
from pathlib import Path

from fedmix.cells.claims import UNTESTABLE, read_claims
from fedmix.cells.papers import read_papers
from fedmix.configuration import read_yaml

ROOT = Path(__file__).parents[1]
FIRST, NOW = ROOT / "docs" / "first_audit", ROOT / "docs" / "reproduction"
PAGE = ROOT / "docs" / "audit_changes.md"
BEGIN = "<!-- changes: begin (python docs/audit_changes.py) -->"
END = "<!-- changes: end -->"
DROPPED, WAITING = "dropped", "not run again yet"


def main() -> None:
    """Replace what stands between the markers."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n{changes()}\n{END}{tail}", encoding="utf-8")


def changes() -> str:
    """Return the table of the claims whose verdict changed, and how many did not."""
    reasons = read_yaml(FIRST / "reasons.yaml")
    verdicts = verdicts_now()
    first = _read(FIRST / "claims.csv")
    rows = [(row["id"], row["verdict"], verdicts.get(row["id"], DROPPED)) for row in first]
    moved = [row for row in rows if row[1] != row[2]]
    added = [name for name in verdicts if name not in {row["id"] for row in first}]
    lines = [
        f"{len(moved)} of {len(rows)} claims have another verdict, or wait for a run; "
        f"{len(rows) - len(moved)} have the same. New ones: {', '.join(added)}.",
        "",
        "| claim | first audit | now | why |",
        "|---|---|---|---|",
        *(f"| {name} | {old} | {new} | {_why(name, reasons)} |" for name, old, new in moved),
    ]
    return "\n".join(lines)


def verdicts_now() -> dict[str, str]:
    """Return the verdict of every claim of the registry in the last exported run.

    An export of the first audit has no sources: what needs a run then waits for one.
    """
    exported = {row["id"]: row for row in _read(NOW / "claims.csv")}
    claims = read_claims(read_papers(ROOT / "config"))
    return {claim["id"]: _verdict(claim, exported.get(claim["id"], {})) for claim in claims}


def _verdict(claim: dict[str, str], exported: dict[str, str]) -> str:
    if "source" in exported:
        return exported["verdict"]
    return UNTESTABLE if "untestable" in claim else WAITING


def _why(name: str, reasons: list[dict]) -> str:
    return next(r["why"] for r in reasons if any(fnmatch(name, one) for one in r["ids"]))


def _read(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()

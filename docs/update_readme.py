"""Write the verdicts of docs/reproduction into README.md, by paper and by published table."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from matplotlib import rcParams
from matplotlib.figure import Figure

from fedmix.cells.claims import HOLDS, MOSTLY, PARTLY_UNTESTED
from fedmix.cells.items import read_items
from fedmix.cells.papers import read_claims, read_papers
from fedmix.cells.printed import rows_of
from fedmix.cells.verdicts import COUNTED, SAYS_LITTLE
from fedmix.views.captions import in_words as variant_in_words
from fedmix.views.captions import joined
from fedmix.views.format import COLORS, tally
from fedmix.views.page.contents import items_named

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "reproduction"
PICTURE = ROOT / "docs" / "scorecard.svg"
BEGIN = "<!-- reproduced: begin (python docs/update_readme.py) -->"
END = "<!-- reproduced: end -->"
FOLDERS = read_papers(ROOT / "config")
PAPERS = {key: paper for key, paper in FOLDERS.items() if paper.is_paper}
# In a sentence about a paper: what its values, and its claims, do, and the verdicts that say so.
_VALUES = {
    "{} agree": ("agrees closely", "agrees"),
    "{} agree in the mean only": ("agrees in mean only",),
    "{} agree as all our variants do": ("agrees (not discriminating)",),
    "{} differ": ("differs",),
    "{} are undecided": ("undecided",),
    "{} cannot be decided by more runs": ("cannot be decided",),
    "for {} the protocol is not known": (
        "protocol unknown: near",
        "protocol unknown: undecided",
        "protocol unknown: not near",
    ),
    "{} have been run on data that stand in for the paper's": ("stand-in",),
}
_CLAIMS = {
    "{} hold": ("holds",),
    "{} hold in most of the settings that were run": ("holds in most",),
    "{} hold where they have been tested": ("partly untested",),
    "{} depend on a choice that the paper does not report": ("depends on an unreported choice",),
    "{} hold in some settings and fail in others": ("mixed",),
    "for {} the opposite holds": ("reversed",),
    "{} are inconclusive": ("inconclusive",),
    "{} cannot be tested": ("not testable",),
}
_DETAILS = """\
<details>
<summary>The answer for each published table</summary>

Each row names the variant of the experiment that is compared, and counts its verdicts, which the
[glossary](docs/glossary.md) defines. The links lead to values, figures and claims
([all results](docs/reproduction/README.md)).
"""


def main() -> None:
    """Replace the text between the markers, and draw the scorecard if there is one."""
    scores = read_scorecard()
    readme = ROOT / "README.md"
    head, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    readme.write_text(f"{head}{BEGIN}\n{summary(scores)}\n{END}{tail}", encoding="utf-8")
    if scores:
        draw(scores)


def read_scorecard() -> dict[str, dict[str, int]]:
    """Return the counts of each paper, such as ``"cells: reproduced"``; empty without a run."""
    rows = rows_of(KEPT / "scorecard.csv")
    return {row.pop("paper"): {name: int(value) for name, value in row.items()} for row in rows}


def summary(scores: dict[str, dict[str, int]]) -> str:
    """Return what was found for each paper and for each published table, and the stamp."""
    lines = ["| paper | what was found |", "|---|---|"]
    for key, paper in PAPERS.items():
        found = _found(scores.get(key, {}), _replications(key), _weak_claims(key))
        name = f"**{paper.title}**"
        linked = f'[{name}]({paper.link} "{paper.citation}")' if paper.link else name
        lines.append(f"| {linked}: {paper.about} | {found} |")
    if not scores:
        return "\n".join(lines)
    lines += ["", "![Verdicts on the published values](docs/scorecard.svg)", ""]
    lines += [_DETAILS, *tables(scores), "", "</details>", "", f"<!-- {_stamp()} -->"]
    return "\n".join(lines)


def _replications(paper: str) -> str:
    """Return how many replications are behind the counted values, e.g. ``", 20 to 50 times"``."""
    counted = {(row["item"], row["variant"]) for row in rows_of(KEPT / "scores.csv")}
    cells = [
        row
        for row in rows_of(KEPT / "cells.csv")
        if row["paper"] == paper and row["verdict"] not in ("not run", "not judged")
    ]
    ns = [int(row["n"]) for row in cells if (row["item"], row["variant"]) in counted]
    run = sorted(n for n in ns if n)
    if not run:
        return ""
    if run[0] < run[-1]:
        return f", {run[0]} to {run[-1]} times"
    return ", once" if run[0] == 1 else f", {run[0]} times"


def _weak_claims(paper: str) -> str:
    """Return a sentence on the claims that hold, but say little."""
    own = [
        row
        for row in rows_of(KEPT / "claims.csv")
        if row["paper"] == paper and row["verdict"] in (HOLDS, MOSTLY, PARTLY_UNTESTED)
    ]
    holding = {row["id"]: float(row["chance"] or 0) for row in own}  # empty: nothing to shuffle
    constructed = {claim["id"] for claim in read_claims(FOLDERS) if "by_construction" in claim}
    chosen = len(holding.keys() & constructed)
    chance = sum(holding[name] > SAYS_LITTLE for name in holding.keys() - constructed)
    parts = [f"{chosen} must hold by construction"] if chosen else []
    verb = "holds" if chance == 1 else "hold"
    parts += [f"{chance} also {verb} often in shuffled results"] if chance else []
    failing = sum(row["published_fails"] == "True" for row in own)
    verb = "fails" if failing == 1 else "fail"
    parts += [f"{failing} {verb} on the paper's own values"] if failing else []
    return f" Of those that hold, {joined(parts)}." if parts else ""


def _found(scores: dict[str, int], times: str, weak: str) -> str:
    """Return some sentences: what a paper's published values do, and what its claims do."""
    values, claims = _of_kind(scores, "cells"), _of_kind(scores, "claims")
    n_values, n_claims = sum(values.values()), sum(claims.values())
    run = n_values - values.get("not run", 0)
    if not n_values + n_claims:
        return "Not run yet."
    said = "There is no published table to compare."
    if n_values:
        said = f"{run} of {n_values} published values (without run times) have been run"
        said += times * (run > 0)
        said += f": {_in_words(values, _VALUES)}." if run else "."
    return f"{said} Of {n_claims} claims, {_in_words(claims, _CLAIMS)}.{weak}" if n_claims else said


def _in_words(counts: dict[str, int], words: dict[str, tuple[str, ...]]) -> str:
    """Return ``"12 agree, 3 differ and 2 are undecided"``."""
    summed = {text: sum(counts.get(v, 0) for v in verdicts) for text, verdicts in words.items()}
    parts = [
        _singular(text.format(n)) if n == 1 else text.format(n) for text, n in summed.items() if n
    ]
    return joined(parts)


def _singular(text: str) -> str:
    """Return ``"1 agrees"`` for ``"1 agree"``."""
    forms = {"agree": "agrees", "differ": "differs", "are": "is", "have": "has", "hold": "holds"}
    forms |= {"fail": "fails", "depend": "depends", "they have": "it has"}
    return re.sub(rf"\b({'|'.join(forms)})\b", lambda found: forms[found[1]], text)


def _stamp() -> str:
    """Return the stamp of the kept pages, which is their last line."""
    return (KEPT / "README.md").read_text(encoding="utf-8").splitlines()[-1]


def tables(scores: dict[str, dict[str, int]]) -> list[str]:
    """Return one row per published table, with a link to its page if it has one."""
    items, claims = read_items(FOLDERS), rows_of(KEPT / "claims.csv")
    verdicts = dict.fromkeys(v for own in scores.values() for v in _of_kind(own, "claims"))
    lines = ["| published table | answer | published values | claims |", "|---|---|---|---|"]
    for row in rows_of(KEPT / "scores.csv"):
        title = items[row["item"]].title
        numbers = {name: int(row[name]) for name in COUNTED if name in row}
        found = Counter(
            claim["verdict"]
            for claim in claims
            if claim["paper"] == row["paper"] and items_named(claim["section"]) & items_named(title)
        )
        about = {verdict: found[verdict] for verdict in verdicts}
        page = f"docs/reproduction/tables/{row['item']}.md"
        name = f"[{title}]({page})" if (ROOT / page).exists() else title
        counted = f"{variant_in_words(row['variant'])}; {tally(numbers)}".removeprefix("; ")
        lines.append(f"| {name} | {row.get('answer', '')} | {counted} | {tally(about)} |")
    return lines


def _of_kind(counts: dict[str, int], kind: str) -> dict[str, int]:
    """Return the counts of cells or of claims, by the names of the verdicts in the scorecard."""
    start = f"{kind}: "
    return {name.removeprefix(start): n for name, n in counts.items() if name.startswith(start)}


def draw(scores: dict[str, dict[str, int]]) -> None:
    """Draw each paper's verdicts as one bar, in shares of its published values."""
    rcParams["svg.hashsalt"] = "fedmix"
    by_paper = {key: _of_kind(scores.get(key, {}), "cells") for key in PAPERS}
    shown = {FOLDERS[key].name: own for key, own in by_paper.items() if any(own.values())}
    seen = {
        name: color
        for name, color in COLORS.items()
        if any(own.get(name) for own in shown.values())
    }
    figure = Figure(figsize=(8, 1.3 + 0.3 * len(shown)), layout="constrained")
    axis = figure.subplots()
    for place, own in enumerate(shown.values()):
        total, left = sum(own.values()), 0.0
        for name, color in seen.items():
            n = own.get(name, 0)
            share = n / total
            axis.barh(place, share, left=left, color=color, label=name if not place else "")
            if n:
                height = place if share > 0.02 else place - 0.5  # above a bar that is too narrow
                axis.text(left + share / 2, height, str(n), ha="center", va="center", fontsize=8)
            left += share
    axis.set_yticks(range(len(shown)), list(shown))
    axis.invert_yaxis()
    axis.set(xticks=[], xlim=(0, 1))
    axis.spines[:].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()

"""Write the verdicts of docs/reproduction into README.md, by paper and by published table."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from fedmix.cells.items import read_items
from fedmix.cells.papers import read_papers
from fedmix.cells.verdicts import COUNTED
from fedmix.views.captions import in_words
from fedmix.views.marks import COLORS, tally
from fedmix.views.page.contents import items_named

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "reproduction"
PICTURE = ROOT / "docs" / "scorecard.svg"
BEGIN = "<!-- reproduced: begin (python docs/update_readme.py) -->"
END = "<!-- reproduced: end -->"
FOLDERS = read_papers(ROOT / "config")
PAPERS = {
    key: f"**{paper.title}**: {paper.about}" for key, paper in FOLDERS.items() if paper.is_paper
}
_PROGRESS = """\
So far {run} of the {all} published values have been run; run times are not counted.
`python -m fedmix evidence status` says what is missing."""
_NEXT_TABLE = """\
The next table has one row per published table, with its answer. It names the variant of the
experiment that is compared, and counts its verdicts. The links lead to values, figures and claims
([all results](docs/reproduction/README.md))."""


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
    rows = _rows("scorecard.csv")
    return {row.pop("paper"): {name: int(value) for name, value in row.items()} for row in rows}


def _rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a file of docs/reproduction; none without it."""
    path = KEPT / name
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def summary(scores: dict[str, dict[str, int]]) -> str:
    """Return one row per paper, one row per published table, and their stamp."""
    lines = ["| paper | published values | claims |", "|---|---|---|"]
    if not scores:
        return "\n".join([*lines, *(f"| {paper} | – | – |" for paper in PAPERS.values())])
    for key, paper in PAPERS.items():
        cells, claims = (_in_words(scores.get(key, {}), kind) for kind in ("cells", "claims"))
        lines.append(f"| {paper} | {cells} | {claims} |")
    lines += ["", _progress(scores)]
    lines += ["", "![Verdicts on the published values](docs/scorecard.svg)", ""]
    lines += [_NEXT_TABLE, "", *tables(), "", f"<!-- {_stamp()} -->"]
    return "\n".join(lines)


def _progress(scores: dict[str, dict[str, int]]) -> str:
    cells = Counter()
    for own in scores.values():
        cells.update(_of_kind(own, "cells"))
    return _PROGRESS.format(run=cells.total() - cells["not run"], all=cells.total())


def _stamp() -> str:
    """Return the stamp of the kept pages, which is their last line."""
    return (KEPT / "README.md").read_text(encoding="utf-8").splitlines()[-1]


def tables() -> list[str]:
    """Return one row per published table, with a link to its page if it has one."""
    items, claims = read_items(FOLDERS), _rows("claims.csv")
    verdicts = dict.fromkeys(
        v for own in read_scorecard().values() for v in _of_kind(own, "claims")
    )
    lines = ["| published table | answer | published values | claims |", "|---|---|---|---|"]
    for row in _rows("scores.csv"):
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
        counted = f"{in_words(row['variant'])}: {tally(numbers)}".removeprefix(": ")
        lines.append(f"| {name} | {row.get('answer', '')} | {counted} | {tally(about)} |")
    return lines


def _in_words(counts: dict[str, int], kind: str) -> str:
    return tally(_of_kind(counts, kind))


def _of_kind(counts: dict[str, int], kind: str) -> dict[str, int]:
    """Return the counts of cells or of claims, by the names of the verdicts in the scorecard."""
    start = f"{kind}: "
    return {name.removeprefix(start): n for name, n in counts.items() if name.startswith(start)}


def draw(scores: dict[str, dict[str, int]]) -> None:
    """Draw each paper's verdicts as one bar, in shares of its published values."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "fedmix"
    import matplotlib.pyplot as plt

    by_paper = {key: _of_kind(scores.get(key, {}), "cells") for key in PAPERS}
    shown = {FOLDERS[key].name: own for key, own in by_paper.items() if any(own.values())}
    seen = {
        name: color
        for name, color in COLORS.items()
        if any(own.get(name) for own in shown.values())
    }
    figure, axis = plt.subplots(figsize=(8, 1.3 + 0.3 * len(shown)), layout="constrained")
    for place, own in enumerate(shown.values()):
        total, left = sum(own.values()), 0.0
        for name, color in seen.items():
            n = own.get(name, 0)
            share = n / total
            axis.barh(place, share, left=left, color=color, label=name if not place else "")
            if share > 0.04:
                axis.text(left + share / 2, place, str(n), ha="center", va="center", fontsize=8)
            left += share
    axis.set_yticks(range(len(shown)), list(shown))
    axis.invert_yaxis()
    axis.set(xticks=[], xlim=(0, 1))
    axis.spines[:].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()

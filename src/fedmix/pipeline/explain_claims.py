"""Explain a claim of a run that was judged: what the paper says, what was found, and where.

It is read from the file ``claims.csv`` of a folder, such as the kept pages'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fedmix.cells.claims import CLAIM_RULES
from fedmix.cells.printed import rows_of
from fedmix.cells.verdicts import SOURCES
from fedmix.errors import ConfigurationError, DataError, did_you_mean

_ANSWERS = ("yes", "no", "unclear")


def explain_claim(folder: Path, name: str) -> Iterator[str]:
    """Yield what is known of a claim, by its id in ``claims.yaml``, one line a fact.

    ``folder`` has ``claims.csv``: ``docs/reproduction``, or ``audit`` in the folder of a run.
    """
    path = folder / "claims.csv"
    if not path.is_file():
        raise DataError(
            f"{path}: no such file. `snakemake --cores 2 audit` makes it in a run; with --kept, "
            "explain shows the kept results."
        )
    claims = {row["id"]: row for row in rows_of(path)}
    if name not in claims:
        raise ConfigurationError(
            f"There is no claim {name!r}. {did_you_mean(name, claims)} {path} has all claims. For "
            "a number of a table, give its row and its column too."
        )
    claim = claims[name]
    yield claim["claim"]
    quote = f"“{claim['quote']}” ({claim['section']})" if claim["quote"] else claim["section"]
    yield f"  the paper: {quote}"
    verdict = claim["verdict"]
    yield f"  verdict: {verdict} ({CLAIM_RULES[verdict].replace('*', '')})"
    yield f"  where: {claim['where']}"
    if claim["predicate"]:
        yield f"  predicate: {claim['predicate']}"
    for source, words in {"published": "the published values themselves", **SOURCES}.items():
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
    told = [claim[f"{source}_{name}"] for name in names]
    if not all(told):
        return ""
    median, smallest, low, high = (f"{float(number):+.3g}" for number in told)
    return f"; margin {median} (median), {smallest} (least, 99 % [{low}, {high}])"

"""What the papers say of their experiments, put to our results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fedmix.cells import predicates
from fedmix.cells.effects import NO, UNCLEAR, YES
from fedmix.cells.evidence import Evidence, by_variant
from fedmix.cells.papers import Paper, read_entries
from fedmix.cells.predicates import Check

if TYPE_CHECKING:
    import pandas as pd

HOLDS, PARTLY, FAILS = "holds", "holds only under named settings", "does not hold"
UNDECIDED, UNTESTABLE = "undecided", "not testable here"
CLAIM_VERDICTS = (HOLDS, PARTLY, UNDECIDED, FAILS, UNTESTABLE)

# More names than this are counted, not listed.
_LISTED = 6


def read_claims(papers: Mapping[str, Paper]) -> list[dict[str, Any]]:
    """Read every paper's claims; planning has checked what they name.

    Parameters
    ----------
    papers : mapping of str to Paper
        Of :func:`fedmix.cells.papers.read_papers`.

    Raises
    ------
    ConfigurationError
        Listing all errors: unknown keys, missing ones, an id given twice.
    """
    return [
        {"paper": paper.key, **entry.content} for paper, entry in read_entries(papers, "claims")
    ]


def evaluate_claims(
    claims: Iterable[Mapping[str, Any]],
    cells: pd.DataFrame,
    results: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Put every claim to the results, in every variant that was run and decides.

    A place (setting and variant) says yes, no or unclear, each beyond Monte-Carlo noise at 99 %;
    the claim

    - holds if every place says yes,
    - holds only under named settings if some do,
    - does not hold if none does and some say no,
    - is undecided if all are unclear (too few replications, or no difference to be seen),
    - is not testable here if nothing that it speaks of was run, or if it cannot be run.

    Parameters
    ----------
    claims : iterable of mapping
        Of :func:`read_claims`.
    cells : DataFrame
        Of :mod:`fedmix.cells.frame`.
    results : DataFrame, optional
        Gives the trajectories, see :class:`fedmix.cells.evidence.Evidence`.

    Returns
    -------
    DataFrame
        One row a claim: ``id, paper, section, claim, study, verdict, where`` (the settings it
        holds under, or the reason it cannot be tested), ``by_variant`` (list of dicts with
        ``variant`` and ``verdict``), ``n_yes, n_no, n_unclear`` and ``details`` (the
        :class:`Check` of every place as a dict). All of it can be written as parquet.

    Examples
    --------
    >>> table = evaluate_claims(read_claims(papers), cells)          # doctest: +SKIP
    >>> table.verdict.value_counts()                                 # doctest: +SKIP
    """
    import pandas as pd

    evidence = Evidence(cells[~cells["diagnostic"]], results)
    return pd.DataFrame([_evaluate(claim, evidence) for claim in claims])


def _evaluate(claim: Mapping[str, Any], evidence: Evidence) -> dict[str, Any]:
    checks = [] if "untestable" in claim else _checks(claim, evidence)
    answers = [check.answer for check in checks]
    verdict = _verdict(answers)
    return {
        "id": claim["id"],
        "paper": claim["paper"],
        "section": claim["section"],
        "claim": claim["claim"],
        "study": claim.get("study", ""),
        "verdict": verdict,
        "where": _where(claim, verdict, checks),
        "by_variant": _by_variant(checks),
        "n_yes": answers.count(YES),
        "n_no": answers.count(NO),
        "n_unclear": answers.count(UNCLEAR),
        "details": [asdict(check) for check in checks],
    }


def _checks(claim: Mapping[str, Any], evidence: Evidence) -> list[Check]:
    parameters = claim.get("parameters", {})
    function = predicates.get(claim["predicate"])
    places = evidence.places(claim["study"], claim.get("where", {}))
    return [
        check
        for group in by_variant(places).values()
        for check in function(evidence, group, **parameters)
    ]


def _verdict(answers: list[str]) -> str:
    if not answers:
        return UNTESTABLE
    if YES in answers:
        return HOLDS if set(answers) == {YES} else PARTLY
    return FAILS if NO in answers else UNDECIDED


def _where(claim: Mapping[str, Any], verdict: str, checks: list[Check]) -> str:
    if verdict == UNTESTABLE:
        return claim.get("untestable", f"not run: no results of {claim.get('study')} that it needs")
    if verdict != PARTLY:
        return ""
    yes = [f"{c.variant}/{c.place}" for c in checks if c.answer == YES]
    others = [f"{c.variant}/{c.place}" for c in checks if c.answer != YES]
    if len(yes) <= _LISTED or len(yes) <= len(others):
        listed = ", ".join(yes[:_LISTED]) + (" ..." if len(yes) > _LISTED else "")
        return f"{len(yes)} of {len(checks)} settings: {listed}"
    listed = ", ".join(others[:_LISTED]) + (" ..." if len(others) > _LISTED else "")
    return f"{len(yes)} of {len(checks)} settings, not in {listed}"


def _by_variant(checks: list[Check]) -> list[dict[str, str]]:
    answers: dict[str, list[str]] = {}
    for check in checks:
        answers.setdefault(check.variant, []).append(check.answer)
    return [{"variant": name, "verdict": _verdict(given)} for name, given in answers.items()]

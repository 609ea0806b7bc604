"""The papers' claims, tested on our results, on the published values and against chance.

A claim's predicate gives an answer (yes, no, unclear) in every setting that the claim is
about. It is applied separately to several sources (:data:`SOURCES`). The verdict is that of the
source that counts for the paper: the experiment as the authors ran it, else as it was inferred from
the published values, else as the text describes it. A corrected method, or one outside a theorem's
conditions, does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from math import ceil
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from fedmix.cells import predicates, verdicts
from fedmix.cells.effects import NO, UNCLEAR, YES
from fedmix.cells.evidence import METHODS, PUBLISHED, ROUNDS, SETTINGS, SHUFFLED, Evidence
from fedmix.cells.measured import PLACE
from fedmix.cells.predicates import Check, ask, listed, methods_named, needed, places_of
from fedmix.cells.protocols.space import DRAWN, NEAR
from fedmix.cells.unreported import Answer, Share, answer_of, answers, protocol_answers, share_of
from fedmix.cells.verdicts import SAYS_LITTLE

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.cells.protocols.kept import Search

HOLDS, MOSTLY, PARTLY_UNTESTED = "holds", "holds in most", "partly untested"
DEPENDS, MIXED, REVERSED = "depends on an unreported choice", "mixed", "reversed"
TOO_FEW, UNTESTABLE = "inconclusive", "not testable"
_UNCLEAR = (
    "unclear in at least half of the settings, and more replications could show that it holds"
)
_REFUTES_NOTHING = (
    "a no that cannot refute it, from an inferred protocol or to our reading of a sentence"
)
#: What each verdict means.
CLAIM_RULES = {
    HOLDS: "yes in every setting, or in as many as the claim states",
    MOSTLY: "yes in more than half of the settings, and no in no setting",
    PARTLY_UNTESTED: (
        "as *holds*, but part of what the claim is about was not run and could change the answer"
    ),
    DEPENDS: (
        "beyond noise it holds with one value of an unreported choice, and does not with another; "
        "or it holds in the inferred protocol, and not in most others"
    ),
    MIXED: "no in some settings, and neither holds nor reversed",
    TOO_FEW: f"{_UNCLEAR}; or {_REFUTES_NOTHING}",
    REVERSED: "yes in no setting, and no in more than half",
    UNTESTABLE: "nothing that the claim is about was run, or it cannot be tested here",
}
CLAIM_VERDICTS = tuple(CLAIM_RULES)
#: What a claim is tested on, in the order of the columns.
SOURCES = (PUBLISHED, *verdicts.SOURCES)
#: Shuffles behind ``chance``.
SHUFFLES = 20

_COPIED = ("id", "paper", "section", "quote", "claim", "study")
_COLUMNS = (
    *("id", "paper", "section", "quote", "claim", "predicate", "study", "verdict", "where"),
    *("source", "remarks", "chance", "published_fails"),
)
_OF = {DRAWN: "protocols", NEAR: "protocols near the published values"}
# The remark on a no that cannot refute the paper.
_NO_REFUTATION = "A no does not refute the claim"
# Why a no of a source does not refute the paper.
_CANNOT_REFUTE = {
    verdicts.INFERRED: "the protocol is inferred from published values, and the authors' may be "
    "another"
}


def evaluate_claims(
    claims: Iterable[Mapping[str, Any]],
    cells: pd.DataFrame,
    results: pd.DataFrame | None = None,
    searches: Iterable[Search] = (),
) -> pd.DataFrame:
    """Test every claim on every source, and against chance.

    ``results`` give the trajectories, see :class:`fedmix.cells.evidence.Evidence`. Of ``searches``
    there is at most one a study. A claim that names an unreported choice is tested under every
    protocol that was drawn or, without a search, in every variant that was run.

    Returns
    -------
    DataFrame
        One row per claim: ``id, paper, section, quote, claim, predicate`` (in words), ``study,
        verdict, where`` (the settings by answer, or why it cannot be tested), ``source`` (which
        decides the verdict), ``remarks`` (list of sentences), ``chance`` (the share of shuffles in
        which it holds, see :func:`_control`; None if nothing can be shuffled), ``published_fails``;
        for each source ``<source>_yes, _no, _unclear``, the median of the margins and the smallest
        one with its 99 % interval; and ``details``, every :class:`Check` as a dict with its
        ``source``.
    """
    import pandas as pd

    places = pd.MultiIndex.from_frame(cells[PLACE])
    own = cells[~places.isin(places[cells["is_stand_in"]])]  # no data stand in for the paper's
    measured, printed = Evidence(own, results), Evidence.of_print(cells)
    shuffled = {
        what: [measured.shuffled(draw, what) for draw in range(SHUFFLES)] for what in SHUFFLED
    }
    of_study = {search.space.study: search for search in searches}
    rows = [
        _evaluate(claim, measured, printed, shuffled, of_study.get(claim.get("study", "")))
        for claim in claims
    ]
    return pd.DataFrame(rows, columns=[*_COLUMNS, *_numbers_by_source({}), "details"])


def _evaluate(
    claim: Mapping[str, Any],
    measured: Evidence,
    printed: Evidence,
    shuffled: Mapping[str, list[Evidence]],
    search: Search | None,
) -> dict[str, Any]:
    checks = {
        source: _checks(claim, printed if source == PUBLISHED else measured, source)
        for source in SOURCES
    }
    source = verdicts.headline(name for name, found in checks.items() if found)
    own = checks.get(source, [])
    chance = None
    if own and _can_be_shuffled(claim, measured, source):
        found = [_verdict(claim, _checks(claim, e, source)) for e in shuffled[_control(claim)]]
        chance = fmean(verdict == HOLDS for verdict in found)
    # Beyond the published values' own noise. A stricter reading than the paper's may fail there.
    theirs = checks[PUBLISHED]
    quoted = "implied" not in claim and _verdict(claim, theirs) != HOLDS
    fails = quoted and any(check.answer == NO for check in theirs)
    share = _share(claim, measured, search)
    missing = _missing(claim, measured, source)
    untested = _untested(claim, missing)
    failed = _failed_throughout(claim, measured, source)
    answered = _verdict(claim, own)
    denied = answered in (MIXED, REVERSED)
    cannot_refute = claim.get("implied", _CANNOT_REFUTE.get(source, "")) if denied else ""
    asked = claim.get("predicate", "")
    open_parts = "" if _settled(claim, own, missing) else untested or failed
    verdict = _final(TOO_FEW if cannot_refute else answered, source, share, open_parts)
    text, near = checks[verdicts.WRITTEN], checks[verdicts.SEARCHED]
    text_says_no = source != verdicts.WRITTEN and _verdict(claim, text) in (MIXED, REVERSED)
    near_differs = near and _verdict(claim, near) != answered
    says_little = chance is not None and chance > SAYS_LITTLE
    notes = {
        "By construction": claim.get("by_construction"),
        "Fails on the published values": fails
        and claim.get("contradiction", "not looked into yet"),
        "Says little": says_little
        and f"it holds in {chance:.0%} of {SHUFFLES} shuffles of the {_control(claim)}",
        _NO_REFUTATION: cannot_refute,
        "Does not hold in the variant closest to the text": text_says_no and _where(claim, text),
        "Not reported": share and f"{claim['unreported']}; {share}",
        "No nearest protocol": "unreported" in claim
        and not near
        and "its tables were not searched",
        "In the protocol that the search chose for each table": near_differs
        and _where(claim, near),
        "Not run, or only on other data": "study" in claim and untested,
        "No answer where every replication failed": failed,
    }
    remarks = [f"{what}: {said}" for what, said in notes.items() if said]
    return {
        **{name: claim.get(name, "") for name in _COPIED},
        "predicate": asked and predicates.in_words(asked, claim.get("parameters", {})),
        "verdict": verdict,
        "where": _where(claim, own),
        "source": source,
        "remarks": [*remarks, claim["note"]] if "note" in claim else remarks,
        "chance": chance,
        "published_fails": fails,
        **_numbers_by_source(checks),
        "details": [asdict(c) | {"source": name} for name in SOURCES for c in checks[name]],
    }


def _numbers_by_source(checks: Mapping[str, list[Check]]) -> dict[str, Any]:
    """Return each source's counts, and the margins' median and least with its interval."""
    found: dict[str, Any] = {}
    for source in SOURCES:
        own = checks.get(source, [])
        answers = [check.answer for check in own]
        found |= {f"{source}_{answer}": answers.count(answer) for answer in (YES, NO, UNCLEAR)}
        found[f"{source}_median"] = median(check.margin for check in own) if own else None
        least = min(own, key=lambda check: check.margin, default=None)
        found[f"{source}_smallest"] = least.margin if least else None
        found[f"{source}_low"] = least.low if least else None
        found[f"{source}_high"] = least.high if least else None
    return found


def _checks(claim: Mapping[str, Any], evidence: Evidence, role: str) -> list[Check]:
    where = {**claim.get("where", {}), "role": role}
    if role == PUBLISHED:  # published values have no variant
        where.pop("variant", None)
    return ask(claim, evidence, places_of(claim, evidence, where))


def _verdict(claim: Mapping[str, Any], checks: list[Check]) -> str:
    answers = [check.answer for check in checks]
    n, yes, no, unclear = len(answers), *map(answers.count, (YES, NO, UNCLEAR))
    if not n:
        return UNTESTABLE
    if yes >= needed(claim, n):
        return HOLDS
    if 2 * yes > n and not no:
        return MOSTLY
    if not yes and 2 * no > n:
        return REVERSED
    could_hold = yes + unclear >= needed(claim, n)
    return TOO_FEW if could_hold and 2 * unclear >= n else MIXED


def _final(verdict: str, source: str, share: Share | None, untested: str) -> str:
    """Return the verdict that also counts unreported choices and settings that were not run.

    An inferred protocol was chosen by the published values, so it does not speak for the others.
    """
    if verdict == UNTESTABLE:
        return verdict
    if share and share.depends:
        return DEPENDS
    if share and source == verdicts.INFERRED and verdict == HOLDS and share.no > share.yes:
        return DEPENDS
    return PARTLY_UNTESTED if untested and verdict == HOLDS else verdict


def _control(claim: Mapping[str, Any]) -> str:
    """Return what is shuffled to see what a claim would say by chance.

    A claim on how a score moves with a setting keeps its methods, and the settings are shuffled. A
    claim on what happens round by round keeps both, and the rounds are shuffled. Any other claim
    compares methods, whose names are shuffled.
    """
    if claim.get("predicate") in predicates.BY_ROUND:
        return ROUNDS
    given = claim.get("parameters", {})
    return SETTINGS if {"along", "column"} & set(given) else METHODS


def _can_be_shuffled(claim: Mapping[str, Any], measured: Evidence, source: str) -> bool:
    """Return whether a claim compares methods, of which some setting has two, if that is shuffled.

    Other methods' names say nothing about the chance of a claim about one method alone.
    """
    if _control(claim) != METHODS:
        return True
    if claim.get("predicate") in predicates.ALONE:
        return False
    metric = claim.get("parameters", {}).get("metric")
    return any(
        sum(metric is None or measured.score(place, m, metric) is not None for m in methods) > 1
        for place in places_of(claim, measured, {**claim.get("where", {}), "role": source})
        if (methods := measured.methods(place))
    )


def _share(claim: Mapping[str, Any], measured: Evidence, search: Search | None) -> Share | None:
    """Return the share of protocols, or variants, in which a claim holds; None if none counts."""
    if "unreported" not in claim:
        return None
    if search:
        kind, found = protocol_answers(claim, search)
        if found:
            return share_of(found, _OF[kind], search.choices_of(kind) if kind == DRAWN else None)
    return share_of(answers(claim, measured, _decided))


def _decided(claim: Mapping[str, Any], checks: list[Check]) -> Answer | None:
    """Return whether a claim holds in a variant, where that is decided."""
    verdict = _verdict(claim, checks)
    if verdict == TOO_FEW:
        return None
    return answer_of(claim, checks, verdict in (HOLDS, MOSTLY))


def _missing(claim: Mapping[str, Any], measured: Evidence, source: str) -> dict[str, list[Any]]:
    """Return the values that a claim names and that the variant that answers did not run."""
    places = places_of(claim, measured, {"role": source} if source else {})
    missing = {}
    for name, wanted in claim.get("where", {}).items():
        values = wanted if isinstance(wanted, list) else [wanted]
        ran = {value for value in values if any(place.has({name: value}) for place in places)}
        missing[name] = [v for v in values if not any(_same_data(v, other) for other in ran)]
    return {name: values for name, values in missing.items() if values}


def _untested(claim: Mapping[str, Any], missing: Mapping[str, list[Any]]) -> str:
    """Return in words the parts of a claim that were not run."""
    values = (f"{name} {', '.join(map(str, own))}" for name, own in missing.items())
    return "; ".join([*filter(None, [claim.get("untested")]), *values])


def _settled(
    claim: Mapping[str, Any], checks: list[Check], missing: Mapping[str, list[Any]]
) -> bool:
    """Return whether a claim about some of its settings holds whatever the others would say."""
    extent = claim.get("extent")
    if extent == "several":
        return len(checks) > 1
    if extent != "most" or len(missing) != 1 or "untested" in claim:
        return False
    [(name, values)] = missing.items()
    ran = max(len(claim["where"][name]) - len(values), 1)
    settings = len(checks) + len(values) * ceil(len(checks) / ran)
    return sum(check.answer == YES for check in checks) >= needed(claim, settings)


def _failed_throughout(claim: Mapping[str, Any], measured: Evidence, source: str) -> str:
    """Return the methods of a claim that failed throughout somewhere, which gives no answer."""
    if claim.get("predicate") == "fails":  # there it is the answer
        return ""
    named = methods_named(claim)
    roles = list(verdicts.SOURCES)[: list(verdicts.SOURCES).index(source or verdicts.WRITTEN) + 1]
    return ", ".join(
        f"{method} in {place.variant}, {place.setting}"
        for place in places_of(claim, measured, {**claim.get("where", {}), "role": roles})
        for method in measured.methods(place)
        if method in named or "all" in named
        if (runs := measured.runs(place, method)) and runs[0] == runs[1]
    )


def _same_data(one: Any, other: Any) -> bool:
    """Return whether two values are equal, or two readings of one data set.

    The name of a reading begins with that of the data set, such as ``abalone_as_written``.
    """
    longer, shorter = sorted((str(one), str(other)), key=len, reverse=True)
    return longer == shorter or longer.startswith(f"{shorter}_")


def _where(claim: Mapping[str, Any], checks: list[Check]) -> str:
    """Return every setting by its answer, or why there is none."""
    if not checks:
        return claim.get("untestable", f"not run: no results of {claim.get('study')} that it needs")
    names = _short_names([check.place for check in checks])
    parts = []
    for answer in (YES, NO, UNCLEAR):
        places = [names[check.place] for check in checks if check.answer == answer]
        if len(places) == len(checks):
            throughout = {1: "", 2: " in both"}.get(len(checks), f" in all {len(checks)}")
            return answer + throughout
        if places:
            parts.append(f"{answer} in {len(places)} of {len(checks)}: {listed(places)}")
    least = needed(claim, len(checks))
    enough = f" ({least} are enough)" if least < len(checks) else ""
    return "; ".join(parts) + enough


def _short_names(places: list[str]) -> dict[str, str]:
    """Return the places' names without the parts that all have.

    Hyphens separate the parts of a setting's id, commas those of a row of a published table.
    """
    between = ", " if any(", " in place for place in places) else "-"
    parts = [place.split(between) for place in places]
    if len(set(map(len, parts))) > 1:
        return dict(zip(places, places, strict=True))
    differ = [i for i, own in enumerate(zip(*parts, strict=True)) if len(set(own)) > 1]
    return {
        place: between.join(own[i] for i in differ) or place
        for place, own in zip(places, parts, strict=True)
    }


def reason_of(verdict: str, remarks: str) -> str:
    """Return what a verdict means, and of two reasons for *inconclusive* the one that applies.

    ``remarks`` are those of the claim, as text.
    """
    if verdict == TOO_FEW:
        return _REFUTES_NOTHING if _NO_REFUTATION in remarks else _UNCLEAR
    return CLAIM_RULES[verdict].replace("*", "")


def claims_table(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the claims of :func:`evaluate_claims`, one row each, without the single checks."""
    plain = claims.drop(columns="details").set_index("id")
    return plain.assign(remarks=plain["remarks"].map("; ".join))

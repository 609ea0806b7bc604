"""The names of all verdicts and roles, the levels of all conclusions, and what a value counts as.

A study may have several variants. The variant that counts for the paper is the authors', else the
inferred one, else the text's. It decides what a published value counts as (:func:`judge_numbers`).
Where the protocol of a table is unknown (:func:`counted_roles`), the nearest protocol counts,
and its verdicts have names of their own.

:mod:`fedmix.cells.equivalence` has the test behind a verdict. The table of constants also has the
levels for claims, for advice and for the power of a table, so that all levels stand together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# Confidence levels: of a difference from the published value; of an effect behind a claim, where
# one false alarm among many comparisons would decide; of an estimate that is only shown.
PRINT_CONFIDENCE, CLAIM_CONFIDENCE, SHOWN_CONFIDENCE = 0.90, 0.99, 0.95
SHOWN_QUANTILES = 0.025, 0.975
# Margins of equivalence with a published mean, in published standard deviations.
NARROW, WIDE = 0.25, 0.5
# Largest ratio of two standard deviations, either way, that still counts as the same spread.
SPREAD = 2.0
# The least gain that is worth an exchange.
WORTHWHILE = 0.01
# Level of the two-sided test behind a table's power, and how often it finds the difference.
TEST_LEVEL, TEST_POWER = 0.05, 0.80
# Level of the test that a claim depends on a choice, over all choices; and the share of protocols
# that must say yes, and that must say no, for a claim to depend on one. Fewer replications than
# these decide nothing about a protocol.
CHOICE_LEVEL, RARELY, DECIDING_REPLICATIONS = 0.01, 0.05, 10
# Below so many replications no method is called the best, because no test tells methods apart.
COMPARABLE = 5
# A claim that holds in more than this share of shuffles says little: in 15 of 20 or more, which is
# more than half beyond the noise of so few (p = .02).
SAYS_LITTLE = 0.7

AGREES_CLOSELY, AGREES = "agrees closely", "agrees"
AGREES_IN_MEAN, UNDECIDED = "agrees in mean only", "undecided"
CANNOT_DECIDE, DIFFERS = "cannot be decided", "differs"
STAND_IN, NOT_JUDGED, NOT_RUN = "stand-in", "not judged", "not run"
#: What each verdict says, in words.
RULES = {
    AGREES_CLOSELY: "the 90 % interval of the difference lies within half of the margin",
    AGREES: (
        "the interval lies within the margin: half of the published sd, or one unit of the last "
        "published digit if that is larger"
    ),
    AGREES_IN_MEAN: (
        "the interval lies within the margin, but one standard deviation is more than twice the "
        "other, beyond its interval"
    ),
    UNDECIDED: "the interval crosses an edge of the margin: we have too few replications",
    CANNOT_DECIDE: (
        "the interval crosses an edge of the margin, and more replications of ours would not "
        "change that unless our mean changes: the published value's own error, or that of its "
        "draw, is too large"
    ),
    DIFFERS: "the interval lies outside of the margin",
    STAND_IN: "other data replace the paper's, so that nothing can be compared",
    NOT_JUDGED: "run times depend on the machine, the language and the program",
    NOT_RUN: "no replication of ours has finished",
}
#: From the best verdict for a paper to the worst.
VERDICTS = tuple(RULES)
AGREEING = frozenset({AGREES_CLOSELY, AGREES})
#: Of a protocol that was searched by means, whatever its spread.
NEAR = AGREEING | {AGREES_IN_MEAN}
#: What a published value counts as where its verdict alone would mislead.
NONE_DIFFERS = "agrees (not discriminating)"
PROTOCOL_UNKNOWN = "protocol unknown: "
NEAR_UNKNOWN, FAR_UNKNOWN = f"{PROTOCOL_UNKNOWN}near", f"{PROTOCOL_UNKNOWN}not near"
OPEN_UNKNOWN = f"{PROTOCOL_UNKNOWN}undecided"
COUNTING_RULES = {
    NONE_DIFFERS: "ours agrees, and no variant that was run differs: it distinguishes none",
    NEAR_UNKNOWN: "its protocol is not known; the nearest protocol agrees, at least in mean",
    OPEN_UNKNOWN: "its protocol is not known; whether the nearest protocol agrees is undecided",
    FAR_UNKNOWN: "its protocol is not known; the nearest protocol differs",
}
#: Of a table whose protocol is unknown.
UNKNOWN = (NEAR_UNKNOWN, OPEN_UNKNOWN, FAR_UNKNOWN)
_AFTER = {AGREES: (NONE_DIFFERS,), DIFFERS: UNKNOWN}
#: What a published value counts as, in the order of :data:`VERDICTS`. What is not judged is left
#: out.
COUNTED = tuple(
    name
    for verdict in VERDICTS
    if verdict != NOT_JUDGED
    for name in (verdict, *_AFTER.get(verdict, ()))
)
#: What identifies a published value of an item, whatever a variant calls its row and column.
NUMBER = ["paper", "item", "printed_file", "printed_line"]

AUTHORS, INFERRED, WRITTEN = "authors", "inferred", "written"
SEARCHED, FAIR, DIAGNOSTIC = "searched", "fair", "diagnostic"
#: What each role means that at most one variant of a study has. All other variants are diagnostic:
#: they show what one switch does.
SOURCES = {
    AUTHORS: "as the authors' program ran it",
    INFERRED: "inferred from the published values; no program of the authors is behind it",
    WRITTEN: "what the text says, with other settings of the paper where it says nothing",
    SEARCHED: "the protocol that the search chose for the table",
    FAIR: "errors corrected, and strong baselines",
}


def headline(roles: Iterable[str]) -> str:
    """Return the role that counts for a paper: the authors', else the inferred, else the text's.

    It is the empty string if none was run.
    """
    present = set(roles)
    return next((role for role in (AUTHORS, INFERRED, WRITTEN) if role in present), "")


def printed_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that have a verdict: those with a published value."""
    return cells[cells["verdict"] != ""]


def counted_roles(cells: pd.DataFrame) -> dict[str, str]:
    """Return, for every item, the role of the variant that its table counts.

    Where the protocol of a table is unknown, it is that of the nearest protocol: a search's or the
    inferred variant, whichever has the smaller distance. Either the variant that would count was
    inferred from published values, or it differs from more of the table's values than it agrees
    with, while the nearest protocol of a search agrees with more than half of them, in mean at
    least.
    """
    found = {}
    judged = printed_cells(cells[["item", "role", "verdict", "difference_in_sd"]])
    for item, own in judged.groupby("item", sort=False):
        role = headline(own["role"])
        counted, nearest = (own.loc[own["role"] == r, "verdict"] for r in (role, SEARCHED))
        replaced = counted.eq(DIFFERS).sum() > counted.isin(NEAR).sum()
        replaced &= 2 * nearest.isin(NEAR).sum() > len(counted)
        if role == INFERRED or replaced:
            away = {r: distance(own[own["role"] == r]) for r in (SEARCHED, INFERRED)}
            run = [r for r in away if not isnan(away[r])]
            role = min(run, key=lambda r: away[r], default=role)
        found[item] = role
    return found


def distance(cells: pd.DataFrame) -> float:
    """Return the root mean square of the differences, in published standard deviations."""
    return float((cells["difference_in_sd"].astype(float) ** 2).mean() ** 0.5)


def judge_numbers(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per published value: its verdict in the variant that counts, and in others.

    Returns
    -------
    DataFrame
        :data:`NUMBER`, ``row, column, variant, role`` and ``verdict`` of the variant that counts;
        ``counted``, of :data:`COUNTED`; ``power``, the share that differs among the variants that
        are decided, diagnostic ones included, missing where fewer than two are; and ``note``, a
        sentence such as ``"differs in as_written; agrees in as_coded"`` where variants disagree.
    """
    import pandas as pd

    roles = counted_roles(cells)
    columns = [*NUMBER, "row", "column", "variant", "role", "verdict"]
    variants: dict[tuple, list[dict[str, Any]]] = {}
    for cell in printed_cells(cells[columns]).to_dict("records"):
        variants.setdefault(tuple(cell[name] for name in NUMBER), []).append(cell)
    rows = [judge_number(own, roles[own[0]["item"]]) for own in variants.values()]
    return pd.DataFrame(rows, columns=[*columns, "counted", "power", "note"])


def judge_number(variants: Sequence[Mapping[str, Any]], role: str) -> dict[str, Any]:
    """Return the row of one published value, see :func:`judge_numbers`.

    ``variants`` has the value's cell in each variant, with its ``variant, role`` and ``verdict``.
    ``role`` is that of the variant that counts; empty if none was run.
    """
    answering = [v for v in variants if role and v["role"] == role]
    place = answering[0] if answering else variants[0]
    is_known = answering or place["verdict"] == NOT_JUDGED  # run times count nowhere
    verdict = place["verdict"] if is_known else NOT_RUN
    agree = [v["variant"] for v in variants if v["verdict"] in AGREEING]
    differ = [v["variant"] for v in variants if v["verdict"] == DIFFERS]
    decided = len(agree) + len(differ)
    power = len(differ) / decided if decided > 1 else nan
    open_ = (AGREES_IN_MEAN, UNDECIDED, CANNOT_DECIDE)
    tried = decided + sum(v["verdict"] in open_ for v in variants)
    counted = counted_as(verdict, role)
    if counted in AGREEING and tried > 1 and not differ:
        counted = NONE_DIFFERS
    note = f"differs in {', '.join(differ)}; agrees in {', '.join(agree)}"
    return {
        **place,
        "variant": place["variant"] if answering else "",
        "role": role,
        "verdict": verdict,
        "counted": counted,
        "power": power,
        "note": note if agree and differ else "",
    }


def counted_as(verdict: str, role: str) -> str:
    """Return what the verdict of a variant counts as, by its role.

    It is the verdict itself if the paper reports the variant's protocol, or its authors' program
    has it. Otherwise it is how near the variant is.
    """
    if role not in (INFERRED, SEARCHED) or verdict in (STAND_IN, NOT_JUDGED, NOT_RUN):
        return verdict
    if verdict == DIFFERS:
        return FAR_UNKNOWN
    return NEAR_UNKNOWN if verdict in NEAR else OPEN_UNKNOWN

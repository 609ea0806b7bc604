"""Claims on an unreported choice, tested under many ways to run the experiment.

These are the protocols of a search that were drawn whatever their results. If these ran none of the
claim's rows, they are the protocols nearest to the published values. Without a search they are the
variants that were run. :class:`Share` has the share of them in which a claim holds, and the choice
that it depends on most.

A claim lies on its side under a protocol if its deciding margin, how far the effect lies on the
claimed side, is above zero. Protocols with at least ten replications also answer by 99 % intervals.
Only these answers decide whether a claim depends on a choice: some must say yes and some must say
no, by the same share, and one choice must tell them apart beyond noise. Protocols with fewer
replications have no interval: :func:`specification_curves` gives the range of what each replication
says by itself.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fedmix.cells.effects import NO, YES
from fedmix.cells.predicates import Check, ask, listed, needed, places_of
from fedmix.cells.protocols.space import DRAWN, NEAR
from fedmix.cells.verdicts import CHOICE_LEVEL, DECIDING_REPLICATIONS, RARELY
from fedmix.conditions import has_values

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.cells.evidence import Evidence, Place
    from fedmix.cells.protocols.kept import Search
    from fedmix.cells.protocols.space import Space, Table

CURVE = ["search", "id", "claim", "kind", "protocol", "replications"]
CURVE += ["margin", "low", "high", "holds", "nearest"]
#: A value of a choice is reported if at least this many protocols have it.
FEWEST = 10


class Answer(NamedTuple):
    """The answer to a claim in one variant or protocol.

    ``holds`` says whether the claim lies on its side, noise or not. ``decided`` says whether it
    holds beyond noise, by 99 % intervals of at least ten replications in every setting; it is None
    if these do not tell. With fewer in some setting a claim about all of them could only be denied.
    """

    holds: bool
    checks: list[Check]
    decided: bool | None


def answer_of(claim: Mapping[str, Any], checks: list[Check], holds: bool) -> Answer:
    """Return the answer that checks give to a claim."""
    answers = [c.answer for c in checks]
    least = needed(claim, len(answers))
    if any(c.n < DECIDING_REPLICATIONS for c in checks):
        return Answer(holds, checks, None)
    if answers.count(YES) >= least:
        return Answer(holds, checks, True)
    return Answer(holds, checks, False if len(answers) - answers.count(NO) < least else None)


@dataclass(frozen=True)
class Share:
    """The share ``holds`` of ways to run its experiment in which a claim holds."""

    holds: float
    tried: int
    #: What was tried, such as ``"protocols"``.
    of: str
    #: Of protocols, the settings in which the claim was tested.
    where: str = ""
    #: Of protocols, the unreported choice that it depends on most, with its values' shares.
    choice: str = ""
    #: In how many it holds beyond noise, and in how many it does not.
    yes: int = 0
    no: int = 0
    #: What tells these apart beyond noise, with counts; empty if nothing does.
    decided_by: str = ""

    @property
    def depends(self) -> bool:
        """Whether it holds in some and does not hold in others, beyond noise, by some choice."""
        least = RARELY * (self.yes + self.no)
        return bool(self.decided_by) and 0 < self.yes >= least and 0 < self.no >= least

    def __str__(self) -> str:
        noun, _, more = self.of.partition("s")  # "variants", or "protocols near ..."
        ways = f"{noun}{more}" if self.tried == 1 else self.of
        text = f"it holds in {self.holds:.0%} of {self.tried} {ways}"
        text += f" (tested on {self.where})" if self.where else ""
        text += f", {self.choice}" if self.choice else ""
        if decided := self.yes + self.no:
            text += f"; beyond noise it holds in {self.yes} of {decided}"
            text += f" and does not hold in {self.no}"
        return f"{text}, {self.decided_by}" if self.decided_by else text


def answers(
    claim: Mapping[str, Any],
    evidence: Evidence,
    decide: Callable[[Mapping[str, Any], list[Check]], Answer | None],
) -> dict[str, Answer]:
    """Return the answer to a claim in each variant that has one, by what decides from checks."""
    by_variant: dict[str, list[Place]] = {}
    for place in places_of(claim, evidence, claim.get("where", {})):
        by_variant.setdefault(place.variant, []).append(place)
    checks = {name: ask(claim, evidence, places) for name, places in by_variant.items()}
    found = {name: decide(claim, own) for name, own in checks.items() if own}
    return {name: answer for name, answer in found.items() if answer is not None}


def share_of(
    answered: Mapping[str, Answer], of: str = "variants", choices: pd.DataFrame | None = None
) -> Share | None:
    """Return the share of variants in which a claim holds; None if none has an answer.

    ``of`` is what the variants stand for. If they are protocols, the settings are listed.
    ``choices`` are those of protocols that were drawn whatever their results. Without them nothing
    tells protocols apart, because those near the published values were chosen by these.
    """
    import pandas as pd

    if not answered:
        return None
    flags = pd.Series({name: a.holds for name, a in answered.items()})
    asked = dict.fromkeys(check.place for a in answered.values() for check in a.checks)
    where = "" if of == "variants" else listed(asked)
    choice = "" if choices is None else _decisive(flags, choices.loc[flags.index])
    decided = pd.Series(
        {name: a.decided for name, a in answered.items() if a.decided is not None}, dtype=bool
    )
    counts = int(decided.sum()), int((~decided).sum())
    tells = of == "variants" or choices is not None
    by = _decided_by(decided, choices) if tells else ""
    return Share(float(flags.mean()), len(flags), of, where, choice, *counts, by)


def choices_by_weight(flags: pd.Series, choices: pd.DataFrame) -> pd.Series:
    """Return the unreported choices, starting with the one that a claim depends on most.

    Each has the p value of a test that it is independent of ``flags``, whether the claim holds in
    each protocol, times the number of choices. There is none where all flags are the same. Up to
    :data:`fedmix.cells.verdicts.CHOICE_LEVEL` a choice decides.
    """
    import pandas as pd
    from scipy.stats import chi2_contingency

    tested = [name for name in choices if flags.nunique() > 1 and choices[name].nunique() > 1]
    counts = {name: flags.groupby(choices[name]).agg(["size", "sum"]) for name in tested}
    p = {  # of a table of how often it does not hold, and how often it does, by value
        name: chi2_contingency(own.assign(size=own["size"] - own["sum"])).pvalue
        for name, own in counts.items()
    }
    return len(p) * pd.Series(p, dtype=float).sort_values(kind="stable")


def _decisive(flags: pd.Series, choices: pd.DataFrame) -> str:
    if flags.nunique() < 2:
        return ""
    p = choices_by_weight(flags, choices)
    if not (p <= CHOICE_LEVEL).any():
        return "and no single choice decides"
    name = p.index[0]
    shares = flags.groupby(choices[name]).agg(["mean", "size"])
    reported = shares[shares["size"] >= FEWEST].sort_values("mean", ascending=False)
    values = ", ".join(f"{value} in {share:.0%}" for value, share in reported["mean"].items())
    return f"depending most on {name.replace('_', ' ')}" + (f": {values}" if values else "")


def _decided_by(decided: pd.Series, choices: pd.DataFrame | None) -> str:
    """Return which choice decides, beyond noise, in which protocols a claim holds.

    Variants are readings of their own, so that they are named themselves.
    """
    if decided.nunique() < 2:
        return ""
    if choices is None:
        names = (", ".join(decided.index[decided == flag]) for flag in (True, False))
        return "decided by the variant: it holds in {}, not in {}".format(*names)
    p = choices_by_weight(decided, choices.loc[decided.index])
    if not (p <= CHOICE_LEVEL).any():
        return ""
    of_value = decided.groupby(choices.loc[decided.index, p.index[0]]).agg(["sum", "size"])
    counted = (f"{v} in {yes} of {n}" for v, yes, n in of_value.itertuples())
    return f"decided by {p.index[0].replace('_', ' ')}: it holds with {', '.join(counted)}"


def protocol_answers(claim: Mapping[str, Any], search: Search) -> tuple[str, dict[str, Answer]]:
    """Return the kind of protocols that a claim is tested under, and the answer of each.

    These are the drawn ones or, if they ran none of its rows, those near the published values. A
    search of one table draws protocols that the others did not run. Only protocols that ran the
    most of the claim's tables answer it. The search remembers the answers, because a verdict and a
    figure need them.
    """
    if claim["id"] not in search.answers:
        tables = [name for name, table in search.space.tables.items() if _concerns(claim, table)]
        own = search.runs[(search.runs["kind"] == DRAWN) & search.runs["table"].isin(tables)]
        ran = own.groupby("protocol")["table"].nunique()
        most = set(ran.index[ran == ran.max()])
        drawn = answers_by_protocol(claim, search.drawn).items()
        kind, answered = DRAWN, {name: answer for name, answer in drawn if name in most}
        if not answered:
            kind, answered = NEAR, answers_by_protocol(claim, search.near)
        search.answers[claim["id"]] = kind, answered
    return search.answers[claim["id"]]


def answers_by_protocol(claim: Mapping[str, Any], evidence: Evidence) -> dict[str, Answer]:
    """Return the answer to a claim under each protocol that ran one of its settings."""
    return answers(claim, evidence, _by_side)


def _by_side(claim: Mapping[str, Any], checks: list[Check]) -> Answer:
    return answer_of(claim, checks, deciding_margin(claim, checks) > 0)


def deciding_margin(claim: Mapping[str, Any], checks: list[Check]) -> float:
    """Return the margin that decides: the least, or that of the last setting that is needed."""
    margins = sorted((check.margin for check in checks), reverse=True)
    return margins[needed(claim, len(margins)) - 1]


def open_claims(claims: Iterable[Mapping[str, Any]], space: Space) -> list[Mapping[str, Any]]:
    """Return the claims on an unreported choice that are about a table of a search."""
    own = [c for c in claims if "unreported" in c and c.get("study") == space.study]
    return [c for c in own if any(_concerns(c, table) for table in space.tables.values())]


def _concerns(claim: Mapping[str, Any], table: Table) -> bool:
    where = claim.get("where", {})
    return has_values(table.setting, {name: where[name] for name in where if name in table.setting})


def specification_curves(
    claims: Iterable[Mapping[str, Any]], searches: Iterable[Search]
) -> pd.DataFrame:
    """Test every claim on an unreported choice under every protocol of its study's search.

    Returns
    -------
    DataFrame
        One row per claim and protocol, by claim and then by the margin: ``search``; the claim's
        ``id`` and ``claim`` in words; ``kind``, ``drawn`` whatever its results, or ``near``
        the published values; ``protocol``; ``replications``; the deciding ``margin`` over all of
        them in the effect's own unit, with the range ``low`` to ``high`` of it and of single
        replications; whether it ``holds``; whether the protocol is among those ``nearest`` to
        a table that the claim is about; and the choices of all searches, missing where another
        search has them.
    """
    import pandas as pd

    claims, curves = list(claims), []
    for search in searches:
        asked = open_claims(claims, search.space)
        evidence = {DRAWN: search.drawn, NEAR: search.near} if asked else {}
        single = {kind: own.single_replications() for kind, own in evidence.items()}
        for claim in asked:
            kind, found = protocol_answers(claim, search)
            if found:
                curves.append(_curve(claim, search, kind, found, single[kind]))
    return pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=CURVE)


def read_curves(path: str | os.PathLike) -> pd.DataFrame:
    """Read specification curves; choices are names, "none" and "0.5" as well."""
    import pandas as pd

    measured = {"replications": int, "holds": bool, "nearest": bool}
    measured |= dict.fromkeys(("margin", "low", "high"), float)
    kinds = defaultdict(lambda: str, measured)
    return pd.read_csv(path, dtype=kinds, keep_default_na=False)


def _curve(
    claim: Mapping[str, Any],
    search: Search,
    kind: str,
    found: Mapping[str, Answer],
    single: list[Evidence],
) -> pd.DataFrame:
    import pandas as pd

    margins = _margins(claim, found)
    by_replication = [_margins(claim, answers_by_protocol(claim, evidence)) for evidence in single]
    ranges = pd.concat([margins, *by_replication], axis="columns").loc[margins.index]
    near = answers_by_protocol(claim, search.near)
    curve = pd.DataFrame(
        {
            "search": search.space.name,
            "id": claim["id"],
            "claim": claim["claim"],
            "kind": kind,
            "protocol": margins.index,
            "replications": ranges.count(axis="columns") - 1,  # apart from all of them together
            "margin": margins,
            "low": ranges.min(axis="columns"),
            "high": ranges.max(axis="columns"),
            "holds": margins > 0,
            "nearest": [protocol in near for protocol in margins.index],
        }
    )
    choices = search.choices_of(kind).loc[margins.index]
    return pd.concat([curve, choices], axis="columns").sort_values(["margin", "protocol"])


def _margins(claim: Mapping[str, Any], found: Mapping[str, Answer]) -> pd.Series:
    import pandas as pd

    return pd.Series(
        {name: deciding_margin(claim, a.checks) for name, a in found.items()}, dtype=float
    )

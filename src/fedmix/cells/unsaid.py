"""What a claim depends on where the paper leaves a choice open.

A claim is put to many ways to run its experiment: the protocols of a search that were drawn
without regard to the print; where these ran none of its rows, those nearest to the print; where
there is no search, the variants that were run. Told is in which share of them it holds, and of the
open choices the one that it depends on most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedmix.cells.verdicts import CHOICE_LEVEL, RARELY
from fedmix.conditions import has_values

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.cells.evidence import Place
    from fedmix.cells.predicates import Check
    from fedmix.cells.protocols.space import Space, Table

    #: Whether a claim holds in a variant, and the checks behind it.
    Answer = tuple[bool, list[Check]]

#: Kinds of protocols that a claim is put to: drawn without regard to the print, or near it.
DRAWN, NEAR = "drawn", "near"
#: A value of a choice is told if so many protocols have it.
FEWEST = 10


@dataclass(frozen=True)
class Share:
    """In how many ways to run its experiment a claim holds.

    Parameters
    ----------
    holds : float
        The share of them.
    tried : int
    of : str
        What was tried, e.g. ``"protocols"``.
    where : str
        Of protocols, the settings that the claim was put to.
    choice : str
        Of protocols, in words the open choice that it depends on most, with its values' shares.
    """

    holds: float
    tried: int
    of: str
    where: str = ""
    choice: str = ""

    @property
    def depends(self) -> bool:
        """Whether it holds in some and not in others.

        One that holds in any may be the paper's.
        """
        return 0 < self.holds < 1 - RARELY

    def __str__(self) -> str:
        text = f"it holds in {self.holds:.0%} of {self.tried} {self.of}"
        if self.where:
            text += f" (put to {self.where})"
        return f"{text}, {self.choice}" if self.choice else text


def answers(places: list[Place], ask: Callable[[list[Place]], Answer | None]) -> dict[str, Answer]:
    """Return what a claim comes to in each variant that answers it.

    Parameters
    ----------
    places : list of Place
        Of all variants.
    ask : callable
        From one variant's places to whether the claim holds there, with the checks behind it, or
        None where it is not answered.
    """
    by_variant: dict[str, list[Place]] = {}
    for place in places:
        by_variant.setdefault(place.variant, []).append(place)
    found = {name: ask(own) for name, own in by_variant.items()}
    return {name: answer for name, answer in found.items() if answer is not None}


def share_of(
    answered: Mapping[str, Answer],
    of: str = "variants",
    choices: pd.DataFrame | None = None,
) -> Share | None:
    """Return in which share of variants a claim holds; None where it was answered in none.

    Parameters
    ----------
    answered : mapping
        Of :func:`answers`.
    of : str, default="variants"
        What the variants stand for: of protocols it is told what they were put to.
    choices : DataFrame, optional
        Of protocols drawn without regard to the print, their choices by their names.
    """
    import pandas as pd

    if not answered:
        return None
    flags = pd.Series({name: flag for name, (flag, _) in answered.items()})
    asked = dict.fromkeys(check.place for _, checks in answered.values() for check in checks)
    where = "" if of == "variants" else ", ".join(asked)
    choice = "" if choices is None else _decisive(flags, choices.loc[flags.index])
    return Share(float(flags.mean()), len(flags), of, where, choice)


def choices_by_weight(flags: pd.Series, choices: pd.DataFrame) -> pd.Series:
    """Return the open choices, the one that a claim depends on most first.

    Parameters
    ----------
    flags : Series of bool
        Whether the claim holds, a protocol each.
    choices : DataFrame
        The same protocols' choices.

    Returns
    -------
    Series
        Of each choice the p value of a test of independence, times their number; empty where all
        flags are the same. Up to :data:`fedmix.cells.verdicts.CHOICE_LEVEL` a choice decides.
    """
    import pandas as pd
    from scipy.stats import chi2_contingency

    tested = [name for name in choices if flags.nunique() > 1 and choices[name].nunique() > 1]
    p = {name: chi2_contingency(pd.crosstab(choices[name], flags)).pvalue for name in tested}
    return len(p) * pd.Series(p, dtype=float).sort_values(kind="stable")


def _decisive(flags: pd.Series, choices: pd.DataFrame) -> str:
    if flags.nunique() < 2:
        return ""
    p = choices_by_weight(flags, choices)
    if not (p <= CHOICE_LEVEL).any():
        return "and no single choice decides"
    name = p.index[0]
    return _in_words(name, flags.groupby(choices[name]).agg(["mean", "size"]))


def _in_words(choice: str, shares: pd.DataFrame) -> str:
    told = shares[shares["size"] >= FEWEST].sort_values("mean", ascending=False)
    values = ", ".join(f"{value} in {share:.0%}" for value, share in told["mean"].items())
    return f"above all by {choice.replace('_', ' ')}: {values}"


def open_claims(claims: Iterable[Mapping[str, Any]], space: Space) -> list[Mapping[str, Any]]:
    """Return the claims on an unsaid choice that speak of a table of a search."""
    own = [c for c in claims if "unsaid" in c and c.get("study") == space.study]
    return [c for c in own if any(_speaks_of(c, table) for table in space.tables.values())]


def _speaks_of(claim: Mapping[str, Any], table: Table) -> bool:
    where = claim.get("where", {})
    return has_values(table.setting, {name: where[name] for name in where if name in table.setting})

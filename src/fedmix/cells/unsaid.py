"""What a claim depends on where the paper leaves a choice open.

A claim is put to many ways to run its experiment: the protocols of a search that were drawn
without regard to the print; where these ran none of its rows, those nearest to the print; where
there is no search, the variants that were run. Told is in which share of them it holds, and of the
open choices the one that it depends on most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.cells.evidence import Place
    from fedmix.cells.predicates import Check

#: A claim that fails in this share of protocols, or less, does not depend on them. One that holds
#: in any does: the paper may have run that one.
RARELY = 0.05
#: A value of a choice is told if so many protocols have it.
FEWEST = 10
_LEVEL = 0.01  # of the test that a claim depends on a choice, over all choices


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
        """Whether it holds in some and not in others."""
        return 0 < self.holds < 1 - RARELY

    def __str__(self) -> str:
        text = f"it holds in {self.holds:.0%} of {self.tried} {self.of}"
        if self.where:
            text += f" (put to {self.where})"
        return f"{text}, {self.choice}" if self.choice else text


def share_of(
    places: list[Place],
    holds: Callable[[list[Place]], tuple[bool, list[Check]] | None],
    of: str = "variants",
    choices: pd.DataFrame | None = None,
) -> Share | None:
    """Return in which share of variants a claim holds; None where it was answered in none.

    Parameters
    ----------
    places : list of Place
        Of all variants.
    holds : callable
        From one variant's places to whether the claim holds there, with the checks behind it, or
        None where it is not answered.
    of : str, default="variants"
        What the variants stand for: of protocols it is told what they were put to.
    choices : DataFrame, optional
        Of protocols drawn without regard to the print, their choices by their names.
    """
    import pandas as pd

    by_variant: dict[str, list[Place]] = {}
    for place in places:
        by_variant.setdefault(place.variant, []).append(place)
    found = {name: holds(own) for name, own in by_variant.items()}
    answered = {name: answer for name, answer in found.items() if answer is not None}
    if not answered:
        return None
    flags = pd.Series({name: flag for name, (flag, _) in answered.items()})
    asked = dict.fromkeys(check.place for _, checks in answered.values() for check in checks)
    where = "" if of == "variants" else ", ".join(asked)
    choice = "" if choices is None else _decisive(flags, choices)
    return Share(float(flags.mean()), len(flags), of, where, choice)


def _decisive(flags: pd.Series, choices: pd.DataFrame) -> str:
    """Return the choice that flags depend on most, by a test of independence, in words."""
    import pandas as pd
    from scipy.stats import chi2_contingency

    if flags.nunique() < 2:
        return ""
    own = choices.loc[flags.index]
    tested = [name for name in own if own[name].nunique() > 1]
    p = {name: chi2_contingency(pd.crosstab(own[name], flags)).pvalue for name in tested}
    name = min(p, key=lambda choice: p[choice], default="")
    if not name or p[name] > _LEVEL / len(p):
        return "and no single choice decides"
    return _in_words(name, flags.groupby(own[name]).agg(["mean", "size"]))


def _in_words(choice: str, shares: pd.DataFrame) -> str:
    told = shares[shares["size"] >= FEWEST].sort_values("mean", ascending=False)
    values = ", ".join(f"{value} in {share:.0%}" for value, share in told["mean"].items())
    return f"above all by {choice.replace('_', ' ')}: {values}"

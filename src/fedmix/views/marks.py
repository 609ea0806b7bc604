"""How verdicts and numbers are told on every surface: signs, colours, plurals."""

from __future__ import annotations

from collections.abc import Mapping

from fedmix.cells import claims, verdicts

#: Verdict on a published value or a claim, or what a value counts as -> its sign and colour. Signs
#: differ in shape too. Agreement is blue (Okabe and Ito's colours), difference vermillion.
MARKS = {
    verdicts.AGREES_CLOSELY: ("●", "#0072b2"),
    verdicts.AGREES: ("◐", "#56b4e9"),
    verdicts.NONE_DIFFERS: ("◎", "#8fd6c4"),
    verdicts.AGREES_IN_MEAN: ("◒", "#009e73"),
    verdicts.UNDECIDED: ("?", "#a3a3a3"),
    verdicts.CANNOT_DECIDE: ("∅", "#7d6aa8"),
    verdicts.DIFFERS: ("○", "#d55e00"),
    verdicts.NEAR_UNKNOWN: ("⊙", "#e6c229"),
    verdicts.OPEN_UNKNOWN: ("⊚", "#c2a878"),
    verdicts.FAR_UNKNOWN: ("⊗", "#96701b"),
    verdicts.STAND_IN: ("◇", "#cc79a7"),
    verdicts.NOT_JUDGED: ("", ""),
    verdicts.NOT_RUN: ("–", "#d9dde0"),
    claims.HOLDS: ("●", "#0072b2"),
    claims.MOSTLY: ("◕", "#56b4e9"),
    claims.PARTLY_UNTESTED: ("◔", "#8fd6c4"),
    claims.DEPENDS: ("◇", "#e6c229"),
    claims.MIXED: ("◑", "#7d6aa8"),
    claims.TOO_FEW: ("?", "#a3a3a3"),
    claims.REVERSED: ("○", "#d55e00"),
    claims.UNTESTABLE: ("–", "#d9dde0"),
}
SIGNS = {verdict: sign for verdict, (sign, _) in MARKS.items()}
COLORS = {verdict: color for verdict, (_, color) in MARKS.items() if color}
_PLURALS = {
    verdicts.AGREES_CLOSELY: "agree closely",
    verdicts.AGREES: "agree",
    verdicts.NONE_DIFFERS: "agree (not discriminating)",
    verdicts.AGREES_IN_MEAN: "agree in mean only",
    verdicts.DIFFERS: "differ",
    claims.HOLDS: "hold",
    claims.MOSTLY: "hold in most settings",
    claims.DEPENDS: "depend on an unreported choice",
}


def as_verb(verdict: str, n: int) -> str:
    """Return a verdict after its number, such as ``"differs"`` after 1 and ``"differ"`` after 2."""
    return verdict if n == 1 else _PLURALS.get(verdict, verdict)


def tally(counts: Mapping[str, int]) -> str:
    """Return the counts of verdicts in words, such as ``"12 agree, 1 differs"``; "–" for none.

    Those of an unknown protocol follow together: ``"protocol unknown: 5 near, 11 undecided"``.
    """
    known = [f"{n} {as_verb(v, n)}" for v, n in counts.items() if n and v not in verdicts.UNKNOWN]
    near = [
        f"{counts[v]} {v.removeprefix(verdicts.PROTOCOL_UNKNOWN)}"
        for v in verdicts.UNKNOWN
        if counts.get(v)
    ]
    together = [verdicts.PROTOCOL_UNKNOWN + ", ".join(near)] if near else []
    return "; ".join(filter(None, [", ".join(known), *together])) or "–"


def number_of(n: int, noun: str) -> str:
    """Return a number and its noun, such as ``1 replication`` or ``20 replications``."""
    return f"{n} {noun}{'' if n == 1 else 's'}"

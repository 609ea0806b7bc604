"""Specification curves: what every protocol of a search says of every claim that it leaves open.

A claim holds under a protocol if its deciding margin, how far the effect lies on the claimed side,
is above zero. Protocols have as few as two replications, so that no interval is estimated: told is
the range of what each replication says by itself.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fedmix.cells.claims import answering_protocols, deciding_margin, put_to_protocols
from fedmix.cells.unsaid import DRAWN, NEAR, open_claims

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.cells.evidence import Evidence
    from fedmix.cells.protocols.kept import Search
    from fedmix.cells.unsaid import Answer

CURVE = ["search", "id", "claim", "kind", "protocol", "replications"]
CURVE += ["margin", "low", "high", "holds", "nearest"]


def specification_curves(
    claims: Iterable[Mapping[str, Any]], searches: Iterable[Search]
) -> pd.DataFrame:
    """Put every claim on an unsaid choice to every protocol of its search.

    Parameters
    ----------
    claims : iterable of mapping
        Of :func:`fedmix.cells.claims.read_claims`.
    searches : iterable of Search
        One a study.

    Returns
    -------
    DataFrame
        One row a claim and protocol, by claim and then by the margin: ``search``; the claim's
        ``id`` and ``claim`` in words; ``kind``, ``drawn`` without regard to the print or ``near``
        it; ``protocol``; ``replications``; the deciding ``margin`` over all of them in the effect's
        own unit, with its range ``low`` to ``high`` when each is taken by itself as well; whether
        it ``holds``; whether the protocol is among the ``nearest`` to the print of a table that the
        claim speaks of; and the choices of all searches, missing where another search has them.
    """
    import pandas as pd

    claims = list(claims)
    curves = [
        curve for search in searches for curve in _curves(open_claims(claims, search.space), search)
    ]
    return pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=CURVE)


def read_curves(path: str | os.PathLike) -> pd.DataFrame:
    """Read specification curves; choices are names, "none" and "0.5" as well."""
    import pandas as pd

    measured = {"replications": int, "holds": bool, "nearest": bool}
    measured |= dict.fromkeys(("margin", "low", "high"), float)
    kinds = defaultdict(lambda: str, measured)
    return pd.read_csv(path, dtype=kinds, keep_default_na=False)


def _curves(claims: list[Mapping[str, Any]], search: Search) -> Iterator[pd.DataFrame]:
    if not claims:
        return
    single = {
        DRAWN: search.drawn.single_replications(),
        NEAR: search.near.single_replications(),
    }
    for claim in claims:
        kind, found = answering_protocols(claim, search)
        if found:
            yield _curve(claim, search, kind, found, single[kind])


def _curve(
    claim: Mapping[str, Any],
    search: Search,
    kind: str,
    found: Mapping[str, Answer],
    single: list[Evidence],
) -> pd.DataFrame:
    import pandas as pd

    margins = _margins(claim, found)
    by_replication = [_margins(claim, put_to_protocols(claim, evidence)) for evidence in single]
    ranges = pd.concat([margins, *by_replication], axis="columns")
    near = put_to_protocols(claim, search.near)
    curve = pd.DataFrame(
        {
            "search": search.space.name,
            "id": claim["id"],
            "claim": claim["claim"],
            "kind": kind,
            "protocol": margins.index,
            "replications": ranges.count(axis="columns") - 1,  # beside all of them together
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
        {name: deciding_margin(claim, checks) for name, (_, checks) in found.items()}, dtype=float
    )

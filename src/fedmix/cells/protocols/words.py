"""Sentences about what a search found, written from its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fedmix.cells.protocols.outcome import drawn_nearest
from fedmix.cells.protocols.space import Space

if TYPE_CHECKING:
    import pandas as pd

#: The share of leads under a value is reported if at least this many protocols have the value.
FEWEST = 10


def in_words(
    space: Space,
    target: str,
    first: pd.DataFrame,
    ranked: pd.DataFrame,
    held_out: pd.DataFrame,
    permuted: pd.DataFrame,
    shares: pd.DataFrame,
) -> list[str]:
    """Return sentences about what was tried, how near it came, and which choices matter.

    Parameters
    ----------
    space : Space
    target : str
        A table, or "common".
    first : DataFrame
        The scores of the first rung, with the choices' columns.
    ranked, held_out, permuted, shares : DataFrame
        The results of the modules ``outcome``, ``controls`` and ``shares``.
    """
    return [
        _tried(space, target),
        *_lead(space, first, ranked, shares),
        *_nearest(space, target, ranked),
        *_controls(space, held_out, permuted),
    ]


def _lead_of(space: Space) -> str:
    """Return what the method is if the claim holds, such as "the lowest of 5 methods"."""
    claim = space.claim
    if claim.than:
        return f"{claim.direction} {' and '.join(claim.than)}"
    extreme = "lowest" if claim.direction == "below" else "highest"
    return f"the {extreme} of {len(space.methods)} methods"


def _rows(number: int | None) -> str:
    if number is None:
        return "all rows"
    return "the first row" if number == 1 else f"the first {number} rows"


def _tried(space: Space, target: str) -> str:
    names = " and ".join(space.tables[table].title for table in space.targets[target])
    stages = ", then ".join(
        f"{rung.protocols} "
        + (f"and {rung.variations} variations of them " if rung.variations else "")
        + f"with {rung.replications} replications on {_rows(rung.rows)}"
        for rung in space.rungs
    )
    as_well = ", and as many for all tables together" if len(space.sources(target)) > 1 else ""
    return (
        f"Tried on {names}: {stages}{as_well}. Protocols are drawn by how natural each choice is."
    )


def _lead(
    space: Space, first: pd.DataFrame, ranked: pd.DataFrame, shares: pd.DataFrame
) -> Iterator[str]:
    """Yield under which choices the method leads, on the first rows, which every protocol ran."""
    for table, own in first.groupby("table", sort=False):
        near = drawn_nearest(ranked[ranked["table"] == table])
        yield (
            f"On {_rows(space.rungs[0].rows)} of {space.tables[str(table)].title}, "
            f"{space.claim.method} is {_lead_of(space)} in {_percent(own['lowest'].mean())} of "
            f"{len(own)} protocols; among the {len(near)} of them nearest to the published "
            f"values it is so in all rows that they ran in {int(near['lowest'].sum())}."
        )
        main = shares[
            (shares["table"] == table) & (shares["outcome"] == "lowest") & (shares["other"] == "")
        ].nlargest(2, "share")
        for choice, share in zip(main["choice"], main["share"], strict=True):
            by_value = own.groupby(choice)["lowest"].agg(["mean", "size"])
            by_value = by_value[by_value["size"] >= FEWEST].sort_values("mean")
            if len(by_value) < 2:
                continue
            reported = ", ".join(f"{v} in {_percent(m)}" for v, m in by_value["mean"][::-1].items())
            yield (
                f"Its lead depends on {choice.replace('_', ' ')} "
                f"({_percent(share)} of the variance): it is {_lead_of(space)} with {reported}."
            )


def _nearest(space: Space, target: str, ranked: pd.DataFrame) -> Iterator[str]:
    best = ranked[ranked["rank"] == 1]
    first = best.iloc[0]
    choices = ", ".join(
        f"{name.replace('_', ' ')} {first[name]}"
        for name in space.choices
        if any(space.choices[name].concerns(table) for table in space.targets[target])
    )
    for score in best.to_dict("records"):
        yield (
            f"The nearest protocol, {score['protocol']}, is {score['distance']:.2f} printed "
            f"standard deviations from {space.tables[score['table']].title} (root mean square "
            f"over {score['cells']} cells, {score['replications']} replications; 95 % interval "
            f"{score['distance_low']:.2f} to {score['distance_high']:.2f}); methods' ranks "
            f"correlate by {score['rank_correlation']:.2f}; {space.claim.method} is "
            f"{_lead_of(space)} in {score['rows_lowest']} of {score['rows']} rows, "
            f"with {score['effect'] / score['printed_effect']:.2f} of the published lead on average"
            f"{' (it is behind)' if score['effect'] * space.claim.sign > 0 else ''}."
        )
    if len(best) > 1:
        distance = f"{first['joint_distance']:.2f} published sd"
        yield f"Over all tables it is {distance} from the published values."
    yield f"Its choices: {choices}."


def _controls(space: Space, held_out: pd.DataFrame, permuted: pd.DataFrame) -> Iterator[str]:
    for control, splits in held_out.groupby("control", sort=False):
        yield (
            f"Searched on {'half of the rows' if control == 'rows' else 'all tables but one'} and "
            f"judged on the rest ({len(splits)} splits, {splits['tried'].max()} protocols), the "
            f"nearest comes to {splits['distance'].median():.2f} where searched and "
            f"{splits['elsewhere'].median():.2f} where judged; a typical protocol is at "
            f"{splits['typical'].median():.2f} there."
        )
    if held_out.empty:
        yield "Nothing is held out: the table has one row."
    several = any(len(table.rows[: space.rungs[0].rows]) > 1 for table in space.tables.values())
    shuffled = "methods' columns" + (" and rows" if several else "")
    for row in permuted.to_dict("records"):
        yield (
            f"Among {row['tried']} protocols on {_rows(space.rungs[0].rows)} of "
            f"{space.tables[row['table']].title} the nearest is at {row['distance']:.2f}; the same "
            f"search for the table with its {shuffled} permuted comes to "
            f"{row['permuted_median']:.2f} (median of {row['permutations']}), and as near as the "
            f"print's in {_percent(row['share'])} of them."
        )


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %" if 0 < share < 0.01 else f"{np.round(share * 100):.0f} %"

"""Sentences about what a search found, written from its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fedmix.cells.protocols.controls import NEAR_ENOUGH
from fedmix.cells.protocols.outcome import JUDGED
from fedmix.cells.protocols.shares import in_categories
from fedmix.cells.protocols.space import DRAWN, Space

if TYPE_CHECKING:
    import pandas as pd

#: The share of leads under a value is reported if at least this many protocols have the value.
FEWEST = 10


def in_words(
    space: Space,
    target: str,
    scores: pd.DataFrame,
    leads: pd.DataFrame,
    priors: pd.DataFrame,
    shares: pd.DataFrame,
    permuted: pd.DataFrame,
) -> list[str]:
    """Return sentences about what was tried, how near it came, and which choices matter.

    Parameters
    ----------
    space : Space
    target : str
        A table, or "common".
    scores, leads, priors, shares, permuted : DataFrame
        The results of the modules ``outcome``, ``controls`` and ``shares``.
    """
    return [
        _tried(space, target, scores),
        *_judged(space, target, scores),
        *_leads(space, leads),
        *_drawn(space, scores, priors, shares),
        *_permuted(space, permuted),
    ]


def _lead_of(space: Space) -> str:
    """Return what the method is if the claim holds, such as "the lowest of 5 methods"."""
    claim = space.claim
    if claim.than:
        return f"{claim.direction} {' and '.join(claim.than)}"
    extreme = "lowest" if claim.direction == "below" else "highest"
    return f"the {extreme} of {len(space.methods)} methods"


def _tried(space: Space, target: str, scores: pd.DataFrame) -> str:
    tables = space.targets[target]
    names = " and ".join(space.tables[table].title for table in tables)
    rows = ", ".join(str(row) for row in space.searched_rows(tables[0]))
    drawn = scores[scores["kind"] == DRAWN]
    seeds = space.search.seeds
    return (
        f"Tried on {names}: {drawn['protocol'].nunique()} protocols drawn by how natural each "
        f"choice is ({drawn['replications'].max()} replications, all rows); and an optimiser from "
        f"{seeds} {'seed' if seeds == 1 else 'seeds'}, with {space.search.trials} protocols each "
        f"(replications: {space.search.replications}, and {space.search.confirmed} more for the "
        f"best few; rows: {rows}). The best of each seed is judged on {space.search.judged} fresh "
        "replications of all rows."
    )


def _judged(space: Space, target: str, scores: pd.DataFrame) -> Iterator[str]:
    judged = scores[scores["kind"] == JUDGED].sort_values(["rank", "table"])
    for score in judged.to_dict("records"):
        held_out = (
            f"{score['saw']:.2f} on the rows that the search saw and {score['held_out']:.2f} on "
            "those held out"
            if score["held_out"] == score["held_out"]
            else "nothing is held out, because the table has one row"
        )
        yield (
            f"Protocol {score['protocol']} is {score['distance']:.2f} published standard "
            f"deviations from {space.tables[score['table']].title} (root mean square over "
            f"{score['cells']} cells; 95 % interval {score['distance_low']:.2f} to "
            f"{score['distance_high']:.2f}): {held_out}. {space.claim.method} is "
            f"{_lead_of(space)} in {score['rows_lowest']} of {score['rows']} rows, with "
            f"{score['least_lead']:.2f} to {score['most_lead']:.2f} of the published lead."
        )
    first = judged.iloc[0]
    choices = ", ".join(
        f"{name.replace('_', ' ')} {first[name]}"
        for name in space.choices
        if any(space.choices[name].concerns(table) for table in space.targets[target])
    )
    yield f"The choices of the nearest, {first['protocol']}: {choices}."


def _leads(space: Space, leads: pd.DataFrame) -> Iterator[str]:
    for row in leads.to_dict("records"):
        ends = [row[n] / row["printed"] for n in ("least", "quarter", "three_quarters", "most")]
        low, high = sorted((ends[0], ends[3]))
        inner = sorted(ends[1:3])
        yield (
            f"Where the other columns of {space.tables[row['table']].title} are near the published "
            f"values (at most {NEAR_ENOUGH:g} standard deviations, {row['n']} protocols), the lead "
            f"of {space.claim.method} lies between {low:.2f} and {high:.2f} of the published one "
            f"(the middle half: {inner[0]:.2f} to {inner[1]:.2f})."
        )


def _drawn(
    space: Space, scores: pd.DataFrame, priors: pd.DataFrame, shares: pd.DataFrame
) -> Iterator[str]:
    drawn = in_categories(space, scores[scores["kind"] == DRAWN])
    for table, own in drawn.groupby("table", sort=False):
        by_prior = priors[priors["table"] == table].set_index("prior")
        others = ", ".join(
            f"{_percent(by_prior.loc[prior, 'share'])} {words} (as good as "
            f"{by_prior.loc[prior, 'n']:.0f} protocols)"
            for prior, words in (
                ("uniform", "if all values of a choice count alike"),
                ("natural", "among natural values alone"),
            )
        )
        yield (
            f"{space.claim.method} is {_lead_of(space)} in all rows of "
            f"{space.tables[str(table)].title} in {_percent(own['lowest'].mean())} of {len(own)} "
            f"drawn protocols; in {others}."
        )
        main = shares[(shares["table"] == table) & (shares["outcome"] == "lowest")]
        main = main[main["share"] > 0].nlargest(2, "share")
        for choice, share in zip(main["choice"], main["share"], strict=True):
            by_value = own.groupby(choice)["lowest"].agg(["mean", "size"])
            by_value = by_value[by_value["size"] >= FEWEST].sort_values("mean")
            if len(by_value) < 2:
                continue
            reported = ", ".join(f"{v} in {_percent(m)}" for v, m in by_value["mean"][::-1].items())
            yield (
                f"This depends on {choice.replace('_', ' ')} ({_percent(share)} of the variance "
                f"explained): {reported}."
            )


def _permuted(space: Space, permuted: pd.DataFrame) -> Iterator[str]:
    for row in permuted.to_dict("records"):
        yield (
            f"The nearest of {row['tried']} drawn protocols is {row['distance']:.2f} from "
            f"{space.tables[row['table']].title}; from the table with columns exchanged among "
            f"methods of one kind it is {row['permuted_median']:.2f} (median of "
            f"{row['permutations']}), and as near as that in {_percent(row['share'])} of them."
        )


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %" if 0 < share < 0.01 else f"{share * 100:.0f} %"

"""What a search found, in sentences: how near it came, and which choices matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, isnan
from typing import Any

import pandas as pd

from fedmix.cells.protocols.controls import NEAR_ENOUGH
from fedmix.cells.protocols.space import DRAWN, JUDGED, Space

#: The share of leads under a value is reported if at least this many protocols have the value.
FEWEST = 10


def in_words(
    space: Space, target: str, scores: pd.DataFrame, found: Mapping[str, pd.DataFrame]
) -> list[str]:
    """Return sentences about what was tried, how near it came, and which choices matter.

    ``target`` is a table or "common", ``scores`` come from
    :func:`fedmix.cells.protocols.score.score_search`, and ``found`` is what
    :func:`fedmix.cells.protocols.controls.find` returns.
    """
    return [
        _tried(space, target, scores),
        *_judged(space, scores),
        *_leads(space, found["leads"]),
        *_drawn(space, scores, found["priors"], found["shares"]),
        *_permuted(space, found["permuted"]),
        *_held_out(space, found["held_out"]),
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
    by_table = (", ".join(map(str, space.searched_rows(table))) for table in tables)
    rows = " or ".join(dict.fromkeys(by_table))
    drawn = scores[scores["kind"] == DRAWN]
    least, most = drawn["replications"].min(), drawn["replications"].max()
    times = str(most) if least == most else f"{least} to {most}"
    search = space.search_of(tables)
    return (
        f"Tried on {names}: {drawn['protocol'].nunique()} protocols drawn by how natural each "
        f"choice is ({times} replications, all rows); and an optimiser from "
        f"{_count(search.seeds, 'seed')}, with {search.trials} "
        f"protocols for each (replications: {search.replications}, and {search.confirmed} more for "
        f"the best few; {space.row.replace('_', ' ')} {rows}). {search.confirmed} more of all "
        f"rows rank the best of each seed, and {search.judged} fresh ones judge them."
    )


def _judged(space: Space, scores: pd.DataFrame) -> Iterator[str]:
    judged = scores[scores["kind"] == JUDGED].sort_values(["rank", "table"]).to_dict("records")
    for score in judged:
        yield (
            f"Protocol {score['protocol']} {_distance(space, score)} {space.claim.method} is "
            f"{_lead_of(space)} in {score['rows_lowest']} of {_count(score['rows'], 'row')}."
            f"{_lead_in_rows(score)}"
        )
    first = judged[0]
    choices = (f"{name.replace('_', ' ')} {first[name]}" for name in space.choices if first[name])
    yield (
        f"The choices of the protocol that the search chose, {first['protocol']}: "
        f"{', '.join(choices)}."
    )


def _distance(space: Space, score: Mapping[str, Any]) -> str:
    title = space.tables[score["table"]].title
    if score["distance"] == inf:
        return f"has no distance from {title}, because a method diverged."
    held_out = "nothing is held out, because the table has one row"
    if not isnan(score["held_out"]):
        held_out = (
            f"{score['saw']:.2f} on the rows that the search saw and {score['held_out']:.2f} on "
            "those held out"
        )
    return (
        f"is {score['distance']:.2f} published standard deviations from {title} (root mean square "
        f"over {score['cells']} cells; 95 % interval {score['distance_low']:.2f} to "
        f"{score['distance_high']:.2f}): {held_out}."
    )


def _lead_in_rows(score: Mapping[str, Any]) -> str:
    if isnan(score["least_lead"]):
        return ""
    low, high = (f"{score[name]:.2f}" for name in ("least_lead", "most_lead"))
    return (
        f" Its lead is {low if low == high else f'{low} to {high}'} of the published one, in the "
        "rows in which it leads in the paper"
        f"{' (below zero another method is ahead)' if score['least_lead'] < 0 else ''}."
    )


def _leads(space: Space, leads: pd.DataFrame) -> Iterator[str]:
    for row in leads.to_dict("records"):
        yield (
            f"Where the other columns of {space.tables[row['table']].title} are near the published "
            f"values (at most {NEAR_ENOUGH:.1f} standard deviations, "
            f"{_count(row['n'], 'protocol')}), the lead of {space.claim.method} lies between "
            f"{row['least']:.2f} and {row['most']:.2f} of the published one in the same rows "
            f"(the middle half: {row['quarter']:.2f} to {row['three_quarters']:.2f})."
        )


def _drawn(
    space: Space, scores: pd.DataFrame, priors: pd.DataFrame, shares: pd.DataFrame
) -> Iterator[str]:
    drawn = space.in_categories(scores[scores["kind"] == DRAWN])
    for table, own in drawn.groupby("table", sort=False):
        by_prior = priors[priors["table"] == table].set_index("prior")
        others = ", ".join(
            f"{_percent(by_prior.loc[prior, 'share'])} {words} (effective number "
            f"{by_prior.loc[prior, 'n']:.0f})"
            for prior, words in (
                ("uniform", "if all values of a choice count alike"),
                ("natural", "among natural values alone"),
                ("reported", "if what the paper reports is followed"),
            )
            if prior in by_prior.index and by_prior.loc[prior, "n"] > 0
        )
        yield (
            f"{space.claim.method} is {_lead_of(space)} in all rows of "
            f"{space.tables[str(table)].title} in {_percent(own['lowest'].mean())} of {len(own)} "
            f"drawn protocols{f'; in {others}' if others else ''}."
        )
        main = shares[(shares["table"] == table) & (shares["outcome"] == "lowest")]
        main = main[main["share"] > 0].nlargest(2, "share")
        for choice, share in zip(main["choice"], main["share"], strict=True):
            by_value = own.groupby(choice)["lowest"].agg(["mean", "size"])
            by_value = by_value[by_value["size"] >= FEWEST].sort_values("mean")
            if by_value["mean"].nunique() < 2:
                continue
            reported = ", ".join(f"{v} in {_percent(m)}" for v, m in by_value["mean"][::-1].items())
            yield (
                f"This depends on {choice.replace('_', ' ')} ({_percent(share)} of the variance "
                f"explained). Values of at least {FEWEST} protocols: {reported}."
            )


def _permuted(space: Space, permuted: pd.DataFrame) -> Iterator[str]:
    for row in permuted.to_dict("records"):
        exchanged = (
            "from the table with columns exchanged among methods of one kind it is "
            f"{row['permuted_median']:.2f} (median of {row['permutations']}), and as near as that "
            f"in {_percent(row['share'])} of them"
            if row["permutations"]
            else "no two methods are of one kind, so that no columns can be exchanged"
        )
        yield (
            f"The nearest of {row['tried']} drawn protocols is {row['distance']:.2f} from "
            f"{space.tables[row['table']].title}; {exchanged}."
        )


def _held_out(space: Space, held_out: pd.DataFrame) -> Iterator[str]:
    for row in held_out.to_dict("records"):
        title = space.tables[row["table"]].title
        seen, other = (
            (f"{row['methods']} of the columns of {title}", "the other columns")
            if row["methods"]
            else (title, "the other tables")
        )
        yield (
            f"The nearest of {row['tried']} drawn protocols by {seen} is {row['seen']:.2f} from "
            f"these and {row['held_out']:.2f} from {other}, from which the median protocol is "
            f"{row['median']:.2f}"
            + (f" (medians of {row['splits']} ways to split)." if row["splits"] > 1 else ".")
        )


def _count(n: float, noun: str) -> str:
    """Return a number and its noun, such as "1 protocol" or "12 protocols"."""
    return f"{n:.0f} {noun}{'' if round(n) == 1 else 's'}"


def _percent(share: float) -> str:
    """Return a share in percent, in which 0 % is none and 100 % is all."""
    if 0 < share < 0.01 or 0.99 < share < 1:
        return f"{min(max(share * 100, 0.1), 99.9):.1f} %"
    return f"{share * 100:.0f} %"

"""What a search found: how near it came, which choices matter, and how much the scores mean.

Controls tell how much it means that some protocols come near to published values. They are leads
that need no prior, other priors, tables with exchanged columns, and cells that did not choose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from math import inf, isnan
from typing import Any

import numpy as np
import pandas as pd

from fedmix.cells.protocols.score import distances, errors_of
from fedmix.cells.protocols.space import DRAWN, JUDGED, Space
from fedmix.cells.unreported import FEWEST

PERMUTATIONS = 500
#: The other columns are near if their distance is at most this.
NEAR_ENOUGH = 1.0
#: Priors other than the weights, in words.
PRIORS = {
    "uniform": "if all values of a choice count alike",
    "natural": "among natural values alone",
    "reported": "if what the paper reports is followed",
}


def find(
    space: Space,
    scores: pd.DataFrame,
    drawn: pd.DataFrame,
    printed: Mapping[str, pd.DataFrame],
) -> dict[str, pd.DataFrame]:
    """Return the result of each control, by the name of its file, with rows for each table.

    ``scores`` and ``printed`` come from :mod:`fedmix.cells.protocols.score`. ``drawn`` are the runs
    of drawn protocols, which do not depend on the published values.
    """
    of_drawn = scores[scores["kind"] == DRAWN]
    by_table = of_drawn.groupby("table", sort=False)
    return {
        "leads": leads_where_others_are_near(scores),
        "priors": under_priors(space, of_drawn),
        "shares": pd.concat(variance_shares(space, str(table), own) for table, own in by_table),
        "permuted": permuted(space, drawn, printed),
        "held_out": held_out(space, drawn, printed),
    }


def in_words(
    space: Space, target: str, scores: pd.DataFrame, found: Mapping[str, pd.DataFrame]
) -> list[str]:
    """Return sentences about what was tried, how near it came, and which choices matter.

    ``target`` is a table or "common", ``scores`` come from
    :func:`fedmix.cells.protocols.score.score_search`, and ``found`` is what :func:`find` returns.
    """
    return [
        _tried(space, target, scores),
        *_leads(space, found["leads"]),
        *_judged(space, scores),
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
    first = " Each seed also tries a protocol that was found in another way."
    weight = f" A contrast counts {search.contrast_weight:g} times as much as a value of the table."
    return (
        f"Tried on {names}: {drawn['protocol'].nunique()} protocols drawn by how natural each "
        f"choice is ({times} replications, all rows); and an optimiser from "
        f"{_count(search.seeds, 'seed')}, with {search.trials} "
        f"protocols for each (replications: {search.replications}, and in the last stage "
        f"{_count(search.confirmed, 'other')}; {space.row.replace('_', ' ')} {rows}). "
        f"{search.confirmed} more of all rows rank the best of each seed, and {search.judged} "
        f"fresh ones judge them."
        f"{weight if search.contrast_weight != 1 else ''}"
        f"{first if space.first_trial(tables) else ''}"
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


def leads_where_others_are_near(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the range of leads of protocols whose other columns are near those published.

    A trial of the optimiser ran only some rows, whose published leads may differ from those of the
    others. So each lead is a share of the published one in the same rows. Protocols that ran again
    on fresh replications count by these alone.
    """
    once = scores.drop_duplicates(["table", "protocol"], keep="last")  # fresh ones come last
    near = once[(once["others"] <= NEAR_ENOUGH) & once["lead"].notna()]
    return near.groupby("table", sort=False, as_index=False).agg(
        n=("lead", "size"),
        least=("lead", "min"),
        quarter=("lead", lambda lead: lead.quantile(0.25)),
        three_quarters=("lead", lambda lead: lead.quantile(0.75)),
        most=("lead", "max"),
    )


def _leads(space: Space, leads: pd.DataFrame) -> Iterator[str]:
    for row in leads.to_dict("records"):
        title = space.tables[row["table"]].title
        if row["n"] < FEWEST:
            yield (
                f"The other columns of {title} are near the published values (at most "
                f"{NEAR_ENOUGH:.1f} standard deviations) in {_count(row['n'], 'protocol')}. Below "
                f"{FEWEST} the range of leads is not given."
            )
            continue
        yield (
            f"Where the other columns of {title} are near the published values (at most "
            f"{NEAR_ENOUGH:.1f} standard deviations, {_count(row['n'], 'protocol')}), the lead of "
            f"{space.claim.method} lies between {row['least']:.2f} and {row['most']:.2f} of the "
            f"published one in the same rows (the middle half: {row['quarter']:.2f} to "
            f"{row['three_quarters']:.2f})."
        )


def under_priors(space: Space, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the share of drawn protocols in which the claim holds, under several priors.

    Beside each share stands the effective number ``n`` of protocols. The prior is that of the
    ``weights``, by which protocols are drawn; ``uniform``, with equal weights of a choice's values;
    ``natural``, without values that are not natural; or ``reported``, without values of a choice of
    which the paper reports others, if it does.
    """
    rows = []
    for table, own in scores.groupby("table", sort=False):
        ratios = {prior: np.ones(len(own)) for prior in ("weights", "uniform", "natural")}
        for choice in space.choices_of(str(table)):
            meant = [choice.meant(text) for text in own[choice.name]]
            mean = sum(value.weight for value in choice.values) / len(choice.values)
            ratios["uniform"] *= [mean / value.weight for value in meant]
            ratios["natural"] *= [value.natural for value in meant]
            if any(value.reported for value in choice.values):
                reported = np.array([value.reported for value in meant])
                ratios["reported"] = ratios.get("reported", 1.0) * reported
        for prior, ratio in ratios.items():
            total = ratio.sum()
            share = float((ratio * own["lowest"]).sum() / total) if total else float("nan")
            n = float(total**2 / np.square(ratio).sum()) if total else 0.0
            rows.append({"table": table, "prior": prior, "share": share, "n": n})
    return pd.DataFrame(rows)


def variance_shares(space: Space, table: str, scores: pd.DataFrame) -> pd.DataFrame:
    """Return how much of the distance's log and of the claim the choices explain.

    ``scores`` are those of a table's drawn protocols. Infinite distances are left out. The shares
    of an outcome sum to one; all are zero if it does not vary.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    own = space.in_categories(scores[np.isfinite(scores["distance"])])
    measured = {"distance": np.log(own["distance"]), "lowest": own["lowest"].astype(float)}
    distributions: dict[str, optuna.distributions.BaseDistribution] = {
        choice.name: optuna.distributions.CategoricalDistribution(choice.categories)
        for choice in space.choices_of(table)
        if len(choice.categories) > 1
    }
    rows = []
    for outcome, values in measured.items():
        found = dict.fromkeys(distributions, 0.0)
        if values.nunique() > 1:
            study = optuna.create_study()
            study.add_trials(
                optuna.trial.create_trial(params=chosen, distributions=distributions, value=value)
                for chosen, value in zip(own[list(found)].to_dict("records"), values, strict=True)
            )
            evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
            found |= optuna.importance.get_param_importances(study, evaluator=evaluator)
        rows += [(table, outcome, name, share) for name, share in found.items()]
    return pd.DataFrame(rows, columns=["table", "outcome", "choice", "share"])


def _drawn(
    space: Space, scores: pd.DataFrame, priors: pd.DataFrame, shares: pd.DataFrame
) -> Iterator[str]:
    from scipy.stats import binomtest

    drawn = space.in_categories(scores[scores["kind"] == DRAWN])
    for table, own in drawn.groupby("table", sort=False):
        tried = priors[(priors["table"] == table) & (priors["n"] > 0)]
        others = ", ".join(
            f"{_percent(row.share)} {PRIORS[row.prior]} (effective number {row.n:.0f})"
            for row in tried.itertuples()
            if row.prior in PRIORS
        )
        low, high = binomtest(int(own["lowest"].sum()), len(own)).proportion_ci(method="wilson")
        yield (
            f"{space.claim.method} is {_lead_of(space)} in all rows of "
            f"{space.tables[str(table)].title} in {_percent(own['lowest'].mean())} of {len(own)} "
            f"drawn protocols (95 % interval {_percent(low)} to {_percent(high)})"
            f"{f'; in {others}' if others else ''}."
        )
        main = shares[(shares["table"] == table) & (shares["outcome"] == "lowest")]
        main = main[main["share"] > 0].nlargest(2, "share")
        for choice, share in zip(main["choice"], main["share"], strict=True):
            by_value = own.groupby(choice)["lowest"].agg(["mean", "size"])
            by_value = by_value[by_value["size"] >= FEWEST].sort_values("mean")
            if by_value["mean"].nunique() < 2:
                continue
            reported = ", ".join(
                f"{value} in {_percent(mean)} of {size:.0f}"
                for value, mean, size in by_value[::-1].itertuples()
            )
            yield (
                f"This depends on {choice.replace('_', ' ')} ({_percent(share)} of the variance "
                f"explained). Values of at least {FEWEST} protocols: {reported}."
            )


def permuted(space: Space, runs: pd.DataFrame, printed: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Look for the nearest drawn protocol to tables whose columns are exchanged.

    Columns are exchanged only among methods of one kind, e.g. among local or federated methods. To
    tell local methods from pooled ones would be too easy. The result has the ``distance`` of the
    nearest protocol from each table, its median over permuted tables, and the ``share`` of these
    that are as near. The last two are missing if no kind has two columns.
    """
    rows = []
    kinds = [column.kind for column in space.methods.values()]
    orders = _orders(kinds)
    for table, cells in printed.items():
        means = _means(runs, table, cells).to_numpy()
        centre, sd = (cells[name].to_numpy().reshape(-1, len(kinds)) for name in ("mean", "sd"))
        true, *others = [
            float(distances(means, centre[:, order].ravel(), sd[:, order].ravel()).min())
            for order in orders
        ]
        found = (np.median(others), np.mean(np.array(others) <= true)) if others else (None, None)
        rows.append((table, len(means), len(others), true, *found))
    names = ["table", "tried", "permutations", "distance", "permuted_median", "share"]
    return pd.DataFrame(rows, columns=names)


def _orders(kinds: list[str]) -> list[tuple[int, ...]]:
    """Return the columns in order, then different permutations within kinds."""
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(np.array(kinds) == kind) for kind in dict.fromkeys(kinds)]
    order = np.arange(len(kinds))
    found = [tuple(order.tolist())]
    for _ in range(PERMUTATIONS):
        for own in members:
            order[own] = rng.permutation(own)
        found.append(tuple(order.tolist()))
    return list(dict.fromkeys(found))


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


def held_out(space: Space, runs: pd.DataFrame, printed: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Choose the nearest drawn protocol by some cells, and judge it on the others.

    Of one table, half of the columns choose, in all ways to split them. Of several tables, each
    table chooses for the others (0 ``methods``). The result has medians over the ``splits``: the
    distances of the chosen protocol from the cells that it has ``seen`` and from those
    ``held_out``, and the distance of the ``median`` protocol from the latter.
    """
    by_table = {table: _means(runs, table, cells) for table, cells in printed.items()}
    means = pd.concat(by_table, axis="columns", join="inner")
    values = pd.concat(
        {table: cells.set_index([space.row, "method"]) for table, cells in printed.items()}
    ).loc[means.columns]
    tables, columns = (means.columns.get_level_values(level) for level in (0, 2))
    half = 0 if len(printed) > 1 else len(space.methods) // 2
    rows = []
    for table in printed:
        ways = combinations(space.methods, half)
        splits = [columns.isin(own) for own in ways] if half else [tables == table]
        found = []
        for chooses in splits:
            seen, other = (
                distances(means.loc[:, part].to_numpy(), *values.loc[part].to_numpy().T)
                for part in (chooses, ~chooses)
            )
            found.append((seen.min(), other[seen.argmin()], np.median(other)))
        rows.append((table, half, len(splits), len(means), *np.median(found, axis=0)))
    names = ["table", "methods", "splits", "tried", "seen", "held_out", "median"]
    return pd.DataFrame(rows, columns=names)


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


def _means(runs: pd.DataFrame, table: str, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the means of a table's cells: protocols in rows, cells (row, method) in columns."""
    errors = errors_of(runs[runs["table"] == table], cells)
    return pd.DataFrame({name: own.mean(skipna=False) for name, own in errors.items()}).T


def _count(n: int, noun: str) -> str:
    """Return a number and its noun, such as "1 protocol" or "12 protocols"."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _percent(share: float) -> str:
    """Return a share in percent, in which 0 % is none and 100 % is all."""
    if 0 < share < 0.01 or 0.99 < share < 1:
        return f"{min(max(share * 100, 0.1), 99.9):.1f} %"
    return f"{share * 100:.0f} %"

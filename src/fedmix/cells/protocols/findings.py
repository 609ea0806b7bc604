"""What a search found: which choices matter, how much the scores mean, and both in sentences.

The controls are permuted tables, other priors, and leads that need no prior. The shares of variance
are those of a functional ANOVA: Optuna fits a random forest to the drawn protocols and divides the
variance of its predictions among the choices (Hutter, Hoos and Leyton-Brown 2014).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from fedmix.cells.protocols.score import JUDGED, distances, errors_of
from fedmix.cells.protocols.space import DRAWN, Space

if TYPE_CHECKING:
    import pandas as pd

PERMUTATIONS = 500
#: The other columns are near if their distance is at most this.
NEAR_ENOUGH = 1.0
#: Name -> how natural a protocol is under this prior; protocols are drawn by ``weights``.
PRIORS = ("weights", "uniform", "natural")
#: What is explained: the log of the distance, because a few are very large, and the claim.
OUTCOMES = ("distance", "lowest")
#: The share of leads under a value is reported if at least this many protocols have the value.
FEWEST = 10


def permuted(space: Space, runs: pd.DataFrame, printed: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Look for the nearest drawn protocol to tables whose columns are exchanged.

    Columns are exchanged only among methods of one kind, e.g. among local or federated methods. To
    tell local methods from pooled ones would be too easy.

    Parameters
    ----------
    space : Space
    runs : DataFrame
        The runs of the drawn protocols, which do not depend on the published values.
    printed : mapping of str to DataFrame
        The published values, from :func:`fedmix.cells.protocols.score.printed_cells`.

    Returns
    -------
    DataFrame
        One row per table: ``table``, ``tried`` (number of protocols), ``permutations`` (their
        number); ``distance`` of the nearest protocol from the published table;
        ``permuted_median``, the median of that over permuted tables; and the ``share`` of permuted
        tables with a protocol at most as far as ``distance``.
    """
    import pandas as pd

    rows = []
    kinds = [column.kind for column in space.methods.values()]
    for table, cells in printed.items():
        errors = errors_of(runs[runs["table"] == table], cells)
        means = np.array([own.mean(skipna=False) for own in errors.values()])
        places = np.arange(len(cells)).reshape(-1, len(kinds))
        centre, sd = cells["mean"].to_numpy(), cells["sd"].to_numpy()
        true, *others = [
            float(distances(means, centre[order], sd[order]).min())
            for order in ((places[:, columns]).ravel() for columns in _orders(kinds))
        ]
        rows.append(
            {
                "table": table,
                "tried": len(means),
                "permutations": len(others),
                "distance": true,
                "permuted_median": float(np.median(others)),
                "share": float(np.mean(np.array(others) <= true)),
            }
        )
    return pd.DataFrame(rows)


def _orders(kinds: list[str]) -> Iterator[np.ndarray]:
    """Yield the columns in order, then different permutations within kinds."""
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(np.array(kinds) == kind) for kind in dict.fromkeys(kinds)]
    identity = np.arange(len(kinds))
    seen = {tuple(identity)}
    yield identity
    for _ in range(PERMUTATIONS):
        order = identity.copy()
        for own in members:
            order[own] = rng.permutation(own)
        if tuple(order) not in seen:
            seen.add(tuple(order))
            yield order


def under_priors(space: Space, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the share of protocols in which the claim holds, under three priors.

    Parameters
    ----------
    space : Space
    scores : DataFrame
        The scores of the drawn protocols, with the choices' columns.

    Returns
    -------
    DataFrame
        One row per table and prior: ``share``; and ``n``, the effective number of protocols. The
        prior is that of the ``weights``, by which protocols are drawn; ``uniform``, with equal
        weights of a choice's values; or ``natural``, without values that are not natural.
    """
    import pandas as pd

    rows = []
    for table, own in scores.groupby("table", sort=False):
        ratios = {prior: np.ones(len(own)) for prior in PRIORS}
        for choice in space.choices_of(str(table)):
            meant = [choice.meant(text) for text in own[choice.name]]
            mean = sum(value.weight for value in choice.values) / len(choice.values)
            ratios["uniform"] *= [mean / value.weight for value in meant]
            ratios["natural"] *= [value.natural for value in meant]
        for prior, ratio in ratios.items():
            total = ratio.sum()
            share = float((ratio * own["lowest"]).sum() / total) if total else float("nan")
            n = float(total**2 / np.square(ratio).sum()) if total else 0.0
            rows.append({"table": table, "prior": prior, "share": share, "n": n})
    return pd.DataFrame(rows)


def leads_where_others_are_near(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the range of leads of protocols under which all other columns are near the print.

    Parameters
    ----------
    scores : DataFrame
        The scores of all protocols that ran, drawn or tried by the optimiser.

    Returns
    -------
    DataFrame
        One row per table: ``table``; ``n`` protocols whose distance over the columns of the other
        methods is at most :data:`NEAR_ENOUGH`; the ``least`` and the ``most`` of their ``effect``,
        and the middle half of them, ``quarter`` to ``three_quarters``; and ``printed``.
    """
    near = scores[scores["others"] <= NEAR_ENOUGH]
    return near.groupby("table", sort=False, as_index=False).agg(
        n=("effect", "size"),
        least=("effect", "min"),
        quarter=("effect", lambda effect: effect.quantile(0.25)),
        three_quarters=("effect", lambda effect: effect.quantile(0.75)),
        most=("effect", "max"),
        printed=("printed_effect", "first"),
    )


def variance_shares(space: Space, table: str, scores: pd.DataFrame) -> pd.DataFrame:
    """Return how much of each of :data:`OUTCOMES` the choices explain.

    Parameters
    ----------
    space : Space
    table : str
    scores : DataFrame
        The scores of the drawn protocols, with the choices' columns. Infinite distances are left
        out.

    Returns
    -------
    DataFrame
        ``table, outcome, choice, share``. The shares of an outcome sum to one; all are zero if it
        does not vary.
    """
    import optuna
    import pandas as pd

    own = scores[np.isfinite(scores["distance"])]
    measured = {"distance": np.log(own["distance"]), "lowest": own["lowest"].astype(float)}
    choices = {c.name: c for c in space.choices_of(table) if len(c.categories) > 1}
    params = own[list(choices)].apply(lambda texts: _categories(space, texts))
    distributions: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.CategoricalDistribution(choice.categories)
        for name, choice in choices.items()
    }
    rows = []
    for outcome in OUTCOMES:
        study = optuna.create_study()
        for chosen, value in zip(params.to_dict("records"), measured[outcome], strict=True):
            study.add_trial(
                optuna.trial.create_trial(params=chosen, distributions=distributions, value=value)
            )
        found = dict.fromkeys(choices, 0.0)
        if measured[outcome].nunique() > 1:
            evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
            found |= optuna.importance.get_param_importances(study, evaluator=evaluator)
        rows += [
            {"table": table, "outcome": outcome, "choice": name, "share": share}
            for name, share in found.items()
        ]
    return pd.DataFrame(rows)


def in_categories(space: Space, protocols: pd.DataFrame) -> pd.DataFrame:
    """Return protocols with the part of a range in place of a number; empty choices stay so."""
    named = {name: _categories(space, protocols[name]) for name in space.choices}
    return protocols.assign(**named)


def _categories(space: Space, texts: pd.Series) -> pd.Series:
    choice = space.choices[str(texts.name)]
    return texts.map(lambda text: choice.meant(text).category(text) if text else "")


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
    scores : DataFrame
        Of :func:`fedmix.cells.protocols.score.score_search`.
    leads, priors, shares, permuted : DataFrame
        Of :func:`leads_where_others_are_near`, :func:`under_priors`, :func:`variance_shares` and
        :func:`permuted`.
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

"""Controls: how much it means that some protocols come near to published values.

They are tables with exchanged columns, cells that did not choose, other priors, and leads that need
no prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from fedmix.cells.protocols.score import distances, errors_of
from fedmix.cells.protocols.space import DRAWN, Space

PERMUTATIONS = 500
#: The other columns are near if their distance is at most this.
NEAR_ENOUGH = 1.0


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


def _means(runs: pd.DataFrame, table: str, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the means of a table's cells: protocols in rows, cells (row, method) in columns."""
    errors = errors_of(runs[runs["table"] == table], cells)
    return pd.DataFrame({name: own.mean(skipna=False) for name, own in errors.items()}).T


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
                own_ratio = ratios.setdefault("reported", np.ones(len(own)))
                own_ratio *= [value.reported for value in meant]
        for prior, ratio in ratios.items():
            total = ratio.sum()
            share = float((ratio * own["lowest"]).sum() / total) if total else float("nan")
            n = float(total**2 / np.square(ratio).sum()) if total else 0.0
            rows.append({"table": table, "prior": prior, "share": share, "n": n})
    return pd.DataFrame(rows)


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

"""Which choices an outcome depends on: shares of variance, by functional ANOVA.

Optuna fits a random forest to the drawn protocols and divides the variance of its predictions among
the choices (Hutter, Hoos and Leyton-Brown 2014).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmix.cells.protocols.space import Space

if TYPE_CHECKING:
    import pandas as pd

#: What is explained: the log of the distance, because a few are very large, and the claim.
OUTCOMES = ("distance", "lowest")


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

"""Which choices an outcome depends on: shares of variance, by functional ANOVA.

A random forest, fitted to the first rung, predicts the outcome of protocols that are drawn by the
choices' weights (Hutter, Hoos and Leyton-Brown 2014). The variance of these predictions is divided
among the choices, which are independent. The main effect of a choice is the variance of the mean
prediction given its value. The effect of a pair is what the two choices explain together beyond
their main effects. SALib's estimators need numbers and a design of their own, but our choices are
names and the runs exist already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedmix.cells.protocols.design import take
from fedmix.cells.protocols.space import Choice, Space

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.ensemble import RandomForestRegressor

TREES = 200
DRAWS = 256
#: What is explained: the log of the distance, because a few are very large, and the claim.
OUTCOMES: dict[str, Callable[[pd.Series], pd.Series]] = {
    "distance": np.log,
    "lowest": lambda lowest: lowest.astype(float),
}
PAIRED = 5  # only pairs of this many choices, those with the largest main effects


def variance_shares(space: Space, table: str, scores: pd.DataFrame) -> pd.DataFrame:
    """Return how much of each of :data:`OUTCOMES` the choices explain, and pairs of choices.

    Parameters
    ----------
    space : Space
    table : str
    scores : DataFrame
        The scores of the first rung, with the choices' columns. Infinite distances are left out.

    Returns
    -------
    DataFrame
        ``table, outcome, choice, other`` (empty for a main effect), ``share``, and ``explained``,
        the out-of-bag R^2 of the forest.
    """
    import pandas as pd
    from scipy.stats import qmc
    from sklearn.ensemble import RandomForestRegressor

    choices = space.choices_of(table)
    # values in proportion to their weights; otherwise a main effect could exceed the total
    points = qmc.LatinHypercube(len(choices), rng=np.random.default_rng(0)).random(DRAWS)
    drawn = np.column_stack([_codes(c, take(c, points[:, j])) for j, c in enumerate(choices)])
    rows: list[dict[str, Any]] = []
    for outcome, measure in OUTCOMES.items():
        own = scores[np.isfinite(scores["distance"])]
        codes = np.column_stack([_codes(c, own[c.name]) for c in choices])
        forest = RandomForestRegressor(
            TREES, min_samples_leaf=3, max_features=1 / 3, oob_score=True, random_state=0
        ).fit(_one_hot(choices, codes), measure(own[outcome]))
        shares = _shares(choices, drawn, _Prediction(choices, forest))
        explained = float(forest.oob_score_)
        rows += [{"outcome": outcome, **share, "explained": explained} for share in shares]
    frame = pd.DataFrame(rows)
    frame.insert(0, "table", table)
    return frame


def _shares(choices: list[Choice], drawn: NDArray, predict: _Prediction) -> list[dict[str, Any]]:
    total = predict(drawn).var()
    main = np.array([_variance(choices, drawn, predict, (j,)) for j in range(len(choices))])
    found = [
        {"choice": choice.name, "other": "", "share": _ratio(main[j], total)}
        for j, choice in enumerate(choices)
    ]
    largest = sorted(np.argsort(-main, kind="stable")[:PAIRED])
    for i, j in combinations(largest, 2):
        beyond = max(_variance(choices, drawn, predict, (i, j)) - main[i] - main[j], 0.0)
        names = {"choice": choices[i].name, "other": choices[j].name}
        found.append({**names, "share": _ratio(beyond, total)})
    return found


def _variance(
    choices: list[Choice], drawn: NDArray, predict: _Prediction, which: tuple[int, ...]
) -> float:
    """Return the variance of the mean prediction, given the values of some choices."""
    cases = list(product(*(range(len(choices[j].values)) for j in which)))
    fixed = np.tile(drawn, (len(cases), 1))
    fixed[:, which] = np.repeat(cases, len(drawn), axis=0)
    means = predict(fixed).reshape(len(cases), -1).mean(axis=1)
    weights = [
        np.prod([choices[j].values[v].weight for j, v in zip(which, case, strict=True)])
        for case in cases
    ]
    centre = np.average(means, weights=weights)
    return float(np.average(np.square(means - centre), weights=weights))


def _ratio(part: float, total: float) -> float:
    return float(part / total) if total > 0 else 0.0


def _codes(choice: Choice, names: Any) -> NDArray[np.int64]:
    index = {value.name: i for i, value in enumerate(choice.values)}
    return np.array([index[name] for name in names])


@dataclass(frozen=True)
class _Prediction:
    """A forest's predictions from the choices' codes."""

    choices: list[Choice]
    forest: RandomForestRegressor

    def __call__(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.forest.predict(_one_hot(self.choices, codes))


def _one_hot(choices: list[Choice], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    columns = [np.eye(len(c.values))[codes[:, j]] for j, c in enumerate(choices)]
    return np.hstack(columns)

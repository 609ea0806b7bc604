"""Tuning without labels: what criteria that see none lose to a choice with the labels.

Data, clients and contamination are those of :mod:`fedmix.experiments.real_clustering`. All
candidates start from the same local fits; fits on a part of the points, from that part alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmix.clients import Clients
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.real_clustering import clients_of, error_of, initial_values, make_problem
from fedmix.experiments.settings.tuning import Settings
from fedmix.methods.base import FederatedEstimator
from fedmix.selection import choose, typical_deviation
from fedmix.streams import Streams

if TYPE_CHECKING:
    from fedmix.data import Dataset

__all__ = ["initial_values", "make_problem", "run"]

Arrays = dict[str, np.ndarray]

#: Metric -> criterion and average over clients of :func:`fedmix.selection.choose`.
_CRITERIA = {
    "held_out": ("held_out", "median"),
    "held_out_mean": ("held_out", "mean"),
    "silhouette": ("silhouette", "median"),
    "stability": ("stability", "median"),
}
#: A candidate by which more of the clients lose held-out likelihood is not taken for its stability.
#: Contaminated clients, of which theory allows a third, lose by any pooling.
_VETO = 2 / 3


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: Dataset,
    streams: Streams,
) -> Outcome:
    """Fit every candidate; the scores, on good clients' test data, are those of what is chosen."""
    train, test = clients_of(setting, problem, data, streams)
    name, candidates = setting.parameter, _candidates(setting, train)
    known: dict[str, Any] = {
        "n_components": setting.n_components,
        "components_per_client": setting.n_components,
        "max_rounds": setting.max_rounds,
        "tol": setting.tol,
        # Where another parameter is chosen: the default, in the data's own scale.
        "penalty_scale": 2.0 * typical_deviation(train),
        "random_state": streams.integer(f"method {method.estimator}"),
    }
    shared = {"starts": {"mixtures": (initial["weights"], initial["means"])}}
    own = {"init": setting.initialization} if method.kind.starts_from == "mixtures" else {}
    start: dict[str, Any] = own if name == "n_components" else shared  # which has the true number
    fits = [method.build(known | start | {name: value}).fit(train) for value in candidates]
    errors = [error_of(fitted, test, problem, data) for fitted in fits]
    chosen = _chosen(method.build(known | own), train, name, candidates)
    found = {"default": errors[0]} | {key: errors[at] for key, at in chosen.items()}
    oracle = min(errors)
    regrets = {f"regret_{key}": error - oracle for key, error in found.items()}
    return Outcome.of(fits[0], {"oracle": oracle, **found, **regrets})


def _candidates(setting: Settings, train: Clients) -> list[Any]:
    """Return the candidates in the data's own scale, whole numbers as such."""
    if setting.parameter == "penalty_scale":
        return [typical_deviation(train) * candidate for candidate in setting.candidates]
    if setting.parameter == "n_components":
        return [int(candidate) for candidate in setting.candidates]
    return setting.candidates


def _chosen(
    estimator: FederatedEstimator, train: Clients, name: str, candidates: Sequence[Any]
) -> dict[str, int]:
    """Return the place of each criterion's choice among the candidates."""
    found = {
        key: choose(
            estimator, train, {name: candidates}, criterion, average, n_splits=1, refit=False
        )
        for key, (criterion, average) in _CRITERIA.items()
        if criterion != "held_out" or hasattr(estimator, "score_samples")
    }
    places = {key: candidates.index(own.best_parameters[name]) for key, own in found.items()}
    if "held_out" in found:
        likelihoods = found["held_out"].by_client
        losers = np.mean(likelihoods < likelihoods[0], axis=1)
        stability = found["stability"].scores["score"].to_numpy()
        places["vetoed"] = int(np.argmax(np.where(losers <= _VETO, stability, -np.inf)))
    return places

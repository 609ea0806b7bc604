"""Tuning without labels: what criteria that see none lose to a choice with the labels.

Data, clients and contamination are those of :mod:`fedmix.experiments.real_clustering`. All
candidates start from the same local fits; fits on a part of the points, from that part alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from fedmix.experiments import real_clustering
from fedmix.experiments.base import Arrays, Method, Outcome
from fedmix.experiments.settings import Stopping

if TYPE_CHECKING:
    from fedmix.clients import Clients
    from fedmix.data import Dataset
    from fedmix.methods.base import FederatedEstimator
    from fedmix.streams import Streams


class Settings(real_clustering.Settings, Stopping):
    """Those of `real_clustering`, and what is to be chosen."""

    parameter: Literal["penalty_scale", "initial_penalty", "final_radius_scale", "n_components"]
    """Parameter of the method that is chosen."""
    candidates: Annotated[list[float], Field(min_length=2)]
    """Its candidates, what pools least or is smallest first; of `penalty_scale` times the typical
    client's standard deviation."""


METRICS = {
    "oracle": "Least mis-clustering error of any candidate: chosen with the labels.",
    "default": "That of the first candidate, which pools least.",
    "held_out": "That of the candidate of largest held-out likelihood, median over clients.",
    "held_out_mean": "The same by the mean over clients.",
    "silhouette": "That of the candidate of largest silhouette.",
    "stability": "That of the most stable candidate.",
    "vetoed": "That of the most stable one by which no more than two thirds of clients lose.",
    "regret_held_out": "`held_out` less `oracle`.",
    "regret_held_out_mean": "`held_out_mean` less `oracle`.",
    "regret_silhouette": "`silhouette` less `oracle`.",
    "regret_stability": "`stability` less `oracle`.",
    "regret_vetoed": "`vetoed` less `oracle`.",
    "regret_default": "`default` less `oracle`.",
}

make_problem = real_clustering.make_problem
initial_values = real_clustering.initial_values

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
    from fedmix.experiments.clustering import error_of
    from fedmix.selection import typical_deviation

    train, test = real_clustering.clients_of(setting, problem, data, streams)
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
    from fedmix.selection import typical_deviation

    if setting.parameter == "penalty_scale":
        return [typical_deviation(train) * candidate for candidate in setting.candidates]
    if setting.parameter == "n_components":
        return [int(candidate) for candidate in setting.candidates]
    return setting.candidates


def _chosen(
    estimator: FederatedEstimator, train: Clients, name: str, candidates: Sequence[Any]
) -> dict[str, int]:
    """Return the place of each criterion's choice among the candidates."""
    import numpy as np

    from fedmix.selection import choose

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

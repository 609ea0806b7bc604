"""Tuning without labels: the loss of such criteria compared with a choice that uses the labels.

The data, clients and contamination are those of :mod:`fedmix.experiments.real_clustering`. All
candidates start from the same local fits. Fits to a part of the points start from that part alone.
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
    from fedmix.data.dataset import Dataset
    from fedmix.methods.base import FederatedEstimator
    from fedmix.streams import Streams


class Settings(real_clustering.Settings, Stopping):
    """The settings of `real_clustering`, and the parameter to choose."""

    parameter: Literal["penalty_scale", "initial_penalty", "final_radius_scale", "n_components"]
    """The method's parameter to choose."""
    candidates: Annotated[list[float], Field(min_length=2)]
    """Its candidates, starting with the smallest or the one that pools least. Candidates of
    `penalty_scale` are multiplied by the typical client's standard deviation."""


METRICS = {
    "oracle": "Smallest mis-clustering error of all candidates, chosen with the labels.",
    "default": "Error of the first candidate, which pools least.",
    "held_out": "Error of the candidate with the largest held-out likelihood, median over clients.",
    "held_out_mean": "The same with the mean over clients.",
    "silhouette": "Error of the candidate with the largest silhouette.",
    "stability": "Error of the most stable candidate.",
    "vetoed": "Error of the most stable candidate that lowers the held-out likelihood of at most "
    "two thirds of the clients.",
    "regret_held_out": "`held_out` minus `oracle`.",
    "regret_held_out_mean": "`held_out_mean` minus `oracle`.",
    "regret_silhouette": "`silhouette` minus `oracle`.",
    "regret_stability": "`stability` minus `oracle`.",
    "regret_vetoed": "`vetoed` minus `oracle`.",
    "regret_default": "`default` minus `oracle`.",
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
#: A candidate that lowers the held-out likelihood of a larger share of the clients is not chosen
#: for its stability. Any pooling harms contaminated clients, and theory allows a third of these.
_VETO = 2 / 3


def run(
    method: Method, setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> Outcome:
    """Fit every candidate and score each criterion's choice on the good clients' test data."""
    from fedmix.experiments.clustering import error_of
    from fedmix.selection import typical_deviation

    train, test = real_clustering.clients_of(setting, problem, data, streams)
    name, candidates = setting.parameter, _candidates(setting, train)
    known: dict[str, Any] = {
        "n_components": setting.n_components,
        "components_per_client": setting.n_components,
        "max_rounds": setting.max_rounds,
        "tol": setting.tol,
        # If another parameter is chosen: the default, in the data's own scale.
        "penalty_scale": 2.0 * typical_deviation(train),
        "random_state": streams.integer(f"method {method.estimator}"),
    }
    shared = {"starts": {"mixtures": (problem["initial_weights"], problem["initial_means"])}}
    own = {"init": setting.initialization} if method.kind.starts_from == "mixtures" else {}
    # The shared start has the true number of components.
    start: dict[str, Any] = own if name == "n_components" else shared
    fits = [method.build(known | start | {name: value}).fit(train) for value in candidates]
    errors = [error_of(fitted, test, problem, data) for fitted in fits]
    chosen = _chosen(method.build(known | own), train, name, candidates)
    found = {"default": errors[0]} | {key: errors[at] for key, at in chosen.items()}
    oracle = min(errors)
    regrets = {f"regret_{key}": error - oracle for key, error in found.items()}
    return Outcome.of(fits[0], {"oracle": oracle, **found, **regrets})


def _candidates(setting: Settings, train: Clients) -> list[Any]:
    """Return the candidates in the data's own scale; numbers of components as integers."""
    from fedmix.selection import typical_deviation

    if setting.parameter == "penalty_scale":
        return [typical_deviation(train) * candidate for candidate in setting.candidates]
    if setting.parameter == "n_components":
        return [int(candidate) for candidate in setting.candidates]
    return setting.candidates


def _chosen(
    estimator: FederatedEstimator, train: Clients, name: str, candidates: Sequence[Any]
) -> dict[str, int]:
    """Return the index of each criterion's choice among the candidates."""
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

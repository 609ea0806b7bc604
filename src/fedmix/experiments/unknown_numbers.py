"""Unknown numbers: how often the number of clusters is found, and what a wrong one costs.

Data are those of :mod:`fedmix.experiments.cluster_simulation`. A method that is told K is told a
wrong one; one that is told the clients' K_g alone, wrong ones of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.cluster_simulation import make_problem
from fedmix.experiments.federated_clustering import fit_method, known_numbers
from fedmix.experiments.settings.unknown_numbers import Settings
from fedmix.metrics.clustering import adjusted_rand_index
from fedmix.streams import Streams

if TYPE_CHECKING:
    from fedmix.methods.base import FederatedEstimator

__all__ = ["make_problem", "run"]

Arrays = dict[str, np.ndarray]

_OFFSETS = {"minus_2": -2, "minus_1": -1, "plus_1": 1, "plus_2": 2}


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method told the true numbers, and again with wrong ones."""
    train = Clients(problem["train"], problem["train_offsets"])
    test = Clients(problem["test"], problem["test_offsets"])
    own, seed = problem["components_per_client"], streams.integer(f"method {method.estimator}")
    true = known_numbers(setting.n_components, own) | {"random_state": seed}
    labels = problem["test_labels"]
    if setting.start == "truth":
        true["starts"] = {"means": _true_start(test, test.split(labels))}
    estimator, _ = fit_method(method, train, true, setting.v)
    ari, n_clusters = _score(estimator, test, labels)
    metrics = {
        "ari": ari,
        "n_clusters": float(n_clusters),
        "found": float(n_clusters == setting.n_components),
        **_theorem3(estimator, setting),
    }
    wrong_numbers = _wrong(method, setting, own, streams) if setting.start == "seeds" else {}
    for name, numbers in wrong_numbers.items():
        wrong, _ = fit_method(method, train, {**true, **numbers}, setting.v)
        metrics[f"regret_{name}"] = ari - _score(wrong, test, labels)[0]
    return Outcome.of(estimator, metrics)


def _true_start(test: Clients, labels: list[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
    """Return the mean of each cluster that a client has, as its test points have it."""
    return [
        np.array([points[own == cluster].mean(axis=0) for cluster in np.unique(own)])
        for points, own in zip(test, labels, strict=True)
    ]


def _wrong(
    method: Method, setting: Settings, own: NDArray[np.int64], streams: Streams
) -> dict[str, Mapping[str, Any]]:
    """Return wrong numbers that a method would take, by what is wrong with them."""
    needs = method.kind.needs
    wrong: dict[str, Mapping[str, Any]] = {}
    for name, offset in _OFFSETS.items():
        told_of_all = {"n_clusters", "n_components"} & set(needs)
        if not told_of_all:
            wrong[name] = {"components_per_client": np.maximum(own + offset, 1)}
        elif setting.n_components + offset > 0:
            wrong[name] = known_numbers(setting.n_components + offset, own)
    if "components_per_client" in needs:
        uneven = own + streams.generator("uneven").choice(np.array([-1, 1]), size=len(own))
        wrong["uneven"] = {"components_per_client": np.maximum(uneven, 1)}
    return wrong


def _score(
    estimator: FederatedEstimator, test: Clients, labels: NDArray[np.int64]
) -> tuple[float, int]:
    """Return the adjusted Rand index of all points, and the number of clusters."""
    if hasattr(estimator, "predict_clusters"):
        together, n_clusters = estimator.predict_clusters(test), estimator.n_clusters_
    else:
        together = estimator.predict(test)
        n_clusters = getattr(estimator, "n_clusters_", len(np.unique(np.concatenate(together))))
    return adjusted_rand_index(labels, np.concatenate(together)), n_clusters


def _theorem3(estimator: FederatedEstimator, setting: Settings) -> dict[str, float]:
    """Return whether FedGEM's final sets are as small as its Theorem 3 wants, in both readings."""
    if not hasattr(estimator, "final_radii_"):
        return {}
    largest = max(own.max() for own in estimator.final_radii_ if own.size)
    return {
        "promised": float(largest <= setting.r_min / 4),
        "promised_by_root": float(np.sqrt(largest) <= setting.r_min / 4),
    }

"""Unknown numbers: how often the number of clusters is found, and the cost of a wrong number.

The data are those of :mod:`fedmix.experiments.cluster_simulation`. A method that needs K gets a
wrong K. A method that needs only the clients' K_g gets wrong K_g.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal

from fedmix.experiments import cluster_simulation
from fedmix.experiments.base import Arrays, Method, Outcome, clients_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fedmix.clients import Clients
    from fedmix.methods.base import FederatedEstimator
    from fedmix.streams import Streams


class Settings(cluster_simulation.Settings):
    """The settings of `cluster_simulation`. Each method is fitted once."""

    client_seeds: Literal["own"] = "own"
    """Every method draws its own seeds, because wrong numbers need other seeds."""
    start: Literal["seeds", "truth"] = "seeds"
    """Start of the methods that take initial means: their own seeds, or the means of each client's
    test points by true cluster, which are so near the truth that theory guarantees convergence.
    With "truth" no method gets wrong numbers."""


METRICS = {
    "ari": "Adjusted Rand index of all clients' test points, with the true numbers given.",
    "n_clusters": "Number of clusters: the method's estimate or, if it has none, that of its "
    "labels.",
    "found": "1 if `n_clusters` is the true number, otherwise 0.",
    "promised": "1 if the condition of FedGEM's Theorem 3 holds: every final epsilon <= R_min / 4.",
    "promised_by_root": "The same with the radii, the square roots of epsilon, instead of epsilon.",
    "regret_minus_2": "Decrease of `ari` if the method gets two components too few.",
    "regret_minus_1": "The same for one component too few.",
    "regret_plus_1": "The same for one component too many.",
    "regret_plus_2": "The same for two components too many.",
    "regret_uneven": "The same if each client's own number is wrong by one, up or down at random.",
}

_OFFSETS = {"minus_2": -2, "minus_1": -1, "plus_1": 1, "plus_2": 2}

make_problem = cluster_simulation.make_problem


def run(
    method: Method, setting: Settings, problem: Arrays, data: None, streams: Streams
) -> Outcome:
    """Fit one method with the true numbers, and again with wrong numbers."""
    from fedmix.experiments.clustering import fit_method, known_numbers

    train, test = clients_in(problem, "train"), clients_in(problem, "test")
    own, seed = problem["components_per_client"], streams.integer(f"method {method.estimator}")
    true = known_numbers(setting.n_components, own) | {"random_state": seed}
    labels = problem["test_labels"]
    if setting.start == "truth":
        true["starts"] = {"means": _true_start(test, test.split(labels))}
    estimator, _ = fit_method(method, train, true, setting)
    ari, n_clusters = _score(estimator, test, labels)
    metrics = {
        "ari": ari,
        "n_clusters": float(n_clusters),
        "found": float(n_clusters == setting.n_components),
        **_theorem3(estimator, setting),
    }
    wrong_numbers = _wrong(method, setting, own, streams) if setting.start == "seeds" else {}
    for name, numbers in wrong_numbers.items():
        wrong, _ = fit_method(method, train, {**true, **numbers}, setting)
        metrics[f"regret_{name}"] = ari - _score(wrong, test, labels)[0]
    return Outcome.of(estimator, metrics)


def _true_start(test: Clients, labels: list[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
    """Return the means of each client's test points by true cluster."""
    import numpy as np

    return [
        np.array([points[own == cluster].mean(axis=0) for cluster in np.unique(own)])
        for points, own in zip(test, labels, strict=True)
    ]


def _wrong(
    method: Method, setting: Settings, own: NDArray[np.int64], streams: Streams
) -> dict[str, Mapping[str, Any]]:
    """Return the wrong numbers for a method, by the kind of error."""
    import numpy as np

    from fedmix.experiments.clustering import known_numbers

    needs = set(method.kind.needs)
    wrong: dict[str, Mapping[str, Any]] = {}
    for name, offset in _OFFSETS.items():
        if not needs & {"n_clusters", "n_components"}:
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
    from numpy import concatenate

    from fedmix.experiments.clustering import labels_of, number_of_clusters
    from fedmix.metrics.clustering import adjusted_rand_index

    _, together = labels_of(estimator, test)
    n_clusters = number_of_clusters(together, estimator)
    return adjusted_rand_index(labels, concatenate(together)), n_clusters


def _theorem3(estimator: FederatedEstimator, setting: Settings) -> dict[str, float]:
    """Return whether FedGEM's final sets satisfy its Theorem 3, in both readings of epsilon."""
    if not hasattr(estimator, "final_radii_"):
        return {}
    largest = max(own.max() for own in estimator.final_radii_ if own.size)
    return {
        "promised": float(largest <= setting.r_min / 4),
        "promised_by_root": float(sqrt(largest) <= setting.r_min / 4),
    }

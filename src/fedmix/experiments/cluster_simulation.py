"""Simulated isotropic clusters: Figures 1 to 4 of the FedGEM paper."""

from __future__ import annotations

import numpy as np

from fedmix.clients import Clients
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.federated_clustering import fit_method, known_numbers, score
from fedmix.experiments.settings.cluster_simulation import Settings
from fedmix.simulate.isotropic_clusters import simulate_clusters
from fedmix.streams import Streams

Arrays = dict[str, np.ndarray]

_SCORES = ("ari_pooled", "ari_per_client", "silhouette_pooled", "silhouette_per_client")


def make_problem(setting: Settings, data: None, streams: Streams) -> Arrays:
    """Draw one replication's training and test data."""
    drawn = simulate_clusters(
        streams.generator("data"),
        n_clients=setting.n_clients,
        n_clusters=setting.n_components,
        n_features=setting.d,
        separation=setting.r_min,
        imbalance=setting.imbalance,
        client_sizes=setting.n_per_client,
        n_test=setting.n_test,
    )
    return {
        "train": drawn.train.points,
        "train_offsets": drawn.train.offsets,
        "test": drawn.test.points,
        "test_offsets": drawn.test.offsets,
        "test_labels": drawn.test_labels,
        "components_per_client": drawn.n_components,
    }


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method from several starts, its own k-means++ seeds; each score is its best start's.

    ``n_clusters`` belongs to the start with the best mean ARI of the clients, and
    ``n_clusters_at_best_silhouette`` to the one with their best mean silhouette.
    """
    train = Clients(problem["train"], problem["train_offsets"])
    test = Clients(problem["test"], problem["test_offsets"])
    labels = test.split(problem["test_labels"])
    known = known_numbers(setting.n_components, problem["components_per_client"])
    fits, scores = [], []
    for start in range(setting.starts):
        seed = streams.integer(f"method {method.estimator}, start {start}")
        fitted, _ = fit_method(method, train, {**known, "random_state": seed}, setting.v)
        fits.append(fitted)
        scores.append(score(fitted, test, labels))
    best = _best(scores, "ari_per_client")
    metrics = dict(scores[best])
    for name in _SCORES:
        chosen = scores[_best(scores, name)]
        if name in chosen:
            metrics[name] = chosen[name]
    by_silhouette = scores[_best(scores, "silhouette_per_client")]
    metrics["n_clusters_at_best_silhouette"] = by_silhouette["n_clusters"]
    return Outcome.of(fits[best], metrics)


def _best(scores: list[dict[str, float]], name: str) -> int:
    """Return the start with the largest score; one where it is undefined comes last."""
    return int(np.argmax([s.get(name, -np.inf) for s in scores]))

"""Simulated isotropic clusters: Figures 1 to 4 of the FedGEM paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from fedmix.experiments.base import Arrays, Method, Outcome, arrays_of, clients_in
from fedmix.experiments.settings import (
    CLUSTERING_METRICS,
    Count,
    ExperimentSettings,
    FinalRadius,
    Positive,
    SharedSeeds,
)

if TYPE_CHECKING:
    from fedmix.streams import Streams


class Settings(ExperimentSettings, FinalRadius, SharedSeeds):
    """Simulated isotropic clusters, with the FedGEM paper's symbols."""

    n_clients: Count
    """Number of clients, G."""
    n_components: Count
    """Number of clusters of all clients together, K."""
    d: Count
    """Number of features."""
    r_min: Positive
    """Distance between the two nearest centres, in standard deviations of a cluster."""
    imbalance: Literal["nominal", "client", "cluster"]
    """What has unequal sizes: nothing, the clients or the clusters."""
    n_per_client: Count | Annotated[list[Count], Field(min_length=1)]
    """Number of training points per client. The clients take the values of a list in turn."""
    n_test: Count
    """Number of test points of all clients together."""
    starts: Count
    """Number of starts. Each score is that of its best start."""
    design: Literal["text", "program"] = "text"
    """How clusters are given to clients and how clients are averaged. "text": 2 <= K_g < K, test
    points in the shares of training, plain means over clients. "program", as FedGEM's public
    program: 2 <= K_g <= K - 2, equally many test points of every cluster of every client, means
    weighted by the clients' numbers of training points, also where v is chosen."""


METRICS = {
    **CLUSTERING_METRICS,
    "n_clusters_at_best_silhouette": "Number of clusters of the start with the best mean "
    "silhouette of the clients.",
}

_SCORES = ("ari_pooled", "ari_per_client", "silhouette_pooled", "silhouette_per_client")


def make_problem(setting: Settings, data: None, streams: Streams) -> Arrays:
    """Draw one replication's training and test data."""
    from fedmix.simulate.isotropic_clusters import simulate_clusters

    drawn = simulate_clusters(
        streams.generator("data"),
        n_clients=setting.n_clients,
        n_clusters=setting.n_components,
        n_features=setting.d,
        separation=setting.r_min,
        imbalance=setting.imbalance,
        client_sizes=setting.n_per_client,
        n_test=setting.n_test,
        design=setting.design,
    )
    return {
        **arrays_of("train", drawn.train),
        **arrays_of("test", drawn.test),
        "test_labels": drawn.test_labels,
        "components_per_client": drawn.n_components,
    }


def run(
    method: Method, setting: Settings, problem: Arrays, data: None, streams: Streams
) -> Outcome:
    """Fit one method from several starts, k-means++ seeds. Each score takes its best start.

    ``n_clusters`` is that of the start with the best mean ARI of the clients, and
    ``n_clusters_at_best_silhouette`` that of the start with their best mean silhouette.
    """
    from fedmix.experiments.clustering import fit_method, known_numbers, shared_seeds
    from fedmix.experiments.federated_clustering import score

    train, test = clients_in(problem, "train"), clients_in(problem, "test")
    labels = test.split(problem["test_labels"])
    known = known_numbers(setting.n_components, problem["components_per_client"])
    weights, average = (train.sizes, "weighted") if setting.design == "program" else (None, "mean")
    fits, scores = [], []
    for start in range(setting.starts):
        known["random_state"] = streams.integer(f"method {method.estimator}, start {start}")
        if setting.client_seeds == "shared":
            rng = streams.generator(f"seeds, start {start}")
            known |= shared_seeds(train, problem["components_per_client"], rng)
        fitted, _ = fit_method(method, train, known, setting, average)
        fits.append(fitted)
        scores.append(score(fitted, test, labels, weights=weights))
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
    """Return the first start with the largest score. Undefined scores come last."""
    return max(range(len(scores)), key=lambda start: scores[start].get(name, -float("inf")))

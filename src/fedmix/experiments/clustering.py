"""The clustering experiments' shared parts: clients, starts, choices without labels, scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.experiments.base import Arrays, Method
from fedmix.experiments.settings import ALIGNMENTS, FinalRadius, MixtureSettings
from fedmix.initialization import align_fits, initialize
from fedmix.methods.centroids import components_of, seed_clients
from fedmix.metrics.clustering import per_client_scores, pooled_scores
from fedmix.metrics.matching import misclustering
from fedmix.selection import choose, tune
from fedmix.simulate.mixtures import Truth, draw_truth
from fedmix.streams import Streams

if TYPE_CHECKING:
    from fedmix.data.dataset import Dataset
    from fedmix.methods.base import FederatedEstimator

IntArray = NDArray[np.int64]

#: The units of the data that experiments declare. A method's parameter can be a multiple of them.
UNITS: dict[str, Callable[[Clients], float]] = {
    "spread": lambda train: float(np.sqrt(train.points.var(axis=0).mean())),
    "root_n": lambda train: float(np.sqrt(train.sizes.mean())),
}


def truth_of(setting: MixtureSettings, streams: Streams) -> Truth:
    """Draw a simulated mixture's parameters."""
    return draw_truth(
        streams.generator("truth"),
        setting.n_clients,
        setting.n_features,
        setting.n_components,
        setting.separation,
        setting.h,
        setting.n_contaminated,
        setting.outlier_distance,
        setting.concentration,
    )


def good_clients(test: Clients, problem: Arrays) -> IntArray:
    """Return the clients that are scored: not contaminated and with test data."""
    return np.setdiff1d(np.flatnonzero(test.sizes), problem["contaminated"])


def classes_of_clients(problem: Arrays, data: Dataset) -> list[int]:
    """Return each client's K_g: the number of classes in its training data, at least 1."""
    own = np.split(data.labels[problem["train"]], problem["train_offsets"][1:-1])
    return [max(1, len(np.unique(labels))) for labels in own]


def shared_start(
    train: Clients,
    setting: Any,
    streams: Streams,
    alignment: str = "best_of_50_orders",
    family: str = "gaussian",
) -> Arrays:
    """Return the methods' shared initial values, by the setting's ``initialization``, aligned."""
    seed = streams.integer("initial values")
    fits = initialize(train, setting.n_components, setting.initialization, family, seed)
    weights, means = align_fits(
        train, *fits, random_state=streams.integer("alignment"), **ALIGNMENTS[alignment]
    )
    return {"initial_weights": weights, "initial_means": means}


def starts_of(
    method: Method,
    setting: Any,
    train: Clients,
    components_per_client: Sequence[int],
    problem: Arrays,
    streams: Streams,
) -> dict[str, Any]:
    """Return the start that a method takes, by its kind.

    It is the shared start. Methods whose clients have their own numbers of components start from
    means (K_g, d) by the same strategy.
    """
    if method.kind.starts_from != "means":
        return {"mixtures": (problem["initial_weights"], problem["initial_means"])}
    seed = streams.integer("initial values")
    means = {
        k: initialize(train, k, setting.initialization, random_state=seed)[1]
        for k in set(components_per_client)
    }
    return {"means": [means[k][g] for g, k in enumerate(components_per_client)]}


def known_numbers(n_clusters: int, components_per_client: Sequence[int] | IntArray) -> dict:
    """Return K and the K_g by the names of the methods' parameters.

    A mixture of all clients' data has as many components as there are clusters.
    """
    return {
        "n_clusters": n_clusters,
        "n_components": n_clusters,
        "components_per_client": components_per_client,
    }


def shared_seeds(
    train: Clients, components_per_client: Sequence[int] | IntArray, rng: np.random.Generator
) -> dict[str, Any]:
    """Draw k-means++ seeds (K_g, d) at every client, and return them by the names methods use.

    Each seed is drawn from one candidate, as in the FedGEM paper's public program.
    """
    n_components = components_of(train, components_per_client)
    seeds = seed_clients(train, n_components, rng, n_local_trials=1)
    return {"starts": {"means": seeds}, "local_init": seeds}


def known_of(
    method: Method,
    setting: Any,
    train: Clients,
    components_per_client: Sequence[int],
    problem: Arrays,
    streams: Streams,
    **others: float,
) -> dict[str, Any]:
    """Return the values a method can take under a common protocol, with its tuned parameters.

    ``setting`` has ``n_components``, ``initialization``, ``max_rounds``, ``tol`` and the candidates
    ``final_radius_scale``. ``problem`` holds the shared start. The others are values that only this
    experiment knows.
    """
    known = {
        **known_numbers(setting.n_components, components_per_client),
        "max_rounds": setting.max_rounds,
        "tol": setting.tol,
        "random_state": streams.integer(f"method {method.estimator}"),
        **others,
    }
    known |= tuned(method, train, known, setting)
    known["starts"] = starts_of(method, setting, train, components_per_client, problem, streams)
    return known


def tuned(
    method: Method, train: Clients, known: Mapping[str, Any], setting: Any
) -> dict[str, float]:
    """Choose without labels the method's parameters in ``tunes`` that are not configured.

    A fit to a part of the data starts from that part alone, because a shared start has used the
    held-out points.
    """
    if not method.open_choices:
        return {}
    estimator = method.build(known)
    if method.kind.starts_from == "mixtures":
        estimator.set_params(init=setting.initialization)
    candidates = {"final_radius_scale": setting.final_radius_scale}
    return tune(estimator, train, method.parameters, candidates)


def in_numbers(parameters: Mapping[str, Any], train: Clients) -> dict[str, Any]:
    """Return parameters as numbers.

    A mapping with ``value`` and ``units``, such as ``{value: 0.5, units: [spread]}``, becomes the
    product of the value and these :data:`UNITS` of the training data after scaling and before
    contamination. Other parameters do not change.
    """
    return {
        name: value["value"] * math.prod(UNITS[unit](train) for unit in value["units"])
        if isinstance(value, Mapping) and "units" in value
        else value
        for name, value in parameters.items()
    }


def fit_method(
    method: Method,
    train: Clients,
    known: Mapping[str, Any],
    setting: FinalRadius,
    average: str = "mean",
) -> tuple[FederatedEstimator, dict[str, float]]:
    """Fit a method. If its labels depend on the final radius, choose the radius first.

    The labels of some methods do not depend on v: local k-means only uses it to count clusters.
    Such a method takes a given v. If there are candidates it keeps its own v, because validation
    cannot choose between them. Other methods get the candidate with the largest silhouette of the
    clients' held-out points, as the mean over clients, all alike or "weighted" by their numbers of
    training points.

    Returns
    -------
    estimator : FederatedEstimator
        The estimator, fitted to all training data.
    chosen : dict
        ``final_radius_scale`` if v was given or chosen. If it was chosen, also
        ``validation_undefined``: the number of silhouettes that the cross-validation could not
        compute.
    """
    candidates = np.atleast_1d(setting.v).astype(float).tolist()
    chosen: dict[str, float] = {}
    if len(candidates) == 1:
        known = {**known, "final_radius_scale": candidates[0]}
    elif "final_radius_scale" in method.open_choices:
        found = choose(
            method.build(known),
            train,
            {"final_radius_scale": candidates},
            criterion="silhouette",
            average=average,
            n_folds=setting.n_folds,
            n_splits=setting.n_splits,
            refit=False,
            random_state=known["random_state"],
        )
        known = {**known, **found.best_parameters}
        undefined = float(found.scores["n_undefined"].sum())
        chosen = {**found.best_parameters, "validation_undefined": undefined}
    estimator = method.fit(train, known)
    if len(candidates) == 1 and hasattr(estimator, "final_radius_scale"):
        chosen = {"final_radius_scale": candidates[0]}
    return estimator, chosen


def labels_of(
    estimator: FederatedEstimator, test: Clients
) -> tuple[list[IntArray], list[IntArray]]:
    """Return a method's own labels, and its labels that mean the same at every client.

    A method whose clients keep their own components returns the latter by ``predict_clusters``.
    For all other methods they are the same.
    """
    own = estimator.predict(test)
    return own, estimator.predict_clusters(test) if hasattr(estimator, "predict_clusters") else own


def number_of_clusters(
    labels: Sequence[IntArray], estimator: FederatedEstimator | None = None
) -> int:
    """Return the number of clusters: the estimator's estimate or, if it has none, its labels'."""
    return getattr(estimator, "n_clusters_", len(np.unique(np.concatenate(labels))))


def clustering_scores(
    test: Clients,
    labels: Sequence[IntArray],
    own: Sequence[IntArray],
    together: Sequence[IntArray],
    weights: IntArray | None = None,
) -> dict[str, float]:
    """Score the global labels on all points together, and a method's own as means over clients."""
    return pooled_scores(test, labels, together) | per_client_scores(test, labels, own, weights)


def all_scores(
    estimator: FederatedEstimator, test: Clients, problem: Arrays, data: Dataset
) -> dict[str, float]:
    """Return every score of a fitted method on the good clients' test points."""
    good = np.setdiff1d(np.arange(len(test)), problem["contaminated"])
    found = (test.split(data.labels[problem["test"]]), *labels_of(estimator, test))
    labels, own, together = ([values[k] for k in good] for values in found)
    errors = [misclustering(a, b) for a, b in zip(labels, own, strict=True) if len(a)]
    return clustering_scores(test.subset(good), labels, own, together) | {
        "misclustering": float(np.mean(errors)),
        "misclustering_pooled": misclustering(np.concatenate(labels), np.concatenate(together)),
        "n_clusters": float(number_of_clusters(together)),
    }


def error_of(estimator: FederatedEstimator, test: Clients, problem: Arrays, data: Dataset) -> float:
    """Return the mean mis-clustering rate of the good clients' test data."""
    labels, predicted = test.split(data.labels[problem["test"]]), estimator.predict(test)
    good = good_clients(test, problem)
    return float(np.mean([misclustering(labels[k], predicted[k]) for k in good]))

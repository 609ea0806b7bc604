"""What the experiments on clusterings share: clients, starts, choices without labels, scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.experiments.base import Arrays, Method, Outcome
from fedmix.experiments.settings import ALIGNMENTS, MixtureSettings
from fedmix.initialization import align_fits, initialize
from fedmix.metrics.clustering import per_client_scores, pooled_scores
from fedmix.metrics.federation import federation_gain
from fedmix.metrics.matching import misclustering
from fedmix.selection import choose, tune
from fedmix.simulate.mixtures import Truth, draw_truth
from fedmix.streams import Streams

if TYPE_CHECKING:
    from fedmix.data import Dataset
    from fedmix.methods.base import FederatedEstimator

IntArray = NDArray[np.int64]

_NOTICED = 0.01  # of the points: test points are too few for less

#: What a parameter of a method may be a multiple of, by the units that experiments declare.
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


def clients_in(problem: Arrays, part: str, data: Dataset | None = None) -> Clients:
    """Return the clients' "train" or "test" part of a problem, of a data set or simulated."""
    offsets = problem[f"{part}_offsets"]
    if data is not None:
        return Clients(data.features[problem[part]], offsets)
    return Clients(problem[part], offsets, problem.get(f"{part}_responses"))


def good_clients(test: Clients, problem: Arrays) -> IntArray:
    """Return the clients that are scored: not contaminated, and with data to test on."""
    return np.setdiff1d(np.flatnonzero(test.sizes), problem["contaminated"])


def classes_of_clients(problem: Arrays, data: Dataset) -> list[int]:
    """Return the K_g: the number of classes that each client's training data hold, at least 1."""
    own = np.split(data.labels[problem["train"]], problem["train_offsets"][1:-1])
    return [max(1, len(np.unique(labels))) for labels in own]


def shared_start(
    train: Clients,
    n_components: int,
    initialization: str,
    streams: Streams,
    alignment: str = "best_of_50_orders",
    family: str = "gaussian",
) -> Arrays:
    """Return the initial values that methods share, fitted by a strategy and aligned."""
    seed = streams.integer("initial values")
    fits = initialize(train, n_components, initialization, family, seed)
    weights, means = align_fits(
        train, *fits, random_state=streams.integer("alignment"), **ALIGNMENTS[alignment]
    )
    return {"weights": weights, "means": means}


def starts_of(
    method: Method,
    train: Clients,
    initial: Arrays,
    components_per_client: Sequence[int],
    strategy: str,
    streams: Streams,
) -> dict[str, Any]:
    """Return the start that a method takes, by its kind.

    It is the shared one, or, for methods with numbers of components of the clients' own, means
    (K_g, d) by the same strategy.
    """
    if method.kind.starts_from != "means":
        return {"mixtures": (initial["weights"], initial["means"])}
    seed = streams.integer("initial values")
    numbers = set(components_per_client)
    means = {k: initialize(train, k, strategy, random_state=seed)[1] for k in numbers}
    return {"means": [means[k][g] for g, k in enumerate(components_per_client)]}


def known_numbers(n_clusters: int, components_per_client: Sequence[int] | IntArray) -> dict:
    """Return the numbers that methods may ask for, K and the K_g, under the names they ask for.

    A mixture of all clients' data has as many components as there are clusters.
    """
    return {
        "n_clusters": n_clusters,
        "n_components": n_clusters,
        "components_per_client": components_per_client,
    }


def known_of(
    method: Method,
    setting: Any,
    train: Clients,
    components_per_client: Sequence[int],
    initial: Arrays,
    streams: Streams,
    **others: float,
) -> dict[str, Any]:
    """Return what a method may be given under a common protocol, with what is chosen for it.

    Parameters
    ----------
    method : Method
    setting : settings of an experiment
        It has ``n_components``, ``initialization``, ``max_rounds``, ``tol`` and, as candidates,
        ``final_radius_scale``.
    train : Clients
    components_per_client : sequence of int
        The K_g.
    initial : dict of arrays
        The shared start.
    streams : Streams
    **others
        What else the experiment knows.
    """
    known = {
        **known_numbers(setting.n_components, components_per_client),
        "max_rounds": setting.max_rounds,
        "tol": setting.tol,
        "random_state": streams.integer(f"method {method.estimator}"),
        **others,
    }
    known |= tuned(method, train, known, setting)
    strategy = setting.initialization
    known["starts"] = starts_of(method, train, initial, components_per_client, strategy, streams)
    return known


def tuned(
    method: Method, train: Clients, known: Mapping[str, Any], setting: Any
) -> dict[str, float]:
    """Choose, without labels, what the method has to tune and the configuration leaves open.

    Fits on a part of the data start from that part alone: a shared start has seen what is held out.
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

    Parameters
    ----------
    parameters : mapping
        A mapping with ``value`` and ``units``, such as ``{value: 0.5, units: [spread]}``, is the
        value times all of these :data:`UNITS`; others stay as they are.
    train : Clients
        The clean training data, as scaled.
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
    scales: float | Sequence[float],
) -> tuple[FederatedEstimator, dict[str, float]]:
    """Fit a method; a final radius on which its labels depend may be chosen beforehand.

    A method whose labels do not depend on v (local k-means, which counts clusters by it) takes a
    given v, but keeps its own where there are candidates: validation could not choose.

    Parameters
    ----------
    method : Method
    train : Clients
    known : mapping
        What methods may be given: see :func:`known_numbers`, and ``random_state``.
    scales : float or sequence of float
        v of the final radius, or candidates for it: the largest mean silhouette of the clients'
        held-out thirds decides.

    Returns
    -------
    estimator : FederatedEstimator
        Fitted to all training data.
    chosen : dict
        ``final_radius_scale`` where v was given or chosen and, if chosen, how many silhouettes the
        cross-validation could not compute, ``validation_undefined``.
    """
    candidates = np.atleast_1d(scales).astype(float).tolist()
    chosen: dict[str, float] = {}
    if len(candidates) == 1:
        known = {**known, "final_radius_scale": candidates[0]}
    elif "final_radius_scale" in method.open_choices:
        found = choose(
            method.build(known),
            train,
            {"final_radius_scale": candidates},
            criterion="silhouette",
            average="mean",
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
    """Return the labels that a method gives, and those that mean the same at every client.

    A method whose clients keep components of their own gives the latter by ``predict_clusters``;
    for all others they are the same.
    """
    own = estimator.predict(test)
    return own, estimator.predict_clusters(test) if hasattr(estimator, "predict_clusters") else own


def number_of_clusters(
    labels: Sequence[IntArray], estimator: FederatedEstimator | None = None
) -> int:
    """Return the number of clusters: an estimator's own estimate, else that of its labels."""
    return getattr(estimator, "n_clusters_", len(np.unique(np.concatenate(labels))))


def clustering_scores(
    test: Clients, labels: Sequence[IntArray], own: Sequence[IntArray], together: Sequence[IntArray]
) -> dict[str, float]:
    """Score global labels on all points together, and a method's own as a mean over clients."""
    return pooled_scores(test, labels, together) | per_client_scores(test, labels, own)


def error_of(estimator: FederatedEstimator, test: Clients, problem: Arrays, data: Dataset) -> float:
    """Return the mean mis-clustering rate of good clients' test data."""
    labels, predicted = test.split(data.labels[problem["test"]]), estimator.predict(test)
    good = good_clients(test, problem)
    return float(np.mean([misclustering(labels[k], predicted[k]) for k in good]))


def compare_with_alone(
    method: Method,
    train: Clients,
    test: Clients,
    labels: Sequence[IntArray],
    good: IntArray,
    known: Mapping[str, Any],
) -> Outcome:
    """Fit a method to all clients together and to each good one alone, and compare.

    Parameters
    ----------
    method : Method
    train, test : Clients
        The same clients in the same order.
    labels : sequence of K int arrays
        Of the test points.
    good : ndarray of int
        The clients that are not contaminated.
    known : mapping
        What methods may be given, of all clients: see :func:`known_of`.
    """
    estimator = method.fit(train, known)
    predicted = estimator.predict(test)
    together, alone = [], []
    for k in good:
        own = method.build(_known_of_client(known, int(k))).fit(train.subset([k]))
        together.append(misclustering(labels[k], predicted[k]))
        alone.append(misclustering(labels[k], own.predict(test.subset([k]))[0]))
    metrics = {
        "misclustering": float(np.mean(together)),
        "misclustering_alone": float(np.mean(alone)),
        **federation_gain(together, alone, _NOTICED),
    }
    return Outcome.of(estimator, metrics)


def _known_of_client(known: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Return what a client knows that has no others."""
    starts = known["starts"]
    if "means" in starts:
        own = {"means": starts["means"][k : k + 1]}
    else:
        own = {"mixtures": tuple(part[k : k + 1] for part in starts["mixtures"])}
    return {
        **known,
        "components_per_client": [known["components_per_client"][k]],
        "starts": own,
    }

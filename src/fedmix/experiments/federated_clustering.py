"""Federated clustering of labelled data: Tables 1, 2, 6 and 7 of the FedGEM paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients, offsets_of
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.settings.federated_clustering import Settings
from fedmix.methods.base import FederatedEstimator
from fedmix.metrics.clustering import per_client_scores, pooled_scores
from fedmix.partition.by_class import (
    deal_out,
    draw_classes,
    hand_over_missing,
    share_out,
    split_in_order,
)
from fedmix.selection import choose
from fedmix.streams import Streams

if TYPE_CHECKING:
    from fedmix.data import Dataset

Arrays = dict[str, np.ndarray]
IntArray = NDArray[np.int64]


def make_problem(setting: Settings, data: Dataset, streams: Streams) -> Arrays:
    """Share the data out by class, for training and testing."""
    rng = streams.generator("partition")
    n_classes = int(data.labels.max()) + 1
    most = n_classes - setting.spared_classes
    classes = draw_classes(n_classes, setting.n_clients, most, rng)
    if setting.partition == "shared":
        classes = hand_over_missing(classes, n_classes)
    if setting.partition == "dealt_in_order":
        train, test = split_in_order(data.labels, classes, setting.train_fraction)
    else:
        train, test = _split_at_random(setting, data.labels, classes, rng)
    problem = {"components_per_client": np.array([len(own) for own in classes])}
    for part, rows in (("train", train), ("test", test)):
        problem[part] = np.concatenate(rows)
        problem[f"{part}_offsets"] = offsets_of([len(own) for own in rows])
    return problem


def _split_at_random(
    setting: Settings,
    labels: IntArray,
    classes: list[IntArray],
    rng: np.random.Generator,
) -> list[list[IntArray]]:
    """Split all rows at random, then give the clients theirs of both parts."""
    mixed = rng.permutation(len(labels))
    n_train = round(setting.train_fraction * len(mixed))
    parts = []
    for chosen in (np.sort(mixed[:n_train]), np.sort(mixed[n_train:])):
        own = labels[chosen]
        shared = setting.partition == "shared"
        given = share_out(own, classes, rng) if shared else deal_out(own, classes)
        parts.append([chosen[rows] for rows in given])
    return parts


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: Dataset,
    streams: Streams,
) -> Outcome:
    """Fit one method on the training data and score it on the test data, by both metrics.

    Every method draws its own k-means++ seeds.
    """
    train = Clients(data.features[problem["train"]], problem["train_offsets"])
    test = Clients(data.features[problem["test"]], problem["test_offsets"])
    known = known_numbers(int(data.labels.max()) + 1, problem["components_per_client"])
    known["random_state"] = streams.integer(f"method {method.estimator}")
    estimator, chosen = fit_method(method, train, known, setting.v)
    labels = test.split(data.labels[problem["test"]])
    return Outcome.of(estimator, score(estimator, test, labels, setting.clusters) | chosen)


def known_numbers(n_clusters: int, components_per_client: Sequence[int] | IntArray) -> dict:
    """Return what methods may ask to be told: K and the K_g, under the names they ask for.

    A mixture of all clients' data has as many components as there are clusters.
    """
    return {
        "n_clusters": n_clusters,
        "n_components": n_clusters,
        "components_per_client": components_per_client,
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
        What methods may be told: see :func:`known_numbers`, and ``random_state``.
    scales : float or sequence of float
        v of the final radius, or candidates for it.

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
        chosen = choose_scale(method, train, known, candidates)
        known = {**known, "final_radius_scale": chosen["final_radius_scale"]}
    estimator = method.fit(train, known)
    if len(candidates) == 1 and hasattr(estimator, "final_radius_scale"):
        chosen = {"final_radius_scale": candidates[0]}
    return estimator, chosen


def choose_scale(
    method: Method, train: Clients, known: Mapping[str, Any], candidates: Sequence[float]
) -> dict[str, float]:
    """Choose the candidate with the largest mean silhouette of the clients' held-out thirds.

    Returns
    -------
    dict
        ``final_radius_scale`` and ``validation_undefined``; see :func:`fit_method`.
    """
    chosen = choose(
        method.build(known),
        train,
        {"final_radius_scale": candidates},
        criterion="silhouette",
        average="mean",
        refit=False,
        random_state=known["random_state"],
    )
    undefined = float(chosen.scores["n_undefined"].sum())
    return {**chosen.best_parameters, "validation_undefined": undefined}


def score(
    estimator: FederatedEstimator,
    test: Clients,
    labels: Sequence[IntArray],
    clusters: str = "own_estimate",
) -> dict[str, float]:
    """Score a fitted method by one score of all points and by the mean over clients.

    The pooled scores take labels that mean the same at every client; a method whose clients keep
    components of their own is asked for those by ``predict_clusters``, and for its own estimate of
    the number of clusters. ``clusters`` says what counts elsewhere: see
    :class:`fedmix.experiments.settings.federated_clustering.Settings`.
    """
    own = estimator.predict(test)
    has_own = hasattr(estimator, "predict_clusters")
    together = estimator.predict_clusters(test) if has_own else own
    n_clusters = len(np.unique(np.concatenate(own)))
    if has_own or clusters == "own_estimate":
        n_clusters = getattr(estimator, "n_clusters_", n_clusters)
    return (
        pooled_scores(test, labels, together)
        | per_client_scores(test, labels, own)
        | {"n_clusters": float(n_clusters)}
    )

"""Federated clustering of labelled data: Tables 1, 2, 6 and 7 of the FedGEM paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from fedmix.experiments.base import Arrays, Method, Outcome, clients_in, rows_of
from fedmix.experiments.settings import (
    CLUSTERING_METRICS,
    Count,
    DataSettings,
    FinalRadius,
    Number,
    Share,
    SharedSeeds,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fedmix.clients import Clients
    from fedmix.data.dataset import Dataset
    from fedmix.methods.base import FederatedEstimator
    from fedmix.streams import Streams

    IntArray = NDArray[np.int64]


class Settings(DataSettings, FinalRadius, SharedSeeds):
    """Clients that each have some of the classes of a labelled data set."""

    partition: Literal["dealt", "dealt_in_order", "shared"]
    """How rows are assigned to clients. "dealt" splits the rows at random into training and test
    rows and assigns the rows of each part in order. "dealt_in_order" assigns all rows in order, and
    the first of a client's rows of each class are for training. "shared" splits and assigns all
    rows at random."""
    n_clients: Count
    """Number of clients, G."""
    train_fraction: Share
    """Share of the points for training. The others are for testing."""
    spared_classes: Number
    """A client has at most K minus this number of classes."""
    clusters: Literal["own_estimate", "of_test_points"] = "own_estimate"
    """Which clusters are counted if a method's labels mean the same at every client: those of the
    method's own estimate, or those to which test points are assigned."""
    own_parameters: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Method -> its parameters that differ in this setting. The public program has one script per
    data set."""


METRICS = {
    **CLUSTERING_METRICS,
    "final_radius_scale": "Given or chosen value of v.",
    "validation_undefined": "Number of silhouettes that the cross-validation of v could not "
    "compute.",
}


def make_problem(setting: Settings, data: Dataset, streams: Streams) -> Arrays:
    """Assign the data to clients by class, for training and testing."""
    import numpy as np

    from fedmix.partition.split import draw_classes, hand_over_missing, split_in_order

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
    components_per_client = np.array([len(own) for own in classes])
    return {"components_per_client": components_per_client, **rows_of(train=train, test=test)}


def _split_at_random(
    setting: Settings,
    labels: IntArray,
    classes: list[IntArray],
    rng: np.random.Generator,
) -> list[list[IntArray]]:
    """Split all rows at random, then assign the rows of each part to the clients."""
    import numpy as np

    from fedmix.partition.split import deal_out, share_out

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
    method: Method, setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> Outcome:
    """Fit one method to the training data and score it on the test data, by all metrics."""
    from fedmix.experiments.clustering import fit_method, known_numbers, shared_seeds

    train, test = (clients_in(problem, part, data) for part in ("train", "test"))
    own = setting.own_parameters.get(method.name, {})
    method = replace(method, parameters={**method.parameters, **own})
    known = known_numbers(int(data.labels.max()) + 1, problem["components_per_client"])
    known["random_state"] = streams.integer(f"method {method.estimator}")
    if setting.client_seeds == "shared":
        known |= shared_seeds(train, known["components_per_client"], streams.generator("seeds"))
    estimator, chosen = fit_method(method, train, known, setting)
    labels = test.split(data.labels[problem["test"]])
    return Outcome.of(estimator, score(estimator, test, labels, setting.clusters) | chosen)


def score(
    estimator: FederatedEstimator,
    test: Clients,
    labels: Sequence[IntArray],
    clusters: str = "own_estimate",
    weights: IntArray | None = None,
) -> dict[str, float]:
    """Score a fitted method on all points together and by the mean over clients.

    If a method's clients keep their own components, the number of clusters is the method's own
    estimate. ``clusters`` defines it for other methods, see :class:`Settings`. ``weights`` are the
    clients' weights in the mean; equal by default.
    """
    from fedmix.experiments.clustering import clustering_scores, labels_of, number_of_clusters

    own, together = labels_of(estimator, test)
    estimated = together is not own or clusters == "own_estimate"
    n_clusters = number_of_clusters(own, estimator if estimated else None)
    scores = clustering_scores(test, labels, own, together, weights)
    return scores | {"n_clusters": float(n_clusters)}

"""Mis-clustering on real data in federated clients: Tables 1-3 and 6-8 of the FedGrEM paper.

Settings: ``partition`` ("group" or "uniform"), ``n_clients``, ``n_contaminated``,
``contaminated`` ("last", the default, or "random"), ``contamination`` (a kind),
``train_fraction``, ``scaling``, ``initialization``, ``n_components``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmix.clients import Clients, offsets_of
from fedmix.errors import ConfigurationError
from fedmix.experiments.base import Method, Outcome
from fedmix.initialization import aligned_initial_values
from fedmix.metrics.mixture import misclustering
from fedmix.partition import (
    by_group,
    choose_contaminated,
    contaminate,
    scale,
    train_test_split,
    uniform,
)
from fedmix.streams import Streams

if TYPE_CHECKING:
    from fedmix.data import Dataset

Arrays = dict[str, np.ndarray]


def make_problem(setting: Mapping[str, Any], data: Dataset, streams: Streams) -> Arrays:
    """Choose every client's rows for training and testing, and the contaminated clients."""
    rng = streams.generator("partition")
    rows = _rows_of_clients(setting, data, rng)
    train, test = train_test_split(rows, setting["train_fraction"], rng)
    contaminated = choose_contaminated(
        len(rows),
        setting["n_contaminated"],
        streams.generator("contaminated clients"),
        setting.get("contaminated", "last"),
    )
    return {
        "train": np.concatenate(train),
        "train_offsets": offsets_of([len(own) for own in train]),
        "test": np.concatenate(test),
        "test_offsets": offsets_of([len(own) for own in test]),
        "contaminated": contaminated,
    }


def initial_values(
    setting: Mapping[str, Any], problem: Arrays, data: Dataset, streams: Streams
) -> Arrays:
    """Fit every client alone and align the labels across clients."""
    train, _ = clients_of(setting, problem, data, streams)
    weights, means = aligned_initial_values(
        train,
        setting["n_components"],
        setting["initialization"],
        random_state=streams.integer("initial values"),
    )
    return {"weights": weights, "means": means}


def run(
    method: Method,
    setting: Mapping[str, Any],
    problem: Arrays,
    initial: Arrays,
    data: Dataset,
    streams: Streams,
) -> Outcome:
    """Fit one method on the training data; the score is a mean over good clients' test data."""
    train, test = clients_of(setting, problem, data, streams)
    estimator = method.fit(
        train,
        n_components=setting["n_components"],
        init=(initial["weights"], initial["means"]),
        random_state=streams.integer(f"method {method.estimator}"),
    )
    labels = test.split(data.labels[problem["test"]])
    predicted = estimator.predict(test)
    good = np.setdiff1d(np.flatnonzero(test.sizes), problem["contaminated"])
    errors = [misclustering(labels[k], predicted[k]) for k in good]
    return Outcome.of(estimator, {"misclustering": float(np.mean(errors))})


def clients_of(
    setting: Mapping[str, Any], problem: Arrays, data: Dataset, streams: Streams
) -> tuple[Clients, Clients]:
    """Return the clients' training data, some contaminated, and their clean test data.

    Clients are scaled first: a contaminated client would otherwise undo its contamination by
    standardising itself.
    """
    train = Clients(data.features[problem["train"]], problem["train_offsets"])
    test = Clients(data.features[problem["test"]], problem["test_offsets"])
    train, test = scale(train, test, setting["scaling"], streams.generator("jitter"))
    contaminated = contaminate(
        train,
        problem["contaminated"],
        setting["contamination"],
        streams.generator("contamination"),
        labels=data.labels[problem["train"]],
    )
    return contaminated, test


def _rows_of_clients(
    setting: Mapping[str, Any], data: Dataset, rng: np.random.Generator
) -> list[np.ndarray]:
    if setting["partition"] == "uniform":
        return uniform(len(data.features), setting["n_clients"], rng)
    if data.groups is None:
        raise ConfigurationError(
            f"Data set {data.name!r} has no groups, so it cannot be partitioned by group; "
            "use partition: uniform."
        )
    rows = by_group(data.groups)
    if len(rows) != setting["n_clients"]:
        raise ConfigurationError(
            f"Data set {data.name!r} has {len(rows)} groups, but n_clients is "
            f"{setting['n_clients']}."
        )
    return rows

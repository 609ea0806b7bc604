"""Mis-clustering on real data in federated clients: Tables 1-3 and 6-8 of the FedGrEM paper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients, offsets_of
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.settings.base import ALIGNMENTS
from fedmix.experiments.settings.real_clustering import Settings
from fedmix.experiments.units import in_numbers
from fedmix.initialization import align_fits, initialize
from fedmix.metrics.mixture import misclustering
from fedmix.partition import (
    by_group,
    choose_contaminated,
    contaminate,
    scale,
    train_test_split,
    uniform,
)
from fedmix.selection import choose_penalty
from fedmix.streams import Streams

if TYPE_CHECKING:
    from fedmix.data import Dataset
    from fedmix.methods.base import FederatedEstimator

Arrays = dict[str, np.ndarray]


def make_problem(setting: Settings, data: Dataset, streams: Streams) -> Arrays:
    """Choose every client's rows for training and testing, and the contaminated clients."""
    rng = streams.generator("partition")
    rows = _rows_of_clients(setting, data, rng)
    train, test = train_test_split(rows, setting.train_fraction, rng)
    contaminated = choose_contaminated(
        len(rows),
        setting.n_contaminated,
        streams.generator("contaminated clients"),
        setting.contaminated,
    )
    return {
        "train": np.concatenate(train),
        "train_offsets": offsets_of([len(own) for own in train]),
        "test": np.concatenate(test),
        "test_offsets": offsets_of([len(own) for own in test]),
        "contaminated": contaminated,
    }


def initial_values(setting: Settings, problem: Arrays, data: Dataset, streams: Streams) -> Arrays:
    """Fit every client alone and align the labels across clients."""
    train, _ = clients_of(setting, problem, data, streams)
    return shared_start(
        train, setting.n_components, setting.initialization, streams, setting.alignment
    )


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


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: Dataset,
    streams: Streams,
) -> Outcome:
    """Fit one method on the training data; the score is a mean over good clients' test data."""
    clean, test = scaled_clients(setting, problem, data, streams)
    train = _contaminated(clean, setting, problem, data, streams)
    method = replace(method, parameters=in_numbers(method.parameters, clean))
    known = {
        "n_components": setting.n_components,
        "random_state": streams.integer(f"method {method.estimator}"),
        "starts": {"mixtures": (initial["weights"], initial["means"])},
    }
    if method.parameters.get("penalty_scale") == "held-out":
        # The shared initial values have seen all points, those that would be held out included.
        own_start = method.build(known).set_params(init=setting.initialization)
        chosen = choose_penalty(own_start, train)
        method = replace(method, parameters={**method.parameters, "penalty_scale": chosen})
    estimator = method.fit(train, known)
    return Outcome.of(estimator, {"misclustering": error_of(estimator, test, problem, data)})


def error_of(estimator: FederatedEstimator, test: Clients, problem: Arrays, data: Dataset) -> float:
    """Return the mean mis-clustering rate of good clients' test data."""
    labels, predicted = test.split(data.labels[problem["test"]]), estimator.predict(test)
    good = good_clients(test, problem)
    return float(np.mean([misclustering(labels[k], predicted[k]) for k in good]))


def good_clients(test: Clients, problem: Arrays) -> NDArray[np.int64]:
    """Return the clients that are scored: not contaminated, and with data to test on."""
    return np.setdiff1d(np.flatnonzero(test.sizes), problem["contaminated"])


def clients_of(
    setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> tuple[Clients, Clients]:
    """Return the clients' training data, some contaminated, and their clean test data.

    Clients are scaled first: a contaminated client would otherwise undo its contamination by
    standardising itself.
    """
    clean, test = scaled_clients(setting, problem, data, streams)
    return _contaminated(clean, setting, problem, data, streams), test


def scaled_clients(
    setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> tuple[Clients, Clients]:
    """Return the clients' training and test data, all of them clean."""
    train = Clients(data.features[problem["train"]], problem["train_offsets"])
    test = Clients(data.features[problem["test"]], problem["test_offsets"])
    return scale(train, test, setting.scaling, streams.generator("jitter"))


def _contaminated(
    train: Clients, setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> Clients:
    return contaminate(
        train,
        problem["contaminated"],
        setting.contamination,
        streams.generator("contamination"),
        labels=data.labels[problem["train"]],
    )


def _rows_of_clients(
    setting: Settings, data: Dataset, rng: np.random.Generator
) -> list[np.ndarray]:
    if setting.partition == "uniform":
        if setting.assignment is not None:
            rng = Streams("assignment", setting.dataset, setting.assignment).generator("partition")
        return uniform(len(data.features), setting.n_clients, rng)
    assert data.groups is not None  # as the registry promised when the run was planned
    return by_group(data.groups)

"""When does federation pay? A method's error against that of its own fit without exchange.

A client's fit without exchange is the method's fit to a federation that has no other client: the
same model, the same start, the same steps. It is defined for every method, new ones included. What
has to be tuned is chosen without labels, once, on all clients, for the fits together and alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.federated_clustering import known_numbers
from fedmix.experiments.matrix import starts_of, tuned
from fedmix.experiments.real_clustering import shared_start
from fedmix.experiments.settings.federation import Settings
from fedmix.experiments.settings.federation_data import Settings as OnData
from fedmix.metrics.federation import federation_gain
from fedmix.metrics.mixture import misclustering
from fedmix.simulate.mixtures import draw_points, draw_truth
from fedmix.streams import Streams

Arrays = dict[str, np.ndarray]

_NOTICED = 0.01  # of the points: test points are too few for less


def make_problem(setting: Settings, data: None, streams: Streams) -> Arrays:
    """Draw the clients' training and test points."""
    truth = draw_truth(
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
    train, _ = draw_points(streams.generator("train"), truth, setting.n_points)
    test, labels = draw_points(streams.generator("test"), truth, setting.n_test)
    return {
        "train": train.points,
        "train_offsets": train.offsets,
        "test": test.points,
        "test_offsets": test.offsets,
        "test_labels": np.concatenate(labels),
        "means": truth.means,
    }


def initial_values(setting: Settings, problem: Arrays, data: None, streams: Streams) -> Arrays:
    """Fit every client alone and align the labels across clients."""
    train = Clients(problem["train"], problem["train_offsets"])
    return shared_start(train, setting.n_components, setting.initialization, streams)


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method, to all clients and to each one; scores are those of good clients."""
    train = Clients(problem["train"], problem["train_offsets"])
    test = Clients(problem["test"], problem["test_offsets"])
    components = [setting.n_components] * setting.n_clients
    known = known_of(method, setting, train, components, initial, streams)
    good = np.arange(setting.n_clients - setting.n_contaminated)
    return compare_with_alone(method, train, test, test.split(problem["test_labels"]), good, known)


def known_of(
    method: Method,
    setting: Settings | OnData,
    train: Clients,
    components_per_client: Sequence[int],
    initial: Arrays,
    streams: Streams,
) -> dict[str, Any]:
    """Return what a method may be told, and what was chosen for it."""
    scales, start = setting.final_radius_scale, setting.initialization
    known = {
        **known_numbers(setting.n_components, components_per_client),
        "max_rounds": setting.max_rounds,
        "tol": setting.tol,
        "random_state": streams.integer(f"method {method.estimator}"),
    }
    known |= tuned(method, train, known, scales, start)
    known["starts"] = starts_of(method, train, initial, components_per_client, start, streams)
    return known


def compare_with_alone(
    method: Method,
    train: Clients,
    test: Clients,
    labels: Sequence[NDArray[np.int64]],
    good: NDArray[np.int64],
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
        What methods may be told, of all clients: see :func:`known_of`.
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

"""When does federation pay? Clients that each hold a mixture of regressions.

As :mod:`fedmix.experiments.federation`, by the methods whose family may be regressions; the
components of fresh points are told from their responses as well.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedmix.clients import Clients
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.federation import compare_with_alone, known_of
from fedmix.experiments.real_clustering import shared_start
from fedmix.experiments.settings.federation_regression_mixture import Settings
from fedmix.simulate.mixtures import draw_points, draw_truth
from fedmix.streams import Streams

Arrays = dict[str, np.ndarray]


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
    problem: Arrays = {}
    for part, n_points in (("train", setting.n_points), ("test", setting.n_test)):
        drawn, labels = draw_points(streams.generator(part), truth, n_points, "regression")
        assert drawn.responses is not None  # a regression has them
        problem[part] = drawn.points
        problem[f"{part}_offsets"] = drawn.offsets
        problem[f"{part}_responses"] = drawn.responses
        problem[f"{part}_labels"] = np.concatenate(labels)
    return problem


def initial_values(setting: Settings, problem: Arrays, data: None, streams: Streams) -> Arrays:
    """Fit every client alone and align the labels across clients."""
    return shared_start(
        _clients(problem, "train"),
        setting.n_components,
        setting.initialization,
        streams,
        family="regression",
    )


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method, to all clients and to each one; scores are those of good clients."""
    train, test = _clients(problem, "train"), _clients(problem, "test")
    method = replace(method, parameters={"family": "regression", **method.parameters})
    components = [setting.n_components] * setting.n_clients
    known = known_of(method, setting, train, components, initial, streams)
    good = np.arange(setting.n_clients - setting.n_contaminated)
    return compare_with_alone(method, train, test, test.split(problem["test_labels"]), good, known)


def _clients(problem: Arrays, part: str) -> Clients:
    return Clients(problem[part], problem[f"{part}_offsets"], problem[f"{part}_responses"])

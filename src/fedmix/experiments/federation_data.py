"""When does federation help on real data? See :mod:`fedmix.experiments.federation`.

The data, clients, contamination and shared initial values are those of
:mod:`fedmix.experiments.matrix`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmix.experiments import federation, matrix
from fedmix.experiments.base import Arrays, Method, Outcome
from fedmix.experiments.real_clustering import clients_of

if TYPE_CHECKING:
    from fedmix.data.dataset import Dataset
    from fedmix.streams import Streams


class Settings(matrix.Settings):
    """The settings of `matrix`."""


METRICS = federation.METRICS

make_problem = matrix.make_problem
initial_values = matrix.initial_values


def run(
    method: Method, setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> Outcome:
    """Fit one method to all clients and to each client alone, and score the good clients."""
    from fedmix.experiments.clustering import classes_of_clients, good_clients, known_of

    train, test = clients_of(setting, problem, data, streams)
    known = known_of(method, setting, train, classes_of_clients(problem, data), problem, streams)
    good = good_clients(test, problem)
    labels = test.split(data.labels[problem["test"]])
    return federation.compare_with_alone(method, train, test, labels, good, known)

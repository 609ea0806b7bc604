"""When does federation pay on real data? As :mod:`fedmix.experiments.federation`.

Data, clients, contamination and the shared initial values are those of
:mod:`fedmix.experiments.matrix`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.federation import compare_with_alone, known_of
from fedmix.experiments.matrix import classes_of_clients, initial_values, make_problem
from fedmix.experiments.real_clustering import clients_of, good_clients
from fedmix.experiments.settings.federation_data import Settings
from fedmix.streams import Streams

if TYPE_CHECKING:
    from fedmix.data import Dataset

__all__ = ["initial_values", "make_problem", "run"]

Arrays = dict[str, np.ndarray]


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: Dataset,
    streams: Streams,
) -> Outcome:
    """Fit one method, to all clients and to each one; scores are those of good clients."""
    train, test = clients_of(setting, problem, data, streams)
    known = known_of(method, setting, train, classes_of_clients(problem, data), initial, streams)
    good = good_clients(test, problem)
    labels = test.split(data.labels[problem["test"]])
    return compare_with_alone(method, train, test, labels, good, known)

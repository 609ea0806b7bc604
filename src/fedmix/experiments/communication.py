"""Error against communication: what a method has reached after so many floats.

A method that iterates is fitted again for each of some numbers of rounds, from the same start and
with the same random numbers: a shorter fit is the beginning of a longer one. No method has to keep
a history for it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.federation import initial_values, known_of, make_problem
from fedmix.experiments.settings.communication import Settings
from fedmix.methods.base import FederatedEstimator, all_constraints
from fedmix.methods.constraints import violation
from fedmix.metrics.matching import bottleneck
from fedmix.streams import Streams

__all__ = ["initial_values", "make_problem", "run"]

Arrays = dict[str, np.ndarray]

_NEAR = 1.05


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method for each number of rounds; a one-shot method once."""
    train = Clients(problem["train"], problem["train_offsets"])
    components = [setting.n_components] * setting.n_clients
    known = known_of(method, setting, train, components, initial, streams) | {"tol": 0.0}
    fitted = [fit.fit(train, known) for fit in _shorter(method, setting.stops)]
    truth = problem["means"][: setting.n_clients - setting.n_contaminated]
    errors = np.array([_means_error(own, truth) for own in fitted])
    floats = np.array([sum(own.communication_.values()) for own in fitted], dtype=float)
    rounds = np.array([own.n_rounds_ for own in fitted])
    near = int(np.argmax(errors <= _NEAR * errors[-1]))
    metrics = {
        "means_error": errors[-1],
        "floats_near_final": floats[near],
        "rounds_near_final": float(rounds[near]),
    }
    by_round = {
        "means_error": _held(errors, rounds),
        "floats": _held(floats, rounds),
    }
    return Outcome.of(fitted[-1], metrics, by_round)


def _shorter(method: Method, stops: list[int]) -> list[Method]:
    """Return a method that iterates once for each number of rounds that it takes."""
    allowed = all_constraints(method.kind).get("max_rounds")
    if allowed is None:
        return [method]
    return [
        replace(method, parameters={**method.parameters, "max_rounds": stop})
        for stop in stops
        if not violation(method.name, "max_rounds", stop, allowed)
    ]


def _held(values: NDArray, rounds: NDArray[np.int64]) -> NDArray:
    """Return one value a round: the last one seen, the first where none was."""
    seen = np.searchsorted(rounds, np.arange(rounds[-1] + 1), side="right") - 1
    return values[np.maximum(seen, 0)]


def _means_error(estimator: FederatedEstimator, truth: NDArray) -> float:
    """Return the mean over clients of the largest error of a mean, under the best matching.

    A method whose clients share their centres is scored with these at every client.
    """
    means = getattr(estimator, "means_", None)
    if means is None:
        means = [estimator.cluster_centers_] * len(truth)  # type: ignore[attr-defined]
    errors = [
        bottleneck(np.linalg.norm(own[:, None] - true, axis=2))
        for own, true in zip(means, truth, strict=False)  # contaminated clients have no truth
    ]
    return float(np.mean(errors))

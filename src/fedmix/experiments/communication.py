"""Error against communication: what a method has reached after so many floats.

A method that iterates is fitted again for each of some numbers of rounds, from the same start and
with the same random numbers: a shorter fit is the beginning of a longer one. No method has to keep
a history for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fedmix.experiments import federation
from fedmix.experiments.base import Arrays, Method, Outcome
from fedmix.experiments.settings import Number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmix.methods.base import FederatedEstimator
    from fedmix.streams import Streams


class Settings(federation.Settings):
    """Those of `federation`; `max_rounds` and `tol` are left out of account."""

    stops: Annotated[list[Number], Field(min_length=2)]
    """Rounds, ascending, after which a method that iterates is looked at; after 0 it is the start,
    which a method is not asked for that has no fit of none."""


METRICS = {
    "means_error": "Mean over good clients of the largest error of a mean, by round as well.",
    "floats": "Floats sent up and down by all clients; by round only.",
    "floats_near_final": "Floats sent until the error is first within 5 % of its last value.",
    "rounds_near_final": "Rounds until it is.",
}

_NEAR = 1.05

make_problem = federation.make_problem
initial_values = federation.initial_values


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method for each number of rounds; a one-shot method once."""
    import numpy as np

    from fedmix.experiments.clustering import clients_in, known_of

    train = clients_in(problem, "train")
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
    # One value a round: the last one seen, the first where none was.
    seen = np.searchsorted(rounds, np.arange(rounds[-1] + 1), side="right") - 1
    held = np.maximum(seen, 0)
    return Outcome.of(fitted[-1], metrics, {"means_error": errors[held], "floats": floats[held]})


def _shorter(method: Method, stops: list[int]) -> list[Method]:
    """Return a method that iterates once for each number of rounds that it takes."""
    from fedmix.methods.base import all_constraints
    from fedmix.methods.constraints import violation

    allowed = all_constraints(method.kind).get("max_rounds")
    if allowed is None:
        return [method]
    return [
        replace(method, parameters={**method.parameters, "max_rounds": stop})
        for stop in stops
        if not violation(method.name, "max_rounds", stop, allowed)
    ]


def _means_error(estimator: FederatedEstimator, truth: NDArray) -> float:
    """Return the mean over clients of the largest error of a mean, under the best matching.

    A method whose clients share their centres is scored with these at every client.
    """
    import numpy as np

    from fedmix.metrics.matching import bottleneck

    means = getattr(estimator, "means_", None)
    if means is None:
        means = [estimator.cluster_centers_] * len(truth)  # type: ignore[attr-defined]
    errors = [
        bottleneck(np.linalg.norm(own[:, None] - true, axis=2))
        for own, true in zip(means, truth, strict=False)  # contaminated clients have no truth
    ]
    return float(np.mean(errors))

"""Error against communication: a method's error after a given number of floats.

An iterative method is fitted again for each of several numbers of rounds, from the same start and
with the same random numbers. A shorter fit is therefore the beginning of a longer one, and methods
need not keep a history.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fedmix.experiments import federation
from fedmix.experiments.base import Arrays, Method, Outcome, clients_in
from fedmix.experiments.settings import Number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmix.methods.base import FederatedEstimator
    from fedmix.streams import Streams


class Settings(federation.Settings):
    """The settings of `federation`. `max_rounds` and `tol` are not used."""

    stops: Annotated[list[Number], Field(min_length=2)]
    """Numbers of rounds, ascending, after which an iterative method is scored. 0 scores its start
    and is skipped if the method cannot run 0 rounds."""


METRICS = {
    "means_error": "Mean over good clients of the largest error of a mean, also by round.",
    "floats": "Number of floats sent up and down by all clients, by round only.",
    "floats_near_final": "Number of floats sent until the error is first within 5 % of its last "
    "value.",
    "rounds_near_final": "Number of rounds until the error is first within 5 % of its last value.",
}

_NEAR = 1.05

make_problem = federation.make_problem
initial_values = federation.initial_values


def run(
    method: Method, setting: Settings, problem: Arrays, data: None, streams: Streams
) -> Outcome:
    """Fit one method for each number of rounds, and a one-shot method once."""
    import numpy as np

    from fedmix.experiments.clustering import known_of

    train = clients_in(problem, "train")
    components = [setting.n_components] * setting.n_clients
    known = known_of(method, setting, train, components, problem, streams) | {"tol": 0.0}
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
    # One value per round: that of the last stop, or of the first stop before it.
    seen = np.searchsorted(rounds, np.arange(rounds[-1] + 1), side="right") - 1
    held = np.maximum(seen, 0)
    return Outcome.of(fitted[-1], metrics, {"means_error": errors[held], "floats": floats[held]})


def _shorter(method: Method, stops: list[int]) -> list[Method]:
    """Return one method for each valid number of rounds; a one-shot method only once."""
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

    If a method's clients share their centres, the centres are scored at every client.
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

"""Estimation errors whose rates are predicted by theory, for FedGrEM's corollaries and FedGEM.

The start is as the theory requires: at a given distance from the truth, with labels that are
shuffled and then aligned as in FedGrEM.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any

from fedmix.experiments.base import Arrays, Method, Outcome, arrays_of, clients_in
from fedmix.experiments.settings import (
    MixtureSettings,
    Model,
    NotNegative,
    Number,
    Positive,
    Stopping,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fedmix.clients import Clients
    from fedmix.methods.base import FederatedEstimator
    from fedmix.simulate.mixtures import Truth
    from fedmix.streams import Streams


class Settings(MixtureSettings, Stopping):
    """Simulated mixtures, with the symbols of FedGrEM's theory."""

    model: Model
    """Gaussian mixture, or mixture of regressions."""
    start_error: NotNegative
    """Distance between the initial and the true means, in units of the separation."""
    traced_rounds: Number = 0
    """Number of rounds whose error is recorded."""
    rho: Positive | None = None
    """Privacy parameter per round, for private methods (Theorem 9 of the FedGEM paper)."""


METRICS = {
    "means_error": "Largest error of a good client's means, or coefficients, also by round.",
    "weights_error": "Largest error of a good client's mixing weights.",
    "aligned": "1 if the good clients' labels are aligned, otherwise 0.",
    "theorem_c2": "1 if the condition of FedGrEM's Theorem C.2 holds, otherwise 0.",
    "theorem_c4": "1 if the condition of FedGrEM's Theorem C.4 holds, otherwise 0.",
    "theory_holds": "1 if Assumption 3.7 of FedGrEM (3.10 for regressions) holds with all "
    "constants 1, otherwise 0.",
}


def make_problem(setting: Settings, data: None, streams: Streams) -> Arrays:
    """Draw the truth, the clients' points and the start that the methods share."""
    from fedmix.experiments.clustering import truth_of
    from fedmix.simulate.mixtures import draw_points

    truth = truth_of(setting, streams)
    clients, _ = draw_points(streams.generator("data"), truth, setting.n_points, setting.model)
    problem = {**arrays_of("train", clients), "weights": truth.weights, "means": truth.means}
    return problem | _start(setting, truth.means, streams.generator("start"))


def _start(setting: Settings, means: NDArray, rng: np.random.Generator) -> Arrays:
    """Draw the start at its distance from the truth, and shuffle and align its labels."""
    import numpy as np

    from fedmix.alignment import align

    directions = rng.standard_normal(means.shape)
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    start = means + setting.start_error * setting.separation * directions
    order = np.array([rng.permutation(setting.n_components) for _ in means])
    start = np.take_along_axis(start, order[..., None], axis=1)
    found = align(start)
    return {
        "start": np.take_along_axis(start, found[..., None], axis=1),
        # The true component of each label.
        "start_labels": np.take_along_axis(order, found, axis=1),
    }


def run(
    method: Method, setting: Settings, problem: Arrays, data: None, streams: Streams
) -> Outcome:
    """Fit one method. Its errors are the largest over the good clients."""
    from fedmix.simulate.mixtures import Truth

    clients = clients_in(problem, "train")
    n_good = setting.n_clients - setting.n_contaminated
    truth = Truth(problem["weights"], problem["means"], n_good)
    known = _known(method, setting, problem, streams)
    estimator = method.fit(clients, known)
    weights_error, means_error = _errors(estimator, truth)
    metrics = {
        "means_error": means_error,
        "weights_error": weights_error,
        "theory_holds": float(_theory_holds(setting)),
        **_alignment(setting, problem, truth),
    }
    return Outcome.of(estimator, metrics, _trace(method, setting, clients, known, truth))


def _theory_holds(setting: Settings) -> bool:
    """Return whether FedGrEM's Assumption 3.7 (3.10 for regressions) holds with constants 1.

    Regressions need a stronger signal: Delta >= R^3 + R^2 (log Delta)^(3/2). Delta is taken as the
    distance between the centres, from which that between a client's means can differ by 2 h.
    """
    import numpy as np

    from fedmix.theory import assumption_holds

    signal = setting.separation
    strong = setting.n_components**3 + setting.n_components**2 * np.log(signal) ** 1.5
    return (setting.model == "gaussian" or signal >= strong) and assumption_holds(
        setting.n_points, setting.n_clients, setting.n_features, setting.n_components, signal
    )


def _known(method: Method, setting: Settings, problem: Arrays, streams: Streams) -> dict[str, Any]:
    """Return the values that methods can take."""
    import numpy as np

    from fedmix.experiments.clustering import known_numbers

    start = problem["start"]
    known: dict[str, Any] = {
        **known_numbers(setting.n_components, [setting.n_components] * setting.n_clients),
        "family": setting.model,
        "max_rounds": setting.max_rounds,
        "tol": setting.tol,
        "random_state": streams.integer(f"method {method.estimator}"),
        "starts": {
            "mixtures": (np.full(start.shape[:2], 1.0 / setting.n_components), start),
            "means": list(start),
        },
    }
    if setting.rho is not None:
        # Almost all points lie within B_x. A component has at least half its share of the points.
        length = setting.separation + 2 * sqrt(setting.n_features)
        mass = setting.n_points / setting.n_components / 2
        known["privacy"] = {"rho": setting.rho, "mu": 0.01, "B_x": length, "B_gamma": mass}
    return known


def _errors(estimator: FederatedEstimator, truth: Truth) -> tuple[float, float]:
    """Return the largest errors of the good clients' weights and means."""
    from fedmix.metrics.matching import estimation_error

    good = slice(truth.n_good)
    return estimation_error(
        estimator.weights_[good],  # type: ignore[attr-defined]
        estimator.means_[good],  # type: ignore[attr-defined]
        truth.weights[good],
        truth.means[good],
    )


def _trace(
    method: Method, setting: Settings, clients: Clients, known: Mapping[str, Any], truth: Truth
) -> dict[str, NDArray]:
    """Return the error after each of the first rounds, by fits that stop early."""
    import numpy as np

    if not setting.traced_rounds:
        return {}
    fits = (
        replace(method, parameters={**method.parameters, "max_rounds": most, "tol": 0.0})
        for most in range(setting.traced_rounds + 1)
    )
    errors = [_errors(fit.build(known).fit(clients), truth)[1] for fit in fits]
    return {"means_error": np.array(errors)}


def _alignment(setting: Settings, problem: Arrays, truth: Truth) -> dict[str, float]:
    from scipy.spatial.distance import pdist

    from fedmix.theory import alignment_conditions

    labels, means = problem["start_labels"][: truth.n_good], truth.means[: truth.n_good]
    c2, c4 = alignment_conditions(
        min(pdist(own).min() for own in means),
        setting.h,
        setting.start_error * setting.separation,
        setting.n_clients,
        setting.n_contaminated,
    )
    return {
        "aligned": float((labels == labels[0]).all()),
        "theorem_c2": float(c2),
        "theorem_c4": float(c4),
    }

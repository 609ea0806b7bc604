"""Estimation error on the FedGrEM paper's simulated mixtures: Figure 3, Tables 4 and 5.

Settings: ``model``, ``h``, ``n_clients``, ``n_points``, ``outlier`` (a mapping by model),
``initialization`` and ``density_floor`` (mappings by model), ``max_rounds`` and ``tol``.
"""

from __future__ import annotations

import numpy as np

from fedmix.clients import Clients
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.settings.mixture_simulation import Settings
from fedmix.initialization import aligned_initial_values
from fedmix.metrics.mixture import estimation_error
from fedmix.simulate.fedgrem import CENTRES, signal_to_noise, simulate_mixture
from fedmix.streams import Streams

Arrays = dict[str, np.ndarray]


def make_problem(setting: Settings, data: None, streams: Streams) -> Arrays:
    """Draw the clients; the last one is the outlier."""
    model = setting.model
    drawn = simulate_mixture(
        model,
        setting.h,
        streams.generator("data"),
        n_clients=setting.n_clients,
        n_points=setting.n_points.of(model),
        outlier=setting.outlier.of(model).model_dump(),
    )
    arrays = {
        "points": drawn.clients.points,
        "offsets": drawn.clients.offsets,
        "weights": drawn.weights,
        "means": drawn.means,
    }
    if drawn.clients.responses is not None:
        arrays["responses"] = drawn.clients.responses
    return arrays


def initial_values(setting: Settings, problem: Arrays, data: None, streams: Streams) -> Arrays:
    """Fit every client alone and align the labels across clients (Section C)."""
    weights, means = aligned_initial_values(
        _clients(problem),
        len(CENTRES),
        setting.initialization.of(setting.model),
        family=setting.model,
        random_state=streams.integer("initial values"),
    )
    return {"weights": weights, "means": means}


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method; errors are the largest over the good clients."""
    known = {
        "n_components": len(CENTRES),
        "family": setting.model,
        "density_floor": setting.density_floor.of(setting.model),
        "max_rounds": setting.max_rounds,
        "tol": setting.tol,
        "random_state": streams.integer(f"method {method.estimator}"),
        "starts": {"mixtures": (initial["weights"], initial["means"])},
    }
    estimator = method.fit(_clients(problem), known)
    good = len(problem["weights"])
    weights_error, means_error = estimation_error(
        estimator.weights_[:good], estimator.means_[:good], problem["weights"], problem["means"]
    )
    return Outcome.of(
        estimator,
        {
            "weights_error": weights_error,
            "means_error": means_error,
            "snr": signal_to_noise(problem["means"]),
        },
    )


def _clients(problem: Arrays) -> Clients:
    return Clients(problem["points"], problem["offsets"], problem.get("responses"))

"""Estimation error on the FedGrEM paper's simulated mixtures: Figure 3, Tables 4 and 5.

Settings: ``model``, ``h``, ``n_clients``, ``n_points``, ``outlier`` (a mapping by model),
``initialization`` and ``density_floor`` (mappings by model), ``alignment``, ``log_errors``,
``max_rounds`` and ``tol``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from fedmix.clients import Clients
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.settings.base import ALIGNMENTS
from fedmix.experiments.settings.mixture_simulation import Settings
from fedmix.initialization import align_fits, initialize
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
    clients, seed = _clients(problem), streams.integer("initial values")
    strategy = setting.initialization.of(setting.model)
    weights, means = initialize(clients, len(CENTRES), strategy, setting.model, seed)
    if setting.alignment in ALIGNMENTS:
        search = ALIGNMENTS[setting.alignment]
        weights, means = align_fits(clients, weights, means, random_state=seed, **search)
    elif setting.alignment == "truth":
        for k, true_means in enumerate(problem["means"]):  # the outlier has none
            order = linear_sum_assignment(cdist(true_means, means[k]))[1]
            weights[k], means[k] = weights[k][order], means[k][order]
    return {"weights": weights, "means": means}


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method; errors are the largest over the good clients.

    A method whose ``init`` is configured as None runs the setting's strategy itself.
    """
    strategy = setting.initialization.of(setting.model)
    if method.parameters.get("init", strategy) is None:
        method = replace(method, parameters={**method.parameters, "init": strategy})
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
    errors = {"weights_error": weights_error, "means_error": means_error}
    if setting.log_errors:
        errors = {name: float(np.log(error)) for name, error in errors.items()}
    return Outcome.of(estimator, {**errors, "snr": signal_to_noise(problem["means"])})


def _clients(problem: Arrays) -> Clients:
    return Clients(problem["points"], problem["offsets"], problem.get("responses"))

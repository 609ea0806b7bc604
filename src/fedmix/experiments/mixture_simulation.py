"""Estimation error on the FedGrEM paper's simulated mixtures: Figure 3, Tables 4 and 5."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from fedmix.experiments.base import Arrays, Method, Outcome, arrays_of, clients_in
from fedmix.experiments.settings import (
    ALIGNMENTS,
    Alignment,
    Count,
    Declared,
    ExperimentSettings,
    GaussianStart,
    Model,
    NotNegative,
    Positive,
    RegressionStart,
    Stopping,
)

if TYPE_CHECKING:
    from fedmix.streams import Streams


class ByModel(Declared):
    """One value for each model."""

    def of(self, model: Model) -> Any:
        """Return the value for a model."""
        return getattr(self, model)


class Sizes(ByModel):
    """Numbers of points by model."""

    gaussian: Count
    regression: Count


class GaussianOutlier(Declared):
    """A normal distribution with the same mean in all features."""

    mean: float
    variance: Positive


class RegressionOutlier(Declared):
    """A regression with the same coefficient for all features."""

    coefficient: float


class Outliers(ByModel):
    """The outlier client's distribution by model."""

    gaussian: GaussianOutlier
    regression: RegressionOutlier


class Initializations(ByModel):
    """Strategies of `fedmix.initialization` by model."""

    gaussian: GaussianStart
    regression: RegressionStart


class DensityFloors(ByModel):
    """The published program's lower bound on densities, by model; none by default."""

    gaussian: Literal["zeros", "below"] | None = None
    regression: Literal["zeros", "below"] | None = None


class Settings(ExperimentSettings, Stopping):
    """The simulated mixtures of the FedGrEM paper."""

    model: Model
    """Gaussian mixture, or mixture of regressions."""
    h: NotNegative
    """Heterogeneity of the clients."""
    n_clients: Annotated[int, Field(ge=2)]
    """Number of clients, K. The last client is the outlier."""
    n_points: Sizes
    """Number of points per client."""
    outlier: Outliers
    """Distribution of the outlier client's points."""
    initialization: Initializations
    """Strategy for each client's own start, before labels are aligned."""
    alignment: Alignment | Literal["truth", "none"] = "best_of_50_orders"
    """How the labels of the clients' starts are aligned: by a search over orders of the clients, to
    the first client, to the true parameters, or not at all."""
    log_errors: bool = False
    """Whether errors are natural logarithms, as in the captions of the paper's tables."""
    density_floor: DensityFloors
    """Lower bound on weight times density, as in the published program."""


METRICS = {
    "weights_error": "Largest error of a good client's mixing weights.",
    "means_error": "Largest error of a good client's means, or coefficients.",
    "snr": "Signal-to-noise ratio of the true parameters.",
}


def make_problem(setting: Settings, data: None, streams: Streams) -> Arrays:
    """Draw the clients. The last one is the outlier."""
    from fedmix.simulate.fedgrem import simulate_mixture

    model = setting.model
    drawn = simulate_mixture(
        model,
        setting.h,
        streams.generator("data"),
        n_clients=setting.n_clients,
        n_points=setting.n_points.of(model),
        outlier=setting.outlier.of(model).model_dump(),
    )
    return {**arrays_of("train", drawn.clients), "weights": drawn.weights, "means": drawn.means}


def initial_values(setting: Settings, problem: Arrays, data: None, streams: Streams) -> Arrays:
    """Fit every client alone and align the labels across clients (Section C)."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    from fedmix.initialization import align_fits, initialize
    from fedmix.simulate.fedgrem import CENTRES

    clients, seed = clients_in(problem, "train"), streams.integer("initial values")
    strategy = setting.initialization.of(setting.model)
    weights, means = initialize(clients, len(CENTRES), strategy, setting.model, seed)
    if setting.alignment in ALIGNMENTS:
        search = ALIGNMENTS[setting.alignment]
        weights, means = align_fits(clients, weights, means, random_state=seed, **search)
    elif setting.alignment == "truth":
        for k, true_means in enumerate(problem["means"]):  # the outlier has none
            order = linear_sum_assignment(cdist(true_means, means[k]))[1]
            weights[k], means[k] = weights[k][order], means[k][order]
    return {"initial_weights": weights, "initial_means": means}


def run(
    method: Method, setting: Settings, problem: Arrays, data: None, streams: Streams
) -> Outcome:
    """Fit one method. Its errors are the largest over the good clients.

    A method with ``init: null`` in its configuration runs the setting's strategy itself.
    """
    import numpy as np

    from fedmix.metrics.matching import estimation_error
    from fedmix.simulate.fedgrem import CENTRES, signal_to_noise

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
        "starts": {"mixtures": (problem["initial_weights"], problem["initial_means"])},
    }
    estimator = method.fit(clients_in(problem, "train"), known)
    good = len(problem["weights"])
    weights_error, means_error = estimation_error(
        estimator.weights_[:good], estimator.means_[:good], problem["weights"], problem["means"]
    )
    errors = {"weights_error": weights_error, "means_error": means_error}
    if setting.log_errors:
        errors = {name: float(np.log(error)) for name, error in errors.items()}
    return Outcome.of(estimator, {**errors, "snr": signal_to_noise(problem["means"])})

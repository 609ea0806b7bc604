"""When does federation pay? Clients that each follow one of k regressions.

A client's fit without exchange is its own least squares, the model that all the methods fit. Where
it has fewer points than features, that is the solution of smallest norm, where gradient descent
from zero ends, too: the data say nothing of the other directions, and zero is the least risk.

The error is that of the coefficients that a client ends up using. As features are N(0, I), its
square is the excess error of predictions on fresh points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.mixed_regression import clients, known_of, make_problem
from fedmix.experiments.settings.federation_regression import Settings
from fedmix.kernels.regression_maps import rotate
from fedmix.methods.clustered_baselines import local_estimates
from fedmix.metrics.federation import federation_gain
from fedmix.streams import Streams

__all__ = ["make_problem", "run"]

Arrays = dict[str, np.ndarray]


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method to all clients, and least squares to each one; scores are of good clients."""
    train = clients(setting, problem, streams)
    estimator = method.fit(train, known_of(setting, problem, streams))
    good = ~problem["contaminated"]
    truth = problem["models"][problem["labels"]][good]
    used = estimator.models_[estimator.labels_]  # type: ignore[attr-defined]
    with threadpool_limits(limits=1):  # sums in another order would differ in the last bits
        own = local_estimates(rotate(train), ridge=0.0)
    together, alone = _errors(used[good], truth), _errors(own[good], truth)
    metrics = {
        "coefficient_error": float(together.mean()),
        "coefficient_error_alone": float(alone.mean()),
        **federation_gain(together, alone),
    }
    return Outcome.of(estimator, metrics)


def _errors(coefficients: NDArray, truth: NDArray) -> NDArray:
    """Return each client's relative error, of shape (M,)."""
    return np.linalg.norm(coefficients - truth, axis=1) / np.linalg.norm(truth, axis=1)

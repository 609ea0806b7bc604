"""When does federation help? Clients that each follow one of k regressions.

A client's fit without exchange is its own least squares fit, the model that all the methods fit. If
it has fewer points than features, the fit is the solution of smallest norm, at which gradient
descent from zero also ends. The data contain no information on the other directions, and zero has
the smallest risk there.

The error is that of the coefficients that a client uses in the end. Its square is the excess error
of predictions on new points, because the features are N(0, I).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmix.experiments import federation, mixed_regression
from fedmix.experiments.base import Arrays, Method, Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmix.streams import Streams


class Settings(mixed_regression.Settings):
    """The settings of `mixed_regression`."""


METRICS = {
    "coefficient_error": "Mean over good clients of the distance between the coefficients that "
    "they use and the true ones, relative to the norm of the true ones.",
    "coefficient_error_alone": "The same for each client's own least squares fit.",
    **{name: federation.METRICS[name] for name in ("gain", "worst_decile")},
    "harmed": "Share of good clients whose error with federation is larger than alone.",
}

make_problem = mixed_regression.make_problem


def run(
    method: Method, setting: Settings, problem: Arrays, data: None, streams: Streams
) -> Outcome:
    """Fit one method to all clients and least squares to each client; score the good clients."""
    from threadpoolctl import threadpool_limits

    from fedmix.kernels.regression_maps import rotate
    from fedmix.methods.clustered_baselines import local_estimates

    train = mixed_regression.clients(setting, problem, streams)
    estimator = method.fit(train, mixed_regression.known_of(setting, problem, streams))
    good = ~problem["contaminated"]
    truth = problem["models"][problem["labels"]][good]
    used = estimator.models_[estimator.labels_]  # type: ignore[attr-defined]
    with threadpool_limits(limits=1):  # sums in another order would differ in the last bits
        own = local_estimates(rotate(train), ridge=0.0)
    together, alone = _errors(used[good], truth), _errors(own[good], truth)
    metrics = {
        "coefficient_error": float(together.mean()),
        "coefficient_error_alone": float(alone.mean()),
        **federation.federation_gain(together, alone),
    }
    return Outcome.of(estimator, metrics)


def _errors(coefficients: NDArray, truth: NDArray) -> NDArray:
    """Return each client's relative error, of shape (M,)."""
    from numpy.linalg import norm

    return norm(coefficients - truth, axis=1) / norm(truth, axis=1)

"""Clients that each follow one of k regressions (Su, Xu and Yang 2022, Figures 1-3), and beyond."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedmix.clients import Clients
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.settings.mixed_regression import Settings
from fedmix.metrics.matching import clustering_accuracy
from fedmix.metrics.regression import model_errors
from fedmix.simulate.mixed_regression import MixedRegression, draw_clients, draw_truth
from fedmix.streams import Streams
from fedmix.theory import theorem2

Arrays = dict[str, np.ndarray]


def make_problem(setting: Settings, data: None, streams: Streams) -> Arrays:
    """Draw the truth. The points, which are large, are drawn again by every method: see clients."""
    sizes = [setting.points] * setting.n_clients
    sizes += [setting.large_points] * setting.n_large_clients
    truth = draw_truth(
        streams.generator("truth"),
        sizes,
        n_clusters=setting.n_clusters,
        n_features=setting.n_features,
        weights=setting.weights,
        model_norm=setting.model_norm,
        contaminated_share=setting.contaminated_share,
    )
    return vars(truth)


def starting_models(setting: Settings, problem: Arrays, streams: Streams) -> np.ndarray:
    """Draw k random models (k, d) as the paper does, the same ones for every method."""
    k, d = problem["models"].shape
    scale = setting.model_norm / np.sqrt(d)
    return scale * streams.generator("start").standard_normal((k, d))


def clients(setting: Settings, problem: Arrays, streams: Streams) -> Clients:
    """Draw the clients' points, the same ones whenever they are asked for."""
    return draw_clients(
        streams.generator("points"),
        MixedRegression(**problem),
        noise=setting.noise,
        contamination=setting.contamination,
    )


def known_of(setting: Settings, problem: Arrays, streams: Streams) -> dict[str, Any]:
    """Return what a method may be told."""
    start = starting_models(setting, problem, streams)
    return {
        "n_clusters": len(problem["models"]),
        "models": problem["models"],
        "rounds": setting.rounds,
        "learning_rate": setting.learning_rate,
        "n_anchors": setting.n_anchors,
        "random_state": streams.integer("method"),
        "starts": {"models": start, "model": start[0]},
    }


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method; the error of every round is kept."""
    known = known_of(setting, problem, streams)
    estimator = method.fit(clients(setting, problem, streams), known)
    errors = model_errors(estimator.history_["models"], problem["models"])
    good = ~problem["contaminated"]
    metrics = {
        "model_error": errors[-1],
        # What Phase 2 starts from; the other methods' rounds are all of that kind.
        "start_error": errors[getattr(estimator, "phase1_rounds", 0)],
        "clustering_accuracy": clustering_accuracy(
            problem["labels"][good], estimator.labels_[good]
        ),
        **_theory(estimator, setting, problem),
    }
    if hasattr(estimator, "anchors_"):
        reached = np.unique(problem["labels"][estimator.anchors_])
        metrics["clusters_with_anchor"] = len(reached)
    return Outcome.of(estimator, metrics, {"model_error": errors})


def _theory(estimator: Any, setting: Settings, problem: Arrays) -> dict[str, float]:
    """Return the quantities of Theorem 2, for the methods that it speaks of."""
    if not hasattr(estimator, "gamma_"):
        return {}
    found = theorem2(
        problem["sizes"],
        problem["labels"],
        problem["models"],
        setting.noise,
        estimator.learning_rate_,
        estimator.gamma_,
        estimator.local,
        estimator.local_steps,
    )
    names = ("gamma", "kappa", "rho", "chi2", "clustering_error", "deviation", "nu", "rate")
    return {f"theory_{name}": getattr(found, name) for name in names} | {
        "theory_holds": float(found.holds)
    }

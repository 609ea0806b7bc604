"""Clients that each follow one of k regressions: Su, Xu and Yang (2022), Figures 1 to 3."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from fedmix.experiments.base import Arrays, Method, Outcome
from fedmix.experiments.settings import Count, ExperimentSettings, NotNegative, Number, Positive

if TYPE_CHECKING:
    import numpy as np

    from fedmix.clients import Clients
    from fedmix.streams import Streams


class Settings(ExperimentSettings):
    """Clients that each follow one of k regressions."""

    case: str | None = None
    """The paper's name of the setting, used only in figures and claims."""
    n_clients: Number
    """Number of clients with `points` points each."""
    points: Count
    """Number of points of each of these clients."""
    n_large_clients: Number
    """Number of additional clients with `large_points` points each."""
    large_points: Count
    """Number of points of each of these clients."""
    n_clusters: Count
    """Number of clusters, k."""
    n_features: Count
    """Number of features, d."""
    weights: Annotated[list[Positive], Field(min_length=1)] | None
    """Probabilities of the k clusters; equal if null."""
    model_norm: Positive
    """Typical norm of a model."""
    noise: NotNegative
    """Standard deviation of the responses around their model."""
    contamination: Literal["outlier", "gaussian", "shuffled", "shift", "sign_flip"]
    """How the responses of contaminated clients are changed."""
    contaminated_share: Annotated[float, Field(ge=0, le=0.5)]
    """Share of contaminated clients. They are drawn at random, and their number is rounded down."""
    rounds: Count
    """Number of rounds of all methods; for the two-phase method, the rounds of Phase 2."""
    n_anchors: Count | None
    """Number of clients of Phase 1; the method's own rule, ceil(3 k log k), if null."""
    learning_rate: Positive | None
    """Step of local training; the method's own rule, gamma = 1/2, if null."""

    @model_validator(mode="after")
    def _weights_are_probabilities(self) -> Self:
        given = self.weights
        if given and (len(given) != self.n_clusters or abs(sum(given) - 1) > 1e-8):
            raise ValueError(f"weights are {given}: expected {self.n_clusters} that sum to 1")
        return self


METRICS = {
    "model_error": "Distance of the worst model from its true one, also by round.",
    "start_error": "The same at the start of Phase 2, or of a method without phases.",
    "clustering_accuracy": "Share of good clients in their true cluster.",
    "clusters_with_anchor": "Number of clusters with at least one anchor client of Phase 1.",
    "theory_gamma": "Theorem 2: the step times the clients' largest curvature; should be below 1.",
    "theory_kappa": "Theorem 2: stability of local training.",
    "theory_rho": "Theorem 2: share of the points in the smallest cluster.",
    "theory_chi2": "Theorem 2: imbalance of the clients' sizes.",
    "theory_clustering_error": "Theorem 2: expected share of points with a wrong label.",
    "theory_deviation": "Theorem 2: bound on the deviation from that share.",
    "theory_nu": "Theorem 2: the sum of `theory_clustering_error` and `theory_deviation`.",
    "theory_rate": "Theorem 2: contraction of the error per round.",
    "theory_holds": "1 if Theorem 2's condition holds with all constants 1, otherwise 0.",
}


def make_problem(setting: Settings, data: None, streams: Streams) -> Arrays:
    """Draw the true models. :func:`clients` draws the points again for each method."""
    from fedmix.simulate.mixed_regression import draw_truth

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
    """Draw k random models (k, d) as in the paper, the same for every method."""
    k, d = problem["models"].shape
    scale = setting.model_norm / sqrt(d)
    return scale * streams.generator("start").standard_normal((k, d))


def clients(setting: Settings, problem: Arrays, streams: Streams) -> Clients:
    """Draw the clients' points. They are the same at every call and too large to store."""
    from fedmix.simulate.mixed_regression import MixedRegression, draw_clients

    return draw_clients(
        streams.generator("points"),
        MixedRegression(**problem),
        noise=setting.noise,
        contamination=setting.contamination,
    )


def known_of(setting: Settings, problem: Arrays, streams: Streams) -> dict[str, Any]:
    """Return the values that methods can take."""
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
    method: Method, setting: Settings, problem: Arrays, data: None, streams: Streams
) -> Outcome:
    """Fit one method and record its error in every round."""
    from fedmix.metrics.matching import clustering_accuracy, model_errors

    known = known_of(setting, problem, streams)
    estimator = method.fit(clients(setting, problem, streams), known)
    errors = model_errors(estimator.history_["models"], problem["models"])
    good = ~problem["contaminated"]
    metrics = {
        "model_error": errors[-1],
        # The start of Phase 2; all rounds of the other methods are such rounds.
        "start_error": errors[getattr(estimator, "phase1_rounds", 0)],
        "clustering_accuracy": clustering_accuracy(
            problem["labels"][good], estimator.labels_[good]
        ),
        **_theory(estimator, setting, problem),
    }
    if hasattr(estimator, "anchors_"):
        reached = set(problem["labels"][estimator.anchors_].tolist())
        metrics["clusters_with_anchor"] = len(reached)
    return Outcome.of(estimator, metrics, {"model_error": errors})


def _theory(estimator: Any, setting: Settings, problem: Arrays) -> dict[str, float]:
    """Return the quantities of Theorem 2, for the methods to which it applies."""
    from fedmix.theory import theorem2

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

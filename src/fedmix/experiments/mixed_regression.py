"""Clients that each follow one of k regressions (Su, Xu and Yang 2022, Figures 1-3), and beyond."""

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
    """The paper's name of a setting; for figures and claims alone."""
    n_clients: Number
    """Clients with `points` points each."""
    points: Count
    """Points of such a client."""
    n_large_clients: Number
    """Clients beside them, with `large_points` points each."""
    large_points: Count
    """Points of such a client."""
    n_clusters: Count
    """k."""
    n_features: Count
    """d."""
    weights: Annotated[list[Positive], Field(min_length=1)] | None
    """Probabilities of the k clusters; null: equal."""
    model_norm: Positive
    """Typical norm of a model."""
    noise: NotNegative
    """Standard deviation of the responses about their model."""
    contamination: Literal["outlier", "gaussian", "shuffled", "shift", "sign_flip"]
    """What happens to contaminated clients' responses."""
    contaminated_share: Annotated[float, Field(ge=0, le=0.5)]
    """Share of clients that are contaminated, drawn at random and rounded down."""
    rounds: Count
    """Rounds that all methods run; of the two-phase method those of Phase 2."""
    n_anchors: Count | None
    """Clients of Phase 1; null: the method's own rule, ceil(3 k log k)."""
    learning_rate: Positive | None
    """Step of local training; null: the method's own rule, gamma = 1/2."""

    @model_validator(mode="after")
    def _weights_are_probabilities(self) -> Self:
        given = self.weights
        if given and (len(given) != self.n_clusters or abs(sum(given) - 1) > 1e-8):
            raise ValueError(f"weights are {given}: expected {self.n_clusters} that sum to 1")
        return self


METRICS = {
    "model_error": "Distance of the worst model from its true one, by round as well.",
    "start_error": "The same where Phase 2, or a method without phases, starts.",
    "clustering_accuracy": "Share of good clients in their own cluster.",
    "clusters_with_anchor": "Clusters that some anchor client of Phase 1 follows.",
    "theory_gamma": "Theorem 2: the step times the clients' largest curvature, to be below 1.",
    "theory_kappa": "Theorem 2: stability of local training.",
    "theory_rho": "Theorem 2: share of the points in the smallest cluster.",
    "theory_chi2": "Theorem 2: imbalance of the clients' sizes.",
    "theory_clustering_error": "Theorem 2: expected share of points with a wrong label.",
    "theory_deviation": "Theorem 2: how far that share may stray.",
    "theory_nu": "Theorem 2: the sum of these two.",
    "theory_rate": "Theorem 2: contraction of the error in a round.",
    "theory_holds": "1 where Theorem 2's condition holds, with constants 1.",
}


def make_problem(setting: Settings, data: None, streams: Streams) -> Arrays:
    """Draw the truth. The points, which are large, are drawn again by every method: see clients."""
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
    """Draw k random models (k, d) as the paper does, the same ones for every method."""
    k, d = problem["models"].shape
    scale = setting.model_norm / sqrt(d)
    return scale * streams.generator("start").standard_normal((k, d))


def clients(setting: Settings, problem: Arrays, streams: Streams) -> Clients:
    """Draw the clients' points, the same ones whenever they are asked for."""
    from fedmix.simulate.mixed_regression import MixedRegression, draw_clients

    return draw_clients(
        streams.generator("points"),
        MixedRegression(**problem),
        noise=setting.noise,
        contamination=setting.contamination,
    )


def known_of(setting: Settings, problem: Arrays, streams: Streams) -> dict[str, Any]:
    """Return what a method may be given."""
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
    from fedmix.metrics.matching import clustering_accuracy, model_errors

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
        reached = set(problem["labels"][estimator.anchors_].tolist())
        metrics["clusters_with_anchor"] = len(reached)
    return Outcome.of(estimator, metrics, {"model_error": errors})


def _theory(estimator: Any, setting: Settings, problem: Arrays) -> dict[str, float]:
    """Return the quantities of Theorem 2, for the methods that it speaks of."""
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

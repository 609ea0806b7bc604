"""Settings of :mod:`fedmix.experiments.mixed_regression`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fedmix.experiments.settings.base import Count, Number, Positive
from fedmix.experiments.settings.base import Settings as BaseSettings


class Settings(BaseSettings):
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
    noise: Annotated[float, Field(ge=0)]
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

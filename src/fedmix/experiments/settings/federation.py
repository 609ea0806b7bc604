"""Settings of :mod:`fedmix.experiments.federation`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fedmix.experiments.settings.base import Count, GaussianStart, Number, Positive
from fedmix.experiments.settings.base import Settings as BaseSettings


class Settings(BaseSettings):
    """Simulated Gaussian mixtures of clients that may or may not have something in common."""

    n_clients: Count
    """K."""
    n_points: Count
    """Training points a client."""
    n_test: Count
    """Test points a client."""
    n_features: Count
    """d, at least R."""
    n_components: Count
    """R."""
    separation: Positive
    """Distance of any two centres, in standard deviations of a component."""
    h: Annotated[float, Field(ge=0)]
    """Heterogeneity: how far a client's means lie from the centres."""
    n_contaminated: Number
    """Clients, the last ones, whose means are shifted together."""
    outlier_distance: Annotated[float, Field(ge=0)]
    """By how much they are."""
    concentration: Positive | None
    """Of the Dirichlet distribution of the mixing weights; null: they are equal."""
    initialization: GaussianStart
    """Each client's own start, before labels are aligned."""
    max_rounds: Count
    """Rounds after which a method stops."""
    tol: Annotated[float, Field(ge=0)]
    """A method stops when no parameter moves by more."""
    final_radius_scale: Annotated[list[Positive], Field(min_length=1)]
    """Candidates for the final radius of methods that merge clusters, chosen without labels."""


METRICS = {
    "misclustering": "Mean over good clients of the share of their test points in a wrong cluster.",
    "misclustering_alone": "The same of each client's own fit: same method and start, no exchange.",
    "gain": "The latter less the former.",
    "harmed": "Share of good clients whose error is larger than alone by more than a point.",
    "worst_decile": "The gain that nine good clients of ten reach.",
}

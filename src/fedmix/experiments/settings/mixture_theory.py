"""Settings of :mod:`fedmix.experiments.mixture_theory`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fedmix.experiments.settings.base import Count, Number, Positive
from fedmix.experiments.settings.base import Settings as BaseSettings


class Settings(BaseSettings):
    """Simulated mixtures, by the symbols of FedGrEM's theory."""

    model: Literal["gaussian", "regression"]
    """Gaussian mixture, or mixture of regressions."""
    n_clients: Count
    """K."""
    n_points: Count
    """Points a client, n."""
    n_features: Count
    """d, at least R."""
    n_components: Count
    """R."""
    separation: Positive
    """Delta: the distance of any two centres, in standard deviations of a component."""
    h: Annotated[float, Field(ge=0)]
    """Heterogeneity: how far a client's means lie from the centres."""
    n_contaminated: Number
    """Clients, the last ones, whose means are shifted together."""
    outlier_distance: Annotated[float, Field(ge=0)]
    """By how much they are."""
    concentration: Positive | None
    """Of the Dirichlet distribution of the mixing weights; null: they are equal."""
    start_error: Annotated[float, Field(ge=0)]
    """How far the starting means lie from the true ones, in units of the separation."""
    max_rounds: Count
    """Rounds after which a method stops."""
    tol: Annotated[float, Field(ge=0)]
    """A method stops when no parameter moves by more."""
    traced_rounds: Number = 0
    """Rounds of which the error is kept."""
    rho: Positive | None = None
    """Privacy a round of methods that can be private (Theorem 9 of the FedGEM paper)."""


METRICS = {
    "means_error": "Largest error of a good client's means, or coefficients; by round as well.",
    "weights_error": "Largest error of a good client's mixing weights.",
    "aligned": "1 where the good clients' labels came out the same.",
    "theorem_c2": "1 where the condition of FedGrEM's Theorem C.2 holds.",
    "theorem_c4": "1 where the condition of FedGrEM's Theorem C.4 holds.",
    "theory_holds": "1 where Assumption 3.7 of FedGrEM (regressions: 3.10) holds, constants 1.",
}

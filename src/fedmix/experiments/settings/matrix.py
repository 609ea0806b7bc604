"""Settings of :mod:`fedmix.experiments.matrix`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fedmix.experiments.settings import real_clustering
from fedmix.experiments.settings.base import CLUSTERING_METRICS, Count, Positive


class Settings(real_clustering.Settings):
    """Those of `real_clustering`, and the protocol that all methods run under."""

    max_rounds: Count
    """Rounds after which a method stops."""
    tol: Annotated[float, Field(ge=0)]
    """A method stops when no parameter moves by more."""
    step_size: Positive = 1.0
    """Of gradient EM: a round goes this, times a component's weight, of the way to the M-step."""
    final_radius_scale: Annotated[list[Positive], Field(min_length=1)]
    """Candidates for the final radius of methods that merge clusters, chosen without labels."""


METRICS = {
    **CLUSTERING_METRICS,
    **real_clustering.METRICS,
    "misclustering_pooled": "Share of all good clients' test points in a wrong cluster.",
}

"""Settings of :mod:`fedmix.experiments.cluster_simulation`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fedmix.experiments.settings import federated_clustering
from fedmix.experiments.settings.base import CLUSTERING_METRICS, Count, Positive
from fedmix.experiments.settings.base import Settings as BaseSettings


class Settings(BaseSettings):
    """Simulated isotropic clusters, by the FedGEM paper's symbols."""

    n_clients: Count
    """G."""
    n_components: Count
    """K, of all clients together."""
    d: Count
    """Features."""
    r_min: Positive
    """Distance of the two nearest centres, in standard deviations of a cluster."""
    imbalance: Literal["nominal", "client", "cluster"]
    """What has unequal sizes: nothing, the clients or the clusters."""
    n_per_client: Count | Annotated[list[Count], Field(min_length=1)]
    """Training points a client; of a list each client takes one, in turn."""
    n_test: Count
    """Test points of all clients together."""
    v: federated_clustering.FinalRadius
    """Constant of the final radius, or candidates for 3-fold cross-validation on the silhouette."""
    starts: Count
    """Starts, of which the best counts for each score."""


METRICS = {
    **CLUSTERING_METRICS,
    "n_clusters_at_best_silhouette": "Clusters of the start with the clients' best silhouette.",
}

"""Settings of :mod:`fedmix.experiments.federated_clustering`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fedmix.experiments.settings.base import (
    CLUSTERING_METRICS,
    Count,
    DataSettings,
    Number,
    Positive,
    Share,
)

#: v of FedGEM's final radius, or candidates for it.
FinalRadius = Positive | Annotated[list[Positive], Field(min_length=1)]


class Settings(DataSettings):
    """Clients that hold some of the classes of a labelled data set."""

    partition: Literal["dealt", "dealt_in_order", "shared"]
    """How rows reach clients: "dealt" splits at random, then deals either part from its front;
    "dealt_in_order" deals all rows from the front, and the first of a client's rows of a class are
    for training; "shared" splits at random and shares all rows at random."""
    n_clients: Count
    """G."""
    train_fraction: Share
    """Share of the points that is for training; the others are for testing."""
    spared_classes: Number
    """A client holds at most K less this many classes."""
    clusters: Literal["own_estimate", "of_test_points"] = "own_estimate"
    """Which clusters are counted of a method whose labels mean the same at every client: those that
    it has found itself, or those that test points fall into."""
    v: FinalRadius
    """Constant of the final radius, or candidates for 3-fold cross-validation on the silhouette."""


METRICS = {
    **CLUSTERING_METRICS,
    "final_radius_scale": "v that was given or chosen.",
    "validation_undefined": "Silhouettes that the cross-validation of v could not compute.",
}

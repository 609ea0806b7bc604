"""Settings of :mod:`fedmix.experiments.real_clustering`."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from fedmix.experiments.settings.base import (
    Alignment,
    Count,
    DataSettings,
    GaussianStart,
    Number,
    Share,
)


class Settings(DataSettings):
    """Clients of a data set, some contaminated, with initial values that all methods share."""

    partition: Literal["group", "uniform"]
    """Who holds which points: the data set's own groups, or clients at random."""
    assignment: Number | None = None
    """Which draw of clients it is with `uniform`, the same in every replication and setting of a
    data set; by default each replication draws its own."""
    n_clients: Count
    """K. With `group` the number of groups."""
    n_contaminated: Number
    """Clients whose training data are contaminated; at most one half of them."""
    contaminated: Literal["last", "random"] = "last"
    """Which they are; with `last` the first, where pooled gradient EM starts, is a good one."""
    contamination: Literal[
        "gaussian",
        "simulation",
        "simulation_as_written",
        "shuffled_coordinates",
        "shift",
        "single_class",
        "sign_flip",
    ]
    """What happens to their training data (`fedmix.partition.contamination`)."""
    train_fraction: Share
    """Share of every client's points that is for training; the others are for testing."""
    scaling: Literal["none", "tenth", "per_client", "global", "min_max"]
    """How the features are scaled, by the training data's numbers (`fedmix.partition.scaling`)."""
    initialization: GaussianStart
    """Each client's own start, before labels are aligned (`fedmix.initialization`)."""
    alignment: Alignment = "best_of_50_orders"
    """How they are aligned: by a search over orders of the clients, or to the first client."""
    n_components: Count
    """R, which all methods are told."""

    @model_validator(mode="after")
    def _at_most_half_contaminated(self) -> Self:
        if 2 * self.n_contaminated > self.n_clients:
            raise ValueError(
                f"{self.n_contaminated} of {self.n_clients} clients contaminated: at most one half "
                "can be, for nobody can tell which side is right where they are the majority"
            )
        return self


UNITS = {
    "spread": "Root mean square of the features' standard deviations, of clean training data.",
    "root_n": "Root of the mean client size, the theory's rate of lambda[0].",
}

METRICS = {
    "misclustering": "Share of test points in a wrong cluster, mean over good clients.",
}

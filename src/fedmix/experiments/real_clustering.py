"""Mis-clustering of federated real data: Tables 1 to 3 and 6 to 8 of the FedGrEM paper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from fedmix.experiments.base import Arrays, Method, Outcome, clients_in, rows_of
from fedmix.experiments.settings import (
    Alignment,
    Count,
    DataSettings,
    Declared,
    GaussianStart,
    Number,
    Share,
)

if TYPE_CHECKING:
    import numpy as np

    from fedmix.clients import Clients
    from fedmix.data.dataset import Dataset
    from fedmix.streams import Streams


class OwnStart(Declared):
    """What differs in one method's start from that of the others."""

    initialization: GaussianStart | None = None
    """Strategy for each client's own start; that of the setting by default."""
    alignment: Alignment | None = None
    """How labels are aligned; as the setting says by default."""


class Settings(DataSettings):
    """Clients of a data set, some contaminated, with initial values that all methods share."""

    partition: Literal["group", "uniform"]
    """How points are assigned to clients: by the data set's own groups, or at random."""
    assignment: Number | None = None
    """Number of the random assignment with `uniform`, which is the same in every replication and
    setting of a data set. By default each replication draws its own."""
    n_clients: Count
    """Number of clients, K. With `group` it is the number of groups."""
    n_contaminated: Number
    """Number of clients with contaminated training data, at most half of all clients."""
    contaminated: Literal["last", "first", "random"] = "last"
    """Which clients are contaminated. Some methods start at the first client. With `last` it is a
    good one."""
    contamination: Literal[
        "gaussian",
        "wide_noise",
        "far_outlier",
        "simulation",
        "simulation_as_written",
        "shuffled_coordinates",
        "shift",
        "single_class",
        "sign_flip",
    ]
    """How their training data are changed (`fedmix.partition.contamination`)."""
    train_fraction: Share
    """Share of every client's points for training. The others are for testing."""
    scaling: Literal["none", "tenth", "per_client", "global", "min_max"]
    """How the features are scaled, based on the training data (`fedmix.partition.scaling`)."""
    initialization: GaussianStart
    """Strategy for each client's own start, before labels are aligned (`fedmix.initialization`)."""
    alignment: Alignment = "best_of_50_orders"
    """How labels are aligned: by a search over orders of the clients, or to the first client."""
    own_start: dict[str, OwnStart] = Field(default_factory=dict)
    """Method -> its own `initialization` or `alignment`, where it differs from the others'."""
    n_components: Count
    """Number of components, R, which is given to all methods."""

    @model_validator(mode="after")
    def _at_most_half_contaminated(self) -> Self:
        if 2 * self.n_contaminated > self.n_clients:
            raise ValueError(
                f"{self.n_contaminated} of {self.n_clients} clients contaminated: at most one half "
                "can be, because no method can identify the good clients if they are a minority"
            )
        return self


UNITS = {
    "spread": "Root mean square of the features' standard deviations in the clean training data.",
    "root_n": "Square root of the mean client size, the theory's rate of lambda[0].",
}

METRICS = {
    "misclustering": "Mean over good clients of the share of their test points in a wrong cluster.",
}


def make_problem(setting: Settings, data: Dataset, streams: Streams) -> Arrays:
    """Draw every client's rows for training and testing, and the contaminated clients."""
    from fedmix.partition import choose_contaminated, train_test_split

    rng = streams.generator("partition")
    rows = _rows_of_clients(setting, data, rng)
    train, test = train_test_split(rows, setting.train_fraction, rng)
    contaminated = choose_contaminated(
        len(rows),
        setting.n_contaminated,
        streams.generator("contaminated clients"),
        setting.contaminated,
    )
    return {**rows_of(train=train, test=test), "contaminated": contaminated}


def initial_values(setting: Settings, problem: Arrays, data: Dataset, streams: Streams) -> Arrays:
    """Fit every client alone and align the labels across clients."""
    from fedmix.experiments.clustering import shared_start

    train, _ = clients_of(setting, problem, data, streams)
    return shared_start(train, setting, streams, setting.alignment)


def run(
    method: Method, setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> Outcome:
    """Fit one method to the training data. The score is the mean over good clients' test data."""
    from fedmix.experiments.clustering import error_of, in_numbers
    from fedmix.selection import tune

    if method.name in setting.own_start:
        own = setting.own_start[method.name].model_dump(exclude_none=True)
        setting = setting.model_copy(update=own)
        problem = problem | initial_values(setting, problem, data, streams)
    clean, test = _scaled(setting, problem, data, streams)
    train = _contaminated(clean, setting, problem, data, streams)
    method = replace(method, parameters=in_numbers(method.parameters, clean))
    known = {
        "n_components": setting.n_components,
        "random_state": streams.integer(f"method {method.estimator}"),
        "starts": {"mixtures": (problem["initial_weights"], problem["initial_means"])},
    }
    if method.parameters.get("penalty_scale") == "held-out":
        # The shared initial values used all points, including those that will be held out.
        own_start = method.build(known).set_params(init=setting.initialization)
        chosen = tune(own_start, train)["penalty_scale"]
        method = replace(method, parameters={**method.parameters, "penalty_scale": chosen})
    estimator = method.fit(train, known)
    return Outcome.of(estimator, {"misclustering": error_of(estimator, test, problem, data)})


def clients_of(
    setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> tuple[Clients, Clients]:
    """Return the clients' training data, some contaminated, and their clean test data.

    Scaling comes before contamination. Otherwise a contaminated client could undo its contamination
    by standardising its own data.
    """
    clean, test = _scaled(setting, problem, data, streams)
    return _contaminated(clean, setting, problem, data, streams), test


def _scaled(
    setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> tuple[Clients, Clients]:
    """Return the clients' training and test data before contamination."""
    from fedmix.partition import scale

    train, test = (clients_in(problem, part, data) for part in ("train", "test"))
    return scale(train, test, setting.scaling, streams.generator("jitter"))


def _contaminated(
    train: Clients, setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> Clients:
    from fedmix.partition import contaminate

    return contaminate(
        train,
        problem["contaminated"],
        setting.contamination,
        streams.generator("contamination"),
        labels=data.labels[problem["train"]],
    )


def _rows_of_clients(
    setting: Settings, data: Dataset, rng: np.random.Generator
) -> list[np.ndarray]:
    from fedmix.partition import by_group, uniform
    from fedmix.streams import Streams

    if setting.partition == "uniform":
        if setting.assignment is not None:
            rng = Streams("assignment", setting.dataset, setting.assignment).generator("partition")
        return uniform(len(data.features), setting.n_clients, rng)
    assert data.groups is not None  # checked against the registry when the run is planned
    return by_group(data.groups)

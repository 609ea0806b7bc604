"""Mis-clustering on real data in federated clients: Tables 1-3 and 6-8 of the FedGrEM paper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

from pydantic import model_validator

from fedmix.experiments.base import Arrays, Method, Outcome
from fedmix.experiments.settings import (
    Alignment,
    Count,
    DataSettings,
    GaussianStart,
    Number,
    Share,
)

if TYPE_CHECKING:
    import numpy as np

    from fedmix.clients import Clients
    from fedmix.data import Dataset
    from fedmix.streams import Streams


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
    """R, which all methods are given."""

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


def make_problem(setting: Settings, data: Dataset, streams: Streams) -> Arrays:
    """Choose every client's rows for training and testing, and the contaminated clients."""
    import numpy as np

    from fedmix.clients import offsets_of
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
    return {
        "train": np.concatenate(train),
        "train_offsets": offsets_of([len(own) for own in train]),
        "test": np.concatenate(test),
        "test_offsets": offsets_of([len(own) for own in test]),
        "contaminated": contaminated,
    }


def initial_values(setting: Settings, problem: Arrays, data: Dataset, streams: Streams) -> Arrays:
    """Fit every client alone and align the labels across clients."""
    from fedmix.experiments.clustering import shared_start

    train, _ = clients_of(setting, problem, data, streams)
    return shared_start(
        train, setting.n_components, setting.initialization, streams, setting.alignment
    )


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: Dataset,
    streams: Streams,
) -> Outcome:
    """Fit one method on the training data; the score is a mean over good clients' test data."""
    from fedmix.experiments.clustering import error_of, in_numbers
    from fedmix.selection import choose_penalty

    clean, test = _scaled(setting, problem, data, streams)
    train = _contaminated(clean, setting, problem, data, streams)
    method = replace(method, parameters=in_numbers(method.parameters, clean))
    known = {
        "n_components": setting.n_components,
        "random_state": streams.integer(f"method {method.estimator}"),
        "starts": {"mixtures": (initial["weights"], initial["means"])},
    }
    if method.parameters.get("penalty_scale") == "held-out":
        # The shared initial values have seen all points, those that would be held out included.
        own_start = method.build(known).set_params(init=setting.initialization)
        chosen = choose_penalty(own_start, train)
        method = replace(method, parameters={**method.parameters, "penalty_scale": chosen})
    estimator = method.fit(train, known)
    return Outcome.of(estimator, {"misclustering": error_of(estimator, test, problem, data)})


def clients_of(
    setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> tuple[Clients, Clients]:
    """Return the clients' training data, some contaminated, and their clean test data.

    Clients are scaled first: a contaminated client would otherwise undo its contamination by
    standardising itself.
    """
    clean, test = _scaled(setting, problem, data, streams)
    return _contaminated(clean, setting, problem, data, streams), test


def _scaled(
    setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> tuple[Clients, Clients]:
    """Return the clients' training and test data, all of them clean."""
    from fedmix.experiments.clustering import clients_in
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
    assert data.groups is not None  # planning has checked it against the registry
    return by_group(data.groups)

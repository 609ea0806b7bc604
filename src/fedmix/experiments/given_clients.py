"""Methods on clients that a person has in memory; see :func:`fedmix.compare`.

The protocol is that of :mod:`fedmix.experiments.matrix`. Each replication splits every client's
points at random into training and test points. The configuration cannot ask for this experiment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmix.experiments.base import Arrays, Method, Outcome, clients_in, rows_of
from fedmix.experiments.settings import Candidates, Count, GaussianStart, Positive, Share, Stopping

if TYPE_CHECKING:
    from fedmix.data.dataset import Dataset
    from fedmix.streams import Streams


class Settings(Stopping):
    """The protocol of all methods."""

    dataset: str
    """Name of the data in tables."""
    n_components: Count
    """Number of components, R, which is given to all methods."""
    labelled: bool
    """Whether the true labels are known. Otherwise each client is said to have R components."""
    train_fraction: Share
    """Share of every client's points for training. The others are for testing."""
    initialization: GaussianStart
    """Strategy for each client's own start, before labels are aligned."""
    step_size: Positive
    """Step of gradient EM."""
    final_radius_scale: Candidates
    """Candidates for the final radius of methods that merge clusters, chosen without labels."""


def make_problem(setting: Settings, data: Dataset, streams: Streams) -> Arrays:
    """Draw every client's rows for training and testing."""
    import numpy as np

    from fedmix.partition import train_test_split

    rows = [np.flatnonzero(data.groups == k) for k in range(int(data.groups.max()) + 1)]
    rng = streams.generator("partition")
    train, test = train_test_split(rows, setting.train_fraction, rng)
    return {"contaminated": np.empty(0, dtype=np.int64), **rows_of(train=train, test=test)}


def initial_values(setting: Settings, problem: Arrays, data: Dataset, streams: Streams) -> Arrays:
    """Fit every client alone and align the labels across clients."""
    from fedmix.experiments.clustering import shared_start

    return shared_start(clients_in(problem, "train", data), setting, streams)


def run(
    method: Method, setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> Outcome:
    """Fit one method to the training data and score it on the test data."""
    from fedmix.experiments import clustering

    train, test = (clients_in(problem, part, data) for part in ("train", "test"))
    components = [setting.n_components] * len(train)
    if setting.labelled:
        components = clustering.classes_of_clients(problem, data)
    known = clustering.known_of(
        method, setting, train, components, problem, streams, step_size=setting.step_size
    )
    estimator = method.fit(train, known)
    scores = clustering.all_scores(estimator, test, problem, data)
    if not setting.labelled:
        scores = {name: value for name, value in scores.items() if name in WITHOUT_LABELS}
    return Outcome.of(estimator, scores)


#: Scores that need no true labels.
WITHOUT_LABELS = ("silhouette_pooled", "silhouette_per_client", "n_clusters")

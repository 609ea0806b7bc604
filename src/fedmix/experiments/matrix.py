"""Every method that can run, on every data set, under one protocol.

Data, clients, contamination and shared initial values are those of
:mod:`fedmix.experiments.real_clustering`; methods that take ``max_rounds`` or ``tol`` are told it.
What a method must have tuned is chosen without labels: FedGrEM's penalty by held-out likelihood;
the final radius of a method that merges by cross-validation on the silhouette. Both are medians
over clients, which contaminated ones cannot carry away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.federated_clustering import known_numbers
from fedmix.experiments.real_clustering import clients_of, initial_values, make_problem
from fedmix.experiments.settings.matrix import Settings
from fedmix.initialization import initialize
from fedmix.metrics.clustering import per_client_scores, pooled_scores
from fedmix.metrics.mixture import misclustering
from fedmix.selection import choose, choose_penalty
from fedmix.streams import Streams

if TYPE_CHECKING:
    from fedmix.data import Dataset
    from fedmix.methods.base import FederatedEstimator

__all__ = ["initial_values", "make_problem", "run"]

Arrays = dict[str, np.ndarray]
Labels = Sequence[NDArray[np.int64]]


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: Dataset,
    streams: Streams,
) -> Outcome:
    """Fit one method on the training data; the scores are those of good clients' test points."""
    train, test = clients_of(setting, problem, data, streams)
    known = {
        **known_numbers(setting.n_components, classes_of_clients(problem, data)),
        "max_rounds": setting.max_rounds,
        "tol": setting.tol,
        "step_size": setting.step_size,
        "random_state": streams.integer(f"method {method.estimator}"),
    }
    known |= tuned(method, train, known, setting.final_radius_scale, setting.initialization)
    components = known["components_per_client"]
    known["starts"] = starts_of(method, train, initial, components, setting.initialization, streams)
    estimator = method.fit(train, known)
    good = np.setdiff1d(np.arange(len(test)), problem["contaminated"])
    labels = test.split(data.labels[problem["test"]])
    return Outcome.of(estimator, score(estimator, test, labels, good))


def starts_of(
    method: Method,
    train: Clients,
    initial: Arrays,
    components_per_client: Sequence[int],
    strategy: str,
    streams: Streams,
) -> dict[str, Any]:
    """Return the start that a method takes, by its kind.

    It is the shared one, or, for methods with numbers of components of the clients' own, means
    (K_g, d) by the same strategy.
    """
    if method.kind.starts_from != "means":
        return {"mixtures": (initial["weights"], initial["means"])}
    seed = streams.integer("initial values")
    numbers = set(components_per_client)
    means = {k: initialize(train, k, strategy, random_state=seed)[1] for k in numbers}
    return {"means": [means[k][g] for g, k in enumerate(components_per_client)]}


def score(
    estimator: FederatedEstimator, test: Clients, labels: Labels, good: NDArray[np.int64]
) -> dict[str, float]:
    """Score a fitted method on the good clients, all their points together and one by one.

    A method whose clients keep components of their own is asked by ``predict_clusters`` for labels
    that mean the same at every client; for all others ``predict`` gives such.
    """
    own = estimator.predict(test)
    together = estimator.predict_clusters(test) if hasattr(estimator, "predict_clusters") else own
    scored = test.subset(good)
    labels, own, together = ([v[k] for k in good] for v in (labels, own, together))
    errors = [misclustering(a, b) for a, b in zip(labels, own, strict=True) if len(a)]
    return (
        pooled_scores(scored, labels, together)
        | per_client_scores(scored, labels, own)
        | {
            "misclustering": float(np.mean(errors)),
            "misclustering_pooled": misclustering(np.concatenate(labels), np.concatenate(together)),
            "n_clusters": float(len(np.unique(np.concatenate(together)))),
        }
    )


def classes_of_clients(problem: Arrays, data: Dataset) -> list[int]:
    """Return the K_g: the number of classes that each client's training data hold, at least 1."""
    own = np.split(data.labels[problem["train"]], problem["train_offsets"][1:-1])
    return [max(1, len(np.unique(labels))) for labels in own]


def tuned(
    method: Method,
    train: Clients,
    known: Mapping[str, Any],
    radius_scales: Sequence[float],
    initialization: str,
) -> dict[str, float]:
    """Choose, without labels, what the method has to tune and the configuration leaves open.

    Parameters
    ----------
    method : Method
    train : Clients
    known : mapping
        What the method may be told.
    radius_scales : sequence of float
        Candidates for the final radius of methods that merge clusters.
    initialization : str
        Fits on a part of the data start from that part alone by this strategy: a shared start has
        seen what is held out.
    """
    if "final_radius_scale" in method.open_choices:
        candidates = {"final_radius_scale": list(radius_scales)}
        chosen = choose(
            method.build(known),
            train,
            candidates,
            criterion="silhouette",
            refit=False,
            random_state=known["random_state"],
        )
        return dict(chosen.best_parameters)
    if "penalty_scale" in method.open_choices:
        own_start = method.build(known).set_params(init=initialization)
        return {"penalty_scale": choose_penalty(own_start, train)}
    return {}

"""Every method that can run, on every data set, under one protocol.

Data, clients, contamination and shared initial values are those of
:mod:`fedmix.experiments.real_clustering`, whose settings apply here too. Further settings, told to
every method that takes them: ``max_rounds`` and ``tol``. What a method must have tuned is chosen
without labels: FedGrEM's penalty by held-out likelihood; the final radius of a method that merges,
among the candidates ``final_radius_scale``, by cross-validation on the silhouette.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.errors import ConfigurationError
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.federated_clustering import choose_scale
from fedmix.experiments.real_clustering import clients_of, initial_values, make_problem
from fedmix.methods.penalty_selection import select_penalty
from fedmix.metrics.clustering import per_client_scores, pooled_scores
from fedmix.metrics.mixture import misclustering
from fedmix.streams import Streams

if TYPE_CHECKING:
    from fedmix.data import Dataset
    from fedmix.methods.base import FederatedEstimator

__all__ = ["initial_values", "make_problem", "run"]

Arrays = dict[str, np.ndarray]
Labels = Sequence[NDArray[np.int64]]


def run(
    method: Method,
    setting: Mapping[str, Any],
    problem: Arrays,
    initial: Arrays,
    data: Dataset,
    streams: Streams,
) -> Outcome:
    """Fit one method on the training data; the scores are those of good clients' test points."""
    train, test = clients_of(setting, problem, data, streams)
    seed = streams.integer(f"method {method.estimator}")
    parameters = parameters_of(
        method.kind, {**setting, **_known(setting, problem, data), "random_state": seed}, initial
    )
    parameters |= _tuned(method, setting, train, parameters, seed)
    estimator = method.fit(train, **parameters)
    good = np.setdiff1d(np.arange(len(test)), problem["contaminated"])
    labels = test.split(data.labels[problem["test"]])
    return Outcome.of(estimator, score(estimator, test, labels, good))


def parameters_of(
    kind: type[FederatedEstimator], known: Mapping[str, Any], initial: Arrays
) -> dict[str, Any]:
    """Return what a method is told: what it needs, the protocol's limits, and where to start.

    Parameters
    ----------
    kind : type of FederatedEstimator
        Its class variables say what it needs and whether it takes initial values.
    known : mapping
        Everything that could be told, by name.
    initial : dict of ndarray
        The shared initial ``weights`` (K, R) and ``means`` (K, R, d).

    Raises
    ------
    ConfigurationError
        If the method needs something that is not known.
    """
    unknown = [name for name in kind.needs if name not in known]
    if unknown:
        raise ConfigurationError(
            f"{kind.__name__} needs {unknown[0]!r}, which this study does not know. It knows "
            f"{', '.join(sorted(known))}."
        )
    wanted = {*kind.needs, "max_rounds", "tol", "random_state"} & _arguments(kind)
    parameters = {name: known[name] for name in sorted(wanted)}
    if kind.takes_initial_values:
        parameters["init"] = (initial["weights"], initial["means"])
    return parameters


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


def _known(setting: Mapping[str, Any], problem: Arrays, data: Dataset) -> dict[str, Any]:
    """Return K and the K_g, the number of classes that each client's training data hold."""
    own = np.split(data.labels[problem["train"]], problem["train_offsets"][1:-1])
    return {
        "n_clusters": setting["n_components"],
        "components_per_client": [max(1, len(np.unique(labels))) for labels in own],
    }


def _tuned(
    method: Method,
    setting: Mapping[str, Any],
    train: Clients,
    parameters: Mapping[str, Any],
    seed: int,
) -> dict[str, float]:
    """Choose, without labels, what the method has to tune and the configuration leaves open."""
    open_ones = _arguments(method.kind) - set(method.parameters)
    if "final_radius_scale" in open_ones:
        chosen = choose_scale(method, train, parameters, setting["final_radius_scale"], seed)
        return {"final_radius_scale": chosen["final_radius_scale"]}
    if "penalty_scale" in open_ones:
        # Fits on a part start from that part alone: the shared start has seen what is held out.
        start = setting["initialization"]
        return {"penalty_scale": select_penalty(method.build(**parameters), train, start)}
    return {}


def _arguments(kind: type[FederatedEstimator]) -> set[str]:
    return set(inspect.signature(kind).parameters)

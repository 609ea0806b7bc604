"""When does federation help? A method's error compared with that of its own fit without exchange.

A client's fit without exchange is the method's fit to this client alone, with the same model, start
and steps. It is defined for every method, including new ones. Parameters that need tuning are
chosen once, without labels and on all clients, for both kinds of fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from fedmix.errors import DataError
from fedmix.experiments.base import Arrays, Method, Outcome, arrays_of, clients_in
from fedmix.experiments.settings import (
    Candidates,
    Count,
    GaussianStart,
    MixtureSettings,
    Model,
    Stopping,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from fedmix.clients import Clients
    from fedmix.streams import Streams

_NOTICED = 0.01  # share of the points: there are too few test points to notice less


class Settings(MixtureSettings, Stopping):
    """Simulated Gaussian mixtures of clients that are more or less similar."""

    family: ClassVar[Model] = "gaussian"
    n_test: Count
    """Number of test points per client."""
    initialization: GaussianStart
    """Strategy for each client's own start, before labels are aligned."""
    final_radius_scale: Candidates
    """Candidates for the final radius of methods that merge clusters, chosen without labels."""


METRICS = {
    "misclustering": "Mean over good clients of the share of their test points in a wrong cluster.",
    "misclustering_alone": "The same for each client's own fit: same method and start, no "
    "exchange.",
    "gain": "Error without exchange minus error with federation, mean over good clients.",
    "harmed": "Share of good clients whose error with federation is larger than alone by more "
    "than one percentage point.",
    "worst_decile": "Gain that nine of ten good clients reach.",
}


def make_problem(setting: Settings, data: None, streams: Streams) -> Arrays:
    """Draw the clients' training and test points."""
    import numpy as np

    from fedmix.experiments.clustering import truth_of
    from fedmix.simulate.mixtures import draw_points

    truth = truth_of(setting, streams)
    problem: Arrays = {"means": truth.means}
    for part, n_points in (("train", setting.n_points), ("test", setting.n_test)):
        drawn, labels = draw_points(streams.generator(part), truth, n_points, setting.family)
        problem |= {**arrays_of(part, drawn), f"{part}_labels": np.concatenate(labels)}
    return problem


def initial_values(setting: Settings, problem: Arrays, data: None, streams: Streams) -> Arrays:
    """Fit every client alone and align the labels across clients."""
    from fedmix.experiments.clustering import shared_start

    return shared_start(clients_in(problem, "train"), setting, streams, family=setting.family)


def run(
    method: Method, setting: Settings, problem: Arrays, data: None, streams: Streams
) -> Outcome:
    """Fit one method to all clients and to each client alone, and score the good clients."""
    import numpy as np

    from fedmix.experiments.clustering import known_of

    train, test = clients_in(problem, "train"), clients_in(problem, "test")
    components = [setting.n_components] * setting.n_clients
    known = known_of(method, setting, train, components, problem, streams)
    good = np.arange(setting.n_clients - setting.n_contaminated)
    return compare_with_alone(method, train, test, test.split(problem["test_labels"]), good, known)


def compare_with_alone(
    method: Method,
    train: Clients,
    test: Clients,
    labels: Sequence[NDArray[np.int64]],
    good: NDArray[np.int64],
    known: Mapping[str, Any],
) -> Outcome:
    """Compare a method's fit to all clients together with its fits to each good client alone.

    ``known`` holds the values that methods can take, for all clients.
    """
    import numpy as np

    from fedmix.metrics.matching import misclustering

    estimator = method.fit(train, known)
    predicted = estimator.predict(test)
    together, alone = [], []
    for k in good:
        own = method.build(_known_of_client(known, int(k))).fit(train.subset([k]))
        together.append(misclustering(labels[k], predicted[k]))
        alone.append(misclustering(labels[k], own.predict(test.subset([k]))[0]))
    metrics = {
        "misclustering": float(np.mean(together)),
        "misclustering_alone": float(np.mean(alone)),
        **federation_gain(together, alone, _NOTICED),
    }
    return Outcome.of(estimator, metrics)


def _known_of_client(known: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Return the known values for a federation of client k alone."""
    starts = known["starts"]
    if "means" in starts:
        own = {"means": starts["means"][k : k + 1]}
    else:
        own = {"mixtures": tuple(part[k : k + 1] for part in starts["mixtures"])}
    return {
        **known,
        "components_per_client": [known["components_per_client"][k]],
        "starts": own,
    }


def federation_gain(
    together: ArrayLike, alone: ArrayLike, noticed: float = 0.0
) -> dict[str, float]:
    """Return the clients' gain from federation.

    Parameters
    ----------
    together, alone : array-like of shape (K,)
        Each client's error as a member, and that of its own fit without exchange.
    noticed : float, default=0.0
        A client is harmed by a rise of its error beyond this. Errors on test points differ by
        chance: with 0, a client that gains nothing is harmed half of the time.
    """
    import numpy as np

    together, alone = np.asarray(together, float), np.asarray(alone, float)
    if together.shape != alone.shape or not together.size:
        raise DataError(
            f"Errors of shapes {together.shape} and {alone.shape}: expected one a client."
        )
    if np.isnan(together).any() or np.isnan(alone).any():
        raise DataError("Errors hold NaN: a failed fit has no gain. Leave the client out of both.")
    gains = alone - together
    return {
        "gain": float(gains.mean()),
        "harmed": float(np.mean(gains < -noticed)),
        "worst_decile": float(np.quantile(gains, 0.1)),
    }

"""When does federation help? A method's error compared with that of its own fit without exchange.

A client's fit without exchange is the method's fit to this client alone, with the same model, start
and steps. It is defined for every method, including new ones. Parameters that need tuning are
chosen once, without labels and on all clients, for both kinds of fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmix.experiments.base import Arrays, Method, Outcome, arrays_of, clients_in
from fedmix.experiments.settings import Candidates, Count, GaussianStart, MixtureSettings, Stopping

if TYPE_CHECKING:
    from fedmix.streams import Streams


class Settings(MixtureSettings, Stopping):
    """Simulated Gaussian mixtures of clients that are more or less similar."""

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


def make_problem(
    setting: Settings, data: None, streams: Streams, family: str = "gaussian"
) -> Arrays:
    """Draw the clients' training and test points."""
    import numpy as np

    from fedmix.experiments.clustering import truth_of
    from fedmix.simulate.mixtures import draw_points

    truth = truth_of(setting, streams)
    problem: Arrays = {"means": truth.means}
    for part, n_points in (("train", setting.n_points), ("test", setting.n_test)):
        drawn, labels = draw_points(streams.generator(part), truth, n_points, family)
        problem |= {**arrays_of(part, drawn), f"{part}_labels": np.concatenate(labels)}
    return problem


def initial_values(
    setting: Settings, problem: Arrays, data: None, streams: Streams, family: str = "gaussian"
) -> Arrays:
    """Fit every client alone and align the labels across clients."""
    from fedmix.experiments.clustering import shared_start

    train, strategy = clients_in(problem, "train"), setting.initialization
    return shared_start(train, setting.n_components, strategy, streams, family=family)


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method to all clients and to each client alone, and score the good clients."""
    import numpy as np

    from fedmix.experiments.clustering import compare_with_alone, known_of

    train, test = clients_in(problem, "train"), clients_in(problem, "test")
    components = [setting.n_components] * setting.n_clients
    known = known_of(method, setting, train, components, initial, streams)
    good = np.arange(setting.n_clients - setting.n_contaminated)
    return compare_with_alone(method, train, test, test.split(problem["test_labels"]), good, known)

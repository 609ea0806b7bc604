"""Every method that can run, on every data set, under one protocol.

The data, clients, contamination and shared initial values are those of
:mod:`fedmix.experiments.real_clustering`. Methods that take ``max_rounds`` or ``tol`` get the
setting's values. Parameters that need tuning are chosen without labels: FedGrEM's penalty by
held-out likelihood, and the final radius of methods that merge clusters by cross-validation on the
silhouette. Both criteria are medians over clients, which are robust against contaminated clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmix.experiments import real_clustering
from fedmix.experiments.base import Arrays, Method, Outcome
from fedmix.experiments.settings import CLUSTERING_METRICS, Candidates, Positive, Stopping

if TYPE_CHECKING:
    from fedmix.data.dataset import Dataset
    from fedmix.streams import Streams


class Settings(real_clustering.Settings, Stopping):
    """The settings of `real_clustering`, and the protocol of all methods."""

    step_size: Positive = 1.0
    """Step of gradient EM. A round moves a mean by this share, times the component's weight, of the
    way to the M-step."""
    final_radius_scale: Candidates
    """Candidates for the final radius of methods that merge clusters, chosen without labels."""


METRICS = {
    **CLUSTERING_METRICS,
    **real_clustering.METRICS,
    "misclustering_pooled": "Share of the pooled test points of good clients in a wrong cluster.",
}

make_problem = real_clustering.make_problem
initial_values = real_clustering.initial_values


def run(
    method: Method, setting: Settings, problem: Arrays, data: Dataset, streams: Streams
) -> Outcome:
    """Fit one method to the training data and score it on the good clients' test points.

    The scores are those of all these points together, and means over the good clients.
    """
    from fedmix.experiments import clustering

    train, test = real_clustering.clients_of(setting, problem, data, streams)
    components = clustering.classes_of_clients(problem, data)
    known = clustering.known_of(
        method, setting, train, components, problem, streams, step_size=setting.step_size
    )
    estimator = method.fit(train, known)
    return Outcome.of(estimator, clustering.all_scores(estimator, test, problem, data))

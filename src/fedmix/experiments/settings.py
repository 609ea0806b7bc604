"""The declarations of experiments: their settings and metrics, without numerical imports.

The module of an experiment declares ``Settings``, a subclass of :class:`ExperimentSettings`, and
``METRICS``, a description of each score by name. If its methods can have parameters in units of the
data, it also declares ``UNITS``. Planning checks the configuration against these declarations, and
the configuration reference is generated from them. An experiment imports numerical libraries within
its functions, so that planning does not wait for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field

from fedmix import declarations
from fedmix.declarations import Count, Number, Positive
from fedmix.errors import ConfigurationError, nearest_names

#: Modules of this folder that are not experiments.
NO_EXPERIMENTS = frozenset({"base", "clustering", "given_clients", "runner", "settings"})

NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Candidates = Annotated[list[Positive], Field(min_length=1)]

Model = Literal["gaussian", "regression"]

#: Strategies of :mod:`fedmix.initialization` for Gaussian mixtures.
GaussianStart = Literal[
    "eee",
    "mclust",
    "bic",
    "kmeans++",
    "kmeans++10",
    "kmeans1",
    "kmeans1_ten_iterations",
    "kmeans2",
    "kmeans3",
    "kmeans5",
    "kmeans10",
    "ward",
    "random",
]
#: Strategies for mixtures of regressions.
RegressionStart = Literal["regression", "regression10", "mixreg"]
STRATEGIES = (*get_args(GaussianStart), *get_args(RegressionStart))

#: Ways to align labels without the truth -> parameters of :func:`fedmix.align`.
ALIGNMENTS: dict[str, dict[str, Any]] = {
    "best_of_50_orders": {"n_orders": 50},
    "one_order": {"n_orders": 1},
    "first_client": {"method": "reference"},
}
Alignment = Literal["best_of_50_orders", "one_order", "first_client"]

#: The scores of :mod:`fedmix.metrics.clustering`.
CLUSTERING_METRICS = {
    "ari_pooled": "Adjusted Rand index of all clients' test points together.",
    "ari_per_client": "Mean of the clients' adjusted Rand indices.",
    "ari_per_client_weighted": "The same, weighted by the clients' numbers of test points.",
    "silhouette_pooled": "Silhouette of all clients' test points together; missing if undefined.",
    "silhouette_pooled_undefined": "1 if `silhouette_pooled` is undefined, otherwise 0.",
    "silhouette_per_client": "Mean of the clients' silhouettes that are defined.",
    "silhouette_per_client_weighted": "The same, weighted by the clients' numbers of test points.",
    "silhouette_per_client_undefined": "Number of clients whose silhouette is undefined.",
    "n_clusters": "Number of clusters: the method's estimate or, if it has none, that of its "
    "labels.",
}


class Declared(declarations.Declared):
    """Values by name, checked strictly. The text below a field is its description."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class ExperimentSettings(Declared):
    """The settings of an experiment: one field each, with its description below it."""

    axis: str | None = None
    """The quantity that varies, in a study that varies one at a time. Only for figures and
    claims."""


class DataSettings(ExperimentSettings):
    """Settings of an experiment on a data set."""

    dataset: str
    """An entry of `config/datasets.yaml`."""
    embedding: str
    """One of the data set's embeddings."""
    optional: bool = False
    """Whether the setting is skipped, and listed, if its embedding has not been made."""


class Stopping(Declared):
    """When a method stops."""

    max_rounds: Count
    """Maximum number of rounds."""
    tol: NotNegative
    """A method stops when no parameter changes by more than this. With 0 it runs all rounds."""


class FinalRadius(Declared):
    """How FedGEM's final radius is chosen."""

    v: Positive | Candidates
    """Constant of the final radius, or candidates for cross-validation on the silhouette."""
    n_folds: Annotated[int, Field(ge=2)] = 3
    """Number of folds of each client's points in this cross-validation."""
    n_splits: Count | None = None
    """Number of these folds that are held out in turn; all if null."""


class SharedSeeds(Declared):
    """Who draws the clients' first seeds."""

    client_seeds: Literal["own", "shared"] = "own"
    """"own": every method draws its clients' k-means++ seeds by itself, from the points that it is
    fitted to. "shared": FedGEM and k-FED's clients start from the same k-means++ seeds of all
    training points, drawn from one candidate each, also in the cross-validation of v."""


class MixtureSettings(ExperimentSettings):
    """Settings of an experiment on simulated mixtures, with the symbols of FedGrEM's theory."""

    n_clients: Count
    """Number of clients, K."""
    n_points: Count
    """Number of training points per client, n."""
    n_features: Count
    """Number of features, d; at least R."""
    n_components: Count
    """Number of components, R."""
    separation: Positive
    """Distance between any two centres, Delta, in standard deviations of a component."""
    h: NotNegative
    """Heterogeneity: distance between a client's means and the centres."""
    n_contaminated: Number
    """Number of clients whose means are shifted together. They are the last clients."""
    outlier_distance: NotNegative
    """Distance by which these means are shifted."""
    concentration: Positive | None
    """Parameter of the Dirichlet distribution of the mixing weights; equal weights if null."""


def names() -> list[str]:
    """Return the names of all experiments."""
    found = {path.stem for path in Path(__file__).parent.glob("[a-z]*.py")}
    return sorted(found - NO_EXPERIMENTS)


@cache
def declared(experiment: str) -> tuple[type[ExperimentSettings], Mapping[str, str]]:
    """Return the class of an experiment's settings, and the description of each metric by name.

    Raises ConfigurationError if there is no such experiment. The message lists the most similar
    names.
    """
    if experiment not in names():
        raise ConfigurationError(
            f"unknown experiment {experiment!r}. {nearest_names(experiment, names())}"
        )
    module = import_module(f"fedmix.experiments.{experiment}")
    return module.Settings, module.METRICS


def units_of(experiment: str) -> Mapping[str, str]:
    """Return the units of the data that an experiment's methods can use for parameters."""
    return getattr(import_module(f"fedmix.experiments.{experiment}"), "UNITS", {})

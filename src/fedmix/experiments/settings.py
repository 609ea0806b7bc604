"""What experiments declare: their settings and metrics, without numerical imports.

The module of an experiment declares ``Settings``, a subclass of :class:`ExperimentSettings`, and
``METRICS``, its scores by name; one whose methods may have parameters in units of the data declares
``UNITS`` as well. Planning checks the configuration against these declarations, and the
configuration reference is made from them. Planning should not wait for numerical libraries, so an
experiment imports these within its functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field

from fedmix import declarations
from fedmix.errors import ConfigurationError, nearest_names

#: Modules of this folder that are no experiments.
NO_EXPERIMENTS = frozenset({"base", "clustering", "runner", "settings"})

Count = Annotated[int, Field(ge=1)]
Number = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Candidates = Annotated[list[Positive], Field(min_length=1)]

Model = Literal["gaussian", "regression"]

#: Strategies of :mod:`fedmix.initialization` for Gaussian mixtures.
GaussianStart = Literal[
    "eee",
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
    "ari_per_client_weighted": "The same, weighted by the clients' test points.",
    "silhouette_pooled": "Silhouette of all clients' test points; left out where undefined.",
    "silhouette_pooled_undefined": "1 where it is undefined.",
    "silhouette_per_client": "Mean of the clients' silhouettes that are defined.",
    "silhouette_per_client_weighted": "The same, weighted by the clients' test points.",
    "silhouette_per_client_undefined": "Clients whose silhouette is undefined.",
    "n_clusters": "Clusters, as the method estimates them or as its labels have them.",
}


class Declared(declarations.Declared):
    """Values by name, checked strictly; a field's description is the text below it."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class ExperimentSettings(Declared):
    """The settings of an experiment: a field each, with what it is below it."""

    axis: str | None = None
    """What a study of one thing at a time varies here; for figures and claims alone."""


class DataSettings(ExperimentSettings):
    """Settings of an experiment on a data set."""

    dataset: str
    """An entry of `config/datasets.yaml`."""
    embedding: str
    """One of the data set's embeddings."""
    optional: bool = False
    """Whether the setting is left out, and listed, while nobody has made its embedding."""


class Stopping(Declared):
    """When a method stops."""

    max_rounds: Count
    """Rounds after which a method stops."""
    tol: NotNegative
    """A method stops when no parameter moves by more; 0: it runs all rounds."""


class MixtureSettings(ExperimentSettings):
    """Settings of an experiment on simulated mixtures, by the symbols of FedGrEM's theory."""

    n_clients: Count
    """K."""
    n_points: Count
    """Training points a client, n."""
    n_features: Count
    """d, at least R."""
    n_components: Count
    """R."""
    separation: Positive
    """Delta: the distance of any two centres, in standard deviations of a component."""
    h: NotNegative
    """Heterogeneity: how far a client's means lie from the centres."""
    n_contaminated: Number
    """Clients, the last ones, whose means are shifted together."""
    outlier_distance: NotNegative
    """By how much they are."""
    concentration: Positive | None
    """Of the Dirichlet distribution of the mixing weights; null: they are equal."""


def names() -> list[str]:
    """Return the names of all experiments."""
    found = {path.stem for path in Path(__file__).parent.glob("[a-z]*.py")}
    return sorted(found - NO_EXPERIMENTS)


@cache
def declared(experiment: str) -> tuple[type[ExperimentSettings], Mapping[str, str]]:
    """Return an experiment's settings and metrics.

    Parameters
    ----------
    experiment : str
        A module of :mod:`fedmix.experiments`.

    Returns
    -------
    settings : type of ExperimentSettings
    metrics : mapping of str to str
        What each metric is, by its name.

    Raises
    ------
    ConfigurationError
        If there is no such experiment; the nearest names are given.
    """
    if experiment not in names():
        raise ConfigurationError(
            f"unknown experiment {experiment!r}. {nearest_names(experiment, names())}"
        )
    module = import_module(f"fedmix.experiments.{experiment}")
    return module.Settings, module.METRICS


def units_of(experiment: str) -> Mapping[str, str]:
    """Return the units of the data that parameters of an experiment's methods may be in."""
    return getattr(import_module(f"fedmix.experiments.{experiment}"), "UNITS", {})

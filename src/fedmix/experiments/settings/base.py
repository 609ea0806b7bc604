"""What the declarations of all experiments share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from fedmix import declarations

Count = Annotated[int, Field(ge=1)]
Number = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(gt=0, lt=1)]

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

#: Ways to align labels without the truth -> parameters of :func:`fedmix.align`.
ALIGNMENTS: dict[str, dict[str, Any]] = {
    "best_of_50_orders": {"n_orders": 50},
    "one_order": {"n_orders": 1},
    "first_client": {"method": "reference"},
}
Alignment = Literal["best_of_50_orders", "one_order", "first_client"]


class Declared(declarations.Declared):
    """Values by name, checked strictly; a field's description is the text below it."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Settings(Declared):
    """The settings of an experiment: a field each, with what it is below it."""

    axis: str | None = None
    """What a study of one thing at a time varies here; for figures and claims alone."""


class DataSettings(Settings):
    """Settings of an experiment on a data set."""

    dataset: str
    """An entry of `config/datasets.yaml`."""
    embedding: str
    """One of the data set's embeddings."""
    optional: bool = False
    """Whether the setting is left out, and listed, while nobody has made its embedding."""


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

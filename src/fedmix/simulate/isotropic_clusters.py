"""Isotropic clusters at clients that have some of them (FedGEM, Appendices D.2.2, D.6, E.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedmix.checks import check_choice, check_integer
from fedmix.clients import Clients
from fedmix.errors import ConfigurationError
from fedmix.partition.split import draw_classes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

IMBALANCES = ("nominal", "client", "cluster")
DESIGNS = ("text", "program")
#: Standard deviation of the centres in each coordinate.
CENTRE_SCALE = 5.0
_TRIES = 10_000
#: How often the program's numbers of clusters are drawn.
_NUMBERS = 10


@dataclass(frozen=True)
class IsotropicClusters:
    """One replication's training and test data.

    Parameters
    ----------
    train, test : Clients
        Training and test data of the same clients.
    test_labels : ndarray of shape (n,)
        Global clusters of all clients' test points.
    n_components : ndarray of shape (G,)
        Number K_g of clusters of each client.
    """

    train: Clients
    test: Clients
    test_labels: IntArray
    n_components: IntArray


def simulate_clusters(
    rng: np.random.Generator,
    n_clients: int = 5,
    n_clusters: int = 10,
    n_features: int = 4,
    separation: float = 4.0,
    imbalance: str = "nominal",
    client_sizes: int | list[int] = 500,
    n_test: int = 5000,
    design: str = "text",
) -> IsotropicClusters:
    """Draw clusters with unit variance and assign them to clients.

    Parameters
    ----------
    rng : numpy.random.Generator
    n_clients, n_clusters, n_features : int
        G, K and d.
    separation : float
        R_min: the exact distance between the two closest centres.
    imbalance : {"nominal", "client", "cluster"}, default="nominal"
        "cluster" draws the local shares of a client's clusters from U(0.1, 0.9) and normalises
        them. Otherwise they are equal. "client" needs a list of ``client_sizes``.
    client_sizes : int or list of int, default=500
        Number of training points per client. A list shorter than G is repeated.
    n_test : int, default=5000
        Number of test points of all clients together.
    design : {"text", "program"}, default="text"
        "text" draws 2 <= K_g < K (2 for K = 2), anew if a cluster is at no client, and test points
        in the shares of training. The published program draws 2 <= K_g <= K - 2 once, and equally
        many test points of every cluster of every client. It would not end if such numbers cannot
        cover the clusters; then they are drawn anew.

    Returns
    -------
    IsotropicClusters

    Raises
    ------
    ConfigurationError
        If there are fewer than two clusters, if "client" comes with one size, if the centres cannot
        be placed, or if the clients cannot have all clusters.
    """
    check_choice("simulate_clusters", "imbalance", imbalance, IMBALANCES)
    check_choice("simulate_clusters", "design", design, DESIGNS)
    check_integer("simulate_clusters", "n_clients", n_clients, 1)
    check_integer("simulate_clusters", "n_clusters", n_clusters, 2)
    if imbalance == "client" and np.ndim(client_sizes) == 0:
        raise ConfigurationError(
            f"simulate_clusters: imbalance='client' with one size for all clients, {client_sizes}. "
            "Give client_sizes as a list of different sizes."
        )
    centres = draw_centres(n_clusters, n_features, separation, rng)
    classes = _classes_that_cover(n_clusters, n_clients, design, rng)
    n_components = np.array([len(own) for own in classes])
    shares = [_shares(len(own), imbalance, rng) for own in classes]
    sizes = np.resize(client_sizes, n_clients)
    train, _ = _draw(centres, classes, shares, sizes, rng)
    parts = np.ones(n_clients)
    if design == "program":
        parts, shares = n_components, [_shares(k, "nominal", rng) for k in n_components]
    bounds = (n_test * np.cumsum([0, *parts]) / sum(parts)).round().astype(np.int64)
    test, test_labels = _draw(centres, classes, shares, np.diff(bounds), rng)
    return IsotropicClusters(train, test, test_labels, n_components)


def draw_centres(
    n_clusters: int, n_features: int, separation: float, rng: np.random.Generator
) -> FloatArray:
    """Draw centres whose smallest distance is exactly ``separation``, of shape (K, d).

    The first centre is N(0, 25 I). The second lies at that distance in a random direction. Each
    other centre is N(mean of those before, 25 I), drawn again while it is nearer than that to one
    of them.
    """
    first = rng.normal(scale=CENTRE_SCALE, size=n_features)
    direction = rng.normal(size=n_features)
    centres = [first, first + separation * direction / np.linalg.norm(direction)]
    tries = 0
    while len(centres) < n_clusters:
        candidate = rng.normal(np.mean(centres, axis=0), CENTRE_SCALE, size=n_features)
        if np.linalg.norm(np.array(centres) - candidate, axis=1).min() >= separation:
            centres.append(candidate)
        elif (tries := tries + 1) > _TRIES:
            raise ConfigurationError(
                f"Cannot place {n_clusters} centres {separation} apart in {n_features} dimensions: "
                "choose fewer clusters or a smaller separation."
            )
    return np.array(centres[:n_clusters])


def _classes_that_cover(
    n_clusters: int, n_clients: int, design: str, rng: np.random.Generator
) -> list[IntArray]:
    """Draw the clients' clusters until every cluster is at some client."""
    for _ in range(1 if design == "text" else _NUMBERS):
        draw = _draws_of_classes(n_clusters, n_clients, design, rng)
        for _ in range(_TRIES):
            classes = draw()
            if len(np.unique(np.concatenate(classes))) == n_clusters:
                return classes
    raise ConfigurationError(
        f"{n_clients} clients never have all {n_clusters} clusters: choose more clients."
    )


def _draws_of_classes(
    n_clusters: int, n_clients: int, design: str, rng: np.random.Generator
) -> Callable[[], list[IntArray]]:
    """Return what draws the clients' clusters: their numbers each time, or once as the program."""
    if design == "text":
        return partial(draw_classes, n_clusters, n_clients, max(2, n_clusters - 1), rng)
    numbers = rng.integers(2, max(2, n_clusters - 2), endpoint=True, size=n_clients)
    return lambda: [np.sort(rng.permutation(n_clusters)[:k]) for k in numbers]


def _shares(n_components: int, imbalance: str, rng: np.random.Generator) -> FloatArray:
    if imbalance != "cluster":
        return np.full(n_components, 1.0 / n_components)
    weights = rng.uniform(0.1, 0.9, size=n_components)
    return weights / weights.sum()


def _draw(
    centres: FloatArray,
    classes: list[IntArray],
    shares: list[FloatArray],
    sizes: IntArray,
    rng: np.random.Generator,
) -> tuple[Clients, IntArray]:
    """Draw each client's points. A cluster's number of points is its rounded share."""
    points, labels = [], []
    for own, share, size in zip(classes, shares, sizes, strict=True):
        counts = np.diff(np.round(np.concatenate([[0.0], np.cumsum(share)]) * size)).astype(int)
        label = np.repeat(own, counts)
        points.append(centres[label] + rng.normal(size=(len(label), centres.shape[1])))
        labels.append(label)
    return Clients.from_arrays(points), np.concatenate(labels)

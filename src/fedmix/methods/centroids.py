"""The base of methods with global centres: k-means++ seeds at clients and the nearest centre."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from fedmix.checks import as_numbers
from fedmix.clients import Clients
from fedmix.errors import ConfigurationError, DataError, DivergenceError
from fedmix.methods.base import FederatedEstimator, FloatArray, IntArray


class CentroidClustering(FederatedEstimator):
    """Base of methods whose model is one set of global centres.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, d)
        The global centres.
    n_clusters_ : int
        Number of centres. If a method needs the number of clusters, it is the given number.
    """

    cluster_centers_: FloatArray
    n_clusters_: int

    def _predict(self, clients: Clients) -> list[IntArray]:
        """Label each point with its nearest centre."""
        return clients.split(nearest_centre(clients.points, self.cluster_centers_))

    def _set_centres(self, centres: FloatArray) -> None:
        """Set the fitted centres (K, d), or raise DivergenceError if they are not finite."""
        d = self.n_features_in_
        if np.ndim(centres) != 2 or len(centres) == 0 or np.shape(centres)[1] != d:
            raise DataError(
                f"{type(self).__name__}: expected centres of shape (K, {d}), got "
                f"{np.shape(centres)}. Correct its _fit."
            )
        if not np.isfinite(centres).all():
            row = int(np.argmin(np.isfinite(centres).all(axis=1)))
            raise DivergenceError(
                f"{type(self).__name__}: centre {row} is not finite after {self.n_rounds_} "
                "rounds. Squared distances overflow: rescale the features."
            )
        self.cluster_centers_ = centres
        self.n_clusters_ = len(centres)


def nearest_centre(points: FloatArray, centres: FloatArray) -> IntArray:
    """Return the index of the nearest of centres (K, d) for points (n, d), of shape (n,)."""
    from fedmix.kernels.fedgem import assign

    every = np.array([0, len(points)]), np.array([0, len(centres)])
    return assign(points, every[0], centres, every[1], np.zeros(len(centres)))


def components_of(
    clients: Clients, components_per_client: int | Sequence[int] | IntArray
) -> IntArray:
    """Return each client's number of components K_g, (G,); 0 for a client without points.

    A ConfigurationError is raised if a sequence does not have one number per client.
    """
    wanted = np.asarray(components_per_client)
    if wanted.shape not in ((), (len(clients),)):
        raise ConfigurationError(
            f"components_per_client: expected one integer, or one for each of the {len(clients)} "
            f"clients; got {components_per_client!r}."
        )
    return np.where(clients.sizes > 0, wanted, 0).astype(np.int64)


def without_repeats(rows: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the different rows of an array (n, d), in their order, and each row's index there."""
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    kept = np.sort(first)
    return rows[kept], np.searchsorted(kept, first[inverse.reshape(-1)])


def seed_points(
    points: FloatArray, n_seeds: int, rng: np.random.Generator, n_local_trials: int | None = None
) -> FloatArray:
    """Draw k-means++ seeds (n_seeds, d) from one client's points (n, d), n >= 1.

    If there are more seeds than points, every point is a seed and the rest repeat random points.
    Each seed is chosen from ``n_local_trials`` points, by default scikit-learn's number. With 1 it
    is the k-means++ of Arthur and Vassilvitskii (2007).
    """
    from sklearn.cluster import kmeans_plusplus

    seed = int(rng.integers(2**31))
    if n_seeds > len(points):
        repeats = rng.integers(len(points), size=n_seeds - len(points))
        return np.concatenate([points, points[repeats]])
    return kmeans_plusplus(points, n_seeds, random_state=seed, n_local_trials=n_local_trials)[0]


def seed_clients(
    clients: Clients,
    n_components: IntArray,
    rng: np.random.Generator,
    n_local_trials: int | None = None,
) -> list[FloatArray]:
    """Draw k-means++ seeds at every client: a list of G arrays of shape (K_g, d).

    See :func:`seed_points`.
    """
    return [
        seed_points(points, k, own, n_local_trials) if k else np.empty((0, clients.n_features))
        for points, k, own in zip(clients, n_components, rng.spawn(len(clients)), strict=True)
    ]


def given_means(
    method: object,
    name: str,
    values: Sequence[ArrayLike],
    n_components: IntArray,
    clients: Clients,
) -> list[FloatArray]:
    """Return a parameter that has means (K_g, d) for each client, checked.

    A ConfigurationError names the method, the parameter and the client if there is not one array
    for each client, or if one has another shape.
    """
    if len(values) != len(clients):
        raise ConfigurationError(f"{name}: expected one array for each of {len(clients)} clients.")
    means = []
    for g, (own, k) in enumerate(zip(values, n_components.tolist(), strict=True)):
        shape = (k, clients.n_features)
        given = own if k else np.empty(shape)
        means.append(as_numbers(method, f"{name} of client {g}", given, shape))
    return means

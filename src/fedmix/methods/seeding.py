"""Starting values of federated clustering: k-means++ at every client."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.errors import ConfigurationError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def components_of(clients: Clients, components_per_client: int | Sequence[int]) -> IntArray:
    """Return each client's number of components K_g, of shape (G,); 0 for a client without points.

    Parameters
    ----------
    clients : Clients
    components_per_client : int or sequence of G ints, >= 1
        One number for all clients, or one a client.

    Raises
    ------
    ConfigurationError
        If there is not one for every client.
    """
    wanted = np.asarray(components_per_client)
    if wanted.shape not in ((), (len(clients),)):
        raise ConfigurationError(
            f"components_per_client: expected one integer, or one for each of the {len(clients)} "
            f"clients; got {components_per_client!r}."
        )
    return np.where(clients.sizes > 0, wanted, 0).astype(np.int64)


def seed_points(points: FloatArray, n_seeds: int, rng: np.random.Generator) -> FloatArray:
    """Draw k-means++ seeds from one client's points.

    Parameters
    ----------
    points : array of shape (n, d), n >= 1
    n_seeds : int
        With more seeds than points, every point is a seed and the rest repeat random points.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_seeds, d)
    """
    from sklearn.cluster import kmeans_plusplus

    seed = int(rng.integers(2**31))
    if n_seeds > len(points):
        repeats = rng.integers(len(points), size=n_seeds - len(points))
        return np.concatenate([points, points[repeats]])
    return kmeans_plusplus(points, n_seeds, random_state=seed)[0]


def seed_clients(
    clients: Clients, n_components: IntArray, rng: np.random.Generator
) -> list[FloatArray]:
    """Draw k-means++ seeds at every client: a list of G arrays of shape (K_g, d)."""
    return [
        seed_points(points, k, generator) if k else np.empty((0, clients.n_features))
        for points, k, generator in zip(clients, n_components, rng.spawn(len(clients)), strict=True)
    ]

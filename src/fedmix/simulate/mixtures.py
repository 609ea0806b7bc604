"""Mixtures with any size, dimension, separation and heterogeneity.

The quantities n, K, d, R, Delta, h and epsilon of FedGrEM's theory (Tian, Weng and Feng 2024,
Section 3) are parameters here. All distances between centres are exactly ``separation``, and all
distances of means from their centres exactly h. Delta, the smallest distance between two means of a
client, is random if h > 0: it lies between ``separation`` - 2 h and ``separation`` + 2 h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedmix.checks import check_choice, check_integer
from fedmix.clients import Clients
from fedmix.errors import ConfigurationError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Truth:
    """The parameters of all clients, including the contaminated ones.

    Parameters
    ----------
    weights : ndarray of shape (K, R)
        Mixing weights.
    means : ndarray of shape (K, R, d)
        Means, or regression coefficients.
    n_good : int
        Number of clients that are not contaminated. They come first.
    """

    weights: FloatArray
    means: FloatArray
    n_good: int


def draw_truth(
    rng: np.random.Generator,
    n_clients: int,
    n_features: int,
    n_components: int,
    separation: float,
    heterogeneity: float = 0.0,
    n_contaminated: int = 0,
    outlier_distance: float = 0.0,
    concentration: float | None = None,
) -> Truth:
    """Draw the clients' parameters.

    The R centres are the corners of a regular simplex in random position, so that any two of them
    are ``separation`` apart. A client's means lie at distance ``heterogeneity`` from the centres,
    each in its own random direction.

    Parameters
    ----------
    rng : Generator
        Source of randomness.
    n_clients, n_features, n_components : int
        K, d and R; d is at least R.
    separation : float
        Distance between any two centres. It is Delta if h = 0.
    heterogeneity : float, default=0.0
        h.
    n_contaminated : int, default=0
        Number of contaminated clients. They are the last ones.
    outlier_distance : float, default=0.0
        Distance by which all means of contaminated clients are shifted in one common direction,
        because contaminated clients that agree do more harm than noise.
    concentration : float, optional
        Parameter of the Dirichlet distribution of a client's mixing weights; equal weights by
        default.

    Raises
    ------
    ConfigurationError
        If there are more components than features, or more contaminated clients than clients.
    """
    check_integer("draw_truth", "n_contaminated", n_contaminated, 0, n_clients)
    if n_components > n_features:
        raise ConfigurationError(
            f"{n_components} components need at least as many features to be equally far apart; "
            f"got {n_features}."
        )
    basis = np.linalg.qr(rng.standard_normal((n_features, n_components)))[0].T
    centres = separation / np.sqrt(2.0) * basis
    directions = _unit(rng.standard_normal((n_clients, n_components, n_features)))
    means = centres + heterogeneity * directions
    n_good = n_clients - n_contaminated
    means[n_good:] += outlier_distance * _unit(rng.standard_normal(n_features))
    weights = np.full((n_clients, n_components), 1.0 / n_components)
    if concentration is not None:
        weights = rng.dirichlet(np.full(n_components, concentration), size=n_clients)
    return Truth(weights, means, n_good)


def draw_points(
    rng: np.random.Generator, truth: Truth, n_points: int, family: str = "gaussian"
) -> tuple[Clients, list[IntArray]]:
    """Draw the points of every client and their components.

    Parameters
    ----------
    rng : Generator
        Source of randomness.
    truth : Truth
        The result of :func:`draw_truth`.
    n_points : int
        Number of points per client.
    family : {"gaussian", "regression"}, default="gaussian"
        Gaussians with identity covariance, or regressions on N(0, I) with unit noise.

    Returns
    -------
    clients : Clients
        The points, with responses for regressions.
    labels : list of K int arrays of shape (n_points,)
        The component of each point.
    """
    check_choice("draw_points", "family", family, ("gaussian", "regression"))
    n_components, d = truth.means.shape[1:]
    labels = [rng.choice(n_components, size=n_points, p=own) for own in truth.weights]
    noise = rng.standard_normal((len(labels), n_points, d))
    chosen = [means[own] for means, own in zip(truth.means, labels, strict=True)]
    if family == "gaussian":
        return Clients.from_arrays([a + b for a, b in zip(chosen, noise, strict=True)]), labels
    responses = [
        np.einsum("nd,nd->n", x, own) + rng.standard_normal(n_points)
        for x, own in zip(noise, chosen, strict=True)
    ]
    return Clients.from_arrays(list(noise), responses), labels


def _unit(vectors: FloatArray) -> FloatArray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)

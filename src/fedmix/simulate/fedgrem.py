"""The simulated mixtures of the FedGrEM paper (Tian, Weng and Feng 2024, Section B.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedmix.checks import check_choice, check_integer
from fedmix.clients import Clients

#: Centres of the component parameters, of shape (R, d) = (5, 10). The last entry of the second
#: centre is missing in the paper. The authors' program has -1 there.
CENTRES = np.array(
    [
        [1, 0, 3, -1, 1, -1, 0, 1, 1, -1],
        [0, 1, -1, -3, 2, -1, 2, -1, 1, -1],
        [-3, -1, 2, -1, 2, -1, 1, -3, -1, -2],
        [1, -2, 0, -1, -2, 2, 1, 3, 1, -1],
        [3, 1, 2, -1, -2, 1, 2, -1, -1, 2],
    ],
    dtype=np.float64,
)
DIRICHLET_CONCENTRATION = 5.0


@dataclass(frozen=True)
class SimulatedMixture:
    """Simulated clients and the true parameters of the good ones.

    Parameters
    ----------
    clients : Clients
        All K clients. The last one is the outlier.
    weights : ndarray of shape (K - 1, R)
        True mixing weights of the good clients.
    means : ndarray of shape (K - 1, R, d)
        True means, or regression coefficients, of the good clients.
    """

    clients: Clients
    weights: NDArray
    means: NDArray


def simulate_mixture(
    model: str,
    heterogeneity: float,
    rng: np.random.Generator,
    n_clients: int = 10,
    n_points: int = 150,
    outlier: dict[str, Any] | None = None,
) -> SimulatedMixture:
    """Draw one replication of the Gaussian or the regression simulation.

    Parameters
    ----------
    model : {"gaussian", "regression"}
        Identity-covariance Gaussian mixtures, or mixtures of regressions with unit noise.
    heterogeneity : float
        Distance h of every client's parameters from the centres.
    rng : Generator
        Source of randomness.
    n_clients : int, default=10
        Number of clients K, including the outlier. The default is the paper's.
    n_points : int, default=150
        Number of points per client: 150 in the paper, 200 in the authors' regression program.
    outlier : dict, optional
        The outlier's distribution. The default is the paper's: ``{"mean": 2.0, "variance": 3.0}``
        for Gaussian data, ``{"coefficient": 3.0}`` for regression.

    Returns
    -------
    SimulatedMixture

    Raises
    ------
    ConfigurationError
        If the model is unknown or there are fewer than two clients.
    """
    check_choice("simulate_mixture", "model", model, _DRAW_POINTS)
    check_integer("simulate_mixture", "n_clients", n_clients, 2)  # a good client and an outlier
    components, d = CENTRES.shape
    good = n_clients - 1
    weights = rng.dirichlet(np.full(components, DIRICHLET_CONCENTRATION), size=good)
    directions = rng.standard_normal((good, components, d))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    means = CENTRES + heterogeneity * directions
    draw_good, draw_outlier = _DRAW_POINTS[model]
    drawn = [draw_good(w, m, n_points, rng) for w, m in zip(weights, means, strict=True)]
    drawn.append(draw_outlier(n_points, d, rng, **(outlier or {})))
    xs, ys = zip(*drawn, strict=True)
    clients = Clients.from_arrays(xs, ys if model == "regression" else None)
    return SimulatedMixture(clients, weights, means)


def signal_to_noise(means: NDArray) -> float:
    """Return the SNR of Figure 3: the minimum over clients of the largest component distance.

    Parameters
    ----------
    means : ndarray of shape (K, R, d)
        True parameters of the good clients.
    """
    distances = np.linalg.norm(means[:, :, None] - means[:, None], axis=-1)
    return float(distances.max(axis=(1, 2)).min())


def _gaussian_points(weights: NDArray, means: NDArray, n: int, rng: np.random.Generator):
    labels = rng.choice(len(weights), size=n, p=weights)
    return means[labels] + rng.standard_normal((n, means.shape[1])), None


def _gaussian_outlier(
    n: int, d: int, rng: np.random.Generator, mean: float = 2.0, variance: float = 3.0
):
    return mean + np.sqrt(variance) * rng.standard_normal((n, d)), None


def _regression_points(weights: NDArray, means: NDArray, n: int, rng: np.random.Generator):
    labels = rng.choice(len(weights), size=n, p=weights)
    x = rng.standard_normal((n, means.shape[1]))
    return x, np.einsum("nd,nd->n", x, means[labels]) + rng.standard_normal(n)


def _regression_outlier(n: int, d: int, rng: np.random.Generator, coefficient: float = 3.0):
    x = rng.standard_normal((n, d))
    return x, x @ np.full(d, coefficient) + rng.standard_normal(n)


_DRAW_POINTS: dict[str, tuple[Callable, Callable]] = {
    "gaussian": (_gaussian_points, _gaussian_outlier),
    "regression": (_regression_points, _regression_outlier),
}

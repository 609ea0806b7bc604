"""Gaussian components with identity covariance."""

from __future__ import annotations

import math

import numpy as np

from fedmix.clients import Clients
from fedmix.families.base import Family, FloatArray, Sample, Statistics, floor_code
from fedmix.kernels.em import gaussian_expectation, weighted_means

SMALLEST_PUBLISHED_WEIGHT = 1e-10


class Gaussian(Family):
    """Components N(theta_r, I): Gaussian mixture models.

    References
    ----------
    Tian, Weng and Feng (2024), Section 3.3, equation (4).
    """

    name = "gaussian"
    default_initialization = "eee"

    def check(self, clients: Clients) -> None:
        """Accept all clients. Responses are not used."""

    def log_density(
        self, points: FloatArray, responses: FloatArray | None, means: FloatArray
    ) -> FloatArray:
        """Return -|x - theta|^2 / 2 - d/2 log(2 pi), of shape (n, R)."""
        squares = np.empty((len(points), len(means)))
        for r, mean in enumerate(means):
            squares[:, r] = np.square(points - mean).sum(axis=1)
        return -0.5 * (squares + points.shape[1] * math.log(2 * math.pi))

    def expectation(
        self,
        sample: Sample,
        weights: FloatArray,
        means: FloatArray,
        density_floor: str | None = None,
        for_gradient: bool = False,
        with_likelihood: bool = False,
    ) -> Statistics:
        """Do the E-step. The statistics of a gradient step are those of the M-step."""
        n_clients, n_components, d = means.shape
        responsibilities, scores, _, log_kernels = gaussian_expectation(
            sample.columns,
            sample.offsets,
            np.ascontiguousarray(weights).reshape(-1),
            np.ascontiguousarray(means).reshape(-1, d),
            n_components * np.arange(n_clients + 1),
            floor_code(density_floor),
            False,
            with_likelihood,
        )
        statistics = Statistics(
            sample.sizes, responsibilities.reshape(weights.shape), scores.reshape(means.shape)
        )
        if not with_likelihood:
            return statistics
        constants = sample.sizes * (0.5 * d * math.log(2 * math.pi))
        return statistics._replace(log_likelihoods=log_kernels - constants)

    def maximise(
        self, statistics: Statistics, means: FloatArray, as_published: bool = False
    ) -> FloatArray:
        """Return the weighted averages of the points.

        ``as_published`` divides by at least 1e-10 n_k, which moves a component without points to
        the origin.
        """
        if as_published:
            mass = statistics.responsibilities[..., None]
            least = SMALLEST_PUBLISHED_WEIGHT * np.maximum(statistics.sizes, 1)[:, None, None]
            return (statistics.scores + mass * means) / np.maximum(mass, least)
        return weighted_means(statistics.scores, statistics.responsibilities, means)

    def curvature(self, statistics: Statistics) -> FloatArray:
        """Return the mixing weights of this E-step: the Hessian of Q-hat is -w_r I."""
        return statistics.mixing_weights(np.zeros_like(statistics.responsibilities))

"""Linear regressions with standard normal noise."""

from __future__ import annotations

import math

import numpy as np

from fedmix.clients import Clients
from fedmix.errors import DataError
from fedmix.families.base import Family, FloatArray, Sample, Statistics, floor_code, symmetric
from fedmix.kernels.regression import regression_expectation, solve_normal

PUBLISHED_RIDGE = 1e-5  # added to the diagonal of normal matrices in the published code


class Regression(Family):
    """Components y | x ~ N(x'theta_r, 1): mixtures of regressions.

    The "mean" of a component is its vector of coefficients. There is no intercept; to have one, add
    a column of ones.

    References
    ----------
    Tian, Weng and Feng (2024), Section 3.4, equation (5).
    """

    name = "regression"
    default_initialization = "regression"

    def check(self, clients: Clients) -> None:
        """Raise DataError if there are no responses."""
        if clients.responses is None:
            raise DataError(
                'family="regression" needs responses: Clients.from_arrays(xs, responses).'
            )

    def log_density(
        self, points: FloatArray, responses: FloatArray | None, means: FloatArray
    ) -> FloatArray:
        """Return -(y - x'theta)^2 / 2 - log(2 pi) / 2, of shape (n, R)."""
        residuals = responses[:, None] - points @ means.T
        return -0.5 * (np.square(residuals) + math.log(2 * math.pi))

    def expectation(
        self,
        sample: Sample,
        weights: FloatArray,
        means: FloatArray,
        density_floor: str | None = None,
        for_gradient: bool = False,
        with_likelihood: bool = False,
    ) -> Statistics:
        """Do the E-step. For a gradient step the normal matrices are left out."""
        responsibilities, scores, normal, log_kernels = regression_expectation(
            sample.columns,
            sample.responses,
            sample.offsets,
            np.ascontiguousarray(weights),
            np.ascontiguousarray(means),
            floor_code(density_floor),
            not for_gradient,
            with_likelihood,
        )
        log_likelihoods = None
        if with_likelihood:
            log_likelihoods = log_kernels - 0.5 * math.log(2 * math.pi) * sample.sizes
        return Statistics(
            sample.sizes,
            responsibilities,
            scores,
            log_likelihoods,
            None if for_gradient else normal,
        )

    def maximise(
        self, statistics: Statistics, means: FloatArray, as_published: bool = False
    ) -> FloatArray:
        """Return the weighted least squares estimates, as a step from ``means``.

        Q-hat is quadratic, so one Newton step from any point reaches its maximum. If the normal
        matrix is singular, the step of smallest norm is taken. ``as_published`` adds 1e-5 to its
        diagonal.
        """
        ridge = PUBLISHED_RIDGE if as_published else 0.0
        return means + normal_step(statistics.normal, statistics.scores, means, ridge)

    def curvature(self, statistics: Statistics) -> FloatArray:
        """Return the largest eigenvalue of the weighted normal matrices over n_k."""
        largest = np.linalg.eigvalsh(statistics.normal, UPLO="U")[..., -1]
        return largest / np.maximum(statistics.sizes, 1)[:, None]


def normal_step(
    normal: FloatArray, scores: FloatArray, means: FloatArray, ridge: float = 0.0
) -> FloatArray:
    """Return the step to the (ridge) least squares estimate from ``means``, (..., d).

    The weighted normal matrices (..., d, d) are in their upper triangles. The scores (..., d) are
    the weighted sums of residual times covariates at ``means``. The ridge is added to the
    diagonals.
    """
    d = means.shape[-1]
    matrices, right = normal.reshape(-1, d, d), scores.reshape(-1, d)
    if ridge > 0:
        matrices = matrices + ridge * np.eye(d)
        right = right - ridge * means.reshape(-1, d)
    steps, singular = solve_normal(matrices, right)
    for r in singular.nonzero()[0]:
        full = symmetric(matrices[r])
        finite = np.isfinite(full).all()  # else the round's own check names client and component
        inverse = np.linalg.pinv(full, rcond=1e-12, hermitian=True) if finite else np.nan * full
        steps[r] = inverse @ right[r]
    return steps.reshape(means.shape)

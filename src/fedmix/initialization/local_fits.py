"""EM on one client's data, with a fixed or an estimated scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedmix import families
from fedmix.clients import Clients
from fedmix.families import Sample, Statistics, log_sum
from fedmix.families.base import symmetric

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-5  # gain in log-likelihood per point, which does not depend on the data's units
MAX_ITERATIONS = 300
MCLUST_ITERATIONS = 10_000  # mclust has no limit
SMALLEST_SHARE = 1e-6  # smallest estimated variance, as a share of the mean variance


def unit_scale_em(
    client: Clients, family: str, weights: FloatArray, means: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Run EM with the family's own fixed scale, from weights (1, R) and means (1, R, d).

    Returns new ones, and the log-likelihood at the parameters before the last step.
    """
    kind = families.get(family)
    sample = Sample.of(client)
    n = client.n_points
    previous = -np.inf
    for _ in range(MAX_ITERATIONS):
        statistics = kind.expectation(sample, weights, means, with_likelihood=True)
        weights = statistics.mixing_weights(weights)
        means = kind.maximise(statistics, means)
        log_likelihood = float(statistics.log_likelihoods[0])
        if log_likelihood - previous <= TOLERANCE * n:
            break
        previous = log_likelihood
    return weights, means, log_likelihood


def shared_covariance_em(
    points: FloatArray, labels: NDArray[np.int64], n_components: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Run EM for a Gaussian mixture with one full covariance, from the labels (n,) of a partition.

    After whitening by the covariance the components have identity covariances, so the E-step is the
    family's own. The covariance is (total scatter - scatter between components) / n, made regular
    by :func:`regular_factor`. A component without a label starts at a point, with its weight.
    Returns weights (R,), means (R, d) and the covariance (d, d).
    """
    n = len(points)
    fit = _SharedCovariance(points, labels, n_components)
    previous = -np.inf
    for _ in range(MAX_ITERATIONS):
        log_likelihood = fit.step()
        if log_likelihood - previous <= TOLERANCE * n:
            break
        previous = log_likelihood
    return fit.weights, fit.means + fit.centre, fit.factor @ fit.factor.T


def mclust_em(
    points: FloatArray, labels: NDArray[np.int64], n_components: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Run :func:`shared_covariance_em` with the stopping rule of the R package mclust.

    EM ends when the log-likelihood gains less than 1e-5 of itself. The result is from before
    the last step, unless that step moves the weights.
    """
    fit = _SharedCovariance(points, labels, n_components)
    previous = -np.inf
    for _ in range(MCLUST_ITERATIONS):
        before = fit.weights, fit.means, fit.factor
        log_likelihood = fit.step()
        if log_likelihood - previous <= TOLERANCE * (1 + abs(log_likelihood)):
            break
        previous = log_likelihood
    moved = np.square(fit.weights - before[0]).sum() > np.sqrt(np.finfo(np.float64).eps)
    weights, means, factor = (fit.weights, fit.means, fit.factor) if moved else before
    return weights, means + fit.centre, factor @ factor.T


class _SharedCovariance:
    """A Gaussian mixture with one full covariance, whose EM steps start from a partition.

    The means (R, d) are less the ``centre`` (d,) of the points, and ``factor`` (d, d) is the
    Cholesky factor of the covariance.
    """

    def __init__(self, points: FloatArray, labels: NDArray[np.int64], n_components: int) -> None:
        self.centre = points.mean(axis=0)
        self._centred = points - self.centre
        self._scatter = self._centred.T @ self._centred
        masses, self.means = partition_moments(self._centred, labels, n_components)
        self.weights = np.maximum(masses, 1.0) / np.maximum(masses, 1.0).sum()
        self._update_factor(masses)

    def step(self) -> float:
        """Do one EM step, and return the log-likelihood before it."""
        gaussian = families.get("gaussian")
        n = len(self._centred)
        whitened = np.linalg.solve(self.factor, np.vstack([self._centred, self.means]).T)
        sample = Sample(np.ascontiguousarray(whitened[:, :n]), np.array([0, n]), np.empty(0))
        start = np.ascontiguousarray(whitened[:, n:].T)[None]
        statistics = gaussian.expectation(sample, self.weights[None], start, with_likelihood=True)
        log_likelihood = statistics.log_likelihoods[0] - n * np.log(np.diag(self.factor)).sum()
        masses = statistics.responsibilities[0]
        self.weights = masses / n
        self.means = gaussian.maximise(statistics, start)[0] @ self.factor.T
        self._update_factor(masses)
        return float(log_likelihood)

    def _update_factor(self, masses: FloatArray) -> None:
        between = (self.means.T * masses) @ self.means
        self.factor = regular_factor((self._scatter - between) / len(self._centred))


def regular_factor(covariance: FloatArray) -> FloatArray:
    """Return the lower Cholesky factor of a covariance whose smallest eigenvalues are raised.

    Eigenvalues below ``SMALLEST_SHARE`` of their mean are raised to it, so that the matrix is
    regular for very small clients and constant columns. A covariance of zero (all points equal) is
    replaced by the family's unit variance.
    """
    mean_variance = np.trace(covariance) / len(covariance)
    if not mean_variance > 0:
        return np.eye(len(covariance))
    # In units of the mean variance, so that very small scales stay within float64's range.
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2 / mean_variance)
    # A negative eigenvalue is a rounding error, which can exceed the mean variance.
    values = np.maximum(values, SMALLEST_SHARE * max(1.0, -values[0]))
    return np.sqrt(mean_variance) * np.linalg.cholesky((vectors * values) @ vectors.T)


def regular_factors(covariances: FloatArray) -> FloatArray:
    """Return :func:`regular_factor` of covariances (..., d, d), up to rounding errors.

    Eigenvalues are computed only if one has to be raised. Then a covariance has no Cholesky factor
    once the smallest valid variance is subtracted.
    """
    d = covariances.shape[-1]
    smallest = SMALLEST_SHARE * np.trace(covariances, axis1=-2, axis2=-1) / d
    try:
        np.linalg.cholesky(covariances - smallest[..., None, None] * np.eye(d))
        return np.asarray(np.linalg.cholesky(covariances))
    except np.linalg.LinAlgError:
        each = [regular_factor(covariance) for covariance in covariances.reshape(-1, d, d)]
        return np.array(each).reshape(covariances.shape)


def in_turn(rows: NDArray, n_rows: int) -> NDArray:
    """Return a copy of the first ``n_rows`` rows, repeated in turn if there are fewer."""
    return rows[np.arange(n_rows) % len(rows)]


def partition_moments(
    points: FloatArray, labels: NDArray[np.int64], n_components: int
) -> tuple[FloatArray, FloatArray]:
    """Return counts (R,) and means (R, d) of a partition; empty parts take points in turn."""
    masses = np.bincount(labels, minlength=n_components).astype(np.float64)
    means = in_turn(points, n_components)
    for r in np.flatnonzero(masses):
        means[r] = points[labels == r].mean(axis=0)
    return masses, means


def shared_noise_em(
    sample: Sample, coefficients: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Run EM for regressions with one estimated noise variance, from coefficients (R, d).

    Responses divided by the noise's standard deviation have unit noise, so the E-step is the
    family's own. The variance is (sum of squared responses - explained sum) / n, and at least
    ``SMALLEST_SHARE`` of the mean squared response. Returns weights (R,), coefficients (R, d) and
    the log-likelihood at the parameters before the last step.
    """
    regression = families.get("regression")
    n, n_components = sample.sizes[0], len(coefficients)
    total = np.square(sample.responses).sum()
    smallest = SMALLEST_SHARE * total / n or 1.0
    variance = max(total / n, smallest)
    weights = np.full((1, n_components), 1.0 / n_components)
    previous = -np.inf
    for _ in range(MAX_ITERATIONS):
        scale = np.sqrt(variance)
        scaled = Sample(sample.columns, sample.offsets, sample.responses / scale)
        start = coefficients[None] / scale
        statistics = regression.expectation(scaled, weights, start, with_likelihood=True)
        weights = statistics.mixing_weights(weights)
        fitted = regression.maximise(statistics, start)
        explained = _explained(statistics, start, fitted) * variance
        coefficients = fitted[0] * scale
        variance = max((total - explained) / n, smallest)
        log_likelihood = float(statistics.log_likelihoods[0] - n * np.log(scale))
        if log_likelihood - previous <= TOLERANCE * n:
            break
        previous = log_likelihood
    return weights[0], coefficients, log_likelihood


def own_noise_em(
    client: Clients, coefficients: FloatArray, variance: float
) -> tuple[FloatArray, FloatArray] | None:
    """Run EM for regressions with separate noise variances, from coefficients (R, d).

    It ends when every parameter changes by less than 1e-6, or after 1,000 steps. Returns weights
    (R,) and coefficients (R, d), or None at a singularity: a component without noise, or with at
    most d points.
    """
    x, y = client[0], client.responses_of(0)
    n_components, d = coefficients.shape
    tiny = np.finfo(np.float64).eps
    weights, variances = np.full(n_components, 1.0 / n_components), np.full(n_components, variance)
    for _ in range(1000):
        squares = np.square(y[:, None] - x @ coefficients.T)
        joint = np.log(weights) - 0.5 * (np.log(variances) + squares / variances)
        shares = np.exp(joint - log_sum(joint)[:, None])
        if ((shares > tiny).sum(axis=0) <= d).any():
            return None
        weighted = x.T * shares.T[:, None]
        try:
            fitted = np.linalg.solve(weighted @ x, (weighted @ y)[..., None])[..., 0]
        except np.linalg.LinAlgError:
            return None
        squares = np.square(y[:, None] - x @ fitted.T)
        masses = shares.sum(axis=0)
        own = (shares * squares).sum(axis=0) / masses
        if not (own >= tiny).all():
            return None
        after, before = (fitted, own, masses / len(y)), (coefficients, variances, weights)
        coefficients, variances, weights = after
        if all(np.abs(a - b).max() < 1e-6 for a, b in zip(after, before, strict=True)):
            break
    return weights, coefficients


def _explained(statistics: Statistics, start: FloatArray, fitted: FloatArray) -> float:
    """Return sum_r theta_r' X'G_r y at the M-step theta = ``fitted`` of an E-step at ``start``."""
    full = symmetric(statistics.normal)
    cross_products = statistics.scores + np.einsum("krij,krj->kri", full, start)
    return float((fitted * cross_products).sum())

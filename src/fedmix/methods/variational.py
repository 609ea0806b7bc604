"""Fit scikit-learn's Dirichlet-process mixture in blocks of points that stay in the cache.

scikit-learn passes arrays of n points times K components through the memory many times a round.
The update equations below are its own, for spherical components.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln, digamma, gammaln

from fedmix.kernels.responsibilities import BLOCK, NO_FLOOR, normalise
from fedmix.methods.base import FloatArray

if TYPE_CHECKING:
    from sklearn.mixture import BayesianGaussianMixture


def fit_in_blocks(model: BayesianGaussianMixture, points: FloatArray) -> None:
    """Fit a mixture as ``model.fit(points)`` does, up to rounding errors, and set its attributes.

    The model is a Dirichlet process with spherical covariances and one start. A ValueError is
    raised if a component's variance is not positive.
    """
    most = model.max_iter
    model.set_params(max_iter=0).fit(points)  # the start and the priors
    model.set_params(max_iter=most)
    # A product with these columns gives squared distances, and one with responsibilities all sums.
    columns = np.column_stack([points, np.einsum("ij,ij->i", points, points), np.ones(len(points))])
    bound, model.converged_ = -np.inf, False
    for _ in range(most):
        model.n_iter_ += 1
        sums, entropy = _expectation(model, columns)
        _maximisation(model, sums)
        before, bound = bound, entropy + _lower_bound(model)
        if abs(bound - before) < model.tol:
            model.converged_ = True
            break
    model.lower_bound_ = bound
    first, second = model.weight_concentration_
    left = np.cumprod(second / (first + second))
    weights = first / (first + second) * np.append(1.0, left[:-1])
    model.weights_ = weights / weights.sum()


def _expectation(model: BayesianGaussianMixture, columns: FloatArray) -> tuple[FloatArray, float]:
    """Return the sums of points, squared norms and ones (K, d + 2), and the entropy."""
    precisions = model.precisions_cholesky_**2
    means, offsets = model.means_, np.einsum("kj,kj->k", model.means_, model.means_)
    factors = np.column_stack(
        [
            -2 * precisions[:, None] * means,
            precisions,
            precisions * offsets - 2 * _log_factors(model),
        ]
    )
    sums, entropy, ones = np.zeros_like(factors), 0.0, np.ones(len(means))
    for start in range(0, len(columns), BLOCK):
        block = columns[start : start + BLOCK]
        squares = factors @ block.T
        responsibilities = squares.copy()
        scratch = np.empty((2, len(block)))
        log_likelihood = normalise(responsibilities, ones, NO_FLOOR, scratch[0], scratch[1], True)
        entropy += log_likelihood + 0.5 * np.vdot(responsibilities, squares)
        sums += responsibilities @ block
    return sums, entropy


def _log_factors(model: BayesianGaussianMixture) -> FloatArray:
    """Return each component's expected log density without the squared distance (K,)."""
    n_features = model.means_.shape[1]
    first, second = model.weight_concentration_
    both = digamma(first + second)
    log_weights = digamma(first) - both
    log_weights[1:] += np.cumsum(digamma(second) - both)[:-1]
    halves = 0.5 * (model.degrees_of_freedom_ - np.arange(n_features)[:, None])
    log_precision = n_features * math.log(2.0) + digamma(halves).sum(axis=0)
    log_precision -= n_features * np.log(model.degrees_of_freedom_)
    return (
        log_weights
        + n_features * np.log(model.precisions_cholesky_)
        + 0.5 * (log_precision - n_features / model.mean_precision_)
        - 0.5 * n_features * math.log(2 * math.pi)
    )


def _maximisation(model: BayesianGaussianMixture, sums: FloatArray) -> None:
    """Update the posterior's parameters from the sums of the points."""
    n_features = model.means_.shape[1]
    counts = sums[:, -1] + 10 * np.finfo(np.float64).eps
    centres = sums[:, :-2] / counts[:, None]
    variances = (sums[:, -2] / counts - np.einsum("kj,kj->k", centres, centres)) / n_features
    later = np.append(np.cumsum(counts[::-1])[-2::-1], 0.0)  # points of all components after k
    model.weight_concentration_ = (1.0 + counts, model.weight_concentration_prior_ + later)
    strength = model.mean_precision_prior_
    model.mean_precision_ = strength + counts
    prior = strength * model.mean_prior_
    model.means_ = (prior + counts[:, None] * centres) / model.mean_precision_[:, None]
    model.degrees_of_freedom_ = model.degrees_of_freedom_prior_ + counts
    away = np.mean((centres - model.mean_prior_) ** 2, axis=1)
    spread = variances + model.reg_covar + strength / model.mean_precision_ * away
    model.covariances_ = model.covariance_prior_ + counts * spread
    model.covariances_ /= model.degrees_of_freedom_
    if not (model.covariances_ > 0).all():
        raise ValueError("a component's variance is not positive. Allow fewer components.")
    model.precisions_ = 1.0 / model.covariances_
    model.precisions_cholesky_ = np.sqrt(model.precisions_)


def _lower_bound(model: BayesianGaussianMixture) -> float:
    """Return the part of the lower bound that depends on the posterior's parameters alone."""
    n_features = model.means_.shape[1]
    freedom = model.degrees_of_freedom_
    log_det = n_features * (np.log(model.precisions_cholesky_) - 0.5 * np.log(freedom))
    halves = 0.5 * (freedom - np.arange(n_features)[:, None])
    log_wishart = freedom * (log_det + 0.5 * n_features * math.log(2.0))
    log_wishart += gammaln(halves).sum(axis=0)
    return float(
        log_wishart.sum()
        + betaln(*model.weight_concentration_).sum()
        - 0.5 * n_features * np.log(model.mean_precision_).sum()
    )

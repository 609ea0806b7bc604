"""Initialisation strategies: each fits one client's mixture on its own data.

All take ``(client, n_components, generator)``, where ``client`` is a
:class:`fedmix.clients.Clients` of one client with at least one point, and return ``weights`` (R,)
and ``means`` (R, d).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.families import Sample
from fedmix.initialization.local_fits import (
    in_turn,
    mclust_em,
    own_noise_em,
    partition_moments,
    shared_covariance_em,
    shared_noise_em,
    unit_scale_em,
)
from fedmix.kernels.hierarchical import model_based_clusters

if TYPE_CHECKING:
    from sklearn.mixture import GaussianMixture

FloatArray = NDArray[np.float64]
Fit = tuple[FloatArray, FloatArray]

MAX_POINTS = 2000  # hierarchical clustering needs memory of n^2; mclust's own limit


def shared_covariance(client: Clients, n_components: int, generator: np.random.Generator) -> Fit:
    """EM with one full covariance shared by the components, from Ward's clustering.

    A fast stand-in for :func:`mclust`, also with many features.
    """
    labels = ward_labels(client[0], n_components, generator)
    return shared_covariance_em(client[0], labels, n_components)[:2]


def mclust(client: Clients, n_components: int, generator: np.random.Generator) -> Fit:
    """Model EEE of the R package mclust, the initial EM of the simulations.

    EM with one full covariance starts from a model-based hierarchical clustering. Tian, Weng and
    Feng (2024), Section B. Its time grows as the cube of the number of features.
    """
    labels = model_based_labels(client[0], n_components, generator)
    return mclust_em(client[0], labels, n_components)[:2]


def ward(client: Clients, n_components: int, generator: np.random.Generator) -> Fit:
    """Identity-covariance EM from Ward's hierarchical clustering."""
    return _identity_em(client, _ward_centres(client[0], n_components, generator))[:2]


def covariance_by_bic(client: Clients, n_components: int, generator: np.random.Generator) -> Fit:
    """EM for Gaussian mixtures from Ward's clustering, with the covariance type of lowest BIC.

    scikit-learn's four types correspond to four of the fourteen from which the R package mclust
    chooses by default: spherical (VII), diagonal (VVI), shared (EEE) and full (VVV). As in mclust,
    a type that becomes singular is skipped. If all do, covariances are the identity.
    """
    points = client[0]
    centres = _ward_centres(points, n_components, generator)
    kinds = ("spherical", "diag", "tied", "full")
    mixtures = [m for kind in kinds if (m := _gaussian_mixture(points, centres, kind)) is not None]
    if not mixtures:
        return _identity_em(client, centres)[:2]
    best = min(mixtures, key=lambda mixture: mixture.bic(points))
    return best.weights_, best.means_


def kmeans_plus_plus(
    client: Clients, n_components: int, generator: np.random.Generator, n_draws: int = 1
) -> Fit:
    """Identity-covariance EM from draws of k-means++ seeds; the likeliest result is used."""
    fits = [
        _identity_em(client, _kmeans_plus_plus_seeds(client[0], n_components, generator))
        for _ in range(n_draws)
    ]
    return max(fits, key=lambda fit: fit[2])[:2]


def kmeans(
    client: Clients,
    n_components: int,
    generator: np.random.Generator,
    n_starts: int,
    max_iterations: int = 300,
) -> Fit:
    """Identity-covariance EM from k-means, which starts at random points.

    The k-means result with the smallest sum of squares of ``n_starts`` starts is used. The default
    of at most 300 iterations is scikit-learn's; R's default is 10.
    """
    from sklearn.cluster import KMeans

    points = client[0]
    n_centres = min(n_components, len(np.unique(points, axis=0)))
    model = KMeans(
        n_centres,
        init="random",
        n_init=n_starts,
        max_iter=max_iterations,
        random_state=int(generator.integers(2**31)),
    )
    centres = model.fit(points).cluster_centers_
    return _identity_em(client, in_turn(centres, n_components))[:2]


def random_points(client: Clients, n_components: int, generator: np.random.Generator) -> Fit:
    """Identity-covariance EM from points drawn at random without replacement."""
    points = client[0]
    order = generator.permutation(len(points))
    return _identity_em(client, points[in_turn(order, n_components)])[:2]


def regressions(
    client: Clients, n_components: int, generator: np.random.Generator, n_starts: int = 1
) -> Fit:
    """EM for a mixture of regressions from random starts; the likeliest result is used."""
    fits = [_regression_em(client, n_components, generator) for _ in range(n_starts)]
    return max(fits, key=lambda fit: fit[2])[:2]


def regressions_with_own_noise(
    client: Clients, n_components: int, generator: np.random.Generator
) -> Fit:
    """EM for regressions with separate noise variances, started near the pooled least squares.

    This is the default of the R package mixreg. Each coefficient starts at the pooled one plus
    normal noise with a standard deviation of 0.3 times its absolute value. After a singularity the
    fit starts again, at most five times. mixreg then gives up; here the variances are set to one.
    """
    x, y = client[0], client.responses_of(0)
    pooled, _, rank, _ = np.linalg.lstsq(x, y, rcond=None)
    variance = np.square(y - x @ pooled).sum() / max(len(y) - rank, 1)
    for _ in range(6 if variance > 0 else 0):
        noise = generator.normal(size=(n_components, len(pooled)))
        fit = own_noise_em(client, pooled + 0.3 * np.abs(pooled) * noise, variance)
        if fit is not None:
            return fit
    return regressions(client, n_components, generator)


def _identity_em(client: Clients, centres: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Run identity-covariance EM from centres (R, d) with equal weights."""
    equal = np.full((1, len(centres)), 1.0 / len(centres))
    weights, means, log_likelihood = unit_scale_em(client, "gaussian", equal, centres[None].copy())
    return weights[0], means[0], log_likelihood


def _gaussian_mixture(points: FloatArray, centres: FloatArray, kind: str) -> GaussianMixture | None:
    """Fit a mixture from centres (R, d); None if a covariance becomes singular."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(
        len(centres), covariance_type=kind, means_init=centres, random_state=0
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than seeds
            return mixture.fit(points)
    except ValueError:
        return None


def _ward_centres(
    points: FloatArray, n_components: int, generator: np.random.Generator
) -> FloatArray:
    """Return the means of Ward's clusters, and points in turn if there are too few clusters."""
    labels = ward_labels(points, n_components, generator)
    return partition_moments(points, labels, n_components)[1]


def ward_labels(
    points: FloatArray, n_components: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the labels of Ward's clustering, below R, or fewer if there are too few points.

    If there are more than ``MAX_POINTS`` points, a random subset is clustered, and each point gets
    the label of the nearest centre.
    """
    return _on_a_subset(_ward, points, n_components, generator)


def model_based_labels(
    points: FloatArray, n_components: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the labels of mclust's hierarchical clustering, with a full covariance per cluster.

    As in mclust, features are standardised and multiplied by their right singular vectors, which
    are divided by the roots of the singular values. Constant features are left out. Clients with at
    most d points, and points that are all equal, get the labels of Ward's clustering. Many points
    are clustered by a subset, as in :func:`ward_labels`.
    """
    if len(points) <= points.shape[1] or not points.std(axis=0).any():
        return ward_labels(points, n_components, generator)
    return _on_a_subset(_model_based, points, n_components, generator)


def _on_a_subset(
    cluster: Callable[[FloatArray, int], NDArray[np.int64]],
    points: FloatArray,
    n_components: int,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Cluster at most ``MAX_POINTS`` random points; the others get the nearest centre's label."""
    from scipy.spatial.distance import cdist

    if len(points) <= MAX_POINTS:
        return cluster(points, n_components)
    subset = points[np.sort(generator.choice(len(points), MAX_POINTS, replace=False))]
    labels = cluster(subset, n_components)
    centres = np.stack([subset[labels == r].mean(axis=0) for r in range(labels.max() + 1)])
    return cdist(points, centres).argmin(axis=1)


def _ward(points: FloatArray, n_components: int) -> NDArray[np.int64]:
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    if len(points) == 1:
        return np.zeros(1, dtype=np.int64)
    tree = linkage(pdist(points), method="ward")
    labels = fcluster(tree, n_components, criterion="maxclust")
    return np.unique(labels, return_inverse=True)[1]


def _model_based(points: FloatArray, n_components: int) -> NDArray[np.int64]:
    deviations = points.std(axis=0, ddof=1)
    used = deviations > 0
    scaled = (points[:, used] - points[:, used].mean(axis=0)) / deviations[used]
    _, values, vectors = np.linalg.svd(scaled, full_matrices=False)
    kept = values > values[0] * np.finfo(np.float64).eps * len(points)
    rotated = np.ascontiguousarray(scaled @ vectors[kept].T / np.sqrt(values[kept]))
    labels = model_based_clusters(rotated, min(n_components, len(points)))
    return np.unique(labels, return_inverse=True)[1]


def _kmeans_plus_plus_seeds(
    points: FloatArray, n_components: int, generator: np.random.Generator
) -> FloatArray:
    """Return R points drawn by k-means++, repeated if there are too few."""
    from sklearn.cluster import kmeans_plusplus

    n_seeds = min(n_components, len(np.unique(points, axis=0)))
    seed = int(generator.integers(2**31))
    seeds = kmeans_plusplus(points, n_seeds, random_state=seed)[0]
    return in_turn(seeds, n_components)


def _regression_em(
    client: Clients, n_components: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    """Run EM for regressions, each started at least squares on a random part of the points."""
    sample = Sample.of(client)
    parts = np.array_split(generator.permutation(client.n_points), n_components)
    starts = [
        np.linalg.lstsq(client[0][part], client.responses_of(0)[part], rcond=None)[0]
        for part in parts
    ]
    return shared_noise_em(sample, np.stack(starts))

"""The simulated mixed regressions of Su, Xu and Yang (2022, Appendix C), with extensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedmix.checks import check_choice
from fedmix.clients import Clients, offsets_of
from fedmix.errors import ConfigurationError
from fedmix.partition.contamination import CONTAMINATIONS


@dataclass(frozen=True)
class MixedRegression:
    """The true parameters of simulated clients that each follow one regression.

    Parameters
    ----------
    models : ndarray of shape (k, d)
        True regression coefficients.
    labels : ndarray of shape (M,)
        True cluster of each client.
    sizes : ndarray of shape (M,)
        Number of points of each client.
    contaminated : ndarray of bool of shape (M,)
        Clients whose responses do not follow their model.
    """

    models: NDArray
    labels: NDArray
    sizes: NDArray
    contaminated: NDArray


def draw_truth(
    rng: np.random.Generator,
    sizes: Sequence[int],
    n_clusters: int = 3,
    n_features: int = 100,
    weights: Sequence[float] | None = None,
    model_norm: float = 2.0,
    contaminated_share: float = 0.0,
) -> MixedRegression:
    """Draw true models ``model_norm / sqrt(d) N(0, I)`` and the clients' clusters.

    Parameters
    ----------
    rng : Generator
        Source of randomness.
    sizes : sequence of M ints
        Number of points of each client.
    n_clusters, n_features : int
        k and d; the defaults are the paper's.
    weights : sequence of k floats, optional
        Probabilities of the clusters; equal by default.
    model_norm : float, default=2.0
        Typical norm of a model. The distance between models is about sqrt(2) times as large. The
        default is the paper's.
    contaminated_share : float, default=0.0
        Share of contaminated clients. They are drawn at random, and their number is rounded down.

    Returns
    -------
    MixedRegression

    Raises
    ------
    ConfigurationError
        If the weights are not k probabilities or the share is not in [0, 1].
    """
    p = np.full(n_clusters, 1 / n_clusters) if weights is None else np.asarray(weights, float)
    if p.shape != (n_clusters,) or np.any(p < 0) or not np.isclose(p.sum(), 1):
        raise ConfigurationError(
            f"weights are {weights}: expected {n_clusters} probabilities that sum to 1"
        )
    if not 0 <= contaminated_share <= 1:
        raise ConfigurationError(f"contaminated_share is {contaminated_share}: expected 0 to 1")
    models = model_norm / np.sqrt(n_features) * rng.standard_normal((n_clusters, n_features))
    labels = rng.choice(n_clusters, size=len(sizes), p=p)
    contaminated = np.zeros(len(sizes), dtype=bool)
    # .29 * 100 is a little below 29 in floating point, which must not become 28.
    n_contaminated = int(contaminated_share * len(sizes) + 1e-9)
    chosen = rng.permutation(len(sizes))[:n_contaminated]
    contaminated[chosen] = True
    return MixedRegression(models, labels, np.asarray(sizes, dtype=np.int64), contaminated)


def draw_clients(
    rng: np.random.Generator,
    truth: MixedRegression,
    noise: float = 0.2,
    contamination: str = "outlier",
) -> Clients:
    """Draw the clients' points: ``x ~ N(0, I)``, ``y = x' theta + noise N(0, 1)``.

    Parameters
    ----------
    rng : Generator
        Source of randomness.
    truth : MixedRegression
        The result of :func:`draw_truth`.
    noise : float, default=0.2
        Standard deviation of the noise. The default is the paper's.
    contamination : {"outlier", "gaussian", "shuffled", "shift", "sign_flip"}, default="outlier"
        How the contaminated clients' responses are changed, see
        :mod:`fedmix.partition.contamination`.

    Returns
    -------
    Clients
        The clients, with responses.
    """
    check_choice("draw_clients", "contamination", contamination, CONTAMINATIONS["responses"])
    d = truth.models.shape[1]
    points = rng.standard_normal((truth.sizes.sum(), d))
    errors = noise * rng.standard_normal(len(points))
    offsets = offsets_of(truth.sizes)
    owners = np.repeat(np.arange(len(truth.sizes)), truth.sizes)
    responses = np.empty(len(points))
    for j, model in enumerate(truth.models):
        own = truth.labels[owners] == j
        responses[own] = points[own] @ model
    responses += errors
    spoil = CONTAMINATIONS["responses"][contamination]
    length = np.linalg.norm(truth.models, axis=1).mean()
    for k in np.flatnonzero(truth.contaminated):
        own = slice(offsets[k], offsets[k + 1])
        responses[own] = spoil(points[own], responses[own], length, rng)
    return Clients(points, offsets, responses)

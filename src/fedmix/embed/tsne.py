"""t-SNE in any number of dimensions, for large numbers of points."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from fedmix.checks import check_choice, check_integer, check_number
from fedmix.embed.base import EmbeddingResult, check_features
from fedmix.embed.linear import principal_components
from fedmix.errors import ConfigurationError, DataError, DivergenceError

if TYPE_CHECKING:
    from fedmix.embed.objective import Objective

_NEIGHBORS_PER_PERPLEXITY = 3  # as in van der Maaten's program
_SAMPLED_SHARE = 8  # sampled repulsion takes n / 8 points, within these limits
_MIN_SAMPLES, _MAX_SAMPLES = 250, 4000
_START_SPREAD = 1e-4
_START_JITTER = 0.01  # in units of the start's spread; separates equal points

_EARLY_ITERATIONS = 250
_EARLY_MOMENTUM, _LATE_MOMENTUM = 0.5, 0.95
_MOMENTUM_RISE = 100  # iterations from one to the other
_MEMORY = 0.9  # of the running mean gradient that decides the gains
_LEAST_RATE = 200.0  # the usual rate of van der Maaten's program
_LONGEST_STEP = 0.5  # in units of the kernel's width
_REPORT_EVERY = 50


@dataclass(frozen=True)
class Progress:
    """Where a running t-SNE stands.

    Attributes
    ----------
    iteration, n_iter : int
        Iterations done, and in all.
    kl : float
        KL divergence without exaggeration; an estimate with sampled repulsion.
    seconds_left : float
        Time to the end at the pace so far.
    """

    iteration: int
    n_iter: int
    kl: float
    seconds_left: float

    def __str__(self) -> str:
        return (
            f"t-SNE iteration {self.iteration} of {self.n_iter}: KL {self.kl:.4f}, "
            f"{self.seconds_left:.0f} s left"
        )


def tsne(
    X: np.ndarray,
    n_components: int = 10,
    perplexity: float = 30.0,
    early_exaggeration: float = 12.0,
    n_iter: int = 750,
    repulsion: str = "exact",
    n_samples: int | None = None,
    degrees_of_freedom: float | str = 1.0,
    init: str | np.ndarray = "pca",
    pca_components: int | None = 50,
    random_state: int | None = 0,
    callback: Callable[[Progress], None] | None = None,
    threads: int = 1,
    return_details: bool = False,
) -> np.ndarray | EmbeddingResult:
    """Embed points by t-SNE, in up to 50 dimensions.

    Affinities come from exact nearest neighbours; the attraction is sparse and the repulsion
    dense, over all pairs (``"exact"``) or over a fresh sample of the points in each iteration
    (``"sampled"``). Neither needs n^2 memory.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points.
    n_components : int, default=10
        Dimensions of the embedding, 1 to 50.
    perplexity : float, default=30
        Effective number of neighbours; above 1 and below n - 1.
    early_exaggeration : float, default=12
        Factor of the attraction in the first 250 iterations (a third of them where
        ``n_iter`` is below 750).
    n_iter : int, default=750
        Iterations in all.
    repulsion : {"exact", "sampled"}, default="exact"
        ``"sampled"`` costs n_samples / n of ``"exact"`` and ends a few percent higher in KL.
    n_samples : int, optional
        Points that repel in an iteration of ``"sampled"``; by default n / 8, at least 250
        and at most 4000.
    degrees_of_freedom : float or "sklearn", default=1
        Of the Student kernel. ``"sklearn"`` is n_components - 1 (at least 1), scikit-learn's
        convention. Values that are not whole are about ten times slower.
    init : {"pca", "random"} or array-like of shape (n, n_components), default="pca"
        Start: the first principal components scaled to a spread of 1e-4, slightly jittered;
        normal numbers with a standard deviation of 1e-4, as in van der Maaten's program; or the
        array as given.
    pca_components : int or None, default=50
        Principal components in which neighbours are sought; None takes ``X`` as it is.
    random_state : int, default=0
        Seed of the start and of the samples.
    callback : callable, optional
        Called with a :class:`Progress` every 50 iterations and at the end.
    threads : int, default=1
        Threads; the embedding is the same for any number of them.
    return_details : bool, default=False
        Return an :class:`EmbeddingResult` rather than the bare embedding; its details hold ``kl``
        (with exact repulsion, whatever was used on the way), ``n_iter``, ``n_samples`` (points
        that repelled in an iteration) and ``degrees_of_freedom``.

    Returns
    -------
    ndarray of float64, shape (n, n_components), or EmbeddingResult

    Raises
    ------
    DataError
        NaN or infinite values, too few points for the perplexity, or all points equal.
    ConfigurationError
        A parameter out of its range, or an ``init`` of the wrong shape.
    DivergenceError
        The embedding left the finite numbers.

    Notes
    -----
    The descent is van der Maaten's, with a learning rate of n / exaggeration (at least 200) in
    each phase (Belkina et al.), and three changes that make sampled repulsion work and speed up
    the exact mode as well. Gains compare the last step with a running mean of the gradient, for
    the noise of single gradients would make all gains shrink. After the exaggeration, momentum
    rises to 0.95 over 100 iterations rather than jump to 0.8. Steps longer than half the kernel's
    width are shortened, so that one and two dimensions and many degrees of freedom stay stable.

    With degrees of freedom other than 1 the KL divergence ends below that of scikit-learn, whose
    gradient is exact for 1 only: it weights forces by the density rather than by u.

    References
    ----------
    van der Maaten and Hinton, Visualizing data using t-SNE, JMLR 9 (2008).
    Belkina et al., Automated optimized parameters for t-distributed stochastic neighbor
    embedding, Nature Communications 10 (2019).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> tsne(load_digits().data, n_components=3, n_iter=20).shape
    (1797, 3)
    """
    features = check_features(X, min_points=3)
    n = len(features)
    check_integer("t-SNE", "n_components", n_components, 1, 50)
    check_integer("t-SNE", "n_iter", n_iter, 1)
    check_integer("t-SNE", "threads", threads, 1)
    check_number("t-SNE", "early_exaggeration", early_exaggeration, above=0)
    if pca_components is not None:
        check_integer("t-SNE", "pca_components", pca_components, 1)
    check_number("t-SNE", "perplexity", perplexity, above=1)
    if perplexity >= n - 1:
        raise DataError(
            f"t-SNE: perplexity {perplexity:g} needs more than {perplexity + 1:g} points, got {n}; "
            "lower the perplexity."
        )
    degrees = _degrees_of_freedom(degrees_of_freedom, n_components)
    size = _sample_size(repulsion, n_samples, n)
    start = _check_start(init, n, n_components)

    from fedmix.embed.objective import Objective, joint_affinities, nearest_neighbors

    generator = np.random.default_rng(random_state)
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(1, user_api="blas"))
        pool = stack.enter_context(ThreadPoolExecutor(threads)) if threads > 1 else None
        data = _centred(features)
        if pca_components is not None:
            data, _ = principal_components(data, pca_components)
        if start is None and init == "pca":
            start = _principal_start(data, n_components, generator)
        elif start is None:
            start = _START_SPREAD * generator.standard_normal((n, n_components))
        n_neighbors = min(n - 1, int(np.ceil(_NEIGHBORS_PER_PERPLEXITY * perplexity)))
        neighbors, distances = nearest_neighbors(data, n_neighbors, threads)
        del data
        affinities = joint_affinities(neighbors, distances, perplexity)
        objective = Objective(affinities, degrees, pool=pool)
        embedding = _descend(
            objective, start, early_exaggeration, n_iter, size, generator, callback
        )
        kl = objective(embedding).kl
    embedding = embedding.astype(np.float64)
    if not return_details:
        return embedding
    return EmbeddingResult(
        embedding,
        {"kl": kl, "n_iter": n_iter, "n_samples": size or n, "degrees_of_freedom": degrees},
    )


def _centred(features: np.ndarray) -> np.ndarray:
    """Return the points centred and scaled to at most 1, for sums in single precision."""
    data = features / max(features.max(), -features.min(), np.finfo(float).tiny)
    data -= data.mean(axis=0)
    spread = max(data.max(), -data.min())
    if spread <= len(data) * np.finfo(float).eps:
        raise DataError("t-SNE: all points are equal; there is nothing to embed.")
    data /= spread
    return data


def _principal_start(
    data: np.ndarray, n_components: int, generator: np.random.Generator
) -> np.ndarray:
    """Return the principal components scaled to ``_START_SPREAD``, jittered, (n, n_components)."""
    components, _ = principal_components(data, n_components)
    start = np.zeros((len(data), n_components))
    start[:, : components.shape[1]] = components / components[:, 0].std()
    start += _START_JITTER * generator.standard_normal(start.shape)
    return _START_SPREAD * start


def _check_start(init: str | np.ndarray, n: int, n_components: int) -> np.ndarray | None:
    """Return the start given, or None for one that is made."""
    if isinstance(init, str):
        check_choice("t-SNE", "init", init, ("pca", "random"))
        return None
    try:
        start = np.array(init, dtype=float)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            "t-SNE: init is 'pca', 'random' or an array of numbers."
        ) from error
    if start.shape != (n, n_components) or not np.isfinite(start).all():
        raise ConfigurationError(
            f"t-SNE: init needs finite values of shape ({n}, {n_components}), "
            f"got shape {start.shape}."
        )
    return start


def _degrees_of_freedom(degrees: float | str, n_components: int) -> float:
    if isinstance(degrees, str):
        check_choice("t-SNE", "degrees_of_freedom", degrees, ("sklearn",))
        return float(max(n_components - 1, 1))
    check_number("t-SNE", "degrees_of_freedom", degrees, above=0)
    return float(degrees)


def _sample_size(repulsion: str, n_samples: int | None, n: int) -> int | None:
    """Return how many points repel in an iteration; None for all."""
    check_choice("t-SNE", "repulsion", repulsion, ("exact", "sampled"))
    if n_samples is not None:
        check_integer("t-SNE", "n_samples", n_samples, 2)
    if repulsion == "exact":
        return None
    if n_samples is None:
        n_samples = min(max(n // _SAMPLED_SHARE, _MIN_SAMPLES), _MAX_SAMPLES)
    return min(n, n_samples)


def _descend(
    objective: Objective,
    start: np.ndarray,
    early_exaggeration: float,
    n_iter: int,
    size: int | None,
    generator: np.random.Generator,
    callback: Callable[[Progress], None] | None,
) -> np.ndarray:
    """Minimise the KL divergence from a start (n, d) by gradient descent with momentum and gains.

    ``size`` points, or all if it is None, repel in an iteration. They are drawn anew each time.
    """
    n = len(start)
    embedding = np.ascontiguousarray(start, dtype=np.float32)
    step, mean_gradient = np.zeros_like(embedding), np.zeros_like(embedding)
    gains = np.ones_like(embedding)
    early = min(_EARLY_ITERATIONS, n_iter // 3)
    began = time.perf_counter()
    for done in range(1, n_iter + 1):
        exaggeration, momentum = early_exaggeration, _EARLY_MOMENTUM
        if done > early:
            exaggeration, momentum = 1.0, _late_momentum(done - early)
        if done == early + 1:
            step[:], mean_gradient[:], gains[:] = 0, 0, 1
        rate = max(n / exaggeration, _LEAST_RATE) / 4  # the gradient has a factor 4, rates do not
        sample = None if size is None else generator.choice(n, size, replace=False)
        report = callback is not None and (done % _REPORT_EVERY == 0 or done == n_iter)
        gradient, kl, _ = objective(embedding, exaggeration, sample, with_kl=report)
        mean_gradient += np.float32(1 - _MEMORY) * (gradient - mean_gradient)
        _update_gains(gains, mean_gradient, step)
        step *= np.float32(momentum)
        step -= np.float32(rate) * gains * gradient
        _limit_rows(step)
        embedding += step
        embedding -= embedding.mean(axis=0)
        if not np.isfinite(embedding).all():
            raise DivergenceError(
                f"t-SNE left the finite numbers in iteration {done} of {n_iter}; "
                "check init, or lower early_exaggeration."
            )
        if report:
            pace = (time.perf_counter() - began) / done
            callback(Progress(done, n_iter, kl, pace * (n_iter - done)))
    return embedding


def _late_momentum(done: int) -> float:
    """Return the momentum after ``done`` iterations without exaggeration; it rises slowly."""
    risen = min(done / _MOMENTUM_RISE, 1.0)
    return _EARLY_MOMENTUM + risen * (_LATE_MOMENTUM - _EARLY_MOMENTUM)


def _update_gains(gains: np.ndarray, gradient: np.ndarray, step: np.ndarray) -> None:
    """Raise a coordinate's gain if the last step still descends, and lower it otherwise."""
    descends = (gradient > 0) != (step > 0)
    gains *= np.where(descends, np.float32(1), np.float32(0.8))
    gains += np.where(descends, np.float32(0.2), np.float32(0))
    np.maximum(gains, np.float32(0.01), out=gains)


def _limit_rows(step: np.ndarray) -> None:
    """Shorten the rows that are longer than ``_LONGEST_STEP``, in place."""
    length = np.sqrt(np.einsum("ij,ij->i", step, step))
    longest = np.float32(_LONGEST_STEP)
    step *= longest / np.maximum(length, longest)[:, None]

"""The objective of t-SNE: affinities of points, the KL divergence and its gradient.

Affinities come from exact neighbours and calibrated widths; the repulsion is exact or sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from fedmix.kernels.tsne import (
    BLOCK,
    aligned_empty,
    attraction,
    merge_nearest,
    repulsion,
    squared_distances,
)

_ROWS, _COLUMNS = 1024, 4096  # a block of distances takes 16 MB a thread
_BISECTIONS = 50
_CHUNK = 2048  # points a task: enough tasks to keep threads busy to the end
_NEIGHBORS = 240  # neighbours that attract at once; no power of two, for rows to spread in caches


def nearest_neighbors(
    points: np.ndarray, n_neighbors: int, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest neighbours of every point among all others, exactly.

    The points (n, d) are centred and of moderate scale. Distances come in blocks from matrix
    products in float32, so that memory grows with n and never with n^2; those of the neighbours
    found are then computed anew from differences. The result does not depend on the number of
    threads.

    Returns
    -------
    neighbors : ndarray of int32, shape (n, n_neighbors)
        Neighbours from near to far, ties in order of index, without the point itself.
    distances : ndarray of float64, shape (n, n_neighbors)
        Their squared Euclidean distances.
    """
    points = np.ascontiguousarray(points, dtype=np.float32)
    squares = np.einsum("ij,ij->i", points, points)
    n = len(points)
    neighbors = np.empty((n, n_neighbors), np.int32)
    distances = np.empty((n, n_neighbors), np.float64)

    def search(start: int) -> None:
        stop = min(start + _ROWS, n)
        nearest = np.full((stop - start, n_neighbors), np.inf, np.float32)
        found = np.zeros((stop - start, n_neighbors), np.int32)
        for a in range(0, n, _COLUMNS):
            block = points[start:stop] @ points[a : a + _COLUMNS].T
            merge_nearest(block, squares[a : a + _COLUMNS], start, a, nearest, found)
        exact = squared_distances(points, found, start)
        order = np.lexsort((found, exact), axis=1)
        neighbors[start:stop] = np.take_along_axis(found, order, axis=1)
        distances[start:stop] = np.take_along_axis(exact, order, axis=1)

    # Each product runs on one thread, for its rounding may depend on how it is split.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        list(pool.map(search, range(0, n, _ROWS)))
    return neighbors, distances


def conditional_affinities(distances: np.ndarray, perplexity: float) -> np.ndarray:
    """Calibrate each Gaussian to a perplexity over its point's neighbours; return p_{j|i} (n, k).

    Each row sums to 1. Where more than ``perplexity`` neighbours are at the same least squared
    distance, they share the row equally.
    """
    excess = distances - distances.min(axis=1, keepdims=True)
    scale = excess.mean(axis=1, keepdims=True)
    excess /= np.where(scale > 0, scale, 1.0)
    low = np.full((len(excess), 1), -35.0)  # log precision, in units of the row's mean distance
    high = -low
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        too_flat = _entropy(excess, np.exp(middle)) > np.log(perplexity)
        low = np.where(too_flat, middle, low)
        high = np.where(too_flat, high, middle)
    affinities = np.exp(-excess * np.exp((low + high) / 2))
    return affinities / affinities.sum(axis=1, keepdims=True)


def _entropy(excess: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return the entropy of each row's Gaussian weights, shape (n, 1)."""
    weights = np.exp(-excess * precision)
    total = weights.sum(axis=1, keepdims=True)
    mean = np.einsum("ij,ij->i", weights, excess)[:, None] / total
    return np.log(total) + precision * mean


def joint_affinities(
    neighbors: np.ndarray, distances: np.ndarray, perplexity: float
) -> sparse.csr_array:
    """Return the symmetric affinities p_ij = (p_{j|i} + p_{i|j}) / 2n, which sum to 1.

    ``neighbors`` and ``distances`` are those of :func:`nearest_neighbors`.
    """
    n, k = neighbors.shape
    conditional = np.empty((n, k))
    for a in range(0, n, _COLUMNS):
        conditional[a : a + _COLUMNS] = conditional_affinities(
            distances[a : a + _COLUMNS], perplexity
        )
    indptr = np.arange(0, n * k + 1, k, dtype=np.int32 if n * k < 2**31 else np.int64)
    directed = sparse.csr_array((conditional.ravel(), neighbors.ravel(), indptr), shape=(n, n))
    joint = (directed + directed.T).tocsr()
    joint.data /= joint.data.sum()
    return joint


class Evaluation(NamedTuple):
    """The gradient of the KL divergence at one embedding, and its value where asked for.

    The gradient (n, d) has P multiplied by the exaggeration. ``kl`` is KL(P || Q) without
    exaggeration, an estimate where the repulsion is sampled, and NaN where it was not asked for.
    ``normaliser`` is Z or its estimate.
    """

    gradient: np.ndarray
    kl: float
    normaliser: float


class Objective:
    """KL divergence between fixed affinities P and an embedding's Student affinities Q.

    The gradient is 2 (a + 1) / a * (A_i - R_i / Z), where a is the degrees of freedom,
    A_i = sum_j p_ij u_ij (y_i - y_j), R_i = sum_j v_ij u_ij (y_i - y_j), Z = sum_ij v_ij,
    u_ij = 1 / (1 + ||y_i - y_j||^2 / a) and v_ij = u_ij^((a + 1) / 2).

    R and Z are summed over all points, or over a sample S of them and scaled by n / |S|. In the
    second case the neighbours under P, which repel most, are all counted, each with the weight
    1 - n / |S| where it is in S: the estimates stay unbiased and lose much of their variance.

    Parameters
    ----------
    affinities : scipy.sparse.csr_array of shape (n, n)
        Symmetric, summing to 1.
    degrees_of_freedom : float, default=1
        Of the Student kernel; 1 is van der Maaten and Hinton's choice in any dimension.
    dtype : dtype, default=float32
        Precision of the kernels.
    pool : ThreadPoolExecutor, optional
        Threads that share the work; the sums do not depend on them.

    References
    ----------
    van der Maaten and Hinton, Visualizing data using t-SNE, JMLR 9 (2008), Section 3 and
    Appendix A; van der Maaten, Learning a parametric embedding by preserving local structure,
    AISTATS 2009, Equations 5 and 6 for general degrees of freedom.
    """

    def __init__(
        self,
        affinities: sparse.csr_array,
        degrees_of_freedom: float = 1.0,
        dtype: type = np.float32,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self.degrees = float(degrees_of_freedom)
        self._indptr, self._indices = affinities.indptr, affinities.indices
        self._affinities = affinities.data.astype(dtype)
        present = affinities.data[affinities.data > 0]
        self._negative_entropy = float(present @ np.log(present))
        self._pool = pool

    def __call__(
        self,
        embedding: np.ndarray,
        exaggeration: float = 1.0,
        sample: np.ndarray | None = None,
        with_kl: bool = True,
    ) -> Evaluation:
        """Evaluate at a C-contiguous embedding (n, d) of the objective's precision.

        Parameters
        ----------
        exaggeration : float, default=1
            Factor of the attraction in the gradient.
        sample : ndarray of int, optional
            Distinct points that repel, a uniform draw from all; None takes all.
        with_kl : bool, default=True
            Whether to compute the KL divergence: its logarithms take time.
        """
        weight = 1.0 if sample is None else len(embedding) / len(sample)
        scaled = embedding / embedding.dtype.type(np.sqrt(self.degrees))
        forces, totals = self._repulsion(scaled, sample)
        pull, near, logs = self._attraction(scaled, sample, weight, with_kl)
        normaliser = float((weight * totals + near[:, -1]).sum())
        gradient = exaggeration * pull
        gradient -= (weight * forces + near[:, :-1]) / normaliser
        gradient *= 2 * (self.degrees + 1) / np.sqrt(self.degrees)  # the root undoes the scaling
        kl = self._negative_entropy - logs.sum() + np.log(normaliser) if with_kl else np.nan
        return Evaluation(gradient, float(kl), normaliser)

    def _repulsion(
        self, scaled: np.ndarray, sample: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sum the repulsion of the references on all points: (n, d) forces, (n,) densities."""
        n, d = scaled.shape
        sources = scaled if sample is None else scaled[sample]
        m = len(sources)
        places = np.full(n, -1)
        places[slice(None) if sample is None else sample] = np.arange(m)
        references = aligned_empty((d + d % 2, m), scaled.dtype)
        references[:d, :m] = sources.T
        references[d:] = 0
        forces, totals = np.empty_like(scaled), np.empty(n)

        def run(start: int, stop: int) -> None:
            space = aligned_empty((8, BLOCK), scaled.dtype)
            given = scaled, places, self.degrees, start, stop, space
            repulsion(references, m, *given, forces, totals)

        self._share(run, n)
        return forces, totals

    def _attraction(
        self, scaled: np.ndarray, sample: np.ndarray | None, weight: float, with_logs: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sum over the neighbours: (n, d) pull, (n, d + 1) repulsion due, (n,) p log density."""
        n, d = scaled.shape
        correction = np.zeros(0 if sample is None else n, scaled.dtype)
        if sample is not None:
            correction += 1
            correction[sample] -= weight
        pull, near = np.empty_like(scaled), np.empty((n, d + 1), scaled.dtype)
        logs = np.empty(n)
        graph = self._indptr, self._indices, self._affinities

        def run(start: int, stop: int) -> None:
            space = aligned_empty((d + 3, _NEIGHBORS), scaled.dtype)
            given = scaled, self.degrees, correction, with_logs, start, stop, space
            attraction(*graph, *given, pull, near, logs)

        self._share(run, n)
        return pull, near, logs

    def _share(self, run: Callable[[int, int], None], n: int) -> None:
        """Call ``run(start, stop)`` over chunks of n points, on the pool's threads if any."""
        starts = range(0, n, _CHUNK)
        stops = [min(start + _CHUNK, n) for start in starts]
        mapped = map if self._pool is None else self._pool.map
        list(mapped(run, starts, stops))

"""Federated moment descent: Phase 1 of Su, Xu and Yang (2022), with their Algorithm 3.

Let ``e(x, y, theta) = (y - x' theta) x``. The product of these vectors for two different points of
one client has the mean ``Sigma_j (theta*_j - theta)(theta*_j - theta)' Sigma_j``. The average over
many clients gives a k-dimensional subspace. Within it an anchor client with few points finds the
direction of its own residual error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients


@dataclass(frozen=True)
class CrossMoment:
    """The matrix ``Y = sum_i c_i sum_{j != l} a_ij b_il'``, which need not be formed.

    Here ``a_ij = left_ij x_ij`` and ``b_ij = right_ij x_ij``, where left and right are residuals
    (n,). A zero excludes a point from one side. The points (n, d) are in the order of the clients,
    each of which has at least one; ``starts`` (m,) are their first rows. The ``scales`` (m,) are
    c_i, a client's weight divided by its number of pairs.
    """

    points: NDArray
    starts: NDArray
    scales: NDArray
    left: NDArray
    right: NDArray

    @property
    def _own_products(self) -> NDArray:
        """Weights, of shape (n,), of each point's product with itself, which are subtracted."""
        sizes = np.diff(self.starts, append=len(self.points))
        return np.repeat(self.scales, sizes) * self.left * self.right

    def dense(self) -> NDArray:
        """Return Y, of shape (d, d)."""
        left = self._sums(self.left)
        right = left if self.right is self.left else self._sums(self.right)
        own = (self.points * self._own_products[:, None]).T @ self.points
        return (left * self.scales[:, None]).T @ right - own

    def times(self, q: NDArray) -> NDArray:
        """Return ``Y q`` for q of shape (d, k), a sum over clients of arrays of that shape."""
        return self._apply(self.left, self.right, q)

    def transposed_times(self, q: NDArray) -> NDArray:
        """Return ``Y' q`` for q of shape (d, k)."""
        return self._apply(self.right, self.left, q)

    def _apply(self, outer: NDArray, inner: NDArray, q: NDArray) -> NDArray:
        projected = self.points @ q
        sums = np.add.reduceat(inner[:, None] * projected, self.starts, axis=0)
        sizes = np.diff(self.starts, append=len(self.points))
        back = np.repeat(self.scales[:, None] * sums, sizes, axis=0) * outer[:, None]
        return self.points.T @ (back - self._own_products[:, None] * projected)

    def _sums(self, residuals: NDArray) -> NDArray:
        return np.add.reduceat(residuals[:, None] * self.points, self.starts, axis=0)


@dataclass(frozen=True)
class PairSource:
    """Clients whose pairs of points estimate the subspace in one round.

    The points (n, d) and responses (n,) are in the order of the clients, whose sizes (m,) are at
    least two. If ``fresh``, every client contributes its first and second point as one pair, with
    equal weights. Otherwise it contributes all pairs of different points, with weight n_i / N.
    """

    points: NDArray
    responses: NDArray
    sizes: NDArray
    fresh: bool

    @classmethod
    def gather(cls, clients: Clients, chosen: NDArray, fresh: bool) -> PairSource:
        """Take the chosen clients' points, or only the first two of each if ``fresh``."""
        sizes = np.full(len(chosen), 2) if fresh else clients.sizes[chosen]
        first = np.repeat(clients.offsets[chosen] - (np.cumsum(sizes) - sizes), sizes)
        rows = first + np.arange(sizes.sum())
        return cls(clients.points[rows], clients.responses[rows], sizes, fresh)

    def moment(self, theta: NDArray) -> CrossMoment:
        """Return the moment whose leading subspace contains the residual errors (Step 9).

        ``theta`` (d,) is an anchor's estimate.
        """
        left = self.responses - self.points @ theta
        right = left
        if self.fresh:
            first = np.arange(len(left)) % 2 == 0
            left, right = left * first, right * ~first
            scales = np.full(len(self.sizes), 1 / len(self.sizes))
        else:
            scales = 1 / (self.sizes.sum() * (self.sizes - 1))  # n_i / N over n_i (n_i - 1) pairs
        return CrossMoment(self.points, np.cumsum(self.sizes) - self.sizes, scales, left, right)


def leading_subspace(moment: NDArray, k: int) -> NDArray:
    """Return the top-k left singular vectors, of shape (d, k)."""
    return np.linalg.svd(moment)[0][:, :k]


def orthogonal_iteration(
    times: Callable[[NDArray], NDArray],
    transposed_times: Callable[[NDArray], NDArray],
    d: int,
    k: int,
    rounds: int,
    rng: np.random.Generator,
) -> NDArray:
    """Approximate the top-k left singular vectors by federated orthogonal iteration (Algorithm 3).

    ``times`` and ``transposed_times`` are ``Q -> Y Q`` and ``Q -> Y' Q``: sums of the clients'
    messages, each of shape (d, k). The number T_1 of exchanges is rounded up to an even number
    because one step of the iteration on Y Y' needs two. Returns orthonormal columns (d, k).
    """
    q, _ = np.linalg.qr(rng.standard_normal((d, k)))
    for _ in range((rounds + 1) // 2):
        image = transposed_times(q)
        q, _ = np.linalg.qr(times(image / _magnitude(image)))
    return q


def _magnitude(values: NDArray) -> float:
    """Return the power of two of the largest value: products of scaled values stay in range."""
    largest = np.abs(values).max()
    return 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0


def power_iteration(
    moment: NDArray, rounds: int, rng: np.random.Generator
) -> tuple[NDArray, float]:
    """Return the leading left singular vector and value of a matrix by iterating on ``A A'``.

    The matrix is an anchor's moment A in the subspace, (k, k). There are T_2 iterations.
    """
    direction = rng.standard_normal(len(moment))
    direction /= np.linalg.norm(direction)
    scaled = moment / _magnitude(moment)
    for _ in range(rounds):
        image = scaled @ (scaled.T @ direction)
        norm = np.linalg.norm(image)
        if norm == 0:
            break
        direction = image / norm
    return direction, float(np.linalg.norm(moment.T @ direction))


def anchor_moment(
    points: NDArray, responses: NDArray, theta: NDArray, basis: NDArray, fresh: bool
) -> tuple[NDArray, NDArray]:
    """Return an anchor's moment A in the subspace (equation (2)) and its mean gradient there.

    The anchor has points (n, d) and responses (n,) in this round, n >= 2, and the estimate
    ``theta``. ``basis`` (d, k) is an orthonormal basis of the subspace. If ``fresh``, A (k, k)
    pairs the first half of the points with the second. Otherwise it uses all pairs of different
    points.
    """
    projected = (responses - points @ theta)[:, None] * (points @ basis)
    n, total = len(projected), projected.sum(axis=0)
    if fresh:
        half = n // 2
        return projected[:half].T @ projected[half : 2 * half] / half, total / n
    return (np.outer(total, total) - projected.T @ projected) / (n * (n - 1)), total / n


def covariance_bounds(clients: Clients) -> tuple[float, float]:
    """Estimate alpha and beta, the extreme eigenvalues of the features' second moment.

    The pooled second moment is shrunk towards a multiple of the identity by the oracle
    approximating rule of Chen, Wiesel, Eldar and Hero (2010). Shrinkage is needed because sampling
    spreads the extreme eigenvalues, and alpha / beta^2 sets a step size. Directions without any
    variation do not count. Both are 1 if no direction varies.
    """
    n, d = clients.n_points, clients.n_features
    moment = clients.points.T @ clients.points / n
    trace, squares = np.trace(moment), np.sum(moment**2)
    spread = (n + 1 - 2 / d) * (squares - trace**2 / d)
    shrinkage = min(1.0, ((1 - 2 / d) * squares + trace**2) / spread) if spread > 0 else 1.0
    eigenvalues = np.linalg.eigvalsh(moment)
    varying = eigenvalues > d * np.finfo(float).eps * eigenvalues[-1]
    shrunk = (1 - shrinkage) * eigenvalues[varying] + shrinkage * trace / d
    return (float(shrunk[0]), float(shrunk[-1])) if varying.any() else (1.0, 1.0)


def group_anchors(estimates: NDArray, k: int, linkage: str = "average") -> NDArray:
    """Group the anchors' estimates (h, d) into k <= h clusters, numbered by first appearance, (h,).

    Hierarchical clustering is cut at k groups. The paper groups anchors that are nearer than Delta
    / 2. If its rule gives k well-separated groups, either linkage, "average" or "single", returns
    them. Otherwise either still returns k groups. Single linkage is the paper's rule with the
    threshold that gives k groups.
    """
    from scipy.cluster import hierarchy

    if len(estimates) == 1:
        return np.zeros(1, dtype=np.int64)
    tree = hierarchy.linkage(estimates, method=linkage)
    return hierarchy.cut_tree(tree, n_clusters=k)[:, 0].astype(np.int64)


def group_centres(estimates: NDArray, labels: NDArray, k: int) -> NDArray:
    """Return the mean of each group of anchors, of shape (k, d)."""
    return np.stack([estimates[labels == j].mean(axis=0) for j in range(k)])


def separation(centres: NDArray) -> float:
    """Return Delta, the smallest distance between two of k models; 0 for one model."""
    from scipy.spatial.distance import pdist

    return float(pdist(centres).min()) if len(centres) > 1 else 0.0

"""Federated moment descent: Phase 1 of Su, Xu and Yang (2022), with their Algorithm 3.

With ``e(x, y, theta) = (y - x' theta) x``, the products of such vectors of two different points of
one client have the mean ``Sigma_j (theta*_j - theta)(theta*_j - theta)' Sigma_j``. Averaged over
many clients they give a k-dimensional subspace; within it an anchor client with few points finds
the direction of its own residual error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients


@dataclass(frozen=True)
class CrossMoment:
    """``Y = sum_i c_i sum_{j != l} a_ij b_il'``, which clients can apply without forming it.

    Here ``a_ij = left_ij x_ij`` and ``b_ij = right_ij x_ij``, where left and right are residuals.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Points of the clients, client after client; every client has at least one.
    starts : ndarray of shape (m,)
        First row of each client.
    scales : ndarray of shape (m,)
        c_i: the client's weight over its number of pairs.
    left, right : ndarray of shape (n,)
        Residuals; a zero keeps a point out of one side.
    """

    points: NDArray
    starts: NDArray
    scales: NDArray
    left: NDArray
    right: NDArray

    @property
    def _own_products(self) -> NDArray:
        """Weights, of shape (n,), of the products of a point with itself, which are taken off."""
        sizes = np.diff(self.starts, append=len(self.points))
        return np.repeat(self.scales, sizes) * self.left * self.right

    def dense(self) -> NDArray:
        """Return Y, of shape (d, d)."""
        left = self._sums(self.left)
        right = left if self.right is self.left else self._sums(self.right)
        own = (self.points * self._own_products[:, None]).T @ self.points
        return (left * self.scales[:, None]).T @ right - own

    def times(self, q: NDArray) -> NDArray:
        """Return ``Y q`` for q of shape (d, k), from sums over clients of that shape."""
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

    Parameters
    ----------
    points : ndarray of shape (n, d)
    responses : ndarray of shape (n,)
    sizes : ndarray of shape (m,)
        Points of each client, at least two.
    fresh : bool
        Whether every client gives its first and second point as one pair, with equal weights, or
        all pairs of different points, with the client's weight n_i / N.
    """

    points: NDArray
    responses: NDArray
    sizes: NDArray
    fresh: bool

    @classmethod
    def gather(cls, clients: Clients, chosen: NDArray, fresh: bool) -> PairSource:
        """Take the chosen clients' points, or their first two if clients are fresh."""
        sizes = np.full(len(chosen), 2) if fresh else clients.sizes[chosen]
        first = np.repeat(clients.offsets[chosen] - (np.cumsum(sizes) - sizes), sizes)
        rows = first + np.arange(sizes.sum())
        return cls(clients.points[rows], clients.responses[rows], sizes, fresh)

    def moment(self, theta: NDArray) -> CrossMoment:
        """Return the moment whose top subspace holds the residual errors of ``theta`` (Step 9).

        Parameters
        ----------
        theta : ndarray of shape (d,)
            An anchor's estimate.
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

    Parameters
    ----------
    times, transposed_times : callable
        ``Q -> Y Q`` and ``Q -> Y' Q``: sums of what the clients send, each of shape (d, k).
    d, k : int
        Rows of Y and dimension of the subspace.
    rounds : int
        T_1 exchanges, rounded up to an even number: two make one step of the iteration on Y Y'.
    rng : Generator
        Draws the random orthogonal start.

    Returns
    -------
    ndarray of shape (d, k)
        Orthonormal columns.
    """
    q, _ = np.linalg.qr(rng.standard_normal((d, k)))
    for _ in range((rounds + 1) // 2):
        q, _ = np.linalg.qr(times(transposed_times(q)))
    return q


def power_iteration(
    moment: NDArray, rounds: int, rng: np.random.Generator
) -> tuple[NDArray, float]:
    """Return the leading left singular vector and value of a matrix by iterating on ``A A'``.

    Parameters
    ----------
    moment : ndarray of shape (k, k)
        A, the anchor's moment in the subspace.
    rounds : int
        T_2.
    rng : Generator
        Draws the start.

    Returns
    -------
    direction : ndarray of shape (k,)
    value : float
    """
    direction = rng.standard_normal(len(moment))
    direction /= np.linalg.norm(direction)
    for _ in range(rounds):
        image = moment @ (moment.T @ direction)
        norm = np.linalg.norm(image)
        if norm == 0:
            break
        direction = image / norm
    return direction, float(np.linalg.norm(moment.T @ direction))


def anchor_moment(
    points: NDArray, responses: NDArray, theta: NDArray, basis: NDArray, fresh: bool
) -> tuple[NDArray, NDArray]:
    """Return an anchor's moment A in the subspace (equation (2)) and its mean gradient there.

    Parameters
    ----------
    points, responses : ndarray of shape (n, d) and (n,)
        The anchor's points of this round, n >= 2.
    theta : ndarray of shape (d,)
        Its estimate.
    basis : ndarray of shape (d, k)
        The subspace.
    fresh : bool
        Whether A pairs the first half with the second, or all pairs of different points.

    Returns
    -------
    moment : ndarray of shape (k, k)
    mean : ndarray of shape (k,)
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
    approximating rule of Chen, Wiesel, Eldar and Hero (2010): the raw extreme eigenvalues are
    spread by sampling, and alpha / beta^2 is a step size. Directions without any variation do not
    count.

    Parameters
    ----------
    clients : Clients

    Returns
    -------
    alpha, beta : float
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
    """Group the anchors' estimates into k clusters.

    Hierarchical clustering, cut at k groups. Either linkage returns the paper's groups, anchors
    nearer than Delta / 2, whenever that rule gives k well-separated groups, and k groups also where
    it does not; single linkage is that rule with the threshold that gives k.

    Parameters
    ----------
    estimates : ndarray of shape (h, d)
        One estimate an anchor, h >= k.
    k : int
        Number of clusters.
    linkage : {"average", "single"}, default="average"

    Returns
    -------
    ndarray of shape (h,)
        Labels 0 to k - 1, numbered by first appearance.
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
    """Return Delta, the smallest distance of two of k models; 0 for one model."""
    from scipy.spatial.distance import pdist

    return float(pdist(centres).min()) if len(centres) > 1 else 0.0

"""Closed forms of local training for least squares, for all clients at once.

With the square loss, s local gradient steps and the proximal solve are both linear in the
residuals (Su, Xu and Yang 2022, Lemma 1): client i moves a model by
``-eta / n_i X_i' P_i (X_i theta - y_i)``, where P_i is a function of ``X_i X_i'``. In the basis of
the left singular vectors of X_i, P_i is diagonal. Every client therefore turns its data into that
basis once, and a round is one pass over arrays of the size of the data, whether a client has fewer
points than features or more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients, offsets_of
from fedmix.kernels.compiler import njit


@dataclass(frozen=True)
class RotatedClients:
    """Clients' regressions in the basis of their own left singular vectors.

    Attributes
    ----------
    rows : ndarray of shape (r, d)
        ``U_i' X_i``, client after client; client i has min(n_i, d) rows.
    targets : ndarray of shape (r,)
        ``U_i' y_i``. What of ``y_i`` lies outside the basis no model can reach: it adds the same
        constant to the loss of every model.
    curvatures : ndarray of shape (r,)
        Eigenvalues of ``X_i X_i' / n_i``.
    offsets : ndarray of shape (M + 1,)
        Client i owns rows ``offsets[i]`` to ``offsets[i + 1]``.
    sizes : ndarray of shape (M,)
        Points a client, n_i.
    """

    rows: NDArray
    targets: NDArray
    curvatures: NDArray
    offsets: NDArray
    sizes: NDArray

    @property
    def largest_curvature(self) -> float:
        """The paper's ``max_i ||X_i||^2 / n_i``, which limits the learning rate."""
        return float(self.curvatures.max(initial=0.0))

    @property
    def owners(self) -> NDArray:
        """The client of each row, of shape (r,)."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.offsets))


def rotate(clients: Clients) -> RotatedClients:
    """Turn every client's regression into the basis of its left singular vectors.

    Clients of one size share a batched singular value decomposition. A client may be empty.
    """
    d, sizes = clients.n_features, clients.sizes
    offsets = offsets_of(np.minimum(sizes, d))
    rows, targets = np.empty((offsets[-1], d)), np.empty(offsets[-1])
    curvatures = np.empty(offsets[-1])
    for size in np.unique(sizes[sizes > 0]):
        members = np.flatnonzero(sizes == size)
        source = clients.offsets[members, None] + np.arange(size)
        place = offsets[members, None] + np.arange(min(size, d))
        left, scales, right = np.linalg.svd(clients.points[source], full_matrices=False)
        rows[place] = scales[..., None] * right
        targets[place] = np.einsum("mnr,mn->mr", left, clients.responses[source])
        curvatures[place] = scales**2 / size
    return RotatedClients(rows, targets, curvatures, offsets, sizes)


def local_filter(
    curvatures: NDArray, learning_rate: float, local: str, local_steps: int
) -> NDArray:
    """Return the eigenvalues of Lemma 1's P_i, from the eigenvalues c of ``X_i X_i' / n_i``.

    They are ``sum_{l < s} (1 - eta c)^l`` for s local gradient steps ("fedavg"), and
    ``1 / (1 + eta c)`` for the proximal solve ("fedprox"), which does not use s.
    """
    if local == "fedprox":
        return 1.0 / (1.0 + learning_rate * curvatures)
    contraction = 1.0 - learning_rate * curvatures
    total = np.ones_like(contraction)
    for _ in range(local_steps - 1):  # Horner's scheme: no cancellation where eta c is tiny
        total = 1.0 + contraction * total
    return total


@njit(cache=True, fastmath={"reassoc", "contract"})
def hard_round(rows, targets, filters, offsets, models, labels, gradient):
    """Label every client by its smallest residual and sum the filtered gradients by label.

    ``rows``, ``targets`` and ``offsets`` are those of :class:`RotatedClients`, and ``filters`` (r,)
    those of :func:`local_filter`. The ``labels`` (M,) are overwritten by rule (8) of the paper:
    ties, and clients without data, go to the first of the ``models`` (k, d). The ``gradient`` (k,
    d) is overwritten by ``sum_i X_i' P_i (X_i theta_j - y_i)`` over the clients of label j.
    """
    k, d = models.shape
    residuals = np.empty((k, max(1, np.max(np.diff(offsets)))))
    losses = np.empty(k)
    gradient[:] = 0.0
    for i in range(len(labels)):
        first, last = offsets[i], offsets[i + 1]
        losses[:] = 0.0
        for r in range(first, last):
            row = rows[r]
            for j in range(k):
                model = models[j]
                residual = 0.0
                for f in range(d):
                    residual += row[f] * model[f]
                residual -= targets[r]
                residuals[j, r - first] = residual
                losses[j] += residual * residual
        label = np.argmin(losses)
        labels[i] = label
        own = gradient[label]
        for r in range(first, last):
            row = rows[r]
            pull = filters[r] * residuals[label, r - first]
            for f in range(d):
                own[f] += pull * row[f]

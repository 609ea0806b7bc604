"""FedGEM's clients: the EM step, the radii of the uncertainty sets, and privacy.

Sections 4.1, 5 and B.4 of Ibrahim, Gebraeel and Xie (2026).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedmix.checks import check_number
from fedmix.clients import ClientsLike
from fedmix.errors import ConfigurationError, DivergenceError
from fedmix.families import Sample
from fedmix.kernels.em import gaussian_expectation
from fedmix.kernels.responsibilities import NO_FLOOR

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: A component with less responsibility than this (it has underflowed) counts as empty.
_EMPTY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Mixtures:
    """Every client's isotropic unit-variance mixture, stacked client after client.

    Parameters
    ----------
    means : ndarray of shape (C, d)
        C is the sum of all K_g.
    weights : ndarray of shape (C,)
        Mixing weights; a client's add up to 1.
    offsets : ndarray of shape (G + 1,)
        Client g owns components ``offsets[g]`` to ``offsets[g + 1]``.
    """

    means: FloatArray
    weights: FloatArray
    offsets: IntArray

    @property
    def n_components(self) -> IntArray:
        """Components a client, of shape (G,)."""
        return np.diff(self.offsets)

    @property
    def client(self) -> IntArray:
        """The client of each component, of shape (C,)."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.n_components)

    @property
    def log_weights(self) -> FloatArray:
        """Logarithms of the weights, -inf for a weight of 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.weights)

    def split(self, values: NDArray) -> list[NDArray]:
        """Cut an array with one row a component into one array a client."""
        return np.split(values, self.offsets[1:-1])


@dataclass(frozen=True)
class MaximisationStep:
    """What one EM step of all clients yields.

    Parameters
    ----------
    means : ndarray of shape (C, d)
        The maximisers M; an empty component keeps its mean.
    mass : ndarray of shape (C,)
        Sums of responsibilities.
    spread : ndarray of shape (C,)
        V, the responsibility-weighted mean of ||x - M||^2.
    log_likelihood : float
        Of all clients' data under the mixtures before the step.
    """

    means: FloatArray
    mass: FloatArray
    spread: FloatArray
    log_likelihood: float

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Components that no point is responsible for, of shape (C,)."""
        return self.mass < _EMPTY


def maximise(sample: Sample, mixtures: Mixtures) -> MaximisationStep:
    """Do one E-step and M-step at every client (equations 1, 2 and 6b).

    Raises
    ------
    DivergenceError
        If squared distances leave the floating-point numbers; it names the client.
    """
    mass, shift, scatter, log_likelihood = gaussian_expectation(
        sample.columns,
        sample.offsets,
        mixtures.weights,
        mixtures.means,
        mixtures.offsets,
        NO_FLOOR,
        True,
    )
    if not np.isfinite(log_likelihood).all():
        g = int(np.argmin(np.isfinite(log_likelihood)))
        raise DivergenceError(
            f"Client {g}: the log likelihood is {log_likelihood[g]}. Squared distances overflow: "
            "rescale the features."
        )
    divisor = np.where(mass < _EMPTY, 1.0, mass)
    step = np.where(mass[:, None] < _EMPTY, 0.0, shift / divisor[:, None])
    squared_step = np.sum(step**2, axis=1)
    spread = np.maximum(scatter / divisor - squared_step, 0.0)
    constant = 0.5 * sample.columns.size * np.log(2 * np.pi)
    return MaximisationStep(mixtures.means + step, mass, spread, log_likelihood.sum() - constant)


def uncertainty_radii(radius: str, squared_step: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the squared radii epsilon of the uncertainty sets.

    With D2 = ||M - theta||^2 and V the weighted mean of ||x - M||^2, the objective at m is that at
    M less half the mass times ||m - M||^2, so problem (3) has the solution epsilon = D2. The
    printed reformulation (7), and hence Algorithm 4, yield sqrt(epsilon) = sqrt(V + D2) - sqrt(V)
    instead; the published program stops before its first bisection and returns D2 / 2.

    Parameters
    ----------
    radius : {"exact", "theorem4", "half"}
        Problem (3), the printed reformulation (7), or the published program.
    squared_step, spread : ndarray of shape (C,)
        D2 and V.

    Returns
    -------
    ndarray of shape (C,)
    """
    if radius == "exact":
        return squared_step
    if radius == "half":
        return squared_step / 2
    # sqrt(V + D2) - sqrt(V) without cancellation
    total = np.sqrt(spread + squared_step) + np.sqrt(spread)
    return (squared_step / np.where(total > 0, total, 1.0)) ** 2


def final_radii(mixtures: Mixtures, sizes: IntArray, scale: float) -> FloatArray:
    """Return the squared radii of the final aggregation, v R_min / (pi sqrt(N_g)) (Section 6).

    Parameters
    ----------
    mixtures : Mixtures
        As they are before the last client step, as in the published program. R_min is the smallest
        distance between two means of a client, 0 where there is only one; a component of weight
        pi = 0 has radius 0.
    sizes : ndarray of shape (G,)
        Points a client.
    scale : float
        v.

    Returns
    -------
    ndarray of shape (C,)
    """
    from scipy.spatial.distance import pdist

    closest = np.array(
        [pdist(own).min() if len(own) > 1 else 0.0 for own in mixtures.split(mixtures.means)]
    )
    per_client = scale * closest / np.sqrt(np.maximum(sizes, 1))
    used = mixtures.weights > 0
    return np.where(used, per_client[mixtures.client] / np.where(used, mixtures.weights, 1.0), 0.0)


class MergedClustersMixin:
    """Global clusters of methods whose clients keep components of their own."""

    superclusters_: list[IntArray]
    cluster_centers_: FloatArray
    n_clusters_: int

    def predict_clusters(self, clients: ClientsLike) -> list[IntArray]:
        """Label each point with its global cluster, comparable across clients.

        ``predict`` gives a client's own components, of which ``superclusters_[g][label]`` is the
        global cluster.

        Parameters
        ----------
        clients : Clients, list of K arrays or data frames of shape (n_k, d), or (X, groups)
            The same clients in the same order; their points may be new.

        Returns
        -------
        list of G int arrays of shape (n_g,)
        """
        local = self.predict(clients)  # type: ignore[attr-defined]
        return [groups[own] for groups, own in zip(self.superclusters_, local, strict=True)]

    def _set_clusters(self, mixtures: Mixtures, means: FloatArray, labels: IntArray) -> None:
        """Set the clusters that the server merged components to, means (C, d) and labels (C,)."""
        self.superclusters_ = mixtures.split(labels)
        self.cluster_centers_ = means[np.unique(labels, return_index=True)[1]]
        self.n_clusters_ = len(self.cluster_centers_)


@dataclass(frozen=True)
class GaussianMechanism:
    """Gaussian noise that makes one round's maximisers (rho, mu)-differentially private.

    The guarantee is per round and covers the maximisers. FedGEM therefore takes the radii ``exact``
    and ``half`` from the noisy maximisers, which gives nothing more away; ``theorem4`` also depends
    on the data themselves, whose protection the paper leaves open.

    Parameters
    ----------
    rho, mu : float
        Privacy parameters (often written epsilon and delta), rho > 0 and 0 < mu < 1.
    B_x : float
        Bound on the norm of a point; longer points are shortened to it (Assumption 7).
    B_gamma : float
        Lower bound on a component's sum of responsibilities.

    References
    ----------
    Ibrahim, Gebraeel, Xie (2026), Assumption 7, Definition 4 and Theorem 9.
    """

    rho: float
    mu: float
    B_x: float
    B_gamma: float

    @classmethod
    def of(cls, privacy: Mapping[str, float] | None) -> GaussianMechanism | None:
        """Return the mechanism described by ``privacy``, checked.

        Raises
        ------
        ConfigurationError
            If a parameter is missing, unknown or out of range.
        """
        if privacy is None:
            return None
        try:
            mechanism = cls(**privacy)
        except TypeError as error:
            raise ConfigurationError(
                f"privacy: expected the keys rho, mu, B_x and B_gamma; got {privacy!r}."
            ) from error
        mechanism._validate()
        return mechanism

    def noise_scale(self, n_components: int) -> float:
        """Return the noise's standard deviation at a client with K_g components (Theorem 9)."""
        sensitivity = 3 * self.B_x / self.B_gamma + 2 * self.B_x / self.B_gamma**2
        return float(
            np.sqrt(n_components) * sensitivity * np.sqrt(2 * np.log(1.25 / self.mu)) / self.rho
        )

    def clip(self, points: FloatArray) -> FloatArray:
        """Shorten the points of shape (n, d) that are longer than B_x to that length."""
        norms = np.linalg.norm(points, axis=1, keepdims=True)
        return points * (self.B_x / np.maximum(norms, self.B_x))

    def perturb(
        self, maximisers: FloatArray, n_components: NDArray[np.int64], rng: np.random.Generator
    ) -> FloatArray:
        """Add noise to the maximisers of shape (C, d) of clients with ``n_components`` each."""
        scales = np.repeat([self.noise_scale(k) for k in n_components], n_components)
        return maximisers + scales[:, None] * rng.standard_normal(maximisers.shape)

    def _validate(self) -> None:
        for name in ("rho", "B_x", "B_gamma"):
            check_number("privacy", name, getattr(self, name), above=0)
        check_number("privacy", "mu", self.mu, above=0, below=1)

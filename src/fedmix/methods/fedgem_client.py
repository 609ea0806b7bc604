"""FedGEM's clients: the EM step, the radii of the uncertainty sets, and privacy.

Sections 4.1, 5 and B.4 of Ibrahim, Gebraeel and Xie (2026).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.checks import check_number
from fedmix.clients import ClientsLike
from fedmix.errors import ConfigurationError, DivergenceError
from fedmix.families import Sample, log_sum
from fedmix.kernels.em import gaussian_expectation
from fedmix.kernels.responsibilities import NO_FLOOR
from fedmix.methods.base import FloatArray, IntArray

#: A component with a smaller sum of responsibilities has underflowed and counts as empty.
_EMPTY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Mixtures:
    """Every client's isotropic unit-variance mixture, stacked client after client.

    Client g owns the component means (C, d) and mixing weights (C,) from ``offsets[g]`` to
    ``offsets[g + 1]``, where C is the sum of all K_g. The weights of a client sum to 1.
    """

    means: FloatArray
    weights: FloatArray
    offsets: IntArray

    @property
    def n_components(self) -> IntArray:
        """Number of components of each client, of shape (G,)."""
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
        """Split an array with one row per component into one array per client."""
        return np.split(values, self.offsets[1:-1])


@dataclass(frozen=True)
class MaximisationStep:
    """The result of one EM step at all clients.

    The ``means`` (C, d) are the maximisers M; an empty component keeps its mean. ``mass`` (C,) sums
    the responsibilities of each component, and ``empty`` (C,) tells whether no point belongs to it.
    ``spread`` (C,) is V, the responsibility-weighted mean of ||x - M||^2. The log-likelihood is
    that of all clients' data under the mixtures before the step.
    """

    means: FloatArray
    mass: FloatArray
    empty: NDArray[np.bool_]
    spread: FloatArray
    log_likelihood: float


def maximise(sample: Sample, mixtures: Mixtures, smallest_density: float = 0.0) -> MaximisationStep:
    """Do one E-step and M-step at every client (equations 1, 2 and 6b).

    Responsibilities are divided by a density of at least ``smallest_density``. A DivergenceError
    names the client if squared distances overflow.
    """
    if smallest_density:
        mass, shift, scatter, log_likelihood = _undivided_sums(sample, mixtures, smallest_density)
    else:
        mass, shift, scatter, log_likelihood = gaussian_expectation(
            sample.columns,
            sample.offsets,
            mixtures.weights,
            mixtures.means,
            mixtures.offsets,
            NO_FLOOR,
            True,
            True,
        )
    if not np.isfinite(log_likelihood).all():
        g = int(np.argmin(np.isfinite(log_likelihood)))
        raise DivergenceError(
            f"Client {g}: the log-likelihood is {log_likelihood[g]}. Squared distances overflow: "
            "rescale the features."
        )
    empty = mass < _EMPTY
    divisor = np.where(empty, 1.0, mass)
    step = np.where(empty[:, None], 0.0, shift / divisor[:, None])
    spread = np.maximum(scatter / divisor - np.sum(step**2, axis=1), 0.0)
    constant = 0.5 * sample.columns.size * np.log(2 * np.pi)
    total = log_likelihood.sum() - constant
    return MaximisationStep(mixtures.means + step, mass, empty, spread, total)


def _undivided_sums(
    sample: Sample, mixtures: Mixtures, smallest_density: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return what :func:`~fedmix.kernels.em.gaussian_expectation` does, with a smallest density.

    Points with a smaller density have responsibilities with a sum below 1.
    """
    parts = []
    own = zip(
        np.split(sample.columns.T, sample.offsets[1:-1]),
        mixtures.split(mixtures.means),
        mixtures.split(mixtures.log_weights),
        strict=True,
    )
    constant = 0.5 * len(sample.columns) * np.log(2 * np.pi)
    for points, means, log_weights in own:
        deviations = points[:, None] - means
        squares = np.sum(deviations**2, axis=2)
        joint = log_weights - 0.5 * squares
        log_density = log_sum(joint)
        divisor = np.maximum(log_density, np.log(smallest_density) + constant)
        shares = np.exp(joint - divisor[:, None])
        shift = np.einsum("nk,nkf->kf", shares, deviations)
        scatter = np.sum(shares * squares, axis=0)
        parts.append((shares.sum(axis=0), shift, scatter, [log_density.sum()]))
    mass, shift, scatter, log_likelihood = map(np.concatenate, zip(*parts, strict=True))
    return mass, shift, scatter, log_likelihood


def uncertainty_radii(radius: str, squared_step: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the squared radii epsilon of the uncertainty sets, (C,).

    Let D2 = ||M - theta||^2, and let V be the weighted mean of ||x - M||^2, ``spread``. The
    objective at m is the objective at M minus half the mass times ||m - M||^2, so problem (3) has
    the solution epsilon = D2 ("exact"). The printed reformulation (7), and hence Algorithm 4, give
    sqrt(epsilon) = sqrt(V + D2) - sqrt(V) instead ("theorem4"). The published program stops before
    its first bisection and returns D2 / 2 ("half").
    """
    if radius == "exact":
        return squared_step
    if radius == "half":
        return squared_step / 2
    # sqrt(V + D2) - sqrt(V) without cancellation
    total = np.sqrt(spread + squared_step) + np.sqrt(spread)
    return (squared_step / np.where(total > 0, total, 1.0)) ** 2


def final_radii(mixtures: Mixtures, sizes: IntArray, scale: float) -> FloatArray:
    """Return the squared radii v R_min / (pi sqrt(N_g)) of the final aggregation (Section 6), (C,).

    The mixtures are those before the last client step, as in the published program. R_min is the
    smallest distance between two means of a client, or 0 if there is only one. A component with
    weight pi = 0 has radius 0. The clients have ``sizes`` N_g, and the scale is the constant v.
    """
    from scipy.spatial.distance import pdist

    closest = np.array(
        [pdist(own).min() if len(own) > 1 else 0.0 for own in mixtures.split(mixtures.means)]
    )
    per_client = scale * closest / np.sqrt(np.maximum(sizes, 1))
    used = mixtures.weights > 0
    return np.where(used, per_client[mixtures.client] / np.where(used, mixtures.weights, 1.0), 0.0)


class MergedClustersMixin:
    """Global clusters, for methods whose clients keep their own components."""

    of_clients: ClassVar[tuple[str, ...]] = ("means_", "superclusters_")
    superclusters_: list[IntArray]
    cluster_centers_: FloatArray
    n_clusters_: int

    def predict_clusters(
        self,
        X: ClientsLike,
        clients: Sequence[Hashable] | str | None = None,
        groups: ArrayLike | None = None,
    ) -> list[IntArray]:
        """Label each point with its global cluster, which is comparable across clients.

        ``predict`` returns the components of each client. The global cluster of such a label at
        client g is ``superclusters_[g][label]``.

        Parameters
        ----------
        X, clients, groups
            As in ``predict``.

        Returns
        -------
        list of G int arrays of shape (n_g,)
        """
        model, data = self._model_for(X, clients, groups)  # type: ignore[attr-defined]
        local = model._predict(data)
        return [of[own] for of, own in zip(model.superclusters_, local, strict=True)]

    def _set_clusters(self, mixtures: Mixtures, means: FloatArray, labels: IntArray) -> None:
        """Set the global clusters from the merged means (C, d) and labels (C,)."""
        self.superclusters_ = mixtures.split(labels)
        self.cluster_centers_ = means[np.unique(labels, return_index=True)[1]]
        self.n_clusters_ = len(self.cluster_centers_)


@dataclass(frozen=True)
class GaussianMechanism:
    """Gaussian noise that makes one round's maximisers (rho, mu)-differentially private.

    The guarantee is per round, covers the maximisers and supposes one local step, whose start the
    server knows. FedGEM computes the radii ``exact`` and ``half`` from the noisy maximisers and
    this start, which then reveals nothing more. It does reveal more in the first round, where the
    start is a k-means++ seed that the server does not know (such a radius gives the distance of one
    of the points), and with several local steps. The radius ``theorem4`` also depends on the data
    themselves, and so do the final radii if weights are learned. The paper does not say how to
    protect radii.

    Parameters
    ----------
    rho, mu : float
        Privacy parameters (often written epsilon and delta), rho > 0 and 0 < mu < 1.
    B_x : float
        Bound on the norm of a point (Assumption 7). Longer points are shortened to it.
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
        """Return the mechanism that ``privacy`` describes, or None for None.

        A ConfigurationError is raised if a parameter is missing, unknown or out of range.
        """
        if privacy is None:
            return None
        try:
            mechanism = cls(**privacy)
        except TypeError as error:
            raise ConfigurationError(
                f"privacy: expected the keys rho, mu, B_x and B_gamma; got {privacy!r}."
            ) from error
        for name in ("rho", "B_x", "B_gamma"):
            check_number("privacy", name, getattr(mechanism, name), above=0)
        check_number("privacy", "mu", mechanism.mu, above=0, below=1)
        return mechanism

    def noise_scale(self, n_components: int) -> float:
        """Return the noise's standard deviation for a client with K_g components (Theorem 9)."""
        sensitivity = 3 * self.B_x / self.B_gamma + 2 * self.B_x / self.B_gamma**2
        return float(
            np.sqrt(n_components) * sensitivity * np.sqrt(2 * np.log(1.25 / self.mu)) / self.rho
        )

    def clip(self, points: FloatArray) -> FloatArray:
        """Shorten points of shape (n, d) that are longer than B_x to that length."""
        norms = np.linalg.norm(points, axis=1, keepdims=True)
        return points * (self.B_x / np.maximum(norms, self.B_x))

    def perturb(
        self, maximisers: FloatArray, n_components: IntArray, rng: np.random.Generator
    ) -> FloatArray:
        """Add noise to the maximisers of shape (C, d), given each client's ``n_components``."""
        scales = np.repeat([self.noise_scale(k) for k in n_components], n_components)
        return maximisers + scales[:, None] * rng.standard_normal(maximisers.shape)

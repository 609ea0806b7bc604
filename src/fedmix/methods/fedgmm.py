"""FedGMM: mixtures of regressions whose covariates also follow a mixture."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from fedmix import families
from fedmix.alignment import align
from fedmix.clients import Clients
from fedmix.families import Sample, probabilities
from fedmix.families.base import floor_code, symmetric
from fedmix.families.regression import PUBLISHED_RIDGE, normal_step
from fedmix.initialization.local_fits import mclust_em, regular_factors, shared_covariance_em
from fedmix.initialization.strategies import model_based_labels, ward_labels
from fedmix.kernels.joint import joint_expectation
from fedmix.methods.base import Constraints, IntArray, register
from fedmix.methods.federated_mixture import CommonComponentsMixin, FederatedMixture, FloatArray
from fedmix.streams import seed_of


class JointStatistics(NamedTuple):
    """The result of the joint mixture's E-step; see :mod:`fedmix.kernels.joint`."""

    masses: FloatArray
    deviations: FloatArray
    scatters: FloatArray
    scores: FloatArray
    normal: FloatArray


@register
class FedGMM(CommonComponentsMixin, FederatedMixture):
    """Federated EM for the joint mixture of covariates and responses.

    A point belongs to covariate component m and regression r with probability pi_mr. It then has
    x ~ N(mu_m, Sigma_m) and y | x ~ N(x'theta_r, 1). Each client keeps its own pi. The server
    averages mu (weighted by the clients' shares sum_r pi_mr, whatever their sizes), Sigma and theta
    (unweighted) over the clients with points.

    Parameters
    ----------
    n_covariate_components : int, default=3
        Number M of covariate components. The default is the paper's.
    covariate_init : {"eee", "mclust"}, default="eee"
        How each client's covariate components start, before they are aligned across clients: EM
        with one covariance from Ward's clustering, or the same by the R package mclust, which is
        slow with many features.
    covariances : {"own", "first"}, default="own"
        "own" gives every covariate component the average of its own covariances. "first" gives all
        components the average of the first one's covariances, as in the program of Tian, Weng and
        Feng.
    **others
        See :class:`fedmix.methods.federated_mixture.FederatedMixture`. ``density_floor`` applies to
        the normalised responsibilities, as in the published code.

    Attributes
    ----------
    joint_weights_ : ndarray of shape (K, M, R)
        The probabilities pi of each client; ``weights_`` is their sum over m.
    covariate_means_ : ndarray of shape (K, M, d)
        The means mu.
    covariances_ : ndarray of shape (K, M, d, d)
        The covariances Sigma.

    References
    ----------
    Wu et al. (2023), as in the comparison of Tian, Weng and Feng (2024), Sections 4 and B
    (M_1 = 3).
    """

    families: ClassVar[tuple[str, ...]] = ("regression",)
    of_clients: ClassVar[tuple[str, ...]] = (
        "weights_",
        "means_",
        "joint_weights_",
        "covariate_means_",
        "covariances_",
    )
    constraints: ClassVar[Constraints] = {
        "family": [{"regression"}],
        "n_covariate_components": ["integer >= 1"],
        "covariate_init": [{"eee", "mclust"}],
        "covariances": [{"own", "first"}],
    }

    def __init__(
        self,
        n_components: int | None = None,
        family: str = "regression",
        n_covariate_components: int = 3,
        covariate_init: str = "eee",
        covariances: str = "own",
        max_rounds: int = 1000,
        tol: float = 1e-4,
        init: tuple[FloatArray, FloatArray] | str | None = None,
        density_floor: str | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(n_components, family, max_rounds, tol, init, density_floor, random_state)
        self.n_covariate_components = n_covariate_components
        self.covariate_init = covariate_init
        self.covariances = covariances

    def _fit(self, clients: Clients) -> None:
        """Alternate between local EM steps on the joint mixture and averages."""
        sample = self._start(clients)
        self._start_covariates(clients)
        for _ in self._em_rounds():
            statistics = self._joint_expectation(sample)
            self.joint_weights_ = self._joint_weights(statistics, sample)
            self.weights_ = self.joint_weights_.sum(axis=1)
            covariate_means, covariances = self._covariate_step(statistics)
            coefficients = self._regression_step(statistics)
            self._check_finite(self.weights_, coefficients)
            self._average(sample.sizes > 0, covariate_means, covariances, coefficients)
            self._count_floats(int(np.count_nonzero(clients.sizes)))

    def _start_covariates(self, clients: Clients) -> None:
        """Initialize each client's covariate components, with independent joint weights."""
        n_clients, d, m = len(clients), clients.n_features, self.n_covariate_components
        seed = seed_of(self.random_state)
        as_mclust = self.covariate_init == "mclust"
        cluster = model_based_labels if as_mclust else ward_labels
        fit = mclust_em if as_mclust else shared_covariance_em
        means = np.zeros((n_clients, m, d))
        covariances = np.tile(np.eye(d), (n_clients, m, 1, 1))
        for k in np.flatnonzero(clients.sizes):
            generator = np.random.default_rng([seed, int(k)])
            labels = cluster(clients[k], m, generator)
            _, means[k], covariances[k] = fit(clients[k], labels, m)
        filled = self._with_points
        order = align(means[filled], random_state=seed)
        means[filled] = np.take_along_axis(means[filled], order[..., None], axis=1)
        self.covariate_means_ = means
        self.covariances_ = covariances
        self.joint_weights_ = np.repeat(self.weights_[:, None] / m, m, axis=1)

    def _joint_expectation(self, sample: Sample) -> JointStatistics:
        """Do the E-step of the joint mixture for all clients."""
        roots, whiteners = self._whiteners()
        return JointStatistics(
            *joint_expectation(
                sample.columns,
                sample.responses,
                sample.offsets,
                np.ascontiguousarray(self.joint_weights_ / roots[..., None]),
                np.ascontiguousarray(self.covariate_means_),
                whiteners,
                np.ascontiguousarray(self.means_),
                floor_code(self.density_floor),
            )
        )

    def _whiteners(self) -> tuple[FloatArray, FloatArray]:
        """Return the determinants of the Cholesky factors, (K, M), and their inverses.

        After one round all clients have the same covariances. Determinants out of range are given
        in another unit, because only ratios of densities count unless they have a floor.
        """
        shared = self.n_rounds_ > 0
        factors = regular_factors(self.covariances_[:1] if shared else self.covariances_)
        diagonals = np.diagonal(factors, axis1=2, axis2=3)
        with np.errstate(over="ignore"):
            roots = np.prod(diagonals, axis=2)
        if self.density_floor is None and not np.all((roots > 0) & np.isfinite(roots)):
            roots = np.prod(diagonals / np.exp(np.log(diagonals).mean()), axis=2)
        copies = len(self.weights_) if shared else 1
        whiteners = np.linalg.inv(factors)
        return np.repeat(roots, copies, axis=0), np.repeat(whiteners, copies, axis=0)

    def _joint_weights(self, statistics: JointStatistics, sample: Sample) -> FloatArray:
        """Do the M-step of the joint weights, (K, M, R); empty clients keep theirs."""
        sizes = sample.sizes[:, None, None]
        return np.where(sizes > 0, statistics.masses / np.maximum(sizes, 1), self.joint_weights_)

    def _covariate_step(self, statistics: JointStatistics) -> tuple[FloatArray, FloatArray]:
        """Do the M-step of mu (K, M, d) and Sigma (K, M, d, d), except for empty components."""
        mass = statistics.masses.sum(axis=2)[..., None]
        safe = np.where(mass > 0, mass, 1.0)
        shift = statistics.deviations / safe
        updated = (
            symmetric(statistics.scatters) / safe[..., None]
            - shift[..., :, None] * shift[..., None, :]
        )
        return (
            self.covariate_means_ + shift,
            np.where(mass[..., None] > 0, updated, self.covariances_),
        )

    def _regression_step(self, statistics: JointStatistics) -> FloatArray:
        """Do the M-step of theta, (K, R, d)."""
        ridge = 0.0 if self.density_floor is None else PUBLISHED_RIDGE
        return self.means_ + normal_step(statistics.normal, statistics.scores, self.means_, ridge)

    def _average(
        self,
        has_points: np.ndarray,
        covariate_means: FloatArray,
        covariances: FloatArray,
        coefficients: FloatArray,
    ) -> None:
        """Give all clients the averages over the clients with points."""
        masses = self.joint_weights_[has_points].sum(axis=2)[..., None]
        total = masses.sum(axis=0)
        weighted = (masses * covariate_means[has_points]).sum(axis=0)
        centre = np.where(total > 0, weighted / np.where(total > 0, total, 1.0), covariate_means[0])
        n_clients = len(self.weights_)
        self.covariate_means_ = np.repeat(centre[None], n_clients, axis=0)
        covariance = covariances[has_points].mean(axis=0)
        if self.covariances == "first":
            covariance = np.repeat(covariance[:1], len(covariance), axis=0)
        self.covariances_ = np.repeat(covariance[None], n_clients, axis=0)
        coefficient = coefficients[has_points].mean(axis=0)
        self.means_ = np.repeat(coefficient[None], n_clients, axis=0)

    def _log_joint(self, clients: Clients) -> list[FloatArray]:
        """Return log sum_m pi_mr N(x; mu_m, Sigma_m) N(y; x'theta_r, 1): K arrays (n_k, R)."""
        families.get(self.family).check(clients)
        joint = []
        for k, x in enumerate(clients):
            response = families.get("regression").log_density(
                x, clients.responses_of(k), self.means_[k]
            )
            joint.append(self._covariate_log_joint(x, k) + response)
        return joint

    def _shares(self, x: FloatArray, k: int) -> FloatArray:
        """Return the probabilities of client k's regressions given features, (n, R)."""
        return probabilities(self._covariate_log_joint(x, k))

    def _draw(self, k: int, size: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Draw regressions (n,) and covariates (n, d) of client k."""
        joint = self.joint_weights_[k].reshape(-1)
        both = rng.choice(joint.size, size=size, p=joint / joint.sum())
        components, labels = np.divmod(both, self.n_components)
        noise = rng.standard_normal((size, self.n_features_in_))
        factors = regular_factors(self.covariances_[k])[components]
        return labels, self.covariate_means_[k, components] + np.einsum(
            "nij,nj->ni", factors, noise
        )

    def _draw_responses(
        self, k: int, labels: IntArray, points: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Draw the responses of client k's regressions."""
        expected = np.sum(points * self.means_[k, labels], axis=1)
        return expected + rng.standard_normal(len(points))

    def _n_parameters(self) -> int:
        """Count coefficients and covariate components, common ones once, and joint weights."""
        d, n_components = self.n_features_in_, self.joint_weights_[0].size
        coefficients = np.unique(self.means_.reshape(-1, d), axis=0).size
        means = np.unique(self.covariate_means_.reshape(-1, d), axis=0).size
        covariances = np.unique(self.covariances_.reshape(-1, d * d), axis=0)
        return (
            coefficients
            + means
            + len(covariances) * d * (d + 1) // 2
            + np.count_nonzero(self._with_points) * (n_components - 1)
        )

    def _covariate_log_joint(self, x: FloatArray, k: int) -> FloatArray:
        """Return log sum_m pi_mr N(x; mu_m, Sigma_m) of client k, of shape (n, R)."""
        d = x.shape[1]
        densities = np.empty((len(x), self.n_covariate_components))
        for m, factor in enumerate(regular_factors(self.covariances_[k])):
            whitened = np.linalg.solve(factor, (x - self.covariate_means_[k, m]).T)
            densities[:, m] = -0.5 * np.square(whitened).sum(axis=0)
            densities[:, m] -= np.log(np.diag(factor)).sum() + 0.5 * d * math.log(2 * math.pi)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.joint_weights_[k])
        return np.logaddexp.reduce(log_weights + densities[:, :, None], axis=1)

    def _count_floats(self, n_clients: int) -> None:
        """Count mu, Sigma, theta and the weights of mu up, and mu, Sigma and theta down."""
        down = self.means_[0].size + self.covariate_means_[0].size + self.covariances_[0].size
        self._send(up=n_clients * (down + self.n_covariate_components), down=n_clients * down)

    def _state(self) -> list[FloatArray]:
        return [*super()._state(), self.joint_weights_, self.covariate_means_, self.covariances_]

"""FedGMM: mixtures of regressions whose covariates are mixtures too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedmix import families
from fedmix.alignment import align
from fedmix.clients import Clients
from fedmix.initialization.local_fits import regular_factor, shared_covariance_em
from fedmix.initialization.strategies import ward_labels
from fedmix.kernels.regression import solve_normal
from fedmix.methods.base import register
from fedmix.methods.federated_mixture import FederatedMixture, FloatArray, is_count, require

PUBLISHED_FLOOR = 1e-8
PUBLISHED_RIDGE = 1e-5


@dataclass(frozen=True)
class _LocalFit:
    """One client's M-step: joint weights (M, R), covariate means, covariances, coefficients."""

    weights: FloatArray
    covariate_means: FloatArray
    covariances: FloatArray
    coefficients: FloatArray


@register
class FedGMM(FederatedMixture):
    """Federated EM for the joint mixture of covariates and responses.

    A point comes from covariate component m and regression r with probability pi_mr, has
    x ~ N(mu_m, Sigma_m) and y | x ~ N(x'theta_r, 1). Clients keep pi; the server averages mu
    (weighted by mass), Sigma and theta (plainly) over the clients that have points.

    Parameters
    ----------
    n_covariate_components : int, default=3
        M, as in the paper. They start from each client's own shared-covariance EM, aligned.
    **others
        Those of :class:`fedmix.methods.federated_mixture.FederatedMixture`. ``density_floor`` acts
        on the normalised responsibilities, as in the published code.

    Attributes
    ----------
    joint_weights_ : ndarray of shape (K, M, R)
        pi of each client; ``weights_`` is its sum over m.
    covariate_means_ : ndarray of shape (K, M, d)
    covariances_ : ndarray of shape (K, M, d, d)

    Notes
    -----
    The published code gives all covariate components the average covariance of the first one; here
    each has its own.

    References
    ----------
    Wu et al. (2023), as compared with by Tian, Weng and Feng (2024), Sections 4 and B (M_1 = 3).
    """

    families: ClassVar[tuple[str, ...]] = ("regression",)

    def __init__(
        self,
        n_components: int,
        family: str = "regression",
        n_covariate_components: int = 3,
        max_rounds: int = 1000,
        tol: float = 0.0,
        init: tuple[FloatArray, FloatArray] | str | None = None,
        density_floor: str | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(n_components, family, max_rounds, tol, init, density_floor, random_state)
        self.n_covariate_components = n_covariate_components

    def fit(self, clients: Clients) -> FedGMM:
        """Alternate local EM steps on the joint mixture and averages; return the estimator."""
        self._start(clients)
        self._start_covariates(clients)
        non_empty = np.flatnonzero(clients.sizes)
        for _ in self._rounds():
            fits = [self._local_step(clients, k) for k in non_empty]
            self.joint_weights_ = self.joint_weights_.copy()
            self.joint_weights_[non_empty] = [fit.weights for fit in fits]
            self.weights_ = self.joint_weights_.sum(axis=1)
            self._average(fits)
        sent = self.means_[0].size + self.covariate_means_[0].size + self.covariances_[0].size
        floats = self.n_rounds_ * len(clients) * sent
        masses = self.n_rounds_ * len(clients) * self.n_covariate_components
        self.communication_ = {"up": floats + masses, "down": floats}
        return self

    def _start_covariates(self, clients: Clients) -> None:
        """Set each client's covariate components, and joint weights independent of them."""
        n_clients, d, m = len(clients), clients.n_features, self.n_covariate_components
        means = np.zeros((n_clients, m, d))
        covariances = np.tile(np.eye(d), (n_clients, m, 1, 1))
        for k in np.flatnonzero(clients.sizes):
            generator = np.random.default_rng([self.random_state, k])
            labels = ward_labels(clients[k], m, generator)
            _, means[k], covariances[k] = shared_covariance_em(clients[k], labels, m)
        order = align(means, random_state=self.random_state)
        self.covariate_means_ = np.take_along_axis(means, order[..., None], axis=1)
        self.covariances_ = covariances
        self.joint_weights_ = np.repeat(self.weights_[:, None] / m, m, axis=1)

    def _local_step(self, clients: Clients, k: int) -> _LocalFit:
        """One EM step of the joint mixture on client k."""
        x, y = clients[k], clients.responses_of(k)
        log_joint = self._joint_log_densities(x, y, k)
        log_joint -= log_joint.max(axis=(1, 2), keepdims=True)
        joint = np.exp(log_joint)
        joint /= joint.sum(axis=(1, 2), keepdims=True)
        if self.density_floor is not None:
            highest_raised = 0.0 if self.density_floor == "zeros" else PUBLISHED_FLOOR
            joint[joint <= highest_raised] = PUBLISHED_FLOOR
        covariate_means, covariances = self._covariate_step(x, joint.sum(axis=2), k)
        coefficients = self._regression_step(x, y, joint.sum(axis=1), k)
        return _LocalFit(joint.mean(axis=0), covariate_means, covariances, coefficients)

    def _joint_log_densities(self, x: FloatArray, y: FloatArray, k: int) -> FloatArray:
        """Return log(pi_mr N(x; mu_m, Sigma_m) N(y; x'theta_r, 1)), of shape (n, M, R)."""
        d = x.shape[1]
        covariate = np.empty((len(x), self.n_covariate_components))
        for m in range(self.n_covariate_components):
            factor = regular_factor(self.covariances_[k, m])
            whitened = np.linalg.solve(factor, (x - self.covariate_means_[k, m]).T)
            covariate[:, m] = -0.5 * np.square(whitened).sum(axis=0)
            covariate[:, m] -= np.log(np.diag(factor)).sum() + 0.5 * d * math.log(2 * math.pi)
        response = families.get("regression").log_density(x, y, self.means_[k])
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.joint_weights_[k])
        return log_weights + covariate[:, :, None] + response[:, None, :]

    def _covariate_step(
        self, x: FloatArray, responsibilities: FloatArray, k: int
    ) -> tuple[FloatArray, FloatArray]:
        """M-step of mu (M, d) and Sigma (M, d, d); a component without mass keeps its own."""
        means, covariances = self.covariate_means_[k].copy(), self.covariances_[k].copy()
        for m, share in enumerate(responsibilities.T):
            if share.sum() > 0:
                means[m] = share @ x / share.sum()
                deviations = x - means[m]
                covariances[m] = (deviations.T * share) @ deviations / share.sum()
        return means, covariances

    def _regression_step(
        self, x: FloatArray, y: FloatArray, responsibilities: FloatArray, k: int
    ) -> FloatArray:
        """M-step of theta (R, d), as one Newton step; singular directions stay."""
        ridge = 0.0 if self.density_floor is None else PUBLISHED_RIDGE
        weighted = x.T[None] * responsibilities.T[:, None]
        normal = weighted @ x + ridge * np.eye(x.shape[1])
        residuals = y[:, None] - x @ self.means_[k].T
        right = (responsibilities * residuals).T @ x - ridge * self.means_[k]
        steps, singular = solve_normal(normal, right)
        for r in np.flatnonzero(singular):
            steps[r] = np.linalg.pinv(normal[r], hermitian=True) @ right[r]
        return self.means_[k] + steps

    def _average(self, fits: list[_LocalFit]) -> None:
        """Give all clients the averages of the local estimates."""
        masses = np.stack([fit.weights.sum(axis=1) for fit in fits])
        covariate_means = np.stack([fit.covariate_means for fit in fits])
        total = np.maximum(masses.sum(axis=0), np.finfo(float).tiny)
        centre = (masses[..., None] * covariate_means).sum(axis=0) / total[:, None]
        n_clients = len(self.weights_)
        self.covariate_means_ = np.repeat(centre[None], n_clients, axis=0)
        covariance = np.mean([fit.covariances for fit in fits], axis=0)
        self.covariances_ = np.repeat(covariance[None], n_clients, axis=0)
        coefficients = np.mean([fit.coefficients for fit in fits], axis=0)
        self.means_ = np.repeat(coefficients[None], n_clients, axis=0)

    def _log_joint(self, clients: Clients) -> list[FloatArray]:
        super()._log_joint(clients)  # for its checks
        joint = []
        for k in range(len(clients)):
            density = self._joint_log_densities(clients[k], clients.responses_of(k), k)
            joint.append(np.logaddexp.reduce(density, axis=1))
        return joint

    def _state(self) -> list[FloatArray]:
        return [*super()._state(), self.joint_weights_, self.covariate_means_, self.covariances_]

    def _validate(self) -> None:
        super()._validate()
        valid = is_count(self.n_covariate_components, 1)
        require(valid, "n_covariate_components", "1, 2, ...", self.n_covariate_components)

"""scikit-learn's mixtures, fitted to the pooled data of all clients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from fedmix.clients import Clients
from fedmix.errors import DivergenceError
from fedmix.methods.base import Constraints, FederatedEstimator, FloatArray, IntArray, register
from fedmix.methods.centroids import components_of
from fedmix.methods.likelihood import LikelihoodMixin
from fedmix.methods.variational import fit_in_blocks
from fedmix.streams import generator_of

if TYPE_CHECKING:
    from sklearn.mixture import BayesianGaussianMixture, GaussianMixture


class _CentralMixture(LikelihoodMixin, FederatedEstimator):
    """A scikit-learn mixture, fitted to the pooled data."""

    constraints: ClassVar[Constraints] = {
        "covariance_type": [{"full", "tied", "diag", "spherical"}],
        "max_iter": ["integer >= 1"],
        "init_params": [{"kmeans", "k-means++", "random", "random_from_data"}],
    }

    def _predict(self, clients: Clients) -> list[IntArray]:
        """Label each point with its most probable component."""
        return clients.split(self._model.predict(clients.points).astype(np.int64))

    def _log_joint(self, clients: Clients) -> list[FloatArray]:
        """Return the log-likelihood plus the log-probability of each component."""
        points = clients.points
        with np.errstate(divide="ignore"):
            log_shares = np.log(self._model.predict_proba(points))
        return clients.split(self._model.score_samples(points)[:, None] + log_shares)

    def _draw(self, k: int, size: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Draw components and points from the common mixture."""
        labels = rng.choice(len(self.weights_), size=size, p=self.weights_)
        points = np.empty((size, self.n_features_in_))
        for r in np.unique(labels):
            own = labels == r
            covariance = self._covariance(int(r))
            points[own] = rng.multivariate_normal(self.cluster_centers_[r], covariance, own.sum())
        return labels, points

    def _covariance(self, r: int) -> FloatArray:
        """Return component r's covariance matrix (d, d)."""
        covariances = self._model.covariances_
        own = covariances if self.covariance_type == "tied" else covariances[r]
        full = self.covariance_type in ("full", "tied")
        return own if full else own * np.eye(self.n_features_in_)

    def _fit_model(
        self,
        model: GaussianMixture | BayesianGaussianMixture,
        fit: Callable[[Any, FloatArray], object],
        clients: Clients,
    ) -> None:
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings(), threadpool_limits(limits=1):
            warnings.simplefilter("ignore", ConvergenceWarning)  # ours is raised below
            try:
                fit(model, clients.points)
            except ValueError as error:  # a covariance that is singular at the data's scale
                raise DivergenceError(f"{type(self).__name__}: {error}") from error
        if not np.isfinite(model.means_).all():
            raise DivergenceError(f"{type(self).__name__}: means are not finite.")
        self._model = model
        self.cluster_centers_ = model.means_
        self.weights_ = model.weights_
        self.n_rounds_ = int(model.n_iter_)
        self.converged_ = bool(model.converged_)
        if not self.converged_:
            self._warn_of_no_convergence(f"max_iter = {self.max_iter} iterations")
        size = model.means_.size + model.weights_.size + model.covariances_.size
        self._send(up=clients.points.size, down=np.count_nonzero(clients.sizes) * size)

    def _options(self) -> dict[str, Any]:
        seed = int(generator_of(self.random_state).integers(2**31))
        return {
            "covariance_type": self.covariance_type,
            "init_params": self.init_params,
            "max_iter": self.max_iter,
            "random_state": seed,
        }


@register
class CentralGMM(_CentralMixture):
    """Gaussian mixture of the pooled data, fitted by EM.

    Parameters
    ----------
    n_components : int, default=2
        The known number K of components. The default is the smallest mixture.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="spherical"
        See scikit-learn's ``GaussianMixture``. The default is that of FedGEM's experiments.
    max_iter : int, default=100
        Maximum number of EM iterations. The default is scikit-learn's.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        How the responsibilities are initialized. The default is scikit-learn's; "k-means++"
        reproduces the scores of FedGEM's program.
    random_state : int, Generator or None, default=0
        Seed of the initialization.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (K, d)
        Component means.
    weights_ : ndarray of shape (K,)
        Mixing weights.
    n_clusters_ : int
        K.
    """

    needs: ClassVar[tuple[str, ...]] = ("n_components",)
    constraints: ClassVar[Constraints] = {"n_components": ["integer >= 1"]}

    def __init__(
        self,
        n_components: int = 2,
        covariance_type: str = "spherical",
        max_iter: int = 100,
        init_params: str = "kmeans",
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.max_iter = max_iter
        self.init_params = init_params
        self.random_state = random_state

    def _fit(self, clients: Clients) -> None:
        """Fit the mixture to all clients' points."""
        from sklearn.mixture import GaussianMixture

        model = GaussianMixture(self.n_components, **self._options())
        self._fit_model(model, GaussianMixture.fit, clients)
        self.n_clusters_ = self.n_components

    def _n_parameters(self) -> int:
        """Count the means, mixing weights and free entries of the covariances."""
        d, triangle = self.n_features_in_, self.n_features_in_ * (self.n_features_in_ + 1) // 2
        k = self.n_components
        covariances = {"full": k * triangle, "tied": triangle, "diag": k * d, "spherical": k}
        return k * d + k - 1 + covariances[self.covariance_type]


@register
class CentralDPGMM(_CentralMixture):
    """Dirichlet-process Gaussian mixture of the pooled data (variational).

    Parameters
    ----------
    components_per_client : int or sequence of G ints, default=2
        The known number K_g of components of each client. The sum over clients is the upper bound
        on the number of components (FedGEM's Appendix D.3), and the number of points another. The
        default is the smallest mixture.
    covariance_type, max_iter, init_params, random_state
        As in :class:`CentralGMM`.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (bound, d)
        Component means; the bound is the smaller of the two.
    weights_ : ndarray of shape (bound,)
        Mixing weights.
    n_clusters_ : int
        Number of components that own training points.
    """

    needs: ClassVar[tuple[str, ...]] = ("components_per_client",)
    constraints: ClassVar[Constraints] = {
        "components_per_client": ["integer >= 1", "integers >= 1"]
    }

    def __init__(
        self,
        components_per_client: int | Sequence[int] = 2,
        covariance_type: str = "spherical",
        max_iter: int = 100,
        init_params: str = "kmeans",
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.components_per_client = components_per_client
        self.covariance_type = covariance_type
        self.max_iter = max_iter
        self.init_params = init_params
        self.random_state = random_state

    def _fit(self, clients: Clients) -> None:
        """Fit the mixture to all clients' points."""
        from sklearn.mixture import BayesianGaussianMixture

        bound = int(components_of(clients, self.components_per_client).sum())
        bound = min(bound, clients.n_points)
        model = BayesianGaussianMixture(
            n_components=bound,
            weight_concentration_prior_type="dirichlet_process",
            **self._options(),
        )
        in_blocks = self.covariance_type == "spherical"  # whose update equations are ours
        self._fit_model(model, fit_in_blocks if in_blocks else BayesianGaussianMixture.fit, clients)
        self.n_clusters_ = len(np.unique(model.predict(clients.points)))

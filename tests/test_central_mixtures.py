"""Central mixtures: scikit-learn's, on the pooled data."""

import numpy as np
import pytest
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from fedmix import Clients
from fedmix.errors import ConfigurationError, DataError
from fedmix.methods.central_mixtures import CentralDPGMM, CentralGMM


@pytest.fixture
def clients():
    rng = np.random.default_rng(0)
    return Clients.from_arrays([rng.normal(5 * k, 1, size=(40, 2)) for k in range(3)])


def test_central_gmm_is_scikit_learns_on_the_pooled_data(clients):
    model = CentralGMM(3, random_state=0).fit(clients)
    seed = int(np.random.default_rng(0).integers(2**31))
    reference = GaussianMixture(3, covariance_type="spherical", random_state=seed)
    expected = reference.fit_predict(clients.points)
    np.testing.assert_array_equal(np.concatenate(model.predict(clients)), expected)
    assert model.communication_ == {"up": 240, "down": 3 * (3 * 2 + 3 + 3)}


def test_result_does_not_depend_on_who_owns_the_points(clients):
    pooled = CentralGMM(3, random_state=0).fit(clients.pooled())
    shared = CentralGMM(3, random_state=0).fit(clients)
    np.testing.assert_array_equal(pooled.cluster_centers_, shared.cluster_centers_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("start", ["kmeans", "k-means++", "random", "random_from_data"])
@pytest.mark.parametrize("n_features", [1, 2, 7])
def test_dp_gmm_is_scikit_learns_on_the_pooled_data(start, n_features):
    """More points than a block, so that the sums of blocks are added."""
    rng = np.random.default_rng(n_features)
    pooled = Clients.from_arrays([rng.normal(2 * k, 1, size=(133, n_features)) for k in range(5)])
    model = CentralDPGMM(4, init_params=start, max_iter=30, random_state=0).fit(pooled)
    reference = BayesianGaussianMixture(
        n_components=20, weight_concentration_prior_type="dirichlet_process", **model._options()
    ).fit(pooled.points)
    np.testing.assert_allclose(model.cluster_centers_, reference.means_, rtol=1e-9)
    np.testing.assert_allclose(model.weights_, reference.weights_, rtol=1e-9, atol=1e-300)
    assert (model.n_rounds_, model.converged_) == (reference.n_iter_, reference.converged_)
    np.testing.assert_array_equal(
        np.concatenate(model.predict(pooled)), reference.predict(pooled.points)
    )
    np.testing.assert_allclose(
        np.concatenate(model.score_samples(pooled)), reference.score_samples(pooled.points)
    )


def test_dp_gmm_counts_the_components_that_own_points(clients):
    model = CentralDPGMM([2, 3, 2], random_state=0).fit(clients)
    assert len(model.weights_) == 7
    used = np.unique(np.concatenate(model.predict(clients)))
    assert model.n_clusters_ == len(used) <= 7


def test_components_of_all_clients_together_are_bounded_by_the_points():
    few = Clients.from_arrays([[[0.0], [1.0], [5.0]], [[2.0]]])
    with pytest.raises(DataError, match="n_components asks for 5, more than the 4 points"):
        CentralGMM(5).fit(few)
    assert len(CentralDPGMM(3, random_state=0).fit(few).weights_) == 4


def test_unknown_covariance_is_refused(clients):
    with pytest.raises(ConfigurationError, match="spherical"):
        CentralGMM(2, covariance_type="round").fit(clients)

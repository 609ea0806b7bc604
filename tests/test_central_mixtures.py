"""Central mixtures: scikit-learn's, on the pooled data."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

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

"""The simulated clusters of the FedGEM paper."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from fedmix.errors import ConfigurationError
from fedmix.simulate.isotropic_clusters import draw_centres, simulate_clusters


@pytest.mark.parametrize("separation", [1.0, 8.0])
def test_closest_centres_are_exactly_so_far_apart(separation):
    for seed in range(5):
        centres = draw_centres(10, 4, separation, np.random.default_rng(seed))
        assert centres.shape == (10, 4)
        assert pdist(centres).min() == pytest.approx(separation)


def test_centres_that_do_not_fit_are_refused():
    with pytest.raises(ConfigurationError, match="Cannot place"):
        draw_centres(50, 1, 30.0, np.random.default_rng(0))


@pytest.mark.parametrize("imbalance", ["nominal", "client", "cluster"])
def test_every_cluster_occurs_and_no_client_holds_all(imbalance):
    sizes = [900, 600, 400, 400, 100] if imbalance == "client" else 500
    drawn = simulate_clusters(np.random.default_rng(1), imbalance=imbalance, client_sizes=sizes)
    assert set(drawn.test_labels) == set(range(10))
    assert np.all((drawn.n_components >= 2) & (drawn.n_components < 10))
    np.testing.assert_array_equal(drawn.train.sizes, np.resize(sizes, 5))
    assert drawn.test.n_points == 5000
    for own, k in zip(drawn.test.split(drawn.test_labels), drawn.n_components, strict=True):
        assert len(set(own)) == k


def test_points_scatter_with_unit_variance_around_their_centres():
    drawn = simulate_clusters(np.random.default_rng(2), separation=4.0, n_test=20_000)
    centres = draw_centres(10, 4, 4.0, np.random.default_rng(2))  # the simulation's first draws
    residual = drawn.test.points - centres[drawn.test_labels]
    np.testing.assert_allclose(residual.std(axis=0), 1.0, rtol=0.03)
    np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=0.03)


def test_nominal_clients_hold_equal_shares():
    drawn = simulate_clusters(np.random.default_rng(3))
    for own in drawn.test.split(drawn.test_labels):
        counts = np.unique(own, return_counts=True)[1]
        assert counts.max() - counts.min() <= 1


def test_unknown_imbalance_is_refused():
    with pytest.raises(ConfigurationError, match="nominal"):
        simulate_clusters(np.random.default_rng(0), imbalance="nominel")


def test_the_program_s_clients_lack_two_clusters_and_test_all_of_theirs_equally():
    largest = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        drawn = simulate_clusters(rng, imbalance="cluster", n_test=2_000, design="program")
        largest = max(largest, drawn.n_components.max())
        assert set(drawn.test_labels) == set(range(10))
        for own in drawn.test.split(drawn.test_labels):
            _, counts = np.unique(own, return_counts=True)
            np.testing.assert_allclose(counts, 2_000 / drawn.n_components.sum(), atol=2)
    assert largest == 8


def test_an_unknown_design_is_refused():
    with pytest.raises(ConfigurationError, match="design"):
        simulate_clusters(np.random.default_rng(0), design="other")

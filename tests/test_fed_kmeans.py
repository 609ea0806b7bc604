"""FedKMeans: counts matter, and one client is plain k-means."""

import numpy as np

from fedmix import Clients
from fedmix.methods.fed_kmeans import FedKMeans, _with_counts


def test_centres_without_points_are_not_sent():
    points = np.array([[0.0], [0.1], [5.0]])
    centres, counts = _with_counts(points, np.array([[0.0], [100.0], [5.0]]))
    np.testing.assert_array_equal(centres, [[0.0], [5.0]])
    np.testing.assert_array_equal(counts, [2.0, 1.0])


def test_large_clients_weigh_more():
    rng = np.random.default_rng(0)
    big, small = rng.normal(0, 0.1, size=(900, 1)), rng.normal(1, 0.1, size=(100, 1))
    model = FedKMeans(1, random_state=0).fit(Clients.from_arrays([big, small]))
    np.testing.assert_allclose(
        model.cluster_centers_[0], np.concatenate([big, small]).mean(axis=0), atol=1e-12
    )


def test_one_client_reaches_a_fixed_point_of_lloyd():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 2)) + 10 * rng.integers(3, size=(200, 1))
    model = FedKMeans(3, random_state=0).fit(Clients.from_arrays([x]))
    labels = model.predict(Clients.from_arrays([x]))[0]
    means = np.array([x[labels == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-8)
    assert model.converged_


def test_no_rounds_means_clustered_seeds_only():
    x = np.random.default_rng(0).normal(size=(50, 2))
    model = FedKMeans(3, max_rounds=0, random_state=0).fit(Clients.from_arrays([x, x]))
    assert model.n_rounds_ == 0
    assert model.cluster_centers_.shape == (3, 2)

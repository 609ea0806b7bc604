"""LocalKMeans: no exchange in the clustering, FedGEM's merge in the count."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import DataError
from fedmix.methods.local_kmeans import LocalKMeans, cluster_points


def two_clients():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])
    held = ([0, 1], [1, 2])
    return Clients.from_arrays(
        [centres[np.resize(own, 80)] + rng.normal(size=(80, 2)) for own in held]
    )


def test_a_client_does_not_see_the_others():
    clients = two_clients()
    together = LocalKMeans(2, random_state=0).fit(clients)
    changed = Clients.from_arrays([clients[0], clients[1] * 3])
    alone = LocalKMeans(2, random_state=0).fit(changed)
    np.testing.assert_array_equal(together.means_[0], alone.means_[0])


def test_clusters_in_common_are_counted_once():
    model = LocalKMeans(2, random_state=0).fit(two_clients())
    assert model.n_clusters_ == 3
    assert model.cluster_centers_.shape == (3, 2)
    separate = LocalKMeans(2, final_radius_scale=0.0, random_state=0).fit(two_clients())
    assert separate.n_clusters_ == 4


def test_a_client_s_clusters_can_be_kept_apart():
    kept = {"final_radius_scale": 1e9, "random_state": 0}
    assert LocalKMeans(2, **kept).fit(two_clients()).n_clusters_ == 1
    apart = LocalKMeans(2, one_component_per_client=True, **kept).fit(two_clients())
    assert apart.n_clusters_ == 2
    assert all(len(set(own)) == 2 for own in apart.superclusters_)


def test_labels_are_local_and_clusters_global():
    clients = two_clients()
    model = LocalKMeans(2, random_state=0).fit(clients)
    assert all(set(own) == {0, 1} for own in model.predict(clients))
    assert len(np.unique(np.concatenate(model.predict_clusters(clients)))) == 3


def test_fewer_points_than_clusters_become_centres():
    centres = cluster_points(np.array([[1.0], [2.0]]), 3, np.random.default_rng(0))
    np.testing.assert_array_equal(centres, [[1.0], [2.0], [1.0]])


def test_other_clients_are_refused():
    model = LocalKMeans(2, random_state=0).fit(two_clients())
    with pytest.raises(DataError, match="2 clients"):
        model.predict(Clients.from_arrays([np.zeros((1, 2))]))

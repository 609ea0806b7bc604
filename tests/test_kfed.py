"""k-FED: how the server picks and moves the centres."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError, DataError
from fedmix.methods.kfed import KFED, _spread_out, awasthi_sheffet, lloyd_step


def test_own_rule_takes_the_largest_minimum_and_the_published_the_largest_mean():
    chosen = np.array([[0.0], [10.0]])
    candidates = np.array([[0.0], [10.0], [5.0], [14.0]])
    own = _spread_out(chosen, candidates, 3, "farthest-minimum")
    published = _spread_out(chosen, candidates, 3, "farthest-mean")
    assert own[-1, 0] == 5.0
    assert published[-1, 0] == 14.0


def test_lloyd_step_moves_centres_to_their_means_and_leaves_empty_ones():
    points = np.array([[0.0], [1.0], [9.0]])
    moved = lloyd_step(points, np.array([[0.0], [10.0], [100.0]]))
    np.testing.assert_allclose(moved, [[0.5], [9.0], [100.0]])


def test_clients_with_fewer_clusters_than_k_together_find_all():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0], [50.0, 50.0]])
    xs = [
        centres[[a, b]].repeat(20, axis=0) + rng.normal(size=(40, 2))
        for a, b in [(0, 1), (1, 2), (2, 3)]
    ]
    model = KFED(4, components_per_client=2, random_state=0).fit(Clients.from_arrays(xs))
    nearest = np.linalg.norm(model.cluster_centers_[:, None] - centres, axis=2).argmin(axis=1)
    assert sorted(nearest) == [0, 1, 2, 3]
    assert model.communication_ == {"up": 6 * 2, "down": 3 * 4 * 2}


def wide_and_narrow():
    """One client has a cluster far wider than the other client's two."""
    rng = np.random.default_rng(0)
    wide = np.concatenate([rng.normal([0, 0], [6, 0.1], (200, 2)), rng.normal([0, 60], 1, (50, 2))])
    narrow = np.concatenate([rng.normal([9, 0], 0.1, (50, 2)), rng.normal([0, 60], 1, (50, 2))])
    return Clients.from_arrays([wide, narrow])


def test_induced_labels_keep_a_local_cluster_together():
    clients = wide_and_narrow()
    settings = {"n_clusters": 3, "components_per_client": 2, "random_state": 0}
    induced = KFED(**settings).fit(clients)
    nearest = KFED(labelling="nearest", **settings).fit(clients)
    np.testing.assert_array_equal(induced.cluster_centers_, nearest.cluster_centers_)
    assert len(np.unique(induced.predict(clients)[0][:200])) == 1
    assert len(np.unique(nearest.predict(clients)[0][:200])) == 2


def test_induced_labels_need_the_clients_of_the_fit():
    clients = wide_and_narrow()
    model = KFED(3, components_per_client=2, random_state=0).fit(clients)
    with pytest.raises(DataError, match="same clients"):
        model.predict(clients.subset([0]))


def test_a_client_without_points_in_the_fit_is_labelled_by_the_nearest_mean():
    full = wide_and_narrow()
    clients = Clients.from_arrays([*full, np.empty((0, 2))])
    model = KFED(3, components_per_client=2, random_state=0).fit(clients)
    labels = model.predict(Clients.from_arrays([*full, model.cluster_centers_]))
    assert labels[2].tolist() == [0, 1, 2]


def test_awasthi_sheffet_finds_separated_clusters():
    rng = np.random.default_rng(0)
    centres = 20 * np.eye(3, 8)
    points = centres.repeat(30, axis=0) + rng.normal(size=(90, 8))
    found = awasthi_sheffet(points, 3, rng)
    order = np.argmax(found @ centres.T, axis=0)
    means = points.reshape(3, 30, 8).mean(axis=1)
    np.testing.assert_allclose(found[order], means, atol=1e-10)


def test_awasthi_sheffet_ends_where_lloyds_algorithm_stands_still():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(80, 5))
    found = awasthi_sheffet(points, 4, rng)
    np.testing.assert_array_equal(lloyd_step(points, found), found)


@pytest.mark.parametrize("name", ["local", "labelling"])
def test_unknown_rules_are_refused(name):
    with pytest.raises(ConfigurationError, match=name):
        KFED(2, **{name: "other"}).fit(Clients.from_arrays([np.zeros((3, 1))]))


def test_unknown_seeding_is_refused():
    with pytest.raises(ConfigurationError, match="farthest-mean"):
        KFED(2, seeding="farthest-men").fit(Clients.from_arrays([np.zeros((3, 1))]))

"""Federated and local k-means, one-shot k-means and fuzzy c-means."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError, DataError
from fedmix.methods.centroids import nearest_centre, seed_points
from fedmix.methods.fed_kmeans import FedKMeans, _with_counts
from fedmix.methods.ffcm import FFCM, memberships
from fedmix.methods.kfed import KFED, awasthi_sheffet, lloyd_step
from fedmix.methods.local_kmeans import LocalKMeans, cluster_points


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


def test_all_rounds_are_run_without_a_tolerance():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 2)) + 10 * rng.integers(3, size=(200, 1))
    stopped, full = (FedKMeans(3, tol=tol).fit(Clients.from_arrays([x])) for tol in (0.0, None))
    assert stopped.converged_
    assert stopped.n_rounds_ < 20
    assert full.n_rounds_ == 20
    assert not full.converged_


def test_no_rounds_means_clustered_seeds_only():
    x = np.random.default_rng(0).normal(size=(50, 2))
    model = FedKMeans(3, max_rounds=0, random_state=0).fit(Clients.from_arrays([x, x]))
    assert model.n_rounds_ == 0
    assert model.cluster_centers_.shape == (3, 2)


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


@pytest.mark.parametrize("one", [False, True])
def test_repeated_points_are_counted_once(one):
    a, b = [[0.1, 0.3]] * 4, [[9.7, 9.1]] * 4
    model = LocalKMeans(3, one_component_per_client=one).fit([a + b, a + b, a[:1], b])
    assert model.n_clusters_ == 2
    assert [len(own) for own in model.means_] == [3, 3, 3, 3]
    assert [len(set(own)) for own in model.superclusters_] == [2, 2, 1, 1]


def test_fewer_points_than_clusters_become_centres():
    centres = cluster_points(np.array([[1.0], [2.0]]), 3, np.random.default_rng(0))
    np.testing.assert_array_equal(centres, [[1.0], [2.0], [1.0]])


def test_other_clients_are_refused():
    model = LocalKMeans(2, random_state=0).fit(two_clients())
    with pytest.raises(DataError, match="2 clients"):
        model.predict(Clients.from_arrays([np.zeros((1, 2))]))


def test_own_rule_takes_the_largest_minimum_and_the_published_the_largest_mean():
    local = [np.array([[0.0], [10.0]]), np.array([[0.0], [10.0], [5.0], [14.0]])]
    own = KFED(3, seeding="farthest-minimum")._spread_out(local, 0)
    published = KFED(3, seeding="farthest-mean")._spread_out(local, 0)
    assert own[-1, 0] == 5.0
    assert published[-1, 0] == 14.0


def test_lloyd_step_moves_centres_to_their_means_and_leaves_empty_ones():
    points = np.array([[0.0], [1.0], [9.0]])
    moved = lloyd_step(points, np.array([[0.0], [10.0], [100.0]]))
    np.testing.assert_allclose(moved, [[0.5], [9.0], [100.0]])


def test_published_rule_leaves_out_the_client_that_the_server_starts_with():
    """The published rule would select 10.0 of the first client again."""
    local = [np.array([[0.0], [1.0], [10.0]]), np.array([[4.0]]), np.empty((0, 1))]
    published = KFED(4, seeding="farthest-mean")._spread_out(local, 0)
    np.testing.assert_array_equal(published, [[0.0], [1.0], [10.0], [4.0]])


def test_published_rule_selects_from_a_single_client():
    local = [np.array([[0.0], [3.0]])]
    published = KFED(3, seeding="farthest-mean")._spread_out(local, 0)
    np.testing.assert_array_equal(published, [[0.0], [3.0], [0.0]])


def test_published_step_moves_a_centre_that_was_selected_twice():
    centres = np.array([[0.0], [1.0], [9.0], [20.0]])
    chosen = np.array([[0.0], [20.0], [20.0]])
    rng = np.random.default_rng(0)
    own = KFED(3)._move(centres, chosen, rng)
    published = KFED(3, seeding="farthest-mean")._move(centres, chosen, rng)
    np.testing.assert_allclose(own, [[10 / 3], [20.0], [20.0]])
    assert len(np.unique(published)) == 3


def test_local_k_means_starts_once_from_given_means():
    clients = two_clients()
    starts = [own[:2] for own in clients]
    model = KFED(3, 2, local="kmeans", local_init=starts).fit(clients)
    for own, start, found in zip(clients, starts, model.local_centers_, strict=True):
        expected = cluster_points(own, 2, np.random.default_rng(5), init=start)
        np.testing.assert_array_equal(found, expected)


def test_given_means_of_another_shape_are_refused():
    wrong = [np.zeros((2, 2)), np.zeros((3, 2))]
    with pytest.raises(ConfigurationError, match="local_init of client 1"):
        KFED(3, 2, local="kmeans", local_init=wrong).fit(two_clients())


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [(FedKMeans, {"max_rounds": 3}), (FFCM, {"aggregation": "kmeans", "max_rounds": 3})],
)
def test_the_server_s_restarts_can_be_set(kind, parameters):
    rng = np.random.default_rng(3)
    clients = Clients.from_arrays([rng.normal(size=(60, 2)) for _ in range(4)])
    starts = {n: kind(8, n_init=n, **parameters).fit(clients) for n in (1, 10)}
    assert not np.array_equal(starts[1].cluster_centers_, starts[10].cluster_centers_)


def test_seeds_of_one_candidate_each_are_plain_k_means_plus_plus():
    points = np.concatenate([np.zeros((99, 1)), [[1.0]]])
    drawn = [
        seed_points(points, 2, np.random.default_rng(seed), n_local_trials=1) for seed in range(50)
    ]
    assert all(sorted(seeds.ravel()) == [0.0, 1.0] for seeds in drawn)
    spread = np.random.default_rng(0).normal(size=(200, 2))
    plain, greedy = (
        np.mean(
            [
                np.linalg.norm(
                    spread[:, None] - seed_points(spread, 5, np.random.default_rng(s), trials),
                    axis=2,
                ).min(axis=1)
                for s in range(40)
            ]
        )
        for trials in (1, None)
    )
    assert greedy < plain


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


def test_a_client_that_was_not_in_the_fit_is_labelled_by_the_nearest_mean():
    clients = wide_and_narrow()
    model = KFED(3, components_per_client=2, random_state=0).fit(clients)
    nearest = nearest_centre(clients[0], model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(clients.subset([0]))[0], nearest)
    np.testing.assert_array_equal(model.predict(clients, clients="new")[0], nearest)
    own = model.predict(clients.subset([1]), clients=[1])[0]
    np.testing.assert_array_equal(own, model.labels_[1])


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


@pytest.mark.parametrize(
    ("name", "rule", "says"),
    [
        ("local", "other", "local"),
        ("labelling", "other", "labelling"),
        ("seeding", "farthest-men", "farthest-mean"),
    ],
)
def test_unknown_rules_are_refused(name, rule, says):
    with pytest.raises(ConfigurationError, match=says):
        KFED(2, **{name: rule}).fit(Clients.from_arrays([np.zeros((3, 1))]))


def test_memberships_follow_the_formula_and_add_up_to_one():
    rng = np.random.default_rng(0)
    points, centres, m = rng.normal(size=(6, 2)), rng.normal(size=(3, 2)), 2.5
    distance = np.linalg.norm(points[:, None] - centres, axis=2)
    expected = 1 / np.sum((distance[:, :, None] / distance[:, None, :]) ** (2 / (m - 1)), axis=2)
    np.testing.assert_allclose(memberships(points, centres, 1 / (m - 1)), expected)
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)


def test_point_on_a_centre_belongs_to_it_alone():
    centres = np.array([[0.0], [1.0], [0.0]])
    np.testing.assert_array_equal(memberships(np.zeros((1, 1)), centres, 1.0), [[0.5, 0.0, 0.5]])


def test_a_client_of_equal_points_has_centres_that_no_rounding_decides():
    rng = np.random.default_rng(0)
    spread, equal, init = rng.normal(size=(12, 2)), np.full((8, 2), 3.2), rng.normal(size=(3, 2))
    centres = [
        FFCM(3, local_steps=3, max_rounds=2, init=init).fit([own, equal]).cluster_centers_
        for own in (spread, spread[::-1])
    ]
    np.testing.assert_allclose(*centres, atol=1e-12)


def test_local_steps_end_when_no_centre_moves():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(20, 2)), 6 + rng.normal(size=(20, 2))])
    far, none = (FFCM(2, local_steps=n, tol=1e-6) for n in (1000, 1))
    settled, _ = far._local_steps(points, points[[0, -1]])
    again, _ = none._local_steps(points, settled)
    assert 0 < np.abs(again - settled).max() <= 1e-6


def test_published_exponent_is_a_fuzzifier_of_one_and_a_half():
    rng = np.random.default_rng(0)
    points, centres = rng.normal(size=(6, 2)), rng.normal(size=(3, 2))
    published = FFCM(3, rule="published", fuzzifier=2.0)
    own = FFCM(3, rule="own", fuzzifier=1.5)
    moved, _ = published._local_steps(points, centres)
    weight = memberships(points, centres, 1 / 0.5)
    np.testing.assert_allclose(moved, weight.T @ points / weight.sum(axis=0)[:, None])
    power = weight**1.5
    np.testing.assert_allclose(
        own._local_steps(points, centres)[0], power.T @ points / power.sum(axis=0)[:, None]
    )


def test_support_is_u_by_its_own_rule_and_a_power_of_u_as_published():
    points, centres = np.array([[0.0], [1.0], [3.0]]), np.array([[0.5], [2.0]])
    _, own = FFCM(2, rule="own")._local_steps(points, centres)
    np.testing.assert_allclose(own, memberships(points, centres, 1.0).sum(axis=0))
    _, published = FFCM(2, rule="published")._local_steps(points, centres)
    np.testing.assert_allclose(published, (memberships(points, centres, 2.0) ** 2).sum(axis=0))


def test_clients_average_by_support():
    rng = np.random.default_rng(0)
    xs = [rng.normal(size=(50, 2)), 4 + rng.normal(size=(10, 2))]
    init = rng.normal(size=(2, 2))
    model = FFCM(2, init=init, max_rounds=1).fit(Clients.from_arrays(xs))
    local = [model._local_steps(x, init) for x in xs]
    expected = sum(c * s[:, None] for c, s in local) / sum(s for _, s in local)[:, None]
    np.testing.assert_allclose(model.cluster_centers_, expected)


def test_a_centre_without_support_stays():
    xs = [np.array([[2.0], [4.0]]), np.array([[2.0]])]  # all points lie at the first two centres
    model = FFCM(3, init=[[2.0], [4.0], [9.0]], max_rounds=2).fit(Clients.from_arrays(xs))
    np.testing.assert_array_equal(model.cluster_centers_, [[2.0], [4.0], [9.0]])


def test_published_start_ignores_the_scale_of_the_data():
    clients = Clients.from_arrays([1e3 + np.random.default_rng(0).normal(size=(20, 2))])
    rng = np.random.default_rng(5)
    assert np.all(FFCM(3, rule="published")._start(clients, rng) <= 1.0)
    assert np.all(FFCM(3, rule="own")._start(clients, rng) >= clients.points.min())


@pytest.mark.parametrize(
    "parameters", [{"rule": "mine"}, {"aggregation": "mean"}, {"fuzzifier": 1.0}, {"max_rounds": 0}]
)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(ConfigurationError):
        FFCM(2, **parameters).fit(Clients.from_arrays([np.zeros((3, 1))]))


def test_wrong_init_is_refused():
    with pytest.raises(ConfigurationError, match="init"):
        FFCM(2, init=np.zeros((3, 1))).fit(Clients.from_arrays([np.zeros((3, 1))]))

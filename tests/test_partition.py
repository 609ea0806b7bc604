"""Which client owns which point, and in which scale."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError, DataError
from fedmix.partition import (
    SCALINGS,
    by_group,
    jitter_constant_columns,
    scale,
    standardize_clients,
    train_test_split,
    uniform,
)
from fedmix.partition.split import (
    deal_out,
    draw_classes,
    hand_over_missing,
    share_out,
    split_in_order,
)


def test_number_of_classes_is_uniform_on_its_range():
    classes = draw_classes(6, 6_000, 4, np.random.default_rng(0))
    sizes = np.bincount([len(own) for own in classes], minlength=7)
    assert set(np.flatnonzero(sizes)) == {2, 3, 4}
    assert np.all(np.abs(sizes[2:5] / 6_000 - 1 / 3) < 0.03)
    assert all(len(set(own)) == len(own) for own in classes)


@pytest.mark.parametrize("most", [1, 7])
def test_impossible_numbers_are_refused(most):
    with pytest.raises(ConfigurationError, match="most_classes"):
        draw_classes(6, 3, most, np.random.default_rng(0))


def test_dealing_takes_equal_shares_from_the_front():
    labels = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 2, 2])
    rows = deal_out(labels, [np.array([0, 1]), np.array([0]), np.array([1, 2])])
    np.testing.assert_array_equal(rows[0], [0, 1])
    np.testing.assert_array_equal(rows[1], [2])
    np.testing.assert_array_equal(rows[2], [3])  # 2 rows of class 2 for 3 clients: none each


def test_sharing_uses_every_row_of_every_class_that_is_held_once():
    rng = np.random.default_rng(0)
    labels = rng.integers(5, size=203)
    classes = hand_over_missing([np.array([0, 1]), np.array([1, 2, 4])], 5)
    rows = share_out(labels, classes, rng)
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(203))
    for own, held in zip(rows, classes, strict=True):
        assert set(labels[own]) == set(held)
    shared = [np.sum(labels[own] == 1) for own in rows]
    assert abs(shared[0] - shared[1]) <= 1


def test_a_class_that_nobody_holds_goes_to_who_has_fewest():
    classes = hand_over_missing([np.array([0, 1, 2]), np.array([0, 2])], 5)
    np.testing.assert_array_equal(classes[0], [0, 1, 2, 4])
    np.testing.assert_array_equal(classes[1], [0, 2, 3])


def test_the_first_rows_of_a_class_are_for_training_and_the_next_for_testing():
    labels = np.repeat([0, 1], 20)
    train, test = split_in_order(labels, [np.array([0, 1]), np.array([0])], train_fraction=0.7)
    assert [rows.tolist() for rows in train] == [[*range(7), *range(20, 27)], [*range(10, 17)]]
    assert [rows.tolist() for rows in test] == [[7, 8, 9, 27, 28, 29], [17, 18, 19]]


def test_both_parts_of_a_class_are_rounded_down_as_in_the_published_program():
    """16 and 7 of 23 points are 8 and 3 a client, of which class 1 has 18 in 23."""
    labels = np.repeat([0, 1], [5, 18])
    train, test = split_in_order(labels, [np.array([1]), np.array([0, 1])], train_fraction=0.7)
    assert [rows.tolist() for rows in train] == [[*range(5, 11)], [0, *range(13, 19)]]
    assert [rows.tolist() for rows in test] == [[11, 12], [19, 20]]


def rng(seed=0):
    return np.random.default_rng(seed)


def test_each_group_is_a_client_with_its_rows_in_order():
    rows = by_group([2, 0, 2, 5, 0])
    assert [r.tolist() for r in rows] == [[1, 4], [0, 2], [3]]


@pytest.mark.parametrize("groups", [None, [], [[1, 2]], [1.0, np.nan], ["a", None]])
def test_no_groups_are_an_error(groups):
    with pytest.raises(DataError, match=r"groups|group per point|have no group"):
        by_group(groups)


@pytest.mark.parametrize(("n_points", "n_clients"), [(1000, 7), (5, 5), (5, 1), (1, 1)])
def test_uniform_gives_every_point_to_one_client(n_points, n_clients):
    rows = uniform(n_points, n_clients, rng())
    assert len(rows) == n_clients
    assert sorted(np.concatenate(rows).tolist()) == list(range(n_points))
    assert all(np.all(np.diff(r) > 0) for r in rows)


def test_uniform_clients_are_equally_likely():
    sizes = [len(r) for r in uniform(100_000, 10, rng())]
    np.testing.assert_allclose(sizes, 10_000, atol=500)


@pytest.mark.parametrize("n_clients", [0, -1, 6])
def test_more_clients_than_points_are_an_error(n_clients):
    with pytest.raises(ConfigurationError, match="not possible with 5 points"):
        uniform(5, n_clients, rng())


def test_seed_decides_the_partition():
    for one, same in zip(uniform(50, 4, rng(1)), uniform(50, 4, rng(1)), strict=True):
        np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize(
    ("n_points", "n_train"), [(250, 200), (10, 8), (3, 2), (2, 2), (1, 1), (0, 0)]
)
def test_split_takes_the_rounded_share_and_loses_nothing(n_points, n_train):
    rows = np.arange(n_points) * 3
    [train], [test] = train_test_split([rows], 0.8, rng())
    assert len(train) == n_train
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), rows)


def test_client_keeps_a_point_for_training():
    [train], [test] = train_test_split([np.array([4, 9])], 0.1, rng())
    assert (len(train), len(test)) == (1, 1)


def test_every_client_is_split_on_its_own():
    rows = uniform(1000, 5, rng())
    train, test = train_test_split(rows, 0.8, rng())
    for own, own_train, own_test in zip(rows, train, test, strict=True):
        np.testing.assert_array_equal(np.sort(np.concatenate([own_train, own_test])), own)
        assert len(own_train) == round(0.8 * len(own))


@pytest.mark.parametrize("share", [0.0, -0.5, 1.2, float("nan")])
def test_impossible_share_is_an_error(share):
    with pytest.raises(ConfigurationError, match="train_fraction"):
        train_test_split([np.arange(3)], share, rng())


RNG = np.random.default_rng(0)


def clients(*sizes, d=3, scale=1.0):
    return Clients.from_arrays(
        [scale * (RNG.normal(k, 1 + k, (n, d))) for k, n in enumerate(sizes)]
    )


def test_training_data_get_mean_zero_and_sd_one_in_each_client():
    train, _ = standardize_clients(clients(20, 30), clients(2, 2))
    for own in train:
        np.testing.assert_allclose(own.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(own.std(axis=0, ddof=1), 1)


def test_test_data_are_transformed_by_the_training_datas_numbers():
    train = clients(20, 30)
    scaled_train, scaled_test = standardize_clients(train, train)
    np.testing.assert_array_equal(scaled_train.points, scaled_test.points)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_scale_of_the_data_does_not_matter(scale):
    train = clients(20, 30)
    expected, _ = standardize_clients(train, train)
    scaled = Clients(train.points * scale, train.offsets)
    got, _ = standardize_clients(scaled, scaled)
    np.testing.assert_allclose(got.points, expected.points, rtol=1e-10)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e10])
def test_constant_column_is_centred_and_not_scaled(value):
    points = np.column_stack([np.full(7, value), np.arange(7.0)])
    train, test = standardize_clients(
        Clients.from_arrays([points]), Clients.from_arrays([points[:1] + np.array([3.0, 0.0])])
    )
    np.testing.assert_allclose(train[0][:, 0], 0, atol=1e-5)
    np.testing.assert_allclose(test[0][0, 0], 3.0, atol=1e-5)


def test_client_with_one_point_or_none_is_left_finite():
    train, test = standardize_clients(clients(1, 0, 5), clients(2, 2, 2))
    assert train.sizes.tolist() == [1, 0, 5]
    assert np.isfinite(test.points).all()


def test_jitter_touches_near_constant_columns_of_a_client_alone():
    flat = np.column_stack([np.full(2000, 100.0), RNG.normal(size=2000)])
    varied = RNG.normal(size=(50, 2))
    before = Clients.from_arrays([flat, varied])
    after = jitter_constant_columns(before, np.random.default_rng(1))
    np.testing.assert_array_equal(after[1], varied)
    np.testing.assert_array_equal(after[0][:, 1], flat[:, 1])
    assert np.std(after[0][:, 0]) == pytest.approx(0.01, rel=0.1)


def test_jitter_needs_a_positive_scale():
    with pytest.raises(ConfigurationError, match="positive"):
        jitter_constant_columns(clients(3), RNG, scale=0.0)


def test_different_clients_are_an_error():
    with pytest.raises(DataError, match="not of the same clients"):
        standardize_clients(clients(3, 3), clients(3))


@pytest.mark.parametrize("scaling", SCALINGS)
def test_different_clients_are_an_error_for_every_scaling(scaling):
    with pytest.raises(DataError, match="not of the same clients"):
        scale(clients(3, 3), clients(3), scaling, RNG)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_every_scaling_takes_its_numbers_from_training_data_alone(scaling):
    train, test = clients(20, 30), clients(5, 6)
    expected = scale(train, test, scaling, np.random.default_rng(0))
    moved = Clients(1000 + 1000 * test.points, test.offsets)
    same_train, scaled = scale(train, moved, scaling, np.random.default_rng(0))
    np.testing.assert_array_equal(same_train.points, expected[0].points)
    slope = scaled.points - expected[1].points
    assert np.isfinite(slope).all()
    assert np.abs(slope).min() > 0


def test_global_scaling_standardises_all_clients_together():
    train, _ = scale(clients(20, 30), clients(2, 2), "global", RNG)
    np.testing.assert_allclose(train.points.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.points.std(axis=0, ddof=1), 1)
    assert np.abs(train[0].mean(axis=0)).max() > 0.1  # no client is centred by itself


def test_min_max_brings_the_features_of_all_clients_together_to_the_unit_interval():
    train, _ = scale(clients(20, 30), clients(2, 2), "min_max", RNG)
    np.testing.assert_array_equal(train.points.min(axis=0), 0)
    np.testing.assert_allclose(train.points.max(axis=0), 1, rtol=1e-15)


def test_a_tenth_is_a_tenth():
    before = clients(20, 30)
    train, _ = scale(before, before, "tenth", RNG)
    np.testing.assert_array_equal(train.points, before.points / 10)


@pytest.mark.parametrize("scaling", ["global", "min_max"])
def test_constant_feature_of_all_clients_is_centred_and_not_scaled(scaling):
    points = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    train, test = scale(Clients(points, [0, 3, 7]), Clients(points + 3, [0, 3, 7]), scaling, RNG)
    np.testing.assert_allclose(train.points[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(test.points[:, 0], 3, atol=1e-12)


def test_unknown_scaling_is_an_error_with_the_known_ones():
    with pytest.raises(ConfigurationError, match="per_client"):
        scale(clients(3), clients(3), "per-client", RNG)

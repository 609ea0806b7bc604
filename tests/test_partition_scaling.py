"""Every client is standardised by its own training data."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError, DataError
from fedmix.partition import SCALINGS, jitter_constant_columns, scale, standardize_clients

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

"""Every point goes to one client, and to training or testing."""

import numpy as np
import pytest

from fedmix.errors import ConfigurationError, DataError
from fedmix.partition import by_group, train_test_split, uniform


def rng(seed=0):
    return np.random.default_rng(seed)


def test_each_group_is_a_client_with_its_rows_in_order():
    rows = by_group([2, 0, 2, 5, 0])
    assert [r.tolist() for r in rows] == [[1, 4], [0, 2], [3]]


@pytest.mark.parametrize("groups", [None, [], [[1, 2]]])
def test_no_groups_are_an_error(groups):
    with pytest.raises(DataError, match=r"groups|group a point"):
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

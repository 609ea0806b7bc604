"""Contaminated clients are drawn at random, and their data replaced by name of the kind."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError, DataError
from fedmix.partition import CONTAMINATIONS, choose_contaminated, contaminate

SIZES = (40, 0, 60, 50, 5000)
BAD = (0, 4)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def clients():
    generator = rng(9)
    return Clients.from_arrays([generator.normal(10.0, [1.0, 5.0, 0.1], (n, 3)) for n in SIZES])


@pytest.fixture
def labels(clients):
    return (clients.points[:, 0] > 10).astype(int)


def test_every_client_is_drawn_equally_often():
    drawn = [choose_contaminated(10, 3, rng(seed)) for seed in range(2000)]
    counts = np.bincount(np.concatenate(drawn), minlength=10)
    np.testing.assert_allclose(counts, 600, atol=100)
    assert all(len(set(d.tolist())) == 3 for d in drawn)
    assert all(np.all(np.diff(d) > 0) for d in drawn)


def test_the_last_clients_are_contaminated_where_that_is_asked_for():
    assert choose_contaminated(10, 3, rng(), "last").tolist() == [7, 8, 9]
    assert choose_contaminated(10, 3, rng(), "first").tolist() == [0, 1, 2]
    assert choose_contaminated(10, 0, rng(), "last").tolist() == []


def test_unknown_place_is_an_error():
    with pytest.raises(ConfigurationError, match="'random'"):
        choose_contaminated(10, 3, rng(), "randm")


@pytest.mark.parametrize(("n_clients", "n_contaminated"), [(10, 0), (10, 5), (1, 0)])
def test_up_to_one_half_may_be_contaminated(n_clients, n_contaminated):
    assert len(choose_contaminated(n_clients, n_contaminated, rng())) == n_contaminated


@pytest.mark.parametrize(("n_clients", "n_contaminated"), [(10, 6), (1, 1), (5, 3), (5, -1)])
def test_more_than_one_half_is_an_error(n_clients, n_contaminated):
    with pytest.raises(ConfigurationError, match="at most one half"):
        choose_contaminated(n_clients, n_contaminated, rng())


@pytest.mark.parametrize("kind", CONTAMINATIONS["points"])
def test_only_contaminated_clients_change_and_sizes_stay(clients, labels, kind):
    after = contaminate(clients, BAD, kind, rng(), labels)
    np.testing.assert_array_equal(after.sizes, clients.sizes)
    for k in range(len(clients)):
        assert np.array_equal(after[k], clients[k]) == (k not in BAD)


@pytest.mark.parametrize("kind", CONTAMINATIONS["points"])
def test_seed_decides_the_contamination(clients, labels, kind):
    one, same, other = (contaminate(clients, BAD, kind, rng(s), labels).points for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("kind", CONTAMINATIONS["points"])
def test_empty_client_stays_empty(clients, labels, kind):
    assert contaminate(clients, [1], kind, rng(), labels).sizes[1] == 0


def test_no_contaminated_client_changes_nothing(clients):
    assert contaminate(clients, [], "gaussian", rng()) is clients


@pytest.mark.parametrize(
    ("kind", "shift", "spread"),
    [("gaussian", 2.5, 2.0), ("wide_noise", 0.0, 3.0), ("far_outlier", 10.0, 1.0)],
)
def test_noise_is_in_the_datas_own_scale(clients, kind, shift, spread):
    own = contaminate(clients, [4], kind, rng())[4]
    good = clients.subset([0, 1, 2, 3]).points
    scaled = (own - good.mean(axis=0)) / good.std(axis=0, ddof=1)
    np.testing.assert_allclose(scaled.mean(axis=0), shift, atol=0.15)
    np.testing.assert_allclose(scaled.std(axis=0), spread, rtol=0.05)


@pytest.mark.parametrize(
    ("kind", "mean", "variance"), [("simulation", 2.5, 4.0), ("simulation_as_written", 2.0, 3.0)]
)
def test_simulation_outlier_has_the_mean_and_variance_of_its_kind(clients, kind, mean, variance):
    own = contaminate(clients, [4], kind, rng())[4]
    np.testing.assert_allclose(own.mean(axis=0), mean, atol=0.15)
    np.testing.assert_allclose(own.var(axis=0), variance, rtol=0.1)


def test_a_single_coordinate_cannot_be_shuffled():
    clients = Clients.from_arrays([np.ones((3, 1))] * 2)
    with pytest.raises(DataError, match="two features"):
        contaminate(clients, [0], "shuffled_coordinates", rng())


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_coordinates_all_move_and_keep_their_values(clients, seed):
    own = contaminate(clients, [0], "shuffled_coordinates", rng(seed))[0]
    columns = [column.tolist() for column in clients[0].T]
    places = [columns.index(column.tolist()) for column in own.T]
    assert sorted(places) == [0, 1, 2]
    assert all(place != here for here, place in enumerate(places))


def test_shift_moves_all_points_by_the_same_way(clients):
    way = contaminate(clients, [0], "shift", rng())[0] - clients[0]
    np.testing.assert_allclose(way, np.broadcast_to(way[0], way.shape), atol=1e-10)
    scale = clients.subset([1, 2, 3, 4]).points.std(axis=0, ddof=1)
    assert np.sqrt(np.mean((way[0] / scale) ** 2)) == pytest.approx(2.5)


def test_single_class_has_good_clients_points_of_one_class(clients, labels):
    own = contaminate(clients, [0], "single_class", rng(), labels)[0]
    assert len(np.unique(own[:, 0] > 10)) == 1
    good = {tuple(p) for p in clients.subset([1, 2, 3, 4]).points}
    assert {tuple(p) for p in own} <= good
    assert len(np.unique(own, axis=0)) == len(own)


def test_single_class_without_labels_is_an_error(clients):
    with pytest.raises(DataError, match="needs labels"):
        contaminate(clients, [0], "single_class", rng())


def test_sign_flip_is_one_good_clients_data_with_other_signs(clients):
    own = contaminate(clients, [0], "sign_flip", rng())[0]
    donors = [k for k in (2, 3, 4) if {tuple(-p) for p in own} <= {tuple(p) for p in clients[k]}]
    assert len(donors) == 1


def test_unknown_kind_names_the_valid_ones(clients):
    with pytest.raises(ConfigurationError, match="Did you mean 'gaussian'"):
        contaminate(clients, [0], "gausian", rng())


def test_majority_given_by_hand_is_an_error(clients):
    with pytest.raises(ConfigurationError, match="at most one half"):
        contaminate(clients, [0, 1, 2], "gaussian", rng())


@pytest.mark.parametrize("numbers", [[-1], [5], [0.5], [True, False, False, False, True], ["0"]])
def test_what_is_no_number_of_a_client_is_an_error(clients, numbers):
    with pytest.raises(ConfigurationError, match=r"expected numbers of clients, 0 to 4.*mask"):
        contaminate(clients, numbers, "shift", rng())


def test_a_label_for_each_point_is_needed(clients, labels):
    with pytest.raises(DataError, match=r"Expected one label per point: 5150 points"):
        contaminate(clients, [0], "single_class", rng(), labels[1:])


def test_good_clients_without_any_point_are_an_error():
    clients = Clients.from_arrays([np.ones((3, 2)), np.empty((0, 2))])
    with pytest.raises(DataError, match="at least one point"):
        contaminate(clients, [0], "gaussian", rng())


def test_responses_stay_with_their_points():
    xs, ys = [[[0.0], [1.0]], [[2.0]], [[3.0], [4.0]]], [[1.0, 2.0], [3.0], [4.0, 5.0]]
    clients = Clients.from_arrays(xs, ys)
    for kind in ("gaussian", "shift", "sign_flip"):
        changed = contaminate(clients, [1], kind, np.random.default_rng(0))
        np.testing.assert_array_equal(changed.responses, clients.responses)


def test_contaminated_responses_are_what_their_names_say():
    x, y = rng(1).standard_normal((20_000, 4)), rng(2).standard_normal(20_000)
    kinds = CONTAMINATIONS["responses"]
    after = {kind: kinds[kind](x, y, 3.0, rng()) for kind in kinds}
    np.testing.assert_allclose(after["outlier"], x @ np.full(4, 4.5))  # a norm of 9, thrice 3
    np.testing.assert_allclose(after["gaussian"].mean(), 7.5, atol=0.2)
    np.testing.assert_allclose(after["gaussian"].std(), 6.0, atol=0.2)
    np.testing.assert_array_equal(np.sort(after["shuffled"]), np.sort(y))
    assert not np.array_equal(after["shuffled"], y)
    np.testing.assert_array_equal(after["shift"], y + 7.5)
    np.testing.assert_array_equal(after["sign_flip"], -y)
    assert len(after) == 5

"""AFCL: the competition, the merging of seeds, and the stand-in that never trains."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError
from fedmix.kernels.afcl import compete
from fedmix.methods.afcl import AFCL, _merge_close


def test_winner_and_its_neighbours_move_towards_the_point():
    seeds = np.array([[0.0], [0.5], [10.0]])
    wins = np.ones(3)
    compete(np.array([[1.0]]), seeds, wins, np.array([0.1]))
    # the second seed wins; the first lies within the point's distance of it, the third does not
    np.testing.assert_allclose(seeds[:, 0], [0.1, 0.55, 10.0])
    np.testing.assert_array_equal(wins, [1, 2, 1])


def test_frequent_winners_are_handicapped():
    seeds = np.array([[0.0], [3.0]])
    wins = np.array([100.0, 1.0])
    compete(np.array([[1.0]]), seeds, wins, np.array([0.1]))
    np.testing.assert_array_equal(wins, [100, 2])


def test_seeds_that_came_together_are_one_cluster():
    seeds = np.array([[0.0, 0.0], [0.0009, 0.0], [0.0018, 0.0], [0.0, 0.0015], [5.0, 5.0]])
    merged = _merge_close(seeds, 0.001)
    np.testing.assert_allclose(merged, [[0.0009, 0.0], [0.0, 0.0015], [5.0, 5.0]])


def test_competition_draws_superfluous_seeds_together():
    rng = np.random.default_rng(0)
    xs = [np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(40, 1, (60, 2))]) for _ in "abc"]
    clients = Clients.from_arrays(xs)
    model = AFCL(4, max_rounds=300, step=0.01, random_state=0).fit(clients)
    assert model.n_clusters_ < 12
    distance = np.linalg.norm(model.cluster_centers_[:, None] - [[0, 0], [40, 40]], axis=2)
    assert distance.min(axis=0).max() < 3


def test_published_stand_in_keeps_the_clients_seeds():
    rng = np.random.default_rng(0)
    xs = [rng.normal(size=(30, 2)), rng.normal(size=(20, 2))]
    model = AFCL([2, 3], training="none", random_state=0).fit(Clients.from_arrays(xs))
    assert model.n_clusters_ == 5
    for g, seeds in enumerate(np.split(model.cluster_centers_, [2])):
        assert all(np.any(np.all(xs[g] == seed, axis=1)) for seed in seeds)
    assert model.n_rounds_ == 0


def test_clusters_do_not_depend_on_the_scale():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    plain = AFCL(3, max_rounds=5, random_state=0).fit(Clients.from_arrays([x]))
    scaled = AFCL(3, max_rounds=5, random_state=0).fit(Clients.from_arrays([x * 1024]))
    np.testing.assert_allclose(scaled.cluster_centers_, plain.cluster_centers_ * 1024)


@pytest.mark.parametrize(
    "parameters", [{"training": "no"}, {"step": 0.0}, {"merge_distance": -1}, {"max_rounds": 0}]
)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(ConfigurationError):
        AFCL(2, **parameters).fit(Clients.from_arrays([np.zeros((3, 1))]))

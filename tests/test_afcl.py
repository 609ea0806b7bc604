"""AFCL: its authors' program step by step, and the stand-in that never trains."""

import json
from pathlib import Path

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError
from fedmix.kernels import competition
from fedmix.kernels.afcl import group, near
from fedmix.kernels.competition import COOPERATION_FLOOR, local_order, nearest
from fedmix.methods.afcl import AFCL, Server, _range
from fedmix.methods.centroids import without_repeats

PROGRAM = json.loads((Path(__file__).parent / "data/afcl/fixture.json").read_text())


def compete(points, seeds, place_of, wins, rates):
    """Let seeds compete without good guesses."""
    guesses = np.zeros(len(points), dtype=np.int64)
    competition.compete(points, guesses, seeds, place_of, wins, rates)


def server_of(case):
    """Return a server with the program's data and draws."""
    return Server(
        Clients.from_arrays(case["points_scaled"]),
        np.array(case["initial_seeds"]),
        np.array(case["raw_weights"]),
        PROGRAM["constants"]["step"],
        PROGRAM["constants"]["merge_distance"],
        PROGRAM["constants"]["stop_tolerance"],
    )


def rounds_of(case):
    """Yield the server after each round, and who was to speak in it."""
    server = server_of(case)
    for uniforms in case["uniforms"][: case["max_rounds"]]:
        server.round(np.array(uniforms) < case["participation_probability"])
        yield server
        if server.stopped:
            return


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rounds", "stop", "silent"])
def test_every_round_is_that_of_the_authors_program(name):
    case = PROGRAM[name]
    n_rounds = 0
    for server, index in zip(rounds_of(case), case["indices"], strict=True):
        n_rounds += 1
        expected = np.nan if index is None else index
        np.testing.assert_allclose(server.index, expected, rtol=1e-12, equal_nan=True)
        if not server.stopped:
            true = case["rounds"][n_rounds - 1]
            np.testing.assert_array_equal(server.seeds, true["seeds_after"])
            np.testing.assert_array_equal(server.wins, true["wins_after"])
            np.testing.assert_array_equal(server.taking_part, true["taking_part"])
            np.testing.assert_array_equal(server.participations, true["participations"])
            np.testing.assert_allclose(server.rates, true["rates_after"], rtol=1e-12)
            weights = np.array(true["client_weight"], dtype=float)
            np.testing.assert_allclose(server.client_weights, weights, rtol=1e-12)
    assert case["stopped_in_round"] == (n_rounds if server.stopped else 0)
    np.testing.assert_array_equal(server.merged(), case["merged"])


@pytest.mark.parametrize("name", ["rounds", "stop", "silent"])
def test_objects_winners_and_cooperating_seeds_are_the_programs(name):
    for case in PROGRAM[name]["rounds"]:
        seeds, wins = np.array(case["seeds_before"]), np.ones(5)
        rates = np.where(np.array(case["rates_before"]) == 0, 1, case["rates_before"])
        for one in case["objects"]:
            before, won = seeds.copy(), wins.copy()
            own_rates = rates * case["client_weight"][one["client"]]
            compete(np.array([one["object"]]), seeds, np.arange(5), wins, own_rates)
            assert np.flatnonzero(wins - won).tolist() == [one["winner"]]
            moved = np.flatnonzero((seeds != before).any(axis=1))
            assert set(moved) <= set(one["moved"])  # a seed on the object moves by nothing
        np.testing.assert_allclose(seeds, case["seeds_after"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", PROGRAM["merging"], ids=lambda case: case["name"])
def test_seeds_that_came_together_are_merged_as_in_the_program(case):
    server = server_of(PROGRAM["rounds"])
    server.seeds = np.array(case["seeds"])
    np.testing.assert_array_equal(server.merged(), case["merged"])


def test_features_are_scaled_to_the_unit_interval_and_constant_ones_to_one():
    case = PROGRAM["rounds"]
    points = np.concatenate(case["points"])
    low, width = _range(points)
    scaled = (points - low) / width
    np.testing.assert_allclose(scaled, np.concatenate(case["points_scaled"]), rtol=1e-12)
    low, width = _range(np.full((4, 1), 7.0))
    assert (7.0 - low) / width == 1


def test_winner_and_its_neighbours_move_towards_the_point():
    seeds = np.array([[0.0], [0.5], [10.0]])
    wins = np.ones(3)
    compete(np.array([[1.0]]), seeds, np.arange(len(seeds)), wins, np.array([0.1]))
    # the second seed wins; the first lies within the point's distance of it, the third does not
    np.testing.assert_allclose(seeds[:, 0], [0.1, 0.55, 10.0])
    np.testing.assert_array_equal(wins, [1, 2, 1])


def test_equal_seeds_move_and_are_grouped_as_different_ones_do():
    rng = np.random.default_rng(0)
    for _ in range(20):
        copies = rng.integers(4, size=(5, 6, 2)) / 4  # of six seeds at five clients
        places, place_of = without_repeats(copies.reshape(-1, 2))
        assert len(places) < 30
        every, all_wins, wins = copies.reshape(-1, 2).copy(), np.ones(30), np.ones(30)
        points, rates = rng.uniform(size=(40, 2)), np.array([0.1, 0.2])
        compete(points, every, np.arange(30), all_wins, rates)
        moved = places.copy()
        compete(points, moved, place_of, wins, rates)
        np.testing.assert_array_equal(moved[place_of], every)
        np.testing.assert_array_equal(wins, all_wins)
        of_places = group(near(places, 0.3), place_of.reshape(5, 6))
        of_copies = group(near(copies.reshape(-1, 2), 0.3), np.arange(30).reshape(5, 6))
        np.testing.assert_array_equal(of_places[0], of_copies[0])
        assert of_places[1] == of_copies[1]


def plain_competition(points, seeds, wins, rates):
    """Present points one by one, as the program does: no blocks, and no places of equal seeds."""
    for point in points:
        handicapped = wins / wins.sum() * squared_distances(point, seeds)
        winner = np.argmin(handicapped)
        reach = max(squared_distances(point, seeds)[winner], COOPERATION_FLOOR)
        wins[winner] += 1
        close = squared_distances(seeds[winner], seeds) <= reach
        seeds[close] += rates * (point - seeds[close])


def squared_distances(point, seeds):
    return np.cumsum((point - seeds) ** 2, axis=1)[:, -1]  # added in the order of the features


@pytest.mark.parametrize(("n_seeds", "n_features"), [(5, 1), (40, 3), (100, 10), (200, 37)])
@pytest.mark.parametrize("rate", [0.001, 0.3, 1.5])
def test_blocks_change_no_bit_of_the_competition(n_seeds, n_features, rate):
    rng = np.random.default_rng(n_seeds)
    centres = rng.uniform(size=(4, n_features))
    seeds = centres[rng.integers(4, size=n_seeds)] + rng.normal(0, 0.05, (n_seeds, n_features))
    seeds[1::7] = seeds[0]  # some are equal
    guesses = rng.integers(n_seeds, size=60)
    points = seeds[guesses] + rng.normal(0, 0.05, (60, n_features))
    points[::3] = seeds[guesses[::3]]  # some are seeds
    rates = rate * rng.uniform(size=n_features)
    places, place_of = without_repeats(seeds)
    order = local_order(places)
    places, place_of = places[order], np.argsort(order)[place_of]
    true_wins, wins = np.ones(n_seeds), np.ones(n_seeds)
    plain_competition(points, seeds, true_wins, rates)
    competition.compete(points, guesses, places, place_of, wins, rates)
    np.testing.assert_array_equal(wins, true_wins)
    np.testing.assert_array_equal(places[place_of], seeds)


@pytest.mark.parametrize("n_features", [1, 10, 37])
def test_blocks_change_no_nearest_seed(n_features):
    rng = np.random.default_rng(0)
    points, places = (rng.integers(4, size=(n, n_features)) / 4 for n in (90, 150))
    places = without_repeats(places)[0]  # with many ties
    distances = np.array([squared_distances(point, places) for point in points])
    order = local_order(places)
    assert sorted(order) == list(range(len(places)))
    guesses = rng.integers(len(places), size=90)
    labels = nearest(points, places[order], order, guesses)
    np.testing.assert_array_equal(labels, distances.argmin(axis=1))


def test_frequent_winners_are_handicapped():
    seeds = np.array([[0.0], [3.0]])
    wins = np.array([100.0, 1.0])
    compete(np.array([[1.0]]), seeds, np.arange(len(seeds)), wins, np.array([0.1]))
    np.testing.assert_array_equal(wins, [100, 2])


def test_competition_draws_superfluous_seeds_together():
    rng = np.random.default_rng(0)
    xs = [np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(40, 1, (60, 2))]) for _ in "abc"]
    clients = Clients.from_arrays(xs)
    model = AFCL(4, max_rounds=300, step=0.01, random_state=0).fit(clients)
    assert model.n_clusters_ < 12
    distance = np.linalg.norm(model.cluster_centers_[:, None] - [[0, 0], [40, 40]], axis=2)
    assert distance.min(axis=0).max() < 3


def test_one_cluster_is_a_result():
    rng = np.random.default_rng(0)
    xs = [rng.normal(rng.integers(2, size=(400, 1)), 1, (400, 8)) for _ in range(5)]
    clients = Clients.from_arrays(xs)
    model = AFCL(2, random_state=0).fit(clients)
    assert model.n_clusters_ == 1
    assert all(np.all(labels == 0) for labels in model.predict(clients))


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
    "parameters",
    [
        {"training": "no"},
        {"step": 0.0},
        {"merge_distance": -1},
        {"stop_tolerance": -1},
        {"max_rounds": 0},
    ],
)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(ConfigurationError):
        AFCL(2, **parameters).fit(Clients.from_arrays([np.zeros((3, 1))]))

"""The parts of FedGEM: radii, privacy and the server."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError
from fedmix.families import Sample
from fedmix.methods.fedgem import FedGEM
from fedmix.methods.fedgem_client import (
    GaussianMechanism,
    Mixtures,
    final_radii,
    maximise,
    uncertainty_radii,
)
from fedmix.methods.fedgem_server import Server


def client_step(seed, scale=1.0):
    """One client's points, responsibilities, previous means and maximisers."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(50, 2)) * scale
    previous = rng.normal(size=(3, 2)) * scale
    squared = ((points[:, None] - previous) ** 2).sum(axis=2)
    density = np.exp(-0.5 * (squared - squared.min(axis=1, keepdims=True)))
    gamma = density / density.sum(axis=1, keepdims=True)
    mixtures = Mixtures(previous, np.full(3, 1 / 3), np.array([0, 3]))
    return points, gamma, previous, maximise(Sample.of(Clients.from_arrays([points])), mixtures)


def bisection(points, gamma, previous, maximiser, steps=200):
    """Algorithm 4: bisect on epsilon, feasible if the constraint of (7) can be met by an alpha."""
    mass = gamma.sum()
    to_maximiser = gamma @ ((points - maximiser) ** 2).sum(axis=1)
    to_previous = gamma @ ((points - previous) ** 2).sum(axis=1)

    def feasible(epsilon):
        linear = to_maximiser - to_previous - mass * epsilon
        alpha = max(mass, -linear / (2 * epsilon))  # the quadratic's minimum over alpha >= mass
        return epsilon * alpha**2 + linear * alpha + mass * to_previous <= 0

    low, high = 0.0, np.sum((maximiser - previous) ** 2)
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if feasible(middle) else (low, middle)
    return low


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
def test_theorem4_equals_the_bisection(seed, scale):
    points, gamma, previous, step = client_step(seed, scale)
    squared_step = np.sum((step.means - previous) ** 2, axis=1)
    radii = uncertainty_radii("theorem4", squared_step, step.spread)
    for k in range(3):
        oracle = bisection(points, gamma[:, k], previous[k], step.means[k])
        assert radii[k] == pytest.approx(oracle, rel=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_exact_radius_is_the_largest(seed):
    points, gamma, previous, step = client_step(seed)
    radii = uncertainty_radii("exact", np.sum((step.means - previous) ** 2, axis=1), step.spread)
    directions = np.random.default_rng(seed).normal(size=(20, 2))
    for k in range(3):
        before = gamma[:, k] @ ((points - previous[k]) ** 2).sum(axis=1)
        for direction in directions / np.linalg.norm(directions, axis=1, keepdims=True):
            for factor, allowed in ((0.999, True), (1.001, False)):
                m = step.means[k] + factor * np.sqrt(radii[k]) * direction
                cost = gamma[:, k] @ ((points - m) ** 2).sum(axis=1)
                assert (cost <= before) == allowed


def ragged_clients(d, seed=0):
    """Three clients, the second without points, and a mixture of each."""
    rng = np.random.default_rng(seed)
    clients = Clients(2 * rng.normal(size=(30, d)), np.array([0, 20, 20, 30]))
    weights = np.array([0.5, 0.2, 0.3, 0.6, 0.4])
    means = np.concatenate([clients[0][:3], clients[2][:2]]) + 0.1
    return clients, Mixtures(means, weights, np.array([0, 3, 3, 5]))


def test_a_smallest_density_below_all_densities_changes_nothing():
    clients, mixtures = ragged_clients(d=2)
    plain = maximise(Sample.of(clients), mixtures)
    bounded = maximise(Sample.of(clients), mixtures, 1e-300)
    for name in ("means", "mass", "empty", "spread", "log_likelihood"):
        np.testing.assert_allclose(getattr(bounded, name), getattr(plain, name), rtol=1e-12)


@pytest.mark.parametrize("d", [2, 64])
def test_responsibilities_are_divided_by_the_smallest_density(d):
    clients, mixtures = ragged_clients(d)
    smallest = 1e-12 if d == 64 else 0.01
    step = maximise(Sample.of(clients), mixtures, smallest)
    means, masses = [], []
    for points, centres, weights in zip(
        clients, mixtures.split(mixtures.means), mixtures.split(mixtures.weights), strict=True
    ):
        squares = ((points[:, None] - centres) ** 2).sum(axis=2)
        joint = weights * np.exp(-squares / 2) / (2 * np.pi) ** (d / 2)
        gamma = joint / np.maximum(joint.sum(axis=1), smallest)[:, None]
        assert not len(points) or (gamma.sum(axis=1) < 0.99).any()
        masses.append(gamma.sum(axis=0))
        means.append((gamma.T @ points) / gamma.sum(axis=0)[:, None])
    np.testing.assert_allclose(step.mass, np.concatenate(masses), rtol=1e-10)
    np.testing.assert_allclose(step.means, np.concatenate(means), rtol=1e-10)


def test_with_many_features_components_stay_at_their_seeds_under_a_smallest_density():
    points = 3 * np.random.default_rng(0).normal(size=(40, 64))
    seeds = points[[3, 8, 15]]
    options = {"init": [seeds], "components_per_client": 3, "max_rounds": 5}
    model = FedGEM(smallest_density=1e-12, **options).fit([points])
    np.testing.assert_allclose(model.means_[0], seeds, atol=1e-8)
    assert np.abs(FedGEM(**options).fit([points]).means_[0] - seeds).max() > 0.1


def test_theorem4_is_never_larger_than_exact():
    squared_step = np.geomspace(1e-12, 1e12, 25)
    for spread in (0.0, 1e-12, 1.0, 1e12):
        radii = uncertainty_radii("theorem4", squared_step, np.full(25, spread))
        assert np.all(radii <= squared_step * (1 + 1e-12))
    np.testing.assert_allclose(
        uncertainty_radii("theorem4", squared_step, np.zeros(25)), squared_step
    )


def test_a_component_at_rest_has_no_radius():
    for radius in ("exact", "theorem4", "half"):
        np.testing.assert_array_equal(uncertainty_radii(radius, np.zeros(2), np.zeros(2)), 0.0)


def test_final_radius_scales_with_the_closest_pair_and_the_sample():
    means = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 100.0], [1.0, 1.0]])
    mixtures = Mixtures(means, np.array([0.5, 0.25, 0.25, 1.0]), np.array([0, 3, 4]))
    radii = final_radii(mixtures, np.array([100, 50]), scale=2.0)
    np.testing.assert_allclose(radii, [2 * 5 / (0.5 * 10), 4.0, 4.0, 0.0])


def test_component_of_weight_zero_has_no_final_radius():
    mixtures = Mixtures(np.array([[0.0], [1.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    np.testing.assert_allclose(final_radii(mixtures, np.array([4]), 1.0), [0.5, 0.0])


PRIVACY = {"rho": 2.0, "mu": 0.05, "B_x": 3.0, "B_gamma": 4.0}


def test_noise_scale_is_that_of_theorem_9():
    sensitivity = 3 * 3 / 4 + 2 * 3 / 16
    expected = np.sqrt(5) * sensitivity * np.sqrt(2 * np.log(1.25 / 0.05)) / 2
    assert GaussianMechanism(**PRIVACY).noise_scale(5) == pytest.approx(expected)


def test_noise_has_that_scale_at_each_client():
    mechanism = GaussianMechanism(**PRIVACY)
    noise = mechanism.perturb(np.zeros((5, 20_000)), np.array([1, 4]), np.random.default_rng(0))
    scales = [mechanism.noise_scale(1)] + 4 * [mechanism.noise_scale(4)]
    np.testing.assert_allclose(noise.std(axis=1), scales, rtol=0.02)
    np.testing.assert_allclose(noise.mean(axis=1) / scales, 0.0, atol=0.03)


def test_long_points_are_shortened_and_others_left_alone():
    points = np.array([[3.0, 4.0], [1.0, 1.0], [0.0, 0.0]])
    clipped = GaussianMechanism(**PRIVACY).clip(points)
    np.testing.assert_allclose(clipped, [[1.8, 2.4], [1.0, 1.0], [0.0, 0.0]])


def test_sensitivity_bounds_the_change_by_one_point():
    rng = np.random.default_rng(0)
    mechanism = GaussianMechanism(1.0, 0.1, B_x=2.0, B_gamma=10.0)
    points = mechanism.clip(rng.normal(size=(60, 2)) * 2)
    init = [np.array([[1.0, 0.0], [-1.0, 0.0]])]
    bound = np.sqrt(2) * (3 * 2 / 10 + 2 * 2 / 100)

    def maximisers(x):
        model = FedGEM(2, init=init, max_rounds=0, final_radius_scale=0.0)
        return model.fit(Clients.from_arrays([x])).means_[0]

    before = maximisers(points)
    for point in mechanism.clip(rng.normal(size=(20, 2)) * 10):
        changed = points.copy()
        changed[0] = point
        assert np.linalg.norm(maximisers(changed) - before) <= bound


def test_private_fit_is_reproducible_and_counts_broken_bounds():
    rng = np.random.default_rng(1)
    clients = Clients.from_arrays([rng.normal(size=(50, 2)), rng.normal(size=(3, 2))])
    models = [FedGEM(2, privacy=PRIVACY, random_state=3).fit(clients) for _ in range(2)]
    np.testing.assert_array_equal(models[0].means_[0], models[1].means_[0])
    plain = FedGEM(2, random_state=3).fit(clients)
    assert not np.allclose(plain.means_[0], models[0].means_[0])
    assert models[0].history_[0]["n_below_bound"] >= 1


@pytest.mark.parametrize("change", [{"rho": 0.0}, {"mu": 1.0}, {"B_x": -1.0}, {"B_gamma": np.inf}])
def test_parameters_out_of_range_are_told(change):
    with pytest.raises(ConfigurationError, match=next(iter(change))):
        GaussianMechanism.of({**PRIVACY, **change})


pytestmark = pytest.mark.filterwarnings("error")


def server(search="pairwise", direction="towards", one=False, repeat=False):
    return Server(search, direction, one, repeat)


def random_components(seed, n_clients=12, d=3):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=n_clients)
    client = np.repeat(np.arange(n_clients), sizes)
    centres = rng.integers(0, 4, size=(len(client), d)) + 0.2 * rng.normal(size=(len(client), d))
    return centres, rng.gamma(0.5, 0.1, size=len(client)), client


def literal_update(centres, squared_radii, client, direction, one, repeat):
    """Algorithm 2 pair by pair."""
    sign = 1 if direction == "towards" else -1
    groups = {i: {i} for i in range(len(client))}
    sets = [[c] for c in centres]
    for i in range(len(client)):
        for j in range(len(client)):
            if client[j] <= client[i]:
                continue
            w = np.linalg.norm(centres[i] - centres[j])
            r, s = np.sqrt(squared_radii[[i, j]])
            if w > r + s:
                continue
            nu = centres[i] + sign * np.clip(0.5, 1 - s / w, r / w) * (centres[j] - centres[i])
            together = groups[i] | groups[j]
            clash = one and len({client[k] for k in together}) < len(together)
            joins = groups[i] is not groups[j] and not clash
            for k in (i, j):
                sets[k] += [nu, nu] if joins and repeat else [nu]
            if joins:
                groups |= dict.fromkeys(together, together)
    order = list(dict.fromkeys(min(groups[i]) for i in range(len(client))))
    labels = [order.index(min(groups[i])) for i in range(len(client))]
    return np.array([np.mean(s, axis=0) for s in sets]), np.array(labels)


@pytest.mark.parametrize("search", ["pairwise", "kdtree"])
@pytest.mark.parametrize("direction", ["towards", "away"])
@pytest.mark.parametrize(("one", "repeat"), [(False, False), (True, True), (True, False)])
@pytest.mark.parametrize("seed", range(3))
def test_update_equals_algorithm_2_pair_by_pair(search, direction, one, repeat, seed):
    components = random_components(seed)
    means, labels = server(search, direction, one, repeat).update(*components)
    expected, groups = literal_update(*components, direction, one, repeat)
    np.testing.assert_allclose(means, expected, atol=1e-12)
    np.testing.assert_array_equal(labels, groups)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("one", [False, True])
def test_kdtree_equals_pairwise_bit_for_bit(seed, one):
    components = random_components(seed, n_clients=60)
    for step in ("update", "merge"):
        found = [getattr(server(s, one=one), step)(*components) for s in ("pairwise", "kdtree")]
        np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1], found[1][1])


def test_balls_that_just_touch_overlap_for_both():
    centres = np.array([[0.0], [3.0], [7.0]])
    for search in ("pairwise", "kdtree"):
        _, labels = server(search).merge(centres, np.array([1.0, 4.0, 3.9]), np.arange(3))
        np.testing.assert_array_equal(labels, [0, 0, 1])


def test_common_maximiser_towards_lies_in_both_balls():
    rng = np.random.default_rng(0)
    client = np.array([0, 1])
    for _ in range(100):
        centres, radii = rng.normal(size=(2, 3)), rng.gamma(1.0, size=2)
        w = np.linalg.norm(centres[0] - centres[1])
        if w > radii.sum():
            continue
        means, _ = server().update(centres, radii**2, client)
        maximiser = 2 * means[0] - centres[0]
        np.testing.assert_allclose(2 * means[1] - centres[1], maximiser)
        assert np.all(np.linalg.norm(centres - maximiser, axis=1) <= radii + 1e-12)


def test_super_clusters_hold_one_component_of_a_client_if_asked():
    centres, radii, client = random_components(1)
    for search in ("pairwise", "kdtree"):
        _, labels = server(search, one=True).merge(centres, radii + 1.0, client)
        assert len(set(zip(labels, client, strict=True))) == len(client)
        _, labels = server(search).merge(centres, radii + 1.0, client)
        assert labels.max() == 0


def test_merge_gives_every_member_the_plain_mean():
    centres = np.array([[0.0], [10.0], [1.0], [2.0]])
    means, labels = server().merge(centres, np.full(4, 0.3), np.array([0, 0, 1, 2]))
    np.testing.assert_array_equal(labels, [0, 1, 0, 0])
    np.testing.assert_allclose(means[:, 0], [1.0, 10.0, 1.0, 1.0])


def test_components_of_one_client_never_meet_directly():
    centres = np.zeros((3, 2))
    means, labels = server().update(centres, np.ones(3), np.zeros(3, dtype=int))
    np.testing.assert_array_equal(labels, [0, 1, 2])
    np.testing.assert_array_equal(means, centres)


def test_identical_centres_without_radius_join():
    means, labels = server().update(np.ones((2, 2)), np.zeros(2), np.array([0, 1]))
    np.testing.assert_array_equal(labels, [0, 0])
    np.testing.assert_array_equal(means, np.ones((2, 2)))


def test_labels_do_not_depend_on_the_order_of_clients():
    centres, radii, client = random_components(4)
    _, labels = server().merge(centres, radii, client)
    _, backwards = server().merge(
        centres[::-1].copy(), radii[::-1].copy(), client.max() - client[::-1]
    )
    assert len(set(zip(labels, backwards[::-1], strict=True))) == labels.max() + 1


def test_many_components_take_little_memory_and_time():
    rng = np.random.default_rng(0)
    places = rng.uniform(0, 100, size=(2_000, 3))
    client = np.repeat(np.arange(2_000), 10)
    where = rng.integers(2_000, size=20_000)
    centres = places[where] + 1e-4 * rng.normal(size=(20_000, 3))
    _, labels = server("kdtree").merge(centres, np.full(20_000, 0.01**2), client)
    assert labels.max() < 2_000

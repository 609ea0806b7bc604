"""FedGEM's server: overlaps, super-clusters, and what it gives back."""

import numpy as np
import pytest

from fedmix.methods.fedgem_server import Server

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

import numpy as np
import pytest

from fedmix import Clients
from fedmix.methods.moment_descent import (
    PairSource,
    anchor_moment,
    covariance_bounds,
    group_anchors,
    leading_subspace,
    orthogonal_iteration,
    power_iteration,
    separation,
)


def distance_of_subspaces(a, b):
    return np.linalg.norm(a @ a.T - b @ b.T, 2)


def some_clients(sizes=(2, 5, 3, 9), d=6, seed=0):
    rng = np.random.default_rng(seed)
    return Clients.from_arrays(
        [rng.standard_normal((n, d)) for n in sizes], [rng.standard_normal(n) for n in sizes]
    )


@pytest.mark.parametrize("d", [3, 40])
def test_orthogonal_iteration_finds_the_subspace_of_the_svd(d):
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((d, 3)) @ rng.standard_normal((3, d))
    moment = signal + 1e-3 * rng.standard_normal((d, d))
    q = orthogonal_iteration(lambda v: moment @ v, lambda v: moment.T @ v, d, 3, 60, rng)
    np.testing.assert_allclose(q.T @ q, np.eye(3), atol=1e-12)
    assert distance_of_subspaces(q, leading_subspace(moment, 3)) < 1e-8


@pytest.mark.parametrize("fresh", [False, True])
def test_clients_apply_the_moment_without_forming_it(fresh):
    clients = some_clients()
    source = PairSource.gather(clients, np.arange(len(clients)), fresh)
    moment = source.moment(np.ones(6))
    q = np.random.default_rng(2).standard_normal((6, 2))
    np.testing.assert_allclose(moment.times(q), moment.dense() @ q, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(moment.transposed_times(q), moment.dense().T @ q, atol=1e-12)


def test_fresh_moment_is_the_papers_sum_over_first_two_points():
    clients, theta = some_clients(), np.arange(6.0)
    source = PairSource.gather(clients, np.array([1, 3]), fresh=True)
    expected = np.zeros((6, 6))
    for i in (1, 3):
        gradients = (clients.responses_of(i) - clients[i] @ theta)[:, None] * clients[i]
        expected += np.outer(gradients[0], gradients[1]) / 2
    np.testing.assert_allclose(source.moment(theta).dense(), expected, atol=1e-12)


def test_reused_moment_averages_all_pairs_of_different_points():
    clients, theta = some_clients(), np.arange(6.0)
    source = PairSource.gather(clients, np.arange(4), fresh=False)
    expected = np.zeros((6, 6))
    for i, n in enumerate(clients.sizes):
        g = (clients.responses_of(i) - clients[i] @ theta)[:, None] * clients[i]
        pairs = sum(np.outer(g[a], g[b]) for a in range(n) for b in range(n) if a != b)
        expected += n / clients.n_points * pairs / (n * (n - 1))
    np.testing.assert_allclose(source.moment(theta).dense(), expected, atol=1e-11)


def test_moments_are_unbiased():
    rng = np.random.default_rng(5)
    model = np.array([1.0, -2.0, 0.5])
    x = rng.standard_normal((40_000, 3))
    clients = Clients(x, np.arange(0, 40_001, 2), x @ model)
    source = PairSource.gather(clients, np.arange(20_000), fresh=False)
    moment = source.moment(np.zeros(3)).dense()
    np.testing.assert_allclose(moment, np.outer(model, model), atol=0.25)


@pytest.mark.parametrize("fresh", [False, True])
def test_anchor_moment_points_along_the_residual_error(fresh):
    rng = np.random.default_rng(6)
    model = np.array([3.0, 0.0, 4.0])
    x = rng.standard_normal((20_000, 3))
    moment, mean = anchor_moment(x, x @ model, np.zeros(3), np.eye(3), fresh)
    np.testing.assert_allclose(moment, np.outer(model, model), atol=1.5)
    np.testing.assert_allclose(mean, model, atol=0.2)


def test_power_iteration_equals_svd():
    moment = np.random.default_rng(7).standard_normal((4, 4))
    left, values, _ = np.linalg.svd(moment)
    direction, value = power_iteration(moment, 300, np.random.default_rng(8))
    assert abs(direction @ left[:, 0]) == pytest.approx(1, abs=1e-9)
    assert value == pytest.approx(values[0], rel=1e-9)


def test_power_iteration_of_zero_is_zero():
    assert power_iteration(np.zeros((3, 3)), 5, np.random.default_rng(0))[1] == 0


def test_covariance_bounds_do_not_take_sampling_for_spread():
    x = np.random.default_rng(9).standard_normal((2000, 40))
    alpha, beta = covariance_bounds(Clients(x, [0, 2000]))
    assert 0.95 < alpha <= beta < 1.05


def test_covariance_bounds_see_real_spread():
    x = np.random.default_rng(10).standard_normal((5000, 3)) * [1.0, 2.0, 3.0]
    alpha, beta = covariance_bounds(Clients(x, [0, 5000]))
    assert alpha == pytest.approx(1, rel=0.1)
    assert beta == pytest.approx(9, rel=0.1)


def test_covariance_bounds_leave_out_empty_directions():
    x = np.random.default_rng(11).standard_normal((500, 3)) * [1.0, 0.0, 1.0]
    alpha, _ = covariance_bounds(Clients(x, [0, 500]))
    assert alpha > 0.5
    assert covariance_bounds(Clients(np.zeros((5, 2)), [0, 5])) == (1.0, 1.0)


def test_grouping_equals_half_separation_rule_where_it_gives_k_groups():
    rng = np.random.default_rng(12)
    truth = np.array([0, 2, 1, 1, 0, 2, 2])
    estimates = 10 * np.eye(3)[truth] + 0.1 * rng.standard_normal((7, 3))
    groups = group_anchors(estimates, 3)
    half = np.linalg.norm(estimates[:, None] - estimates, axis=-1) < 0.5 * np.sqrt(200)
    np.testing.assert_array_equal(groups[:, None] == groups, half)


def test_single_linkage_follows_a_chain_and_average_linkage_cuts_it():
    chain = np.array([0.0, 1.0, 2.1, 3.3, 4.6, 6.1])[:, None]
    assert group_anchors(chain, 2, "single").tolist() == [0, 0, 0, 0, 0, 1]
    assert group_anchors(chain, 2, "average").tolist() == [0, 0, 0, 0, 1, 1]


def test_grouping_gives_k_groups_of_equal_points():
    assert sorted(set(group_anchors(np.ones((5, 2)), 3))) == [0, 1, 2]


def test_separation_is_smallest_distance():
    assert separation(np.array([[0.0, 0.0], [3.0, 4.0], [100.0, 0.0]])) == 5
    assert separation(np.ones((1, 4))) == 0

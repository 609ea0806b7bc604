"""FFCM: memberships, both rules, and one client as plain fuzzy c-means."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError
from fedmix.methods.ffcm import FFCM, memberships


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

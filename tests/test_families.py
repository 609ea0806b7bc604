"""Families: densities, M-steps, gradients and curvature."""

import numpy as np
import pytest
from scipy import stats

from fedmix import Clients, families
from fedmix.errors import ConfigurationError, DataError
from fedmix.families import Sample


def problem(n=60, d=3, n_components=2, seed=0):
    generator = np.random.default_rng(seed)
    clients = Clients.from_arrays(
        [generator.normal(size=(n, d)), generator.normal(size=(n // 2, d))],
        [generator.normal(size=n), generator.normal(size=n // 2)],
    )
    weights = np.full((2, n_components), 1 / n_components)
    return clients, weights, generator.normal(size=(2, n_components, d))


def test_gaussian_log_density_is_that_of_scipy():
    clients, _, means = problem()
    ours = families.get("gaussian").log_density(clients[0], None, means[0])
    for r in range(2):
        theirs = stats.multivariate_normal(means[0, r]).logpdf(clients[0])
        np.testing.assert_allclose(ours[:, r], theirs, rtol=1e-12)


def test_regression_log_density_is_that_of_scipy():
    clients, _, means = problem()
    ours = families.get("regression").log_density(clients[0], clients.responses_of(0), means[0])
    for r in range(2):
        theirs = stats.norm(clients[0] @ means[0, r]).logpdf(clients.responses_of(0))
        np.testing.assert_allclose(ours[:, r], theirs, rtol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "regression"])
def test_gradient_is_the_slope_of_the_log_likelihood(name):
    # At the parameters of the E-step the gradients of Q-hat and of the log-likelihood agree.
    family = families.get(name)
    clients, weights, means = problem()
    sample = Sample.of(clients)
    gradient = family.expectation(sample, weights, means, for_gradient=True).gradient()
    for k, r, c in [(0, 0, 0), (0, 1, 2), (1, 1, 1)]:
        slope = 0.0
        for sign in (1, -1):
            moved = means.copy()
            moved[k, r, c] += sign * 1e-5
            there = family.expectation(sample, weights, moved, with_likelihood=True)
            slope += sign * there.log_likelihoods[k] / 2e-5
        assert gradient[k, r, c] == pytest.approx(slope / clients.sizes[k], abs=1e-8)


@pytest.mark.parametrize("name", ["gaussian", "regression"])
def test_gradient_of_the_expected_likelihood_vanishes_at_the_maximum(name):
    family = families.get(name)
    clients, weights, means = problem(n_components=1)
    weights = np.ones((2, 1))
    means = means[:, :1]
    sample = Sample.of(clients)
    maximum = family.maximise(family.expectation(sample, weights, means), means)
    gradient = family.expectation(sample, weights, maximum).gradient()
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


def test_regression_maximum_is_least_squares():
    clients, _, means = problem(n_components=1)
    family = families.get("regression")
    statistics = family.expectation(Sample.of(clients), np.ones((2, 1)), means[:, :1])
    maximum = family.maximise(statistics, means[:, :1])
    expected = np.linalg.lstsq(clients[0], clients.responses_of(0), rcond=None)[0]
    np.testing.assert_allclose(maximum[0, 0], expected, atol=1e-12)


def test_undetermined_directions_stay_where_they_are():
    x = np.array([[1.0, 0.0], [2.0, 0.0]])
    clients = Clients.from_arrays([x], [[2.0, 4.0]])
    start = np.array([[[0.0, 7.0]]])
    family = families.get("regression")
    statistics = family.expectation(Sample.of(clients), np.ones((1, 1)), start)
    np.testing.assert_allclose(family.maximise(statistics, start), [[[2.0, 7.0]]], atol=1e-12)


def test_published_ridge_is_added_only_when_asked_for():
    clients = Clients.from_arrays([[[1.0], [1.0]]], [[1.0, 1.0]])
    family = families.get("regression")
    start = np.zeros((1, 1, 1))
    statistics = family.expectation(Sample.of(clients), np.ones((1, 1)), start)
    assert family.maximise(statistics, start).item() == pytest.approx(1.0, abs=1e-15)
    published = family.maximise(statistics, start, as_published=True).item()
    assert published == pytest.approx(2 / (2 + 1e-5), abs=1e-15)


def test_component_without_points_keeps_its_mean():
    clients = Clients.from_arrays([[[0.0], [1.0]]])
    start = np.array([[[0.5], [1e6]]])
    weights = np.array([[0.5, 0.5]])
    family = families.get("gaussian")
    statistics = family.expectation(Sample.of(clients), weights, start)
    np.testing.assert_array_equal(family.maximise(statistics, start), [[[0.5], [1e6]]])
    published = family.maximise(statistics, start, as_published=True)
    np.testing.assert_array_equal(published, [[[0.5], [0.0]]])


def test_curvature_bounds_the_hessian():
    clients, weights, means = problem()
    statistics = families.get("gaussian").expectation(Sample.of(clients), weights, means)
    curvature = families.get("gaussian").curvature(statistics)
    np.testing.assert_allclose(curvature, statistics.mixing_weights(weights))
    one = np.ones((2, 1))
    statistics = families.get("regression").expectation(Sample.of(clients), one, means[:, :1])
    largest = np.linalg.norm(clients[0], ord=2) ** 2 / len(clients[0])
    curvature = families.get("regression").curvature(statistics)
    assert curvature[0, 0] == pytest.approx(largest, rel=1e-12)


def test_taking_rows_keeps_points_with_their_clients():
    clients, _, _ = problem()
    taken = Sample.of(clients).take([np.array([2, 0]), np.array([61])])
    np.testing.assert_array_equal(taken.offsets, [0, 2, 3])
    np.testing.assert_array_equal(taken.columns.T, clients.points[[2, 0, 61]])
    np.testing.assert_array_equal(taken.responses, clients.responses[[2, 0, 61]])


def test_unknown_family_names_the_nearest():
    with pytest.raises(ConfigurationError, match="gaussian"):
        families.get("gausian")


def test_regression_without_responses_is_refused():
    with pytest.raises(DataError, match="needs responses"):
        families.get("regression").check(Clients.from_arrays([[[1.0]]]))


def test_values_whose_squares_overflow_are_refused():
    with pytest.raises(DataError, match="Rescale"):
        Clients.from_arrays([[[1e200]]])


def test_unknown_density_floor_is_refused():
    clients, weights, means = problem()
    with pytest.raises(ConfigurationError, match="density_floor"):
        families.get("gaussian").expectation(Sample.of(clients), weights, means, "small")

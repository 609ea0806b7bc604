"""Initial values: strategies, their independence across clients, awkward clients."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError
from fedmix.families import Sample
from fedmix.initialization import INITIALIZATIONS, aligned_initial_values, initialize
from fedmix.initialization.local_fits import (
    own_noise_em,
    regular_factor,
    regular_factors,
    shared_covariance_em,
    shared_noise_em,
)
from fedmix.initialization.strategies import model_based_labels, ward_labels
from fedmix.metrics import estimation_error

STRATEGIES = [(family, name) for family, known in INITIALIZATIONS.items() for name in known]
CENTRES = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])


def simulate(sizes=(90, 60), noise=1.0, seed=0):
    generator = np.random.default_rng(seed)
    xs, ys = [], []
    for n in sizes:
        labels = generator.permutation(np.arange(n) % 3)
        xs.append(CENTRES[labels] + noise * generator.normal(size=(n, 2)))
        covariates = generator.normal(size=(n, 2))
        ys.append((covariates, np.einsum("nd,nd->n", covariates, CENTRES[labels])))
    return Clients.from_arrays(xs), Clients.from_arrays(
        [x for x, _ in ys], [y + noise * generator.normal(size=len(y)) for _, y in ys]
    )


def data_for(family, **parameters):
    gaussian, regression = simulate(**parameters)
    return regression if family == "regression" else gaussian


@pytest.mark.parametrize("name", ["eee", "mclust", "bic", "ward", "kmeans++10", "kmeans10"])
def test_separated_components_are_found(name):
    weights, means = initialize(data_for("gaussian"), 3, name)
    truth = np.full((2, 3), 1 / 3), np.tile(CENTRES, (2, 1, 1))
    weight_error, mean_error = estimation_error(weights, means, *truth)
    assert weight_error < 0.02
    assert mean_error < 0.7


def test_separated_regressions_are_found():
    clients = data_for("regression", sizes=(300, 300), noise=0.3)
    _, means = initialize(clients, 3, "regression10", "regression")
    truth = np.full((2, 3), 1 / 3), np.tile(CENTRES, (2, 1, 1))
    assert estimation_error(truth[0], means, *truth)[1] < 0.2


def test_regressions_with_a_noise_of_their_own_are_found():
    generator = np.random.default_rng(3)
    noise, labels = np.array([0.1, 2.0]), np.arange(600) % 2
    truth = np.array([[3.0, 1.0, 0.0], [1.0, -2.0, 2.0]])
    x = generator.normal(size=(600, 3))
    y = (x * truth[labels]).sum(axis=1) + noise[labels] * generator.normal(size=600)
    client = Clients.from_arrays([x], [y])
    weights, coefficients = own_noise_em(client, truth + 0.3, 4.0)
    np.testing.assert_allclose(coefficients[0], truth[0], atol=0.03)
    np.testing.assert_allclose(coefficients[1], truth[1], atol=0.5)
    np.testing.assert_allclose(weights, 0.5, atol=0.05)


def test_a_regression_without_noise_is_a_singularity():
    x = np.random.default_rng(0).normal(size=(40, 2))
    client = Clients.from_arrays([x], [x[:, 0]])
    assert own_noise_em(client, np.array([[1.0, 0.0], [0.5, 0.5]]), 1.0) is None


@pytest.mark.parametrize(("family", "name"), STRATEGIES)
def test_no_client_depends_on_the_others(family, name):
    clients = data_for(family)
    together = initialize(clients, 3, name, family, random_state=4)
    alone = initialize(clients.subset([0]), 3, name, family, random_state=4)
    np.testing.assert_array_equal(alone[0][0], together[0][0])
    np.testing.assert_array_equal(alone[1][0], together[1][0])


@pytest.mark.parametrize(("family", "name"), STRATEGIES)
def test_values_are_the_same_for_a_seed(family, name):
    clients = data_for(family)
    first = initialize(clients, 3, name, family, random_state=1)
    second = initialize(clients, 3, name, family, random_state=1)
    np.testing.assert_array_equal(first[1], second[1])


@pytest.mark.parametrize(("family", "name"), STRATEGIES)
@pytest.mark.parametrize("n_components", [1, 4])
def test_awkward_clients_get_finite_values(family, name, n_components):
    generator = np.random.default_rng(0)
    xs = [
        np.empty((0, 2)),
        generator.normal(size=(1, 2)),
        generator.normal(size=(3, 2)),
        np.ones((9, 2)),
        np.zeros((9, 2)),
        np.c_[np.arange(9.0), np.full(9, 7.0)],
        np.repeat(generator.normal(size=(2, 2)), 5, axis=0),
        1e-150 * generator.normal(size=(9, 2)),
        1e149 * generator.normal(size=(9, 2)),
    ]
    clients = Clients.from_arrays(xs, [x.sum(axis=1) for x in xs])
    weights, means = initialize(clients, n_components, name, family)
    assert np.isfinite(means).all()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(weights[0], 1 / n_components)
    np.testing.assert_array_equal(means[0], 0)


def test_empty_client_gets_the_average_of_the_others():
    clients = Clients.from_arrays([*data_for("gaussian"), np.empty((0, 2))])
    weights, means = aligned_initial_values(clients, 3, "ward")
    np.testing.assert_allclose(means[2], means[:2].mean(axis=0))
    np.testing.assert_allclose(weights[2], weights[:2].mean(axis=0))


def test_aligned_labels_agree_across_clients():
    _, means = aligned_initial_values(data_for("gaussian", sizes=(90,) * 6), 3, "kmeans++10")
    assert np.abs(means - means.mean(axis=0)).max() < 1.0


def test_shared_covariance_follows_a_linear_map_of_the_data():
    points = data_for("gaussian")[0]
    labels = ward_labels(points, 3, np.random.default_rng(0))
    stretch = np.array([[3.0, 1.0], [0.0, 0.2]])
    weights, means, covariance = shared_covariance_em(points, labels, 3)
    mapped = shared_covariance_em(points @ stretch.T + 5.0, labels, 3)
    np.testing.assert_allclose(mapped[0], weights, atol=1e-9)
    np.testing.assert_allclose(mapped[1], means @ stretch.T + 5.0, atol=1e-8)
    np.testing.assert_allclose(mapped[2], stretch @ covariance @ stretch.T, atol=1e-8)


def test_shared_covariance_estimates_the_spread_within_components():
    points = data_for("gaussian", sizes=(900,))[0]
    labels = ward_labels(points, 3, np.random.default_rng(0))
    np.testing.assert_allclose(shared_covariance_em(points, labels, 3)[2], np.eye(2), atol=0.1)


def test_noise_of_regressions_does_not_change_their_fit_in_other_units():
    clients = data_for("regression", sizes=(120,))
    start = CENTRES + 0.3
    weights, coefficients, _ = shared_noise_em(Sample.of(clients), start)
    scaled = Clients.from_arrays([clients[0]], [1000 * clients.responses])
    scaled_weights, scaled_coefficients, _ = shared_noise_em(Sample.of(scaled), 1000 * start)
    np.testing.assert_allclose(scaled_weights, weights, rtol=1e-9)
    np.testing.assert_allclose(scaled_coefficients, 1000 * coefficients, rtol=1e-9)


@pytest.mark.parametrize("cluster", [ward_labels, model_based_labels])
def test_many_points_are_clustered_by_a_subset(cluster):
    generator = np.random.default_rng(0)
    truth = np.arange(2400) % 3
    points = 3 * CENTRES[truth] + generator.normal(size=(2400, 2))
    labels = cluster(points, 3, generator)
    assert len(np.unique(labels[truth == 0])) == 1
    assert len(np.unique(labels)) == 3


def test_regular_factor_raises_small_eigenvalues_only():
    covariance = np.array([[2.0, 1.0], [1.0, 2.0]])
    factor = regular_factor(covariance)
    np.testing.assert_allclose(factor @ factor.T, covariance, rtol=1e-12)
    flat = regular_factor(np.ones((2, 2)))
    np.testing.assert_allclose(flat @ flat.T, np.ones((2, 2)), atol=2e-6)
    assert np.linalg.eigvalsh(flat @ flat.T)[0] > 5e-7
    np.testing.assert_array_equal(regular_factor(np.zeros((2, 2))), np.eye(2))


def test_a_covariance_of_rounding_errors_has_a_factor():
    """It is that of clients with as many points as components, and features in other units."""
    assert np.isfinite(regular_factor(np.array([[1e-22, 3e-11], [3e-11, 0.0]]))).all()
    for seed in range(60):
        points = np.random.default_rng(seed).normal(size=(3, 4)) * [1e-3, 1e5, 1.0, 1.0]
        initialize(Clients.from_arrays([points]), 3)


def test_regular_factors_are_those_of_each_covariance():
    regular = np.array([[2.0, 1.0], [1.0, 2.0]])
    nearly_flat = np.array([[1.0, 0.0], [0.0, 4e-7]])
    for last in (regular + 1, np.ones((2, 2)), np.zeros((2, 2)), nearly_flat):
        each = np.array([regular_factor(regular), regular_factor(last)])
        factors = regular_factors(np.array([regular, last]))
        np.testing.assert_allclose(factors, each, rtol=1e-12, atol=1e-14)


def test_unknown_strategy_names_those_of_the_family():
    with pytest.raises(ConfigurationError, match="'regression'"):
        initialize(data_for("regression"), 3, "regresion", "regression")
    with pytest.raises(ConfigurationError, match="kmeans"):
        initialize(data_for("gaussian"), 3, "regression")

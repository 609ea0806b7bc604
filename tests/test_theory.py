import numpy as np
import pytest

from fedmix.errors import ConfigurationError
from fedmix.kernels.regression_maps import local_filter
from fedmix.theory import observed_rate, size_imbalance, stability, theorem2


@pytest.mark.parametrize("steps", [1, 5, 20])
def test_kappa_bounds_the_local_maps(steps):
    gamma = 0.7
    filters = local_filter(np.linspace(0, gamma, 50), 1.0, "fedavg", steps)
    assert filters.max() == steps
    assert filters.min() == pytest.approx(steps / stability(gamma, "fedavg", steps))
    prox = local_filter(np.linspace(0, gamma, 50), 1.0, "fedprox", 1)
    assert prox.min() == pytest.approx(1 / stability(gamma, "fedprox", 1))


def test_one_local_step_is_stable():
    assert stability(0.3, "fedavg", 1) == pytest.approx(1)


def test_an_unknown_local_method_is_an_error():
    with pytest.raises(ConfigurationError, match="Did you mean 'fedprox'"):
        stability(0.3, "fedporx", 5)


def test_stability_at_gamma_0_is_its_limit():
    assert stability(0.0, "fedavg", 5) == stability(0.0, "fedprox", 1) == 1
    assert stability(1e-6, "fedavg", 5) == pytest.approx(1, abs=1e-5)


def test_imbalance_is_zero_for_equal_sizes_and_known_for_the_papers():
    assert size_imbalance([50] * 200) == 0
    assert size_imbalance([10] * 900 + [50] * 20) == pytest.approx(0.288)


def test_quantities_of_a_setting():
    models = np.array([[0.0, 0.0], [3.0, 4.0]])
    found = theorem2([4, 4, 8], [0, 0, 1], models, 0.2, 0.1, 0.5, "fedavg", 5)
    assert found.rho == 0.5
    assert found.rate == pytest.approx(5 * 0.1 * 0.5 / found.kappa)
    expected = (8 * np.exp(-4) * 8 + 8 * np.exp(-8) * 8) / 16
    assert found.clustering_error == pytest.approx(expected)
    spread = 2 * 2 * np.log(2) / 3 * (1 + found.chi2)
    assert found.nu == pytest.approx(expected + np.sqrt(spread))
    assert not found.holds


def test_proximal_solve_counts_as_one_step():
    models = np.eye(2)
    found = theorem2([1, 1], [0, 1], models, 0.0, 0.1, 0.5, "fedprox", 9)
    assert found.rate == pytest.approx(0.1 * 0.5 / 1.5)


def test_one_cluster_has_no_clustering_error():
    found = theorem2([3, 3], [0, 0], np.ones((1, 2)), 0.2, 0.1, 0.5)
    assert found.nu == 0
    assert found.holds


def test_observed_rate_reads_a_geometric_fall():
    errors = 0.1 + 2 * 0.9 ** np.arange(300)
    assert observed_rate(errors) == pytest.approx(0.1, rel=1e-6)
    assert np.isnan(observed_rate([1.0, 0.0]))

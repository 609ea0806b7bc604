"""Differential privacy of FedGEM's maximisers (Theorem 9)."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError
from fedmix.methods.fedgem import FedGEM
from fedmix.methods.fedgem_client import GaussianMechanism

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

"""The closed-form radii against the problems that they solve."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.families import Sample
from fedmix.methods.fedgem_client import Mixtures, final_radii, maximise, uncertainty_radii


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

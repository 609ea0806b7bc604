"""Nearest neighbours and calibrated affinities."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from fedmix.embed import objective as module
from fedmix.embed.objective import conditional_affinities, joint_affinities, nearest_neighbors


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(700, 8))


def test_neighbours_are_the_exact_ones(points, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 128)
    monkeypatch.setattr(module, "_COLUMNS", 200)
    neighbors, distances = nearest_neighbors(points, 20, threads=2)
    expected, labels = NearestNeighbors(n_neighbors=20).fit(points).kneighbors()
    np.testing.assert_array_equal(neighbors, labels)
    np.testing.assert_allclose(distances, expected**2, rtol=1e-5)


def test_neighbours_can_be_all_other_points(points):
    neighbors, _ = nearest_neighbors(points[:10], 9)
    for i, row in enumerate(neighbors):
        assert sorted([i, *row]) == list(range(10))


def test_equal_points_are_neighbours_at_distance_zero():
    points = np.repeat(np.eye(3), 5, axis=0)
    neighbors, distances = nearest_neighbors(points, 4)
    assert (distances == 0).all()
    assert (neighbors // 5 == np.arange(15)[:, None] // 5).all()


@pytest.mark.parametrize("perplexity", [1.5, 30.0, 85.0])
def test_calibration_meets_the_perplexity(points, perplexity):
    _, distances = nearest_neighbors(points, 90)
    conditional = conditional_affinities(distances, perplexity)
    np.testing.assert_allclose(conditional.sum(axis=1), 1, rtol=1e-12)
    logs = np.log(np.maximum(conditional, 1e-300))
    np.testing.assert_allclose(np.exp(-(conditional * logs).sum(axis=1)), perplexity, rtol=1e-8)


def test_calibration_does_not_depend_on_the_scale(points):
    _, distances = nearest_neighbors(points, 30)
    expected = conditional_affinities(distances, 10.0)
    for scale in (1e-200, 1e200):
        found = conditional_affinities(distances * scale, 10.0)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_many_equal_neighbours_share_the_row():
    distances = np.array([[0.0, 0.0, 0.0, 0.0, 7.0]])
    np.testing.assert_allclose(conditional_affinities(distances, 2.0), [[0.25] * 4 + [0.0]])
    np.testing.assert_allclose(conditional_affinities(np.zeros((1, 4)), 2.0), [[0.25] * 4])


def test_joint_affinities_are_symmetric_and_sum_to_one(points):
    joint = joint_affinities(*nearest_neighbors(points, 15), 5.0)
    assert joint.sum() == pytest.approx(1)
    assert abs(joint - joint.T).max() < 1e-18
    assert (joint.data >= 0).all()
    assert (joint.diagonal() == 0).all()

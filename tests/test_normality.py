"""Henze and Zirkler's test keeps its level on Gaussian data, and finds what is not Gaussian."""

import numpy as np
import pytest

from fedmix.errors import DataError
from fedmix.metrics.normality import henze_zirkler
from fedmix.simulate.waveform import waveform


@pytest.mark.parametrize(("n", "d"), [(50, 2), (100, 5)])
def test_gaussian_data_are_rejected_as_often_as_the_level_says(n, d):
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(d, d))
    found = [henze_zirkler(rng.normal(size=(n, d)) @ mixing + 5)[1] for _ in range(400)]
    assert 0.02 < np.mean(np.array(found) < 0.05) < 0.09


def test_the_statistic_does_not_change_with_the_affine_scale():
    points = np.random.default_rng(1).exponential(size=(80, 3))
    turned = points @ np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 3.0], [1.0, 0.0, 1.0]]) - 7
    assert henze_zirkler(turned)[0] == pytest.approx(henze_zirkler(points)[0])


def test_the_statistic_is_that_of_its_definition():
    points = np.random.default_rng(2).normal(size=(12, 2))
    centred = points - points.mean(axis=0)
    inverse = np.linalg.inv(np.cov(points.T, bias=True))
    n, d = points.shape
    beta = (n * (2 * d + 1) / 4) ** (1 / (d + 4)) / np.sqrt(2)
    pairs = sum(
        np.exp(-(beta**2) / 2 * (x - y) @ inverse @ (x - y)) for x in points for y in points
    )
    single = sum(np.exp(-(beta**2) / (2 * (1 + beta**2)) * x @ inverse @ x) for x in centred)
    expected = pairs / n - 2 * (1 + beta**2) ** (-d / 2) * single
    expected += n * (1 + 2 * beta**2) ** (-d / 2)
    assert henze_zirkler(points)[0] == pytest.approx(expected)


def test_two_gaussian_classes_are_not_gaussian_together():
    one, two = (np.random.default_rng(3).normal(m, 1, size=(200, 2)) for m in (0.0, 4.0))
    assert henze_zirkler(one)[1] > 0.05
    assert henze_zirkler(np.vstack([one, two]))[1] < 1e-6


def test_two_classes_of_waveform_look_gaussian_though_the_whole_set_does_not():
    points, labels = waveform(3000)
    p_values = [henze_zirkler(points[labels == label])[1] for label in range(3)]
    assert min(p_values[0], p_values[2]) > 0.05
    assert henze_zirkler(points)[1] < 0.05


def test_features_that_depend_on_others_are_told():
    points = np.random.default_rng(4).normal(size=(20, 2))
    with pytest.raises(DataError, match="singular covariance"):
        henze_zirkler(np.c_[points, points.sum(axis=1)])

"""Breiman's waveform generator."""

import numpy as np
import pytest

from fedmix.errors import ConfigurationError
from fedmix.simulate.waveform import PAIRS, base_waves, waveform


def test_base_waves_are_triangles_of_height_six():
    waves = base_waves()
    assert waves.shape == (3, 21)
    assert waves.max(axis=1).tolist() == [6, 6, 6]
    assert (waves.argmax(axis=1) + 1).tolist() == [7, 15, 11]
    assert waves.sum(axis=1).tolist() == [36, 36, 36]


def test_class_means_and_spread_are_those_of_the_definition():
    points, labels = waveform(60_000, 0)
    waves = base_waves()
    for label, (one, other) in enumerate(PAIRS):
        own = points[labels == label]
        mean = (waves[one] + waves[other]) / 2
        variance = 1 + (waves[one] - waves[other]) ** 2 / 12
        tolerance = 5 * np.sqrt(variance / len(own))
        assert np.all(np.abs(own.mean(axis=0) - mean) < tolerance)
        np.testing.assert_allclose(own.var(axis=0), variance, rtol=0.06)


def test_classes_are_equally_likely():
    _, labels = waveform(30_000, 1)
    np.testing.assert_allclose(np.bincount(labels) / 30_000, 1 / 3, atol=0.015)


def test_seed_decides_everything():
    for one, same in zip(waveform(20, 3), waveform(20, np.random.default_rng(3)), strict=True):
        np.testing.assert_array_equal(one, same)
    assert not np.array_equal(waveform(20, 3)[0], waveform(20, 4)[0])


def test_no_points_are_an_error():
    with pytest.raises(ConfigurationError, match="n_points"):
        waveform(0)

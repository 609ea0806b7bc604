"""Label alignment (Tian, Weng and Feng 2024, Section C)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from fedmix import align
from fedmix.alignment import alignment_score
from fedmix.errors import ConfigurationError, DataError
from fedmix.kernels.distances import distance_sums


def shuffled(means, generator):
    """Permute each client's components; return them and the permutations."""
    orders = np.array([generator.permutation(means.shape[1]) for _ in means])
    return np.take_along_axis(means, orders[..., None], axis=1), orders


def aligned(means, permutations):
    return np.take_along_axis(means, permutations[..., None], axis=1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 4))
def test_stepwise_finds_the_exhaustive_score_where_labels_are_separated(seed, d, n_clients):
    generator = np.random.default_rng(seed)
    centres = np.arange(3)[:, None] * 10.0 + np.zeros((3, d))
    means = centres + generator.normal(scale=0.5, size=(n_clients, 3, d))
    means, _ = shuffled(means, generator)
    stepwise, exhaustive = align(means), align(means, method="exhaustive")
    np.testing.assert_array_equal(stepwise, exhaustive)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_exhaustive_score_is_never_above_the_stepwise_one(seed):
    means = np.random.default_rng(seed).normal(size=(4, 3, 2))
    best = alignment_score(means, align(means, method="exhaustive"))
    assert best <= alignment_score(means, align(means)) + 1e-12


def test_true_labels_are_found_under_the_condition_of_theorem_c4():
    # K=10, K_0=8 good clients, epsilon=.2 by two outliers; h and the estimation error such that
    # Delta > 2 (K_0 + K eps) / (K_0 - K eps) h + 6 (...) error, which is 10/3 h + 10 error.
    generator = np.random.default_rng(1)
    delta, h, error = 10.0, 0.6, 0.3
    assert delta > 10 / 3 * h + 10 * error
    centres = delta * np.eye(5)  # pairwise distances are above delta
    directions = generator.normal(size=(2, 10, 5, 5))
    directions /= np.linalg.norm(directions, axis=3, keepdims=True)
    means = centres + h / 2 * directions[0] + error * directions[1]
    means[8:] = generator.normal(scale=20, size=(2, 5, 5))
    means, _ = shuffled(means, generator)
    nearest = np.linalg.norm(means[:8, :, None] - centres, axis=3).argmin(axis=2)
    labels = np.take_along_axis(nearest, align(means)[:8], axis=1)
    assert (labels == labels[0]).all()


def test_reference_aligns_each_client_to_the_first_alone():
    generator = np.random.default_rng(3)
    means, _ = shuffled(10.0 * np.eye(4) + generator.normal(size=(6, 4, 4)), generator)
    found = align(means, method="reference")
    for k in range(6):
        pair = align(means[[0, k]], method="exhaustive")
        np.testing.assert_array_equal(found[k], pair[1])


def test_first_client_keeps_its_labels():
    means = np.random.default_rng(0).normal(size=(6, 4, 2))
    np.testing.assert_array_equal(align(means)[0], np.arange(4))


def test_every_pair_counts_twice_in_the_score():
    means = np.array([[[0.0]], [[3.0]], [[7.0]]])
    assert alignment_score(means, np.zeros((3, 1), dtype=int)) == 2 * (3 + 4 + 7)


@pytest.mark.parametrize(
    ("permutations", "message"),
    [
        ([[0, 1]], r"shape \(K, R\) = \(2, 2\); got \(1, 2\)"),
        ([[0, 1], [0, 10**9]], r"0 to 1 for each client; client 1 has \[0, 1000000000\]"),
        ([[1, 1], [0, 1]], r"client 0 has \[1, 1\]"),
        ([[0.5, 1.5], [0, 1]], r"client 0 has \[0.5, 1.5\]"),
    ],
)
def test_score_of_numbers_that_are_no_permutations_is_an_error(permutations, message):
    with pytest.raises(DataError, match=message):
        alignment_score(np.zeros((2, 2, 1)), permutations)


def test_result_is_the_same_for_a_seed():
    means = np.random.default_rng(0).normal(size=(8, 6, 2))
    np.testing.assert_array_equal(align(means, random_state=3), align(means, random_state=3))


def test_each_row_is_a_permutation_even_for_equal_means():
    permutations = align(np.zeros((5, 4, 2)))
    np.testing.assert_array_equal(np.sort(permutations, axis=1), np.tile(np.arange(4), (5, 1)))


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 5, 2), (7, 1, 3)])
def test_one_client_or_one_component_is_aligned_already(shape):
    permutations = align(np.random.default_rng(0).normal(size=shape))
    np.testing.assert_array_equal(permutations, np.tile(np.arange(shape[1]), (shape[0], 1)))


def test_costs_are_the_distances_summed_in_the_order_of_the_clients():
    means = np.random.default_rng(0).normal(size=(700, 3, 4))  # more clients than a block
    costs = distance_sums(means.transpose(1, 2, 0).copy(), 699, means[699])
    by_pair = [cdist(earlier, means[699]) for earlier in means[:699]]
    np.testing.assert_array_equal(costs, np.sum(by_pair, axis=0))


def test_means_whose_distances_overflow_are_named():
    with pytest.raises(DataError, match=r"client 1, component 0 .* overflows"):
        align([[[0.0], [1.0]], [[1e200], [1.0]]])


def test_too_large_exhaustive_search_is_refused():
    with pytest.raises(ConfigurationError, match="stepwise"):
        align(np.zeros((10, 5, 1)), method="exhaustive")


def test_bad_arguments_are_named():
    with pytest.raises(ConfigurationError, match="'stepwise'"):
        align(np.zeros((2, 2, 1)), method="stepwize")
    with pytest.raises(ConfigurationError, match="n_orders"):
        align(np.zeros((2, 2, 1)), n_orders=0)
    with pytest.raises(ConfigurationError, match="n_orders to be an integer"):
        align(np.zeros((2, 2, 1)), n_orders=1.5)
    with pytest.raises(DataError, match="K, R, d"):
        align(np.zeros((2, 2)))
    for other in ([[[0.0]], [[0.0], [1.0]]], np.ma.zeros((2, 2, 1)), np.full((2, 2, 1), 1j)):
        with pytest.raises(DataError, match=r"Expected means of shape \(K, R, d\); "):
            align(other)
    with pytest.raises(DataError, match="client 1, component 0"):
        align(np.array([[[0.0]], [[np.nan]]]))

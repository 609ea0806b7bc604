"""Mis-clustering and errors of estimates, whatever the order of labels and components."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedmix.errors import DataError
from fedmix.metrics import estimation_error, misclustering
from fedmix.metrics.matching import clustering_accuracy, model_errors


def test_perfect_labels_under_other_names_have_no_error():
    assert misclustering([0, 0, 1, 2], ["b", "b", "c", "a"]) == 0.0


def test_surplus_labels_are_wrong_everywhere():
    assert misclustering([0, 0, 0, 0], [0, 1, 2, 3]) == 0.75
    assert misclustering([0, 1, 2, 3], [5, 5, 5, 5]) == 0.75


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_misclustering_is_the_minimum_over_all_matchings(pairs):
    labels, predicted = np.array(pairs).T
    brute = min(np.mean(np.array(p)[predicted] != labels) for p in permutations(range(4)))
    assert misclustering(labels, predicted) == pytest.approx(brute, abs=1e-15)
    assert misclustering(predicted, labels) == pytest.approx(brute, abs=1e-15)


def test_misclustering_of_nothing_is_undefined():
    with pytest.raises(DataError, match="undefined"):
        misclustering([], [])
    with pytest.raises(DataError, match="one length"):
        misclustering([0, 1], [0])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_estimation_error_is_the_minimum_over_all_permutations(seed):
    generator = np.random.default_rng(seed)
    weights, true_weights = generator.dirichlet(np.ones(4), (2, 3))
    means, true_means = generator.normal(size=(2, 3, 4, 2))
    orders = [list(p) for p in permutations(range(4))]
    weight_error = max(
        min(np.abs(weights[k, p] - true_weights[k]).max() for p in orders) for k in range(3)
    )
    mean_error = max(
        min(np.linalg.norm(means[k, p] - true_means[k], axis=1).max() for p in orders)
        for k in range(3)
    )
    ours = estimation_error(weights, means, true_weights, true_means)
    np.testing.assert_allclose(ours, (weight_error, mean_error), rtol=1e-12)


def test_only_the_clients_asked_for_are_scored():
    weights, means = np.ones((3, 1)), np.array([[[0.0]], [[5.0]], [[9.0]]])
    truth = np.ones((2, 1)), np.zeros((2, 1, 1))
    assert estimation_error(weights, means, *truth, clients=[0]) == (0.0, 0.0)
    assert estimation_error(weights, means, *truth) == (0.0, 5.0)


def test_other_numbers_of_components_are_refused():
    with pytest.raises(DataError, match="differ"):
        estimation_error(np.ones((1, 1)), np.ones((1, 1, 2)), np.ones((1, 2)), np.ones((1, 2, 2)))


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_error_equals_search_over_all_permutations(k):
    rng = np.random.default_rng(k)
    models, truth = rng.standard_normal((2, k, 3))
    brute = min(
        np.linalg.norm(models[list(p)] - truth, axis=1).max() for p in permutations(range(k))
    )
    assert model_errors(models[None], truth) == [brute]


def test_error_does_not_depend_on_the_order_of_models():
    models, truth = np.random.default_rng(0).standard_normal((2, 5, 3))
    reordered = model_errors(models[None], truth[[2, 0, 1, 4, 3]])
    assert model_errors(models[None, ::-1], truth) == reordered


def test_a_single_model_is_compared_with_all():
    assert model_errors([[[0.0, 0.0]]], [[3.0, 4.0], [0.0, 1.0]]) == [5]


def test_trajectory_holds_one_error_a_round():
    models = np.random.default_rng(1).standard_normal((4, 2, 3))
    errors = model_errors(models, models[0])
    assert errors.shape == (4,)
    assert errors[0] == 0


@pytest.mark.parametrize("models", [np.ones((2, 3)), np.ones((3, 2)), np.full((3, 3), np.nan)])
def test_models_that_cannot_be_compared_are_refused(models):
    with pytest.raises(ValueError, match=r"matched|shape|NaN"):
        model_errors(models[None], np.ones((3, 3)))


def test_accuracy_takes_the_best_matching():
    assert clustering_accuracy([0, 0, 1, 1, 2], [2, 2, 0, 0, 1]) == 1
    assert clustering_accuracy([0, 0, 1, 1], [0, 0, 0, 0]) == 0.5
    with pytest.raises(ValueError, match="two label vectors"):
        clustering_accuracy([0, 1], [0])

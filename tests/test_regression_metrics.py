from itertools import permutations

import numpy as np
import pytest

from fedmix.metrics.matching import clustering_accuracy, model_errors


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

"""Scores of clusterings, errors of estimates whatever the order of components, and normality."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import silhouette_score

from fedmix import Clients
from fedmix.errors import DataError
from fedmix.metrics import estimation_error, misclustering
from fedmix.metrics.clustering import per_client_scores, pooled_scores, silhouette
from fedmix.metrics.matching import clustering_accuracy, model_errors
from fedmix.metrics.normality import henze_zirkler
from fedmix.simulate.waveform import waveform


@pytest.mark.parametrize(("n", "d", "k"), [(10, 1, 2), (300, 4, 5), (700, 2, 40)])
def test_silhouette_equals_scikit_learns(n, d, k):
    rng = np.random.default_rng(n)
    points, labels = rng.normal(size=(n, d)), rng.integers(k, size=n) * 7
    assert silhouette(points, labels) == pytest.approx(silhouette_score(points, labels))


def test_silhouette_is_undefined_for_one_cluster_or_only_singletons():
    points = np.arange(4.0)[:, None]
    assert silhouette(points, np.zeros(4, int)) is None
    assert silhouette(points, np.arange(4)) is None
    assert silhouette(points[:0], np.zeros(0, int)) is None


def test_silhouette_of_other_labels_or_of_nan_is_refused():
    points = np.arange(8.0)[:, None]
    for labels in ([0, 1], [0, 1] * 5, [[0, 1]] * 4):
        with pytest.raises(DataError, match="Expected 8 labels"):
            silhouette(points, np.array(labels))
    for bad in (np.nan, 1e160):
        with pytest.raises(DataError, match="points hold"):
            silhouette(points * bad, np.arange(8) % 2)


def test_silhouette_of_coinciding_points_is_zero():
    assert silhouette(np.zeros((4, 2)), np.array([0, 0, 1, 1])) == 0.0


def clients_and_labels():
    rng = np.random.default_rng(0)
    clients = Clients.from_arrays([rng.normal(size=(n, 2)) for n in (30, 10, 0, 5)])
    labels = [rng.integers(3, size=n) for n in clients.sizes]
    return clients, labels


def test_pooled_and_per_client_scores_differ_by_what_labels_mean():
    clients, labels = clients_and_labels()
    swapped = [labels[0], (labels[1] + 1) % 3, labels[2], (labels[3] + 2) % 3]
    assert pooled_scores(clients, labels, labels)["ari_pooled"] == 1.0
    assert pooled_scores(clients, labels, swapped)["ari_pooled"] < 1.0
    assert per_client_scores(clients, labels, swapped)["ari_per_client"] == 1.0


def test_given_weights_apply_to_the_means_over_clients():
    clients, labels = clients_and_labels()
    predicted = [labels[0], np.zeros(10, int), labels[2], labels[3]]
    ari = [1.0, 0.0, 1.0]
    scores = per_client_scores(clients, labels, predicted, weights=[1, 6, 5, 1])
    assert scores["ari_per_client"] == pytest.approx(np.average(ari, weights=[1, 6, 1]))


@pytest.mark.parametrize("n_weights", [3, 6])
def test_weights_of_other_clients_are_refused(n_weights):
    clients, labels = clients_and_labels()
    with pytest.raises(DataError, match="Expected 4 weights"):
        per_client_scores(clients, labels, labels, weights=np.ones(n_weights))


def test_undefined_silhouettes_are_counted_and_left_out():
    clients, labels = clients_and_labels()
    predicted = [labels[0], np.zeros(10, int), labels[2], labels[3]]
    scores = per_client_scores(clients, labels, predicted)
    assert scores["silhouette_per_client_undefined"] == 1.0
    own = [silhouette(clients[k], predicted[k]) for k in (0, 3)]
    assert scores["silhouette_per_client"] == pytest.approx(np.mean(own))
    assert scores["silhouette_per_client_weighted"] == pytest.approx(
        np.average(own, weights=[30, 5])
    )
    nothing = [np.zeros(n, int) for n in clients.sizes]
    scores = pooled_scores(clients, labels, nothing) | per_client_scores(clients, labels, nothing)
    assert scores["silhouette_pooled_undefined"] == 1.0
    assert not {"silhouette_pooled", "silhouette_per_client"} & set(scores)


def test_lengths_must_agree():
    clients, labels = clients_and_labels()
    with pytest.raises(DataError, match="predicted"):
        pooled_scores(clients, labels, labels[:1])


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


@pytest.mark.parametrize(
    "labels", [[0, np.nan], ["a", None], ["a", np.nan], np.array(["a", np.nan], object)]
)
def test_missing_labels_are_refused(labels):
    with pytest.raises(DataError, match="1 of the labels are missing"):
        misclustering(labels, [0, 1])
    with pytest.raises(DataError, match="1 of the predicted labels are missing"):
        misclustering([0, 1], labels)


def test_labels_of_several_kinds_are_counted():
    assert misclustering([1, "a", "a", 1], ["b", 2, 2, 2]) == 0.25


def test_masked_labels_are_refused():
    masked = np.ma.masked_array([0, 1], mask=[True, False])
    with pytest.raises(DataError, match="masked"):
        misclustering(masked, [0, 1])


@pytest.mark.parametrize(
    ("chosen", "says"), [([], "at least one"), ([True], "position"), ([2], "no client 2")]
)
def test_clients_that_cannot_be_scored_are_refused(chosen, says):
    weights, means = np.ones((2, 1)), np.zeros((2, 1, 2))
    with pytest.raises((DataError, TypeError, IndexError), match=says):
        estimation_error(weights, means, weights, means, clients=chosen)


def test_a_client_without_estimates_is_refused():
    weights, means = np.ones((2, 1)), np.zeros((2, 1, 2))
    with pytest.raises(DataError, match="differ in clients"):
        estimation_error(weights[:1], means[:1], weights, means)
    with pytest.raises(DataError, match="differ in clients"):
        estimation_error(weights, means[:1], weights[:1], means[:1])


def test_an_estimate_that_is_nan_has_no_error():
    weights, means = np.ones((1, 1)), np.zeros((1, 1, 2))
    for bad in (np.nan, np.inf):
        with pytest.raises(DataError, match="NaN or infinity"):
            estimation_error(weights, means + bad, weights, means)


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


@pytest.mark.parametrize(("n", "d"), [(50, 2), (100, 5)])
def test_gaussian_data_are_rejected_as_often_as_the_level_says(n, d):
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(d, d))
    found = [henze_zirkler(rng.normal(size=(n, d)) @ mixing + 5)[1] for _ in range(400)]
    assert 0.02 < np.mean(np.array(found) < 0.05) < 0.09


def test_the_statistic_does_not_change_with_the_affine_scale():
    points = np.random.default_rng(1).exponential(size=(80, 3))
    turned = points @ np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 3.0], [1.0, 0.0, 1.0]]) - 7
    for other in (turned, points * [1.0, 1e-9, 1e6]):
        assert henze_zirkler(other)[0] == pytest.approx(henze_zirkler(points)[0])


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
    with pytest.raises(DataError, match="singular covariance"):
        henze_zirkler(np.c_[points, np.ones(20)])


def test_normality_of_no_points_is_refused():
    with pytest.raises(DataError, match=r"shape \(n_k, d\), got shape \(3,\)"):
        henze_zirkler(np.arange(3.0))
    with pytest.raises(DataError, match="points hold NaN"):
        henze_zirkler([[np.nan, 1.0], [1.0, 2.0], [2.0, 0.0]])

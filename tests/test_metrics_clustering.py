"""Scores of clusterings spread over clients."""

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from fedmix import Clients
from fedmix.errors import DataError
from fedmix.metrics.clustering import per_client_scores, pooled_scores, silhouette


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

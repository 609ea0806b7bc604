"""The FedGEM experiments: problems, choice of the radius, and scores."""

from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError

from fedmix.experiments import cluster_simulation, clustering, federated_clustering
from fedmix.experiments.base import Method
from fedmix.selection import choose
from fedmix.streams import Streams

fit = Method.fit

SETTING = {
    "dataset": "three",
    "embedding": "raw",
    "n_clients": 3,
    "train_fraction": 0.7,
    "spared_classes": 0,
    "partition": "dealt",
    "v": [0.1, 1.0],
}
SIMULATION = {
    "n_clients": 3,
    "n_components": 4,
    "d": 2,
    "r_min": 6.0,
    "imbalance": "nominal",
    "n_per_client": 60,
    "n_test": 120,
    "v": 1.0,
    "starts": 2,
}
METHODS = {
    "FedGEM": {},
    "LocalKMeans": {"n_init": 1},
    "KFED": {"n_init": 1},
    "FedKMeans": {"max_rounds": 2},
    "FFCM": {"max_rounds": 2},
    "AFCL": {"max_rounds": 2},
    "CentralGMM": {},
    "CentralDPGMM": {},
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    features = 12 * np.eye(3)[labels] + rng.normal(size=(300, 3))
    return SimpleNamespace(features=features, labels=labels)


def outcome(method, data, **change):
    setting = federated_clustering.Settings(**SETTING | change)
    streams = Streams("study", "setting", 0)
    problem = federated_clustering.make_problem(setting, data, streams)
    return federated_clustering.run(method, setting, problem, {}, data, streams)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_gets_every_score(data, name):
    found = outcome(Method(name, name, METHODS[name]), data)
    assert {
        "ari_pooled",
        "ari_per_client",
        "silhouette_pooled_undefined",
        "silhouette_per_client_undefined",
        "n_clusters",
    } <= set(found.metrics)
    assert np.isfinite(list(found.metrics.values())).all()
    assert found.floats_up > 0


@pytest.mark.parametrize("partition", ["dealt", "dealt_in_order", "shared"])
def test_training_and_test_rows_are_apart(data, partition):
    setting = federated_clustering.Settings(**SETTING | {"partition": partition})
    problem = federated_clustering.make_problem(setting, data, Streams("s", "t", 1))
    rows = np.concatenate([problem["train"], problem["test"]])
    assert len(np.unique(rows)) == len(rows)
    if partition == "shared":
        assert len(rows) == len(data.labels)
    for part in ("train", "test"):
        own = np.split(data.labels[problem[part]], problem[f"{part}_offsets"][1:-1])
        assert [len(set(labels)) for labels in own] == list(problem["components_per_client"])


def test_radius_is_chosen_among_the_candidates_and_a_number_is_taken(data):
    method = Method("FedGEM", "FedGEM", {})
    chosen = outcome(method, data).metrics
    assert chosen["final_radius_scale"] in (0.1, 1.0)
    assert chosen["validation_undefined"] >= 0
    fixed = outcome(method, data, v=0.5).metrics
    assert fixed["final_radius_scale"] == 0.5
    assert "validation_undefined" not in fixed


def captured(monkeypatch, data, **change):
    """Return the estimator and the folds that the choice of v gets, and the outcome."""
    seen = {}

    def spy(estimator, train, candidates, **how):
        seen.update(how, estimator=estimator)
        return choose(estimator, train, candidates, **how)

    monkeypatch.setattr(clustering, "choose", spy)
    return seen, outcome(Method("FedGEM", "FedGEM", {}), data, **change)


def test_radius_is_chosen_by_as_many_folds_as_configured(monkeypatch, data):
    seen, _ = captured(monkeypatch, data)
    assert (seen["n_folds"], seen["n_splits"]) == (3, None)
    seen, _ = captured(monkeypatch, data, n_folds=5, n_splits=3)
    assert (seen["n_folds"], seen["n_splits"]) == (5, 3)


def test_shared_seeds_are_of_all_training_points_also_in_the_validation(monkeypatch, data):
    seen, _ = captured(monkeypatch, data)
    assert seen["estimator"].init is None
    seen, _ = captured(monkeypatch, data, client_seeds="shared")
    seeds = seen["estimator"].init
    problem = federated_clustering.make_problem(
        federated_clustering.Settings(**SETTING), data, Streams("study", "setting", 0)
    )
    train = np.split(data.features[problem["train"]], problem["train_offsets"][1:-1])
    for points, own in zip(train, seeds, strict=True):
        assert all((points == seed).all(axis=1).any() for seed in own)


def test_methods_share_their_clients_seeds(monkeypatch, data):
    drawn = []
    monkeypatch.setattr(
        Method, "fit", lambda method, train, known: drawn.append(known) or fit(method, train, known)
    )
    for name, parameters in (("FedGEM", {}), ("KFED", {"local": "kmeans"})):
        outcome(Method(name, name, parameters), data, v=1.0, client_seeds="shared")
    for one, other in zip(drawn[0]["starts"]["means"], drawn[1]["local_init"], strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_radius_is_chosen_for_clients_that_exchange_nothing(data):
    alone = Method("FedGEM-local", "FedGEM", {"server": "none"})
    assert alone.open_choices == []
    assert "final_radius_scale" not in outcome(alone, data).metrics


def test_a_radius_that_merges_everything_is_not_chosen(data):
    method = Method("FedGEM", "FedGEM", {})
    assert outcome(method, data, v=[1e9, 1.0]).metrics["final_radius_scale"] == 1.0


def test_same_streams_same_outcome(data):
    method = Method("FedGEM", "FedGEM", {})
    assert outcome(method, data) == outcome(method, data)


def test_components_in_use_or_those_of_test_points_are_counted(data):
    method = Method("AFCL", "AFCL", {"training": "none"})
    few = SimpleNamespace(features=data.features[:40], labels=data.labels[:40])
    setting = federated_clustering.Settings(**SETTING)
    problem = federated_clustering.make_problem(setting, few, Streams("study", "setting", 0))
    seeds = outcome(method, few, clusters="own_estimate").metrics["n_clusters"]
    assert seeds == problem["components_per_client"].sum()
    assert outcome(method, few, clusters="of_test_points").metrics["n_clusters"] < seeds


def test_unknown_partition_is_refused(data):
    with pytest.raises(ValidationError, match="dealt"):
        outcome(Method("FedGEM", "FedGEM", {}), data, partition="deal")


def test_best_of_several_starts_counts_by_each_score():
    streams = Streams("study", "setting", 0)
    problem = cluster_simulation.make_problem(
        cluster_simulation.Settings(**SIMULATION), None, streams
    )
    method = Method("CentralGMM", "CentralGMM", {})
    scores = {}
    for starts in (1, 2, 4):
        setting = cluster_simulation.Settings(**SIMULATION | {"starts": starts})
        scores[starts] = cluster_simulation.run(method, setting, problem, {}, None, streams).metrics
    for name in ("ari_pooled", "ari_per_client", "silhouette_pooled", "silhouette_per_client"):
        assert scores[1][name] <= scores[2][name] <= scores[4][name]
    assert scores[4]["n_clusters"] <= 4
    assert "n_clusters_at_best_silhouette" in scores[1]

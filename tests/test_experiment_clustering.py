"""The experiments on clusters and their data: who holds which points, choices, and scores."""

from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.spatial.distance import pdist

from fedmix.errors import ConfigurationError
from fedmix.experiments import cluster_simulation, clustering, federated_clustering, real_clustering
from fedmix.experiments.base import Method
from fedmix.selection import choose
from fedmix.simulate.isotropic_clusters import draw_centres, simulate_clusters
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
    return federated_clustering.run(method, setting, problem, data, streams)


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


def test_a_setting_can_give_a_method_parameters_of_its_own(data):
    own = {"FedGEM": {"max_rounds": 2}}
    method = Method("FedGEM", "FedGEM", {"max_rounds": 5, "tol": 0.0})
    assert outcome(method, data).rounds > 2
    assert outcome(method, data, own_parameters=own).rounds == 2
    other = Method("other", "FedGEM", {"max_rounds": 5, "tol": 0.0})
    assert outcome(other, data, own_parameters=own).rounds > 2


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
        scores[starts] = cluster_simulation.run(method, setting, problem, None, streams).metrics
    for name in ("ari_pooled", "ari_per_client", "silhouette_pooled", "silhouette_per_client"):
        assert scores[1][name] <= scores[2][name] <= scores[4][name]
    assert scores[4]["n_clusters"] <= 4
    assert "n_clusters_at_best_silhouette" in scores[1]


@pytest.mark.parametrize(("design", "average"), [("text", "mean"), ("program", "weighted")])
def test_the_program_weights_clients_where_it_chooses_v(design, average, monkeypatch):
    used, choose = [], clustering.choose
    monkeypatch.setattr(
        clustering, "choose", lambda *a, **k: used.append(k["average"]) or choose(*a, **k)
    )
    setting = cluster_simulation.Settings(
        **SIMULATION | {"design": design, "v": [1.0, 10.0], "starts": 1}
    )
    streams = Streams("study", "setting", 0)
    problem = cluster_simulation.make_problem(setting, None, streams)
    method = Method("FedGEM", "FedGEM", {})
    cluster_simulation.run(method, setting, problem, None, streams)
    assert used == [average]


REAL = {
    "dataset": "two",
    "embedding": "raw",
    "partition": "uniform",
    "n_clients": 4,
    "n_contaminated": 1,
    "contamination": "gaussian",
    "train_fraction": 0.8,
    "scaling": "none",
    "initialization": "kmeans++",
    "n_components": 2,
}
TWO_CLASSES = SimpleNamespace(features=np.zeros((200, 2)), labels=np.arange(200) % 2, groups=None)


def rows_and_training(setting_name, replication, **change):
    """Return the clients' rows, training and test together, and those for training."""
    setting = real_clustering.Settings(**REAL | change)
    streams = Streams("study", setting_name, replication)
    problem = real_clustering.make_problem(setting, TWO_CLASSES, streams)
    parts = [
        np.split(problem[part], problem[f"{part}_offsets"][1:-1]) for part in ("train", "test")
    ]
    return [set(np.concatenate(own)) for own in zip(*parts, strict=True)], problem["train"]


def test_images_are_dealt_once_and_split_in_every_replication():
    rows, training = rows_and_training("contaminated1", 0, assignment=0)
    for name, change in (("contaminated1", {}), ("contaminated0", {"n_contaminated": 0})):
        again, other = rows_and_training(name, 1, assignment=0, **change)
        assert again == rows
        assert set(other) != set(training)


@pytest.mark.parametrize("other", [{"assignment": 1}, {"assignment": 0, "dataset": "others"}])
def test_another_draw_or_data_set_deals_them_otherwise(other):
    rows, _ = rows_and_training("one", 0, assignment=0)
    assert rows_and_training("one", 0, **other)[0] != rows


def test_without_a_number_each_replication_deals_anew():
    assert rows_and_training("one", 0)[0] != rows_and_training("one", 1)[0]


@pytest.mark.parametrize("separation", [1.0, 8.0])
def test_closest_centres_are_exactly_so_far_apart(separation):
    for seed in range(5):
        centres = draw_centres(10, 4, separation, np.random.default_rng(seed))
        assert centres.shape == (10, 4)
        assert pdist(centres).min() == pytest.approx(separation)


def test_centres_that_do_not_fit_are_refused():
    with pytest.raises(ConfigurationError, match="Cannot place"):
        draw_centres(50, 1, 30.0, np.random.default_rng(0))


@pytest.mark.parametrize("imbalance", ["nominal", "client", "cluster"])
def test_every_cluster_occurs_and_no_client_holds_all(imbalance):
    sizes = [900, 600, 400, 400, 100] if imbalance == "client" else 500
    drawn = simulate_clusters(np.random.default_rng(1), imbalance=imbalance, client_sizes=sizes)
    assert set(drawn.test_labels) == set(range(10))
    assert np.all((drawn.n_components >= 2) & (drawn.n_components < 10))
    np.testing.assert_array_equal(drawn.train.sizes, np.resize(sizes, 5))
    assert drawn.test.n_points == 5000
    for own, k in zip(drawn.test.split(drawn.test_labels), drawn.n_components, strict=True):
        assert len(set(own)) == k


def test_points_scatter_with_unit_variance_around_their_centres():
    drawn = simulate_clusters(np.random.default_rng(2), separation=4.0, n_test=20_000)
    centres = draw_centres(10, 4, 4.0, np.random.default_rng(2))  # the simulation's first draws
    residual = drawn.test.points - centres[drawn.test_labels]
    np.testing.assert_allclose(residual.std(axis=0), 1.0, rtol=0.03)
    np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=0.03)


def test_nominal_clients_hold_equal_shares():
    drawn = simulate_clusters(np.random.default_rng(3))
    for own in drawn.test.split(drawn.test_labels):
        counts = np.unique(own, return_counts=True)[1]
        assert counts.max() - counts.min() <= 1


def test_unknown_imbalance_is_refused():
    with pytest.raises(ConfigurationError, match="nominal"):
        simulate_clusters(np.random.default_rng(0), imbalance="nominel")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_clusters": 1}, "n_clusters to be an integer of at least 2"),
        ({"n_clients": 0}, "n_clients to be an integer of at least 1"),
        ({"imbalance": "client"}, "Give client_sizes as a list"),
    ],
)
def test_impossible_clusters_or_clients_are_named(options, says):
    with pytest.raises(ConfigurationError, match=says):
        simulate_clusters(np.random.default_rng(0), **options)


def test_the_program_s_clients_lack_two_clusters_and_test_all_of_theirs_equally():
    largest = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        drawn = simulate_clusters(rng, imbalance="cluster", n_test=2_000, design="program")
        largest = max(largest, drawn.n_components.max())
        assert set(drawn.test_labels) == set(range(10))
        for own in drawn.test.split(drawn.test_labels):
            _, counts = np.unique(own, return_counts=True)
            np.testing.assert_allclose(counts, 2_000 / drawn.n_components.sum(), atol=2)
    assert largest == 8


def test_an_unknown_design_is_refused():
    with pytest.raises(ConfigurationError, match="design"):
        simulate_clusters(np.random.default_rng(0), design="other")


def test_numbers_of_the_program_that_cannot_cover_the_clusters_are_drawn_anew():
    # The first numbers of this seed are two and three, of six clusters.
    drawn = simulate_clusters(np.random.default_rng(0), n_clients=2, n_clusters=6, design="program")
    assert drawn.n_components.sum() >= 6
    assert set(drawn.test_labels) == set(range(6))

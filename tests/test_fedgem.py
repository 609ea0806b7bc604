"""FedGEM: the authors' numbers, the GEM property, invariances and odd clients."""

from pathlib import Path

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError, DataError, DivergenceError
from fedmix.families import Sample
from fedmix.methods.fedgem import FedGEM
from fedmix.methods.fedgem_client import Mixtures, maximise, uncertainty_radii
from fedmix.methods.fedgem_server import Server
from fedmix.methods.local_kmeans import LocalKMeans
from fedmix.metrics.clustering import per_client_scores

PUBLISHED = {
    "radius": "half",
    "direction": "away",
    "one_component_per_client": True,
    "max_rounds": 11,
    "tol": 1e-3,
    "final_radius_scale": 5.0,
}


@pytest.fixture(scope="module")
def reference():
    with np.load(Path(__file__).parent / "data/fedgem_waveform/reference.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="module")
def train(reference):
    return Clients(reference["train"], reference["train_offsets"])


def mixtures_of(reference):
    n_components = reference["n_components"]
    offsets = np.concatenate([[0], np.cumsum(n_components)])
    return Mixtures(reference["init"], np.repeat(1 / n_components, n_components), offsets)


def separated_clients(seed=0, n=60, sizes=(2, 3, 2)):
    """Clients that hold some of three clusters, 20 apart, in 2 dimensions."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    held = [rng.permutation(3)[:k] for k in sizes]
    xs = [centres[np.resize(own, n)] + rng.normal(size=(n, 2)) for own in held]
    return Clients.from_arrays(xs), held, centres


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def test_first_client_step_equals_the_authors(reference, train):
    mixtures = mixtures_of(reference)
    step = maximise(Sample.of(train), mixtures)
    np.testing.assert_allclose(step.means, reference["round1_maximisers"], rtol=0, atol=1e-10)
    squared_step = np.sum((step.means - mixtures.means) ** 2, axis=1)
    radii = uncertainty_radii("half", squared_step, step.spread)
    np.testing.assert_allclose(radii, reference["round1_radii"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("search", ["pairwise", "kdtree"])
def test_first_aggregation_equals_the_authors(reference, search):
    server = Server(search, "away", one_component_per_client=True, repeat_joining_pairs=True)
    means, labels = server.update(
        reference["round1_maximisers"], reference["round1_radii"], mixtures_of(reference).client
    )
    np.testing.assert_allclose(means, reference["round1_means"], rtol=0, atol=1e-10)
    assert same_partition(labels, reference["round1_superclusters"])


def test_whole_run_equals_the_authors(reference, train):
    test = Clients(reference["test"], reference["test_offsets"])
    init = np.split(reference["init"], np.cumsum(reference["n_components"])[:-1])
    model = FedGEM(reference["n_components"], init=init, **PUBLISHED).fit(train)
    assert [h["n_clusters"] for h in model.history_] == list(reference["clusters_by_round"])
    np.testing.assert_allclose(np.concatenate(model.means_), reference["final_means"], atol=1e-10)
    np.testing.assert_allclose(
        np.concatenate(model.final_radii_), reference["final_radii"], atol=1e-10
    )
    assert same_partition(np.concatenate(model.superclusters_), reference["final_superclusters"])
    predicted = model.predict(test)
    np.testing.assert_array_equal(np.concatenate(predicted), reference["predicted"])
    labels = test.split(reference["test_labels"])
    scores = per_client_scores(test, labels, predicted)
    assert scores["ari_per_client"] == pytest.approx(reference["ari_per_client"].mean())
    assert scores["silhouette_per_client"] == pytest.approx(
        reference["silhouette_per_client"].mean()
    )


@pytest.mark.parametrize("radius", ["exact", "theorem4", "half"])
def test_no_point_of_a_ball_lowers_the_objective(radius):
    rng = np.random.default_rng(1)
    clients = Clients.from_arrays([rng.normal(size=(40, 3)) * 2])
    mixtures = Mixtures(rng.normal(size=(3, 3)), np.full(3, 1 / 3), np.array([0, 3]))
    step = maximise(Sample.of(clients), mixtures)
    squared_step = np.sum((step.means - mixtures.means) ** 2, axis=1)
    radii = uncertainty_radii(radius, squared_step, step.spread)

    def objective(k, mean):  # up to what does not depend on the mean
        squared = ((clients.points[:, None] - mixtures.means) ** 2).sum(axis=2)
        density = np.exp(-0.5 * squared)
        gamma = (density / density.sum(axis=1, keepdims=True))[:, k]
        return -0.5 * gamma @ ((clients.points - mean) ** 2).sum(axis=1)

    for k in range(3):
        before = objective(k, mixtures.means[k])
        for direction in rng.normal(size=(50, 3)):
            edge = step.means[k] + np.sqrt(radii[k]) * direction / np.linalg.norm(direction)
            assert objective(k, edge) >= before - 1e-9 * abs(before)


@pytest.mark.parametrize("radius", ["exact", "theorem4", "half"])
@pytest.mark.parametrize("local_steps", [1, 3])
def test_log_likelihood_never_falls(radius, local_steps):
    clients, held, _ = separated_clients(n=200)
    model = FedGEM(
        [len(own) + 1 for own in held],
        radius=radius,
        local_steps=local_steps,
        max_rounds=30,
        random_state=0,
    ).fit(clients)
    values = [h["log_likelihood"] for h in model.history_]
    assert np.all(np.diff(values) >= -1e-9 * np.abs(values[:-1]))


def test_separated_clusters_are_found_and_counted():
    clients, held, centres = separated_clients()
    model = FedGEM([len(own) for own in held], random_state=0).fit(clients)
    assert model.n_clusters_ == 3
    assert model.cluster_centers_.shape == (3, 2)
    for g, own in enumerate(held):
        nearest = np.linalg.norm(model.means_[g][:, None] - centres, axis=2).argmin(axis=1)
        assert sorted(nearest) == sorted(own)
    expected = np.concatenate([np.resize(own, 60) for own in held])
    assert same_partition(np.concatenate(model.predict_clusters(clients)), expected)


def test_result_follows_a_permutation_of_clients():
    clients, held, _ = separated_clients(seed=3)
    rng = np.random.default_rng(0)
    init = [rng.normal(10, 8, size=(len(own), 2)) for own in held]
    order = [2, 0, 1]
    model = FedGEM([len(h) for h in held], init=init, final_radius_scale=3.0).fit(clients)
    moved = FedGEM(
        [len(held[g]) for g in order], init=[init[g] for g in order], final_radius_scale=3.0
    ).fit(clients.subset(order))
    for position, g in enumerate(order):
        np.testing.assert_allclose(moved.means_[position], model.means_[g], atol=1e-8)
    assert same_partition(
        np.concatenate([model.superclusters_[g] for g in order]),
        np.concatenate(moved.superclusters_),
    )


@pytest.mark.parametrize("one_component_per_client", [False, True])
def test_both_servers_give_the_same_model(one_component_per_client):
    clients, held, _ = separated_clients()
    models = [
        FedGEM(
            [len(h) + 1 for h in held],
            server=server,
            one_component_per_client=one_component_per_client,
            random_state=5,
        ).fit(clients)
        for server in ("pairwise", "kdtree")
    ]
    np.testing.assert_array_equal(*[np.concatenate(m.means_) for m in models])
    np.testing.assert_array_equal(*[np.concatenate(m.superclusters_) for m in models])


def test_one_client_is_left_to_its_own_em():
    clients = Clients.from_arrays([separated_clients()[0].points])
    model = FedGEM(3, max_rounds=5, random_state=0, final_radius_scale=0.0).fit(clients)
    mixtures = Mixtures(
        np.concatenate(FedGEM(3, max_rounds=0, random_state=0).fit(clients).means_),
        np.full(3, 1 / 3),
        np.array([0, 3]),
    )
    for _ in range(5):
        mixtures = Mixtures(
            maximise(Sample.of(clients), mixtures).means, mixtures.weights, mixtures.offsets
        )
    np.testing.assert_allclose(model.means_[0], mixtures.means, atol=1e-12)


def test_without_a_server_clients_share_the_start_and_nothing_else():
    clients, held, _ = separated_clients()
    sizes = [len(own) for own in held]
    model = FedGEM(sizes, server="none", random_state=3).fit(clients)
    start = FedGEM(sizes, server="none", max_rounds=0, random_state=3).fit(clients)
    together = FedGEM(sizes, max_rounds=0, final_radius_scale=0.0, random_state=3).fit(clients)
    np.testing.assert_array_equal(np.concatenate(start.means_), np.concatenate(together.means_))
    for g, own in enumerate(clients):
        alone = FedGEM(sizes[g], server="none", init=[start.means_[g]], max_rounds=9)
        np.testing.assert_allclose(
            alone.fit(Clients.from_arrays([own])).means_[0], model.means_[g], atol=1e-12
        )
    assert model.n_clusters_ == sum(sizes)
    assert model.communication_ == {"up": 0, "down": 0}


def test_one_component_a_client_learns_its_mean():
    clients, _, _ = separated_clients()
    model = FedGEM(1, max_rounds=1, final_radius_scale=1e9, random_state=0).fit(clients)
    assert model.n_clusters_ == 3  # a single component has no R_min: it merges with nothing else
    for x, mean in zip(clients, model.means_, strict=True):
        np.testing.assert_allclose(mean[0], x.mean(axis=0))


def test_identical_centres_merge_and_stay_finite():
    points = np.zeros((10, 2))
    clients = Clients.from_arrays([points, points])
    model = FedGEM(2, random_state=0).fit(clients)
    assert np.isfinite(np.concatenate(model.means_)).all()
    assert model.n_clusters_ == 1


def test_component_without_points_keeps_its_mean():
    clients = Clients.from_arrays([np.random.default_rng(0).normal(size=(20, 2))])
    model = FedGEM(2, init=[np.array([[0.0, 0.0], [1e3, 1e3]])], max_rounds=3).fit(clients)
    np.testing.assert_array_equal(model.means_[0][1], [1e3, 1e3])
    assert model.history_[0]["n_empty"] == 1


def test_empty_and_tiny_clients_take_part():
    rng = np.random.default_rng(0)
    xs = [rng.normal(size=(30, 2)), np.empty((0, 2)), rng.normal(size=(1, 2))]
    clients = Clients.from_arrays(xs)
    model = FedGEM(3, random_state=0).fit(clients)
    assert [len(m) for m in model.means_] == [3, 0, 3]
    assert [len(p) for p in model.predict(clients)] == [30, 0, 1]
    with pytest.raises(DataError, match=r"Clients \[1\] had no points"):
        model.predict(Clients.from_arrays([xs[0], xs[0], xs[2]]))


@pytest.mark.parametrize("one", [False, True])
def test_equal_starts_of_a_client_are_counted_once(one):
    a, b = [[0.1, 0.3]] * 4, [[9.7, 9.1]] * 4
    model = FedGEM(3, one_component_per_client=one).fit([a + b, a + b, a[:1], b])
    assert model.n_clusters_ == 2
    assert [len(own) for own in model.means_] == [3, 3, 3, 3]
    assert [len(set(own)) for own in model.superclusters_] == [2, 2, 1, 1]
    np.testing.assert_allclose(model.means_[2], a[:1] * 3)
    np.testing.assert_allclose([own.sum() for own in model.weights_], 1.0)


def test_one_feature_and_constant_columns():
    rng = np.random.default_rng(0)
    one = Clients.from_arrays([rng.normal(size=(20, 1)), rng.normal(5, 1, size=(20, 1))])
    assert FedGEM(2, random_state=0).fit(one).means_[0].shape == (2, 1)
    constant = Clients.from_arrays([np.column_stack([rng.normal(size=20), np.full(20, 7.0)])])
    means = FedGEM(2, random_state=0).fit(constant).means_[0]
    np.testing.assert_allclose(means[:, 1], 7.0)


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1e3, 1e150])
def test_any_scale_stays_finite(scale):
    clients = separated_clients()[0]
    model = FedGEM(2, random_state=0).fit(Clients(clients.points * scale, clients.offsets))
    assert np.isfinite(np.concatenate(model.means_)).all()


def test_overflow_is_an_error():
    clients = Clients.from_arrays([[[0.0], [1.0], [-1.0]]])
    with pytest.raises(DivergenceError, match="Client 0"):
        FedGEM(1, init=[[[1e200]]]).fit(clients)


def test_init_is_not_changed():
    clients, held, _ = separated_clients()
    init = [np.ones((len(own), 2)) * np.arange(len(own))[:, None] for own in held]
    copies = [i.copy() for i in init]
    FedGEM([len(h) for h in held], init=init).fit(clients)
    for before, after in zip(copies, init, strict=True):
        np.testing.assert_array_equal(before, after)


def test_learned_weights_follow_the_data():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, (90, 2)), rng.normal(10, 1, (10, 2))])
    model = FedGEM(2, learn_weights=True, random_state=0).fit(Clients.from_arrays([x]))
    np.testing.assert_allclose(np.sort(model.weights_[0]), [0.1, 0.9], atol=1e-6)
    fixed = FedGEM(2, random_state=0).fit(Clients.from_arrays([x]))
    np.testing.assert_array_equal(fixed.weights_[0], [0.5, 0.5])


def test_communication_is_a_centre_and_a_radius_up_and_a_centre_down():
    clients, _, _ = separated_clients()
    model = FedGEM([2, 3, 2], max_rounds=4, tol=0.0, random_state=0).fit(clients)
    exchanges = model.n_rounds_ + 1
    assert model.communication_ == {"up": exchanges * 7 * 3, "down": exchanges * 7 * 2}


def test_training_stops_once_nothing_moves():
    clients, held, _ = separated_clients()
    model = FedGEM([len(h) for h in held], max_rounds=100, tol=1e-6, random_state=0).fit(clients)
    assert model.converged_
    assert model.n_rounds_ < 100
    assert model.history_[-1]["movement"] <= 1e-6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"radius": "hal"}, "Did you mean 'half'"),
        ({"direction": "back"}, "direction"),
        ({"server": "tree"}, "server"),
        ({"max_rounds": -1}, "max_rounds"),
        ({"max_rounds": True}, "max_rounds"),
        ({"local_steps": 0}, "local_steps"),
        ({"final_radius_scale": np.nan}, "final_radius_scale"),
        ({"components_per_client": [2, 2]}, "one for each of the 3 clients"),
        ({"components_per_client": 0}, ">= 1"),
        ({"components_per_client": 2.5}, "integer"),
        ({"privacy": {"rho": 1.0}}, "B_gamma"),
    ],
)
def test_wrong_parameters_are_told_clearly(parameters, message):
    with pytest.raises(ConfigurationError, match=message):
        FedGEM(**parameters).fit(separated_clients()[0])


def test_wrong_init_names_the_client():
    clients, _, _ = separated_clients()
    with pytest.raises(ConfigurationError, match="client 1"):
        FedGEM(2, init=[np.zeros((2, 2)), np.zeros((3, 2)), np.zeros((2, 2))]).fit(clients)
    with pytest.raises(ConfigurationError, match="one array"):
        FedGEM(2, init=[np.zeros((2, 2))]).fit(clients)


def test_kmeans10_starts_from_the_centres_of_local_kmeans():
    clients, _, _ = separated_clients()
    start = LocalKMeans([2, 3, 2], random_state=4).fit(clients).means_
    given = FedGEM([2, 3, 2], init=start).fit(clients)
    named = FedGEM([2, 3, 2], init="kmeans10", random_state=4).fit(clients)
    np.testing.assert_array_equal(np.vstack(named.means_), np.vstack(given.means_))
    with pytest.raises(ConfigurationError, match="Did you mean 'kmeans10'"):
        FedGEM(2, init="kmeans").fit(clients)

import numpy as np
import pytest

from fedmix import Clients, methods
from fedmix.errors import DataError, DivergenceError
from fedmix.kernels.regression_maps import rotate
from fedmix.methods.clustered_baselines import local_estimates
from fedmix.metrics.matching import clustering_accuracy, model_errors
from fedmix.simulate.mixed_regression import draw_clients, draw_truth

SIZES = [8] * 150 + [30] * 20


def simulated(seed=0, sizes=SIZES, noise=0.2, d=15, **kinds):
    rng = np.random.default_rng(seed)
    truth = draw_truth(rng, sizes, n_features=d, **kinds)
    return draw_clients(rng, truth, noise=noise), truth


@pytest.fixture(scope="module")
def problem():
    return simulated()


def all_methods(truth, **parameters):
    k = len(truth.models)
    return {
        "TwoPhase": methods.TwoPhase(k, **parameters),
        "IFCA": methods.IFCA(k, **parameters),
        "OneShotClustering": methods.OneShotClustering(k, **parameters),
        "OracleClustering": methods.OracleClustering(truth.models, **parameters),
        "FedAvg": methods.FedAvg(**parameters),
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("start", [0.0, 1.0, 4.0])
def test_phase_1_reduces_the_error_from_any_start(seed, start):
    clients, truth = simulated(seed)
    init = start * np.random.default_rng([seed, 9]).standard_normal(15)
    fit = methods.TwoPhase(3, rounds=0, init=init).fit(clients)
    errors = model_errors(fit.history_["models"], truth.models)
    assert len(errors) == 6
    assert errors[-1] < 0.6 * errors[0]


@pytest.mark.parametrize("local", ["fedavg", "fedprox"])
@pytest.mark.parametrize("subspace", ["svd", "orthogonal_iteration"])
def test_models_are_recovered_without_noise(local, subspace):
    clients, truth = simulated(noise=0.0)
    fit = methods.TwoPhase(3, local=local, subspace=subspace, gamma=0.9, rounds=1500).fit(clients)
    assert model_errors(fit.models_[None], truth.models) < 1e-8
    assert clustering_accuracy(truth.labels, fit.labels_) == 1


def test_two_phase_reaches_the_oracle(problem):
    clients, truth = problem
    fits = {n: m.fit(clients) for n, m in all_methods(truth).items()}
    errors = {n: model_errors(m.models_[None], truth.models)[0] for n, m in fits.items()}
    assert errors["TwoPhase"] == pytest.approx(errors["OracleClustering"], rel=1e-6)
    assert errors["FedAvg"] > 5 * errors["OracleClustering"]


def test_algorithm_as_stated_works_with_many_clients():
    clients, truth = simulated(sizes=[2] * 20_000 + [400] * 10, d=5)
    fit = methods.TwoPhase(
        3, fresh_clients=True, subspace="orthogonal_iteration", rounds=0, random_state=1
    ).fit(clients)
    errors = model_errors(fit.history_["models"], truth.models)
    assert errors[-1] < 0.3 * errors[0]


def test_truth_can_be_passed(problem):
    clients, truth = problem
    fit = methods.TwoPhase(3, alpha=1.0, beta=1.0, separation=2.5, epsilon=0.1).fit(clients)
    assert clustering_accuracy(truth.labels, fit.labels_) == 1


def test_without_a_rule_for_its_sign_a_direction_may_lead_away(problem):
    clients, truth = problem
    errors = [
        model_errors(
            methods.TwoPhase(3, rounds=0, direction_sign=sign).fit(clients).history_["models"],
            truth.models,
        )[-1]
        for sign in ("gradient", "as_found")
    ]
    assert errors[0] < 0.5 * errors[1]


def test_large_epsilon_stops_the_anchors_at_once(problem):
    clients, _ = problem
    fit = methods.TwoPhase(3, separation=100.0, epsilon=1.0, rounds=0).fit(clients)
    models = fit.history_["models"]
    np.testing.assert_allclose(models, np.broadcast_to(models[0, 0], models.shape), rtol=1e-12)


def test_anchors_are_clients_with_enough_points(problem):
    clients, _ = problem
    fit = methods.TwoPhase(3, rounds=0).fit(clients)
    assert len(fit.anchors_) == 10  # ceil(3 k log k)
    assert (clients.sizes[fit.anchors_] == 30).all()
    assert len(methods.TwoPhase(3, rounds=0, n_anchors=4).fit(clients).anchors_) == 4


def test_too_few_anchors_is_an_error_that_says_what_to_do():
    clients, _ = simulated(sizes=[8] * 50 + [30] * 4)
    with pytest.raises(ValueError, match=r"10 anchor clients .* 12 points each, but only 4 of 54"):
        methods.TwoPhase(3).fit(clients)
    methods.TwoPhase(3, n_anchors=4, rounds=1).fit(clients)


def test_too_few_fresh_clients_is_an_error():
    clients, _ = simulated(sizes=[30] * 12)
    with pytest.raises(ValueError, match="fresh_clients=False"):
        methods.TwoPhase(3, fresh_clients=True).fit(clients)


@pytest.mark.parametrize("local", ["fedavg", "fedprox"])
def test_ragged_clients_of_any_size_take_part(local):
    sizes = [0, 1, 1, 2, 40, 3] * 12
    clients, truth = simulated(sizes=sizes, d=5)
    for method in all_methods(truth, local=local).values():
        if isinstance(method, methods.TwoPhase):
            method.set_params(n_anchors=6)
        fit = method.fit(clients)
        assert np.isfinite(fit.models_).all()
        assert fit.labels_.shape == (72,)
        assert [len(z) for z in fit.predict(clients)] == sizes


def test_one_cluster_equals_federated_averaging():
    clients, _ = simulated(n_clusters=1)
    two_phase = methods.TwoPhase(1, rounds=400).fit(clients)
    average = methods.FedAvg(rounds=400).fit(clients)
    np.testing.assert_allclose(two_phase.models_, average.models_, atol=1e-10)
    assert not two_phase.labels_.any()


def test_one_client_and_one_cluster_equal_least_squares():
    clients, _ = simulated(sizes=[60], n_clusters=1, d=4)
    expected = np.linalg.lstsq(clients.points, clients.responses, rcond=None)[0]
    for method in (methods.TwoPhase(1), methods.IFCA(1), methods.OneShotClustering(1)):
        np.testing.assert_allclose(method.fit(clients).models_[0], expected, atol=1e-10)


def test_ifca_averages_models_after_local_steps_within_clusters_if_asked(problem):
    """Algorithm 1, option II, of Ghosh et al. (2020), by explicit local steps."""
    clients, truth = problem
    start = truth.models + 0.1
    fit = methods.IFCA(3, init=start, learning_rate=0.05, rounds=1, average="cluster").fit(clients)
    labels = fit.predict_clients(clients)
    for label in range(3):
        own = np.flatnonzero(labels == label)
        after = []
        for i in own:
            x, y, model = clients[i], clients.responses_of(i), start[label]
            for _ in range(5):
                model = model - 0.05 * x.T @ (x @ model - y) / len(y)
            after.append(model)
        expected = np.average(after, axis=0, weights=clients.sizes[own])
        np.testing.assert_allclose(fit.models_[label], expected, atol=1e-10)


def test_ifca_leaves_a_model_that_no_client_chooses_where_it_is(problem):
    clients, truth = problem
    far = np.vstack([truth.models[:2], 1e3 * np.ones(15)])
    fit = methods.IFCA(3, init=far, rounds=3, average="cluster").fit(clients)
    np.testing.assert_array_equal(fit.models_[2], far[2])


def test_one_feature_and_more_clusters_than_features():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=60)
    xs = [rng.standard_normal((30, 1)) for _ in range(60)]
    ys = [x[:, 0] * (-4.0, 0.0, 4.0)[z] for x, z in zip(xs, labels, strict=True)]
    fit = methods.TwoPhase(3, rounds=200).fit(Clients.from_arrays(xs, ys))
    np.testing.assert_allclose(np.sort(fit.models_[:, 0]), [-4, 0, 4], atol=1e-8)


@pytest.mark.parametrize("change", ["constant", "duplicate", "zero"])
def test_columns_without_information_do_no_harm(problem, change):
    clients, truth = problem
    extra = {"constant": 1.0, "duplicate": clients.points[:, 0], "zero": 0.0}[change]
    points = np.column_stack([clients.points, np.broadcast_to(extra, clients.n_points)])
    fit = methods.TwoPhase(3).fit(Clients(points, clients.offsets, clients.responses))
    assert clustering_accuracy(truth.labels, fit.labels_) == 1


@pytest.mark.parametrize("scale", [1e-50, 1e50])
def test_scale_of_the_data_does_not_matter(problem, scale):
    clients, truth = problem
    scaled = Clients(clients.points, clients.offsets, scale * clients.responses)
    fit = methods.TwoPhase(3).fit(scaled)
    assert clustering_accuracy(truth.labels, fit.labels_) == 1


@pytest.mark.parametrize("subspace", ["svd", "orthogonal_iteration"])
@pytest.mark.parametrize("scale", [2.0**-100, 0.125, 2.0**100])
def test_the_unit_of_the_features_does_not_change_phase_1(problem, scale, subspace):
    clients, _ = problem
    scaled = Clients(scale * clients.points, clients.offsets, scale * clients.responses)
    fits = [
        methods.TwoPhase(3, rounds=0, subspace=subspace, init=np.zeros(15)).fit(data)
        for data in (clients, scaled)
    ]
    np.testing.assert_allclose(*(fit.history_["models"] for fit in fits), rtol=1e-9)


def test_phase_2_of_two_phase_is_ifca_from_the_models_of_phase_1(problem):
    clients, _ = problem
    start = methods.TwoPhase(3, rounds=0).fit(clients).models_
    for average in ("all", "cluster"):
        two_phase = methods.TwoPhase(3, rounds=7, average=average).fit(clients)
        ifca = methods.IFCA(3, rounds=7, init=start, average=average).fit(clients)
        np.testing.assert_array_equal(two_phase.models_, ifca.models_)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scale_beyond_float64_is_an_error(problem, scale):
    clients, truth = problem
    for scaled in (
        Clients(scale * clients.points, clients.offsets, clients.responses),
        Clients(clients.points, clients.offsets, scale * clients.responses),
    ):
        for method in all_methods(truth).values():
            with pytest.raises(ValueError, match="Rescale"):
                method.fit(scaled)


def test_labels_follow_new_clients(problem):
    clients, _ = problem
    fit = methods.TwoPhase(3).fit(clients)
    half = np.arange(0, len(clients), 2)
    np.testing.assert_array_equal(fit.predict_clients(clients.subset(half)), fit.labels_[half])


def test_divergence_names_cluster_and_round(problem):
    clients, truth = problem
    for method in all_methods(truth, learning_rate=1e3).values():
        if not isinstance(method, methods.TwoPhase):
            with pytest.raises(DivergenceError, match=r"Cluster \d+ .* in round \d+"):
                method.fit(clients)


@pytest.mark.parametrize(("learning_rate", "exchanged"), [(0.01, 0), (None, 170)])
def test_communication_of_phase_2_is_one_model_up_and_k_down(problem, learning_rate, exchanged):
    clients, truth = problem
    oracle = methods.OracleClustering(truth.models, rounds=7, learning_rate=learning_rate)
    fit = oracle.fit(clients)
    # The default step needs a curvature of every client, and is sent to it.
    assert fit.communication_ == {
        "up": 7 * 170 * 15 + exchanged,
        "down": 7 * 170 * 45 + exchanged,
    }


def test_tolerance_ends_the_rounds(problem):
    clients, truth = problem
    for name, method in all_methods(truth, tol=1e-6, rounds=2000).items():
        fit = method.fit(clients)
        assert fit.converged_, name
        assert fit.n_rounds_ < 2000
        assert len(fit.history_["models"]) == fit.n_rounds_ + 1


@pytest.mark.parametrize(("n", "d", "rounds"), [(40, 5, 100), (30, 30, 300)])
def test_one_shot_labels_come_from_local_estimates_of_few_points_too(n, d, rounds):
    clients, truth = simulated(sizes=[n] * 60, d=d)
    fit = methods.OneShotClustering(3, rounds=rounds).fit(clients)
    assert clustering_accuracy(truth.labels, fit.labels_) == 1


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_local_estimates_equal_ridge_regression(ridge):
    clients, _ = simulated(sizes=[3, 0, 9, 40], d=5)
    expected = np.zeros((4, 5))
    for i, n in enumerate(clients.sizes):
        if n:
            x, penalty = clients[i], ridge * np.mean(clients[i] ** 2) * np.eye(5)
            expected[i] = np.linalg.pinv(x.T @ x / n + penalty) @ x.T @ clients.responses_of(i) / n
    np.testing.assert_allclose(local_estimates(rotate(clients), ridge), expected, atol=1e-11)


def test_one_shot_needs_as_many_clients_as_clusters():
    clients, _ = simulated(sizes=[10, 0])
    with pytest.raises(
        ValueError, match="n_clusters asks for 3, more than the 1 clients with points"
    ):
        methods.OneShotClustering(3).fit(clients)


def test_one_shot_needs_as_many_different_estimates_as_clusters():
    x = np.array([[1.0], [2.0]])
    equal = Clients.from_arrays([x] * 3, [3 * x[:, 0]] * 3)
    message = "n_clusters asks for 2, more than the 1 different local estimates"
    with pytest.raises(DataError, match=message):
        methods.OneShotClustering(2).fit(equal)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"local": "fedavgg"}, "Did you mean 'fedavg'"),
        ({"local_steps": 0}, "local_steps"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"gamma": 1.5}, "gamma"),
        ({"rounds": -1}, "rounds"),
        ({"tol": -1.0}, "tol"),
        ({"init": np.zeros(3)}, "shape"),
        ({"n_anchors": 1}, "n_anchors"),
        ({"phase1_rounds": 0}, "phase1_rounds"),
        ({"subspace": "svdd"}, "Did you mean 'svd'"),
        ({"subspace_rounds": 0}, "subspace_rounds"),
        ({"min_anchor_points": 1}, "min_anchor_points"),
        (
            {"min_anchor_points": 9, "fresh_clients": True},
            r"min_anchor_points to be at least 2 phase1_rounds = 10 with fresh_clients, got 9",
        ),
        ({"alpha": 0.0}, "alpha.* > 0"),
    ],
)
def test_wrong_parameters_are_named(problem, wrong, message):
    with pytest.raises(ValueError, match=message):
        methods.TwoPhase(**{"n_clusters": 3, **wrong}).fit(problem[0])


def test_points_of_another_width_are_refused(problem):
    clients, _ = problem
    fit = methods.TwoPhase(3, rounds=1).fit(clients)
    with pytest.raises(ValueError, match="fitted to 15 features"):
        fit.predict(Clients(np.ones((3, 2)), [0, 3], np.ones(3)))

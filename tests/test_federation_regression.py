"""What clients gain by exchange in regressions, against theory."""

import numpy as np
import pytest

from fedmix.experiments import federation_regression, federation_regression_mixture
from fedmix.experiments.base import Method
from fedmix.experiments.runner import Scenario

CLUSTERED = {
    "n_clients": 20,
    "points": 40,
    "n_large_clients": 0,
    "large_points": 40,
    "n_clusters": 3,
    "n_features": 10,
    "weights": None,
    "model_norm": 2.0,
    "noise": 0.5,
    "contamination": "sign_flip",
    "contaminated_share": 0.0,
    "rounds": 400,
    "n_anchors": None,
    "learning_rate": None,
}
MIXTURES = {
    "n_clients": 8,
    "n_points": 60,
    "n_test": 200,
    "n_features": 3,
    "n_components": 2,
    "separation": 4.0,
    "h": 0.0,
    "n_contaminated": 0,
    "outlier_distance": 3.0,
    "concentration": None,
    "initialization": "regression10",
    "max_rounds": 200,
    "tol": 1e-3,
    "final_radius_scale": [1.0],
}


def clustered(method, replications=1, **values):
    """Return the mean scores of a method where clients each follow one of k regressions."""
    setting = {**CLUSTERED, **values}
    scenario = Scenario("study", "as_written", "C1", "federation_regression", setting)
    found = []
    for replication in range(replications):
        streams = scenario.streams(replication)
        problem = federation_regression.make_problem(scenario.settings, None, streams)
        fit = federation_regression.run(
            Method(method, method), scenario.settings, problem, None, streams
        )
        found.append(fit.metrics)
    return {name: np.mean([one[name] for one in found]) for name in found[0]}


def mixtures(method, **values):
    """Return the scores of a method where every client holds a mixture of regressions."""
    setting = {**MIXTURES, **values}
    scenario = Scenario("study", "as_written", "C1", "federation_regression_mixture", setting)
    settings, streams = scenario.settings, scenario.streams(0)
    problem = federation_regression_mixture.make_problem(settings, None, streams)
    problem |= federation_regression_mixture.initial_values(settings, problem, None, streams)
    return federation_regression_mixture.run(method, settings, problem, None, streams).metrics


def test_alike_clients_gain_what_least_squares_on_all_their_points_does():
    found = clustered("FedAvg", replications=10, n_clusters=1)
    n, m, d = 40, 20, 10
    theory = np.sqrt((m * n - d - 1) / (n - d - 1))
    ratio = found["coefficient_error_alone"] / found["coefficient_error"]
    assert ratio == pytest.approx(theory, rel=0.1)
    gain = found["coefficient_error_alone"] - found["coefficient_error"]
    assert found["gain"] == pytest.approx(gain)


def test_alone_with_fewer_points_than_features_leaves_their_share_unknown():
    found = clustered("FedAvg", n_clients=100, points=10, n_features=40, noise=0.0)
    assert found["coefficient_error_alone"] == pytest.approx(np.sqrt(1 - 10 / 40), rel=0.02)


def test_a_federation_of_one_client_gains_nothing():
    found = clustered("FedAvg", n_clients=1, n_clusters=1)
    assert found["gain"] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("method", ["TwoPhase", "OneShotClustering", "OracleClustering"])
def test_methods_that_find_the_clusters_gain_as_much_as_the_clusters_hold(method):
    found = clustered(method, n_clients=60)
    assert found["coefficient_error"] < 0.4 * found["coefficient_error_alone"]
    assert found["harmed"] == 0.0


def test_one_model_for_all_harms_clients_that_can_do_without():
    found = clustered("FedAvg")
    assert found["gain"] < 0
    assert found["harmed"] == 1.0
    assert found["worst_decile"] < found["gain"]


def test_contaminated_clients_are_not_scored_and_spoil_nobodys_fit_alone():
    clean, spoiled = (clustered("OracleClustering", contaminated_share=s) for s in (0.0, 0.3))
    alone = "coefficient_error_alone"
    assert spoiled[alone] == pytest.approx(clean[alone], rel=0.2)
    assert spoiled["gain"] < clean["gain"]


@pytest.mark.parametrize("name", ["FedEM", "FedGrEM", "PooledEM"])
def test_a_federation_of_one_mixture_of_regressions_gains_exactly_nothing(name):
    found = mixtures(Method(name, name), n_clients=1)
    assert found["gain"] == found["harmed"] == 0.0


def test_mixtures_of_regressions_gain_while_alike_and_lose_when_unlike():
    alike = mixtures(Method("FedEM", "FedEM"), n_points=20)
    unlike = mixtures(Method("FedEM", "FedEM"), n_points=300, h=3.0)
    assert alike["gain"] > 0.02
    assert unlike["gain"] < -0.02

import json

import numpy as np
import pandas as pd
import pytest

from fedmix.errors import ConfigurationError
from fedmix.experiments import mixed_regression
from fedmix.experiments.base import Method
from fedmix.experiments.runner import Scenario, run_block, tables_of
from fedmix.partition import CONTAMINATIONS
from fedmix.simulate.mixed_regression import draw_clients, draw_truth

SETTING = {
    "n_clients": 60,
    "points": 8,
    "n_large_clients": 12,
    "large_points": 30,
    "n_clusters": 3,
    "n_features": 10,
    "weights": None,
    "model_norm": 2.0,
    "noise": 0.2,
    "contamination": "outlier",
    "contaminated_share": 0.0,
    "rounds": 120,
    "learning_rate": None,
    "n_anchors": None,
}
METHODS = [
    Method("TwoPhase-FedAvg-s1", "TwoPhase", {"local_steps": 1}),
    Method("TwoPhase-FedAvg-s5", "TwoPhase", {"local_steps": 5}),
    Method("IFCA", "IFCA"),
    Method("FedAvg", "FedAvg"),
    Method("OneShotClustering", "OneShotClustering"),
    Method("OracleClustering", "OracleClustering"),
]


def run(values, replications=range(2), chosen=METHODS):
    scenario = Scenario("study", "as_written", "C1", "mixed_regression", {**SETTING, **values})
    fits = run_block(scenario, chosen, replications)
    return pd.concat([tables_of(scenario, m, fits, replications)[0] for m in chosen])


@pytest.fixture(scope="module")
def results():
    return run({})


def final(results, method, metric):
    rows = results[results["round"].isna() & (results["metric"] == metric)]
    return rows.loc[rows["method"] == method, "value"].to_numpy()


def test_every_method_runs_and_keeps_its_trajectory(results):
    assert (results["status"] == "ok").all()
    rounds = results[results["round"].notna()].groupby("method")["round"].max()
    assert rounds["IFCA"] == 120
    assert rounds["TwoPhase-FedAvg-s5"] == 125


def test_two_phase_equals_the_oracle_at_the_end(results):
    ours = final(results, "TwoPhase-FedAvg-s5", "model_error")
    np.testing.assert_allclose(ours, final(results, "OracleClustering", "model_error"), rtol=1e-3)


def test_aliases_share_phase_1(results):
    paths = results[results["round"].notna() & (results["round"] <= 5)]
    one, five = (
        paths.loc[paths["method"] == f"TwoPhase-FedAvg-s{s}", "value"].to_numpy() for s in (1, 5)
    )
    np.testing.assert_array_equal(one, five)


def test_blocks_do_not_change_results(results):
    alone = run({}, range(1, 2), METHODS[1:2])
    wanted = (results["replication"] == 1) & (results["method"] == METHODS[1].name)
    together = results[wanted].reset_index(drop=True)
    # Beside methods without local steps their column is one of floats, with gaps.
    alone = alone.reset_index(drop=True).astype(together.dtypes)
    pd.testing.assert_frame_equal(alone, together)


def test_theory_stands_beside_what_is_seen(results):
    assert final(results, "IFCA", "theory_chi2")[0] > 0
    assert (final(results, "TwoPhase-FedAvg-s5", "theory_kappa") > 1).all()


def test_one_model_for_all_never_reaches_the_oracle(results):
    oracle = final(results, "OracleClustering", "model_error")
    assert (final(results, "TwoPhase-FedAvg-s5", "model_error") <= 1.1 * oracle).all()
    assert (final(results, "FedAvg", "model_error") > 1.1 * oracle).all()


@pytest.mark.parametrize("kind", CONTAMINATIONS["responses"])
def test_contamination_spoils_the_chosen_clients_alone(kind):
    truth = draw_truth(np.random.default_rng(0), [20] * 10, n_features=4, contaminated_share=0.3)
    assert truth.contaminated.sum() == 3
    clean = draw_truth(np.random.default_rng(0), [20] * 10, n_features=4)
    spoiled = draw_clients(np.random.default_rng(1), truth, contamination=kind)
    kept = draw_clients(np.random.default_rng(1), clean)
    for k in range(10):
        same = np.array_equal(spoiled.responses_of(k), kept.responses_of(k))
        assert same != truth.contaminated[k]
        np.testing.assert_array_equal(spoiled[k], kept[k])


@pytest.mark.parametrize(
    ("share", "n"), [(0.0, 0), (0.29, 29), (0.295, 29), (0.999, 99), (1.0, 100)]
)
def test_the_number_of_contaminated_clients_is_the_share_rounded_down(share, n):
    truth = draw_truth(np.random.default_rng(0), [3] * 100, contaminated_share=share)
    assert truth.contaminated.sum() == n


def test_contaminated_clients_do_not_count_for_accuracy():
    spoiled = {"contamination": "shuffled", "contaminated_share": 0.3}
    results = run(spoiled, range(1), METHODS[-1:])
    assert final(results, "OracleClustering", "clustering_accuracy") > 0.9


@pytest.mark.parametrize(
    "wrong", [{"weights": [0.5, 0.5]}, {"weights": [0.5, 0.6, 0.1]}, {"contaminated_share": 2.0}]
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        draw_truth(np.random.default_rng(0), [3, 3], **wrong)
    with pytest.raises(ConfigurationError, match="outlier"):
        draw_clients(
            np.random.default_rng(0), draw_truth(np.random.default_rng(0), [3]), 0.1, "outlyer"
        )


def test_points_are_drawn_again_equal_and_never_stored():
    scenario = Scenario("study", "as_written", "C1", "mixed_regression", SETTING)
    problem = mixed_regression.make_problem(scenario.settings, None, scenario.streams(0))
    assert sum(array.nbytes for array in problem.values()) < 5000
    first, again = (
        mixed_regression.clients(scenario.settings, problem, scenario.streams(0)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.points, again.points)
    np.testing.assert_array_equal(first.responses, again.responses)
    json.dumps({name: array.tolist() for name, array in problem.items()})

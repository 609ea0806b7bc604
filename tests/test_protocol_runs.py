"""Protocols run as the experiment does, and share their work."""

import numpy as np
import pandas as pd
import pytest

from fedmix import methods
from fedmix.data import Dataset
from fedmix.errors import DivergenceError
from fedmix.experiments.base import Method
from fedmix.experiments.runner import Scenario, problem_of, run_replication
from fedmix.protocols import Bench, Protocol

BLOBS = ("blobs", "raw")
SETTING = {
    "dataset": "blobs",
    "embedding": "raw",
    "partition": "uniform",
    "n_clients": 5,
    "train_fraction": 0.8,
    "n_components": 3,
}


def blobs(n=300):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=n)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    return {BLOBS: Dataset("blobs", centres[labels] + rng.normal(size=(n, 2)), labels)}


def protocol(name, parameters=None, **setting):
    chosen = {
        "scaling": "none",
        "initialization": "kmeans1",
        "alignment": "one_order",
        "contamination": "simulation",
        "contaminated": "last",
    }
    parameters = parameters or {"LocalEM": {}, "FedEM": {}}
    return Protocol(name, chosen | setting, [Method(m, m, own) for m, own in parameters.items()])


def run(protocols, cells=((0, 0), (2, 0), (0, 1)), data=None):
    metrics = {m.name: "misclustering" for p in protocols for m in p.methods}
    bench = Bench("real_clustering", "study", "n_contaminated", SETTING, metrics, data or blobs())
    return bench.run(protocols, cells)


def test_sharing_work_changes_no_result():
    several = [
        protocol("a"),
        protocol("b", contamination="sign_flip"),
        protocol("c", scaling="per_client", alignment="first_client"),
        protocol("d", {"FedEM": {"max_rounds": 3}, "PooledEM": {"init": "kmeans++"}}),
    ]
    together = run(several)
    alone = pd.concat([run([p], [cell]) for p in several for cell in ((0, 0), (2, 0), (0, 1))])
    by = ["protocol", "n_contaminated", "replication", "method"]
    pd.testing.assert_frame_equal(
        together.sort_values(by, ignore_index=True), alone.sort_values(by, ignore_index=True)
    )


def test_work_that_was_forgotten_is_done_again(monkeypatch):
    several = [protocol(s, scaling=s) for s in ("none", "tenth", "global", "none")]
    kept = run(several)
    monkeypatch.setattr("fedmix.protocols.real_clustering.RECENT", 1)
    pd.testing.assert_frame_equal(kept, run(several))


def test_the_experiment_itself_comes_to_the_same_errors():
    parameters = {
        "LocalEM": {},
        "FedEM": {"tol": {"value": 1e-3, "units": ["spread"]}},
        "FedGrEM": {"penalty_scale": {"value": 0.5, "units": ["spread"]}, "max_rounds": 20},
    }
    start = {"FedEM": {"initialization": "random", "alignment": "one_order"}}
    own = protocol("a", parameters, scaling="tenth", alignment="first_client", own_start=start)
    for row in run([own]).to_dict("records"):
        setting = {**SETTING, **own.setting, "n_contaminated": row["n_contaminated"]}
        scenario = Scenario("study", "", "blobs", "real_clustering", setting, blobs()[BLOBS])
        method = Method(row["method"], row["method"], parameters[row["method"]])
        replication = row["replication"]
        outcome = run_replication(scenario, method, replication, problem_of(scenario, replication))
        assert row["value"] == outcome.metrics["misclustering"]


def test_a_method_can_have_an_alignment_and_a_start_of_its_own():
    parameters = {"FedEM": {"max_rounds": 1}, "TGMM": {"max_rounds": 1}}
    shared = protocol("shared", parameters, initialization="random")
    own = {"initialization": "ward", "alignment": "first_client"}
    other = protocol("other", parameters, **own)
    mixed = protocol("mixed", parameters, initialization="random", own_start={"TGMM": own})
    cells = [(2, r) for r in range(4)]
    noise = Dataset("blobs", np.random.default_rng(1).normal(size=(300, 2)), np.arange(300) % 3)
    values = run([shared, other, mixed], cells, {BLOBS: noise}).pivot(
        index="replication", columns=["protocol", "method"], values="value"
    )
    assert (values["mixed"]["FedEM"] == values["shared"]["FedEM"]).all()
    assert (values["mixed"]["TGMM"] == values["other"]["TGMM"]).all()
    assert (values["mixed"]["TGMM"] != values["shared"]["TGMM"]).any()


def test_contamination_is_nothing_to_the_clean_row():
    runs = run([protocol("a"), protocol("b", contamination="shift", contaminated="random")])
    values = runs.pivot(
        index=["n_contaminated", "replication", "method"], columns="protocol", values="value"
    )
    assert (values["a"] == values["b"]).loc[0].all()
    assert (values["a"] != values["b"]).loc[2].any()


def test_local_methods_score_good_clients_as_in_the_clean_row():
    # The last two of five clients are contaminated; what the first three learn stays the same.
    runs = run([protocol("a", {"LocalEM": {}})], [(0, 0), (2, 0)])
    clean, contaminated = runs["value"]
    assert abs(clean - contaminated) < 0.1
    assert 0 <= contaminated < 0.1


def test_parameters_in_units_of_the_data_follow_its_scale():
    two_spreads = {"value": 2.0, "units": ["spread"]}
    parameters = {"FedGrEM": {"penalty_scale": two_spreads, "initial_penalty": 0.0}}
    small = blobs()[BLOBS]
    big = {BLOBS: Dataset("blobs", 1000 * small.features, small.labels)}
    seen = []
    original = methods.FedGrEM.fit

    def fit(self, clients):
        seen.append(self.penalty_scale)
        return original(self, clients)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods.FedGrEM, "fit", fit)
        for data in (blobs(), big):
            run([protocol("a", parameters)], [(0, 0)], data)
    assert seen[1] == pytest.approx(1000 * seen[0])


def test_fit_that_diverged_is_missing_and_the_others_go_on(monkeypatch):
    def diverge(self, clients):
        raise DivergenceError("not finite")

    monkeypatch.setattr(methods.FedEM, "fit", diverge)
    runs = run([protocol("a")], [(0, 0)]).set_index("method")["value"]
    assert np.isnan(runs["FedEM"])
    assert np.isfinite(runs["LocalEM"])


SIMULATION = {
    "model": "gaussian",
    "n_clients": 4,
    "n_points": {"gaussian": 100, "regression": 100},
    "outlier": {"gaussian": {"mean": 2.0, "variance": 3.0}, "regression": {"coefficient": 3.0}},
    "initialization": {"gaussian": "eee", "regression": "regression"},
    "density_floor": {"gaussian": None, "regression": None},
    "max_rounds": 20,
    "tol": 1e-4,
}


def simulate(protocols, h=(0.0, 1.0)):
    metrics = {m.name: "means_error" for p in protocols for m in p.methods}
    bench = Bench("mixture_simulation", "study", "h", SIMULATION, metrics)
    return bench.run(protocols, [(value, 0) for value in h])


def test_any_experiment_runs_as_it_does_by_itself():
    steps = [Method(f"F{step}", "FedGrEM", {"step_scale": step}) for step in (0.6, 0.9)]
    runs = simulate([Protocol("a", {}, steps)])
    assert list(runs) == ["protocol", "h", "replication", "method", "value"]
    for row in runs.to_dict("records"):
        own = Scenario("study", "", "simulated", "mixture_simulation", SIMULATION | {"h": row["h"]})
        method = next(m for m in steps if m.name == row["method"])
        outcome = run_replication(own, method, 0, problem_of(own, 0))
        assert row["value"] == outcome.metrics["means_error"]


def test_protocols_of_any_experiment_fill_settings():
    local = [Method("LocalEM", "LocalEM", {"max_rounds": 0})]
    ways = ("best_of_50_orders", "first_client", "truth", "none")
    protocols = [Protocol(way, {"alignment": way}, local) for way in ways]
    logs = [Protocol("logs", {"log_errors": True}, local)]
    runs = simulate(protocols + logs).set_index(["protocol", "h"])["value"]
    for way in ways:  # a local fit's error is taken under the best order of its own
        assert runs[way].tolist() == pytest.approx(runs["truth"].tolist())
    assert np.exp(runs["logs"]).tolist() == pytest.approx(runs["truth"].tolist())


def test_the_data_set_can_be_a_choice():
    setting = {"n_clients": 3, "partition": "dealt", "train_fraction": 0.7, "spared_classes": 0}
    setting |= {"dataset": "blobs", "embedding": "raw", "v": 1.0}
    kfed = [Method("KFED", "KFED", {})]
    small = blobs()[BLOBS]
    noise = np.random.default_rng(1).normal(size=small.features.shape)
    data = {BLOBS: small, ("noise", "raw"): Dataset("noise", noise, small.labels)}
    protocols = [Protocol("a", {}, kfed), Protocol("b", {"dataset": "noise"}, kfed)]
    metrics = {"KFED": "ari_pooled"}
    bench = Bench("federated_clustering", "study", "n_clients", setting, metrics, data)
    found = bench.run(protocols, [(3, 0)]).set_index("protocol")["value"]
    assert found["a"] > 0.9
    assert found["b"] < 0.2


def test_alignment_matters_to_what_is_pooled():
    pooled = [Method("TGMM", "TGMM", {})]
    protocols = [Protocol(way, {"alignment": way}, pooled) for way in ("truth", "none")]
    runs = simulate(protocols).set_index(["protocol", "h"])["value"]
    assert (runs["truth"] < runs["none"]).all()


def test_methods_can_start_at_a_contaminated_first_client():
    methods = {"LocalEM": {}, "PooledEM": {"max_rounds": 1}}
    runs = run([protocol(where, methods, contaminated=where) for where in ("last", "first")])
    values = runs.set_index(["n_contaminated", "protocol", "method", "replication"])["value"]
    clean, contaminated = values[0].unstack("protocol"), values[2].unstack("protocol")
    pd.testing.assert_series_equal(clean["first"], clean["last"], check_names=False)
    assert contaminated.loc[("PooledEM", 0), "first"] > contaminated.loc[("PooledEM", 0), "last"]

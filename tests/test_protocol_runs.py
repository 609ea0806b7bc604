"""Many protocols of one experiment: shared work changes nothing, failures are kept apart."""

import numpy as np
import pandas as pd
import pytest

from fedmix import methods
from fedmix.data import Dataset
from fedmix.errors import DivergenceError
from fedmix.protocols import Protocol, run_protocols

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
    return {"raw": Dataset("blobs", centres[labels] + rng.normal(size=(n, 2)), labels)}


def protocol(name, parameters=None, **setting):
    chosen = {
        "scaling": "none",
        "initialization": "kmeans1",
        "alignment": {"n_orders": 3},
        "contamination": "simulation",
        "contaminated": "last",
    }
    return Protocol(name, chosen | setting, parameters or {"LocalEM": {}, "FedEM": {}})


def run(protocols, cells=((0, 0), (2, 0), (0, 1))):
    return run_protocols("study", SETTING, protocols, cells, blobs())


def test_sharing_work_changes_no_result():
    several = [
        protocol("a"),
        protocol("b", contamination="sign_flip"),
        protocol("c", scaling="per_client", alignment={"method": "reference"}),
        protocol("d", {"FedEM": {"max_rounds": 3}, "PooledEM": {"init": "kmeans++"}}),
    ]
    together = run(several)
    alone = pd.concat([run([p], [cell]) for p in several for cell in ((0, 0), (2, 0), (0, 1))])
    by = ["protocol", "n_contaminated", "replication", "method"]
    pd.testing.assert_frame_equal(
        together.sort_values(by, ignore_index=True), alone.sort_values(by, ignore_index=True)
    )


def test_contamination_is_nothing_to_the_clean_row():
    runs = run([protocol("a"), protocol("b", contamination="shift", contaminated="random")])
    values = runs.pivot(
        index=["n_contaminated", "replication", "method"], columns="protocol", values="value"
    )
    assert (values["a"] == values["b"]).loc[0].all()
    assert (values["a"] != values["b"]).loc[2].any()


def test_local_methods_score_good_clients_as_in_the_clean_row():
    # The last two of five clients are contaminated; what the first three learn stays the same.
    data = blobs()
    local = {"LocalEM": {}}
    runs = run_protocols("study", SETTING, [protocol("a", local)], [(0, 0), (2, 0)], data)
    clean, contaminated = runs["value"]
    assert abs(clean - contaminated) < 0.1
    assert 0 <= contaminated < 0.1


def test_parameters_in_units_of_the_data_follow_its_scale():
    parameters = {"FedGrEM": {"penalty_scale": (2.0, ("spread",)), "initial_penalty": 0.0}}
    big = {"raw": Dataset("blobs", 1000 * blobs()["raw"].features, blobs()["raw"].labels)}
    seen = []
    original = methods.FedGrEM.fit

    def fit(self, clients):
        seen.append(self.penalty_scale)
        return original(self, clients)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods.FedGrEM, "fit", fit)
        for data in (blobs(), big):
            run_protocols("study", SETTING, [protocol("a", parameters)], [(0, 0)], data)
    assert seen[1] == pytest.approx(1000 * seen[0])


def test_fit_that_diverged_is_missing_and_the_others_go_on(monkeypatch):
    def diverge(self, clients):
        raise DivergenceError("not finite")

    monkeypatch.setattr(methods.FedEM, "fit", diverge)
    runs = run([protocol("a")], [(0, 0)]).set_index("method")["value"]
    assert np.isnan(runs["FedEM"])
    assert np.isfinite(runs["LocalEM"])

"""Results of FedGEM's public program on shared draws (see tests/data/fedgem_program).

Every method runs with the parameters of ``as_coded`` in the benchmark's study.
"""

from pathlib import Path

import numpy as np
import pytest

from configured_studies import configured_studies
from fedmix import Clients
from fedmix.experiments.base import Method
from fedmix.experiments.clustering import known_numbers
from fedmix.metrics.clustering import per_client_scores, pooled_scores
from fedmix.selection import choose
from fedmix.storage import read_arrays

FOLDER = Path(__file__).parent / "data/fedgem_program"
STUDY = configured_studies()["fedgem_benchmark"]
DATASETS = {"waveform": "waveform", "abalone": "abalone", "frog_a": "frog_a", "frog_b": "frog_b"}
DATASETS |= {"mnist": "mnist_vae"}
BASELINES = {
    "k_fed": "KFED",
    "fed_kmeans": "FedKMeans",
    "ffcm_avg1": "FFCM-avg1",
    "ffcm_avg2": "FFCM-avg2",
    "afcl": "AFCL",
    "gmm": "CentralGMM",
    "dpgmm": "CentralDPGMM",
}


class Program:
    """A data set's clients, draws, and what the program made of them."""

    def __init__(self, name):
        self.results = read_arrays(FOLDER / f"{name}.npz")
        self.train, self.test = (
            Clients(self.results[part], self.results[f"{part}_offsets"])
            for part in ("train", "test")
        )
        self.labels = self.test.split(self.results["test_labels"].astype(np.int64))
        self.setting = next(
            s
            for s in STUDY.settings.values()
            if s.variant == "as_coded" and s.values["dataset"] == DATASETS[name]
        )
        numbers = self.results["components_per_client"]
        seeds = np.split(self.results["seeds"], np.cumsum(numbers)[:-1])
        self.known = known_numbers(int(self.results["n_clusters"]), numbers)
        self.known |= {"random_state": 0, "starts": {"means": seeds}, "local_init": seeds}

    def build(self, name, **known):
        planned = STUDY.method_in(name, self.setting)
        method = Method(name, planned.estimator, planned.parameters)
        return method.build({**self.known, **known})


@pytest.fixture(scope="module", params=DATASETS)
def program(request):
    return Program(request.param)


@pytest.mark.parametrize("name", BASELINES)
def test_baseline_has_the_program_s_centres_and_scores(program, name):
    model = program.build(BASELINES[name]).fit(program.train)
    expected = program.results[f"{name}_centres"]
    np.testing.assert_allclose(model.cluster_centers_, expected, rtol=0, atol=1e-6)
    found = pooled_scores(program.test, program.labels, model.predict(program.test))
    scores = [found["ari_pooled"], found.get("silhouette_pooled", np.nan)]
    np.testing.assert_allclose(scores, program.results[f"{name}_scores"], rtol=0, atol=1e-6)


def test_fedgem_has_the_program_s_means_clusters_and_scores(program):
    model = program.build("FedGEM", final_radius_scale=float(program.results["v"]))
    model.fit(program.train)
    means = np.concatenate(model.means_)
    np.testing.assert_allclose(means, program.results["fedgem_centres"], rtol=0, atol=1e-6)
    assert model.n_clusters_ == program.results["fedgem_n_clusters"]
    found = per_client_scores(program.test, program.labels, model.predict(program.test))
    scores = [found["ari_per_client"], found["silhouette_per_client"]]
    np.testing.assert_allclose(scores, program.results["fedgem_scores"], rtol=0, atol=1e-6)


def test_v_is_scored_as_in_the_program(program):
    values = program.setting.values
    if not isinstance(values["v"], list):
        assert values["v"] == program.results["v"]
        return
    found = choose(
        program.build("FedGEM"),
        program.train,
        {"final_radius_scale": values["v"]},
        criterion="silhouette",
        average="mean",
        n_folds=values["n_folds"],
        n_splits=values["n_splits"],
        refit=False,
    )
    np.testing.assert_array_equal(program.results["candidates"], values["v"])
    np.testing.assert_allclose(
        found.scores["score"], program.results["candidate_scores"], rtol=0, atol=1e-6
    )
    assert found.best_parameters["final_radius_scale"] == program.results["v"]


def test_the_number_of_dp_gmm_is_that_of_the_components_in_use(program):
    model = program.build("CentralDPGMM").fit(program.train)
    assert model.n_clusters_ == program.results["dpgmm_n_clusters"]

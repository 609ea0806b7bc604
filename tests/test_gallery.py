"""Every example of the gallery draws one figure without a warning, and shows what its text says."""

import runpy
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from fedmix.methods import capabilities
from fedmix.metrics.matching import misclustering

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"


def run(name):
    """Return the variables that an example leaves."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return runpy.run_path(str(GALLERY / f"plot_{name}.py"))


def the_clusters_of_all_clients_have_common_labels(v):
    own, found = (np.concatenate(list(labels.values())) for labels in (v["labels"], as_dict(v)))
    assert misclustering(own, found) < 0.02
    assert v["model"].n_rounds_ == 1


def as_dict(v):
    return dict(zip(v["xs"], v["model"].labels_, strict=True))


def fedgrem_withstands_contamination_and_fedem_does_not(v):
    errors = {name: row.mean(axis=1) for name, row in v["errors"].items()}
    assert errors["FedGrEM"].max() < 8
    assert errors["FedGrEM"][0] < errors["LocalEM"][0]
    assert (errors["FedEM"][1:] > 20).all()


def the_chosen_v_gives_the_true_number(v):
    assert v["chosen"].best_estimator.n_clusters_ == len(v["centres"])
    assert v["numbers"][0] > 5 > v["numbers"][-1], (
        "a small v merges nothing, a large one everything"
    )


def methods_agree_and_most_find_the_number_of_clusters(v):
    true = np.concatenate(v["labels"])
    numbers = {name: len(np.unique(found)) for name, found in v["found"].items()}
    assert {name for name, number in numbers.items() if number != 3} == {"AFCL"}
    wrong = {name: misclustering(true, found) for name, found in v["found"].items()}
    assert max(wrong[name] for name in wrong.keys() - {"AFCL"}) < 0.1


def fedgrem_estimates_mixtures_of_regressions_best(v):
    median = {name: np.median(errors) for name, errors in v["errors"].items()}
    assert median["FedGrEM"] < 1 < median["FedEM"] < median["LocalEM"]


def the_two_phase_method_is_as_good_as_the_oracle(v):
    errors = {name: np.array(values) for name, values in v["errors"].items()}
    np.testing.assert_allclose(errors["TwoPhase"], errors["Oracle"], rtol=0.1)
    assert (errors["FedAvg"] > 1).all()
    assert np.median(errors["IFCA"]) > 0.3
    assert (errors["OneShotClustering"] > errors["Oracle"]).all()


def weights_are_those_of_the_clients(v):
    assert v["difference"] < 0.12


def the_two_phase_method_converges_and_ifca_often_does_not(v):
    last = {name: np.array([path[-1] for path in paths]) for name, paths in v["errors"].items()}
    assert (last["TwoPhase"] < 0.1).all()
    assert 0 < np.count_nonzero(last["IFCA"] > 1) < 8


def exchange_in_every_round_pays_and_hardly_depends_on_the_method(v):
    ranked = v["found"].ranks("ari_pooled").set_index("method")["mean_rank"]
    iterative, others = ["FedGrEM", "FedEM", "FedKMeans"], ["LocalEM", "KFED"]
    assert ranked[iterative].max() + 1 < ranked[others].min()
    assert np.ptp(ranked[iterative]) < 0.5


def coefficients_are_found_together_and_not_alone(v):
    assert np.median(v["error_alone"]) > 1
    assert v["error_together"].max() < 0.1


def a_new_client_is_labelled(v):
    assert misclustering(v["own"], v["labels"][0]) == 0
    assert np.bincount(v["own"]).min() <= 6


def the_penalty_that_is_chosen_suits_the_clients(v):
    similar, different = v["errors"].values()
    assert similar[0] > similar[-1]
    assert different[0] < different[-1]
    for difference, errors in v["errors"].items():
        chosen = errors[v["scales"].index(v["chosen"][difference])]
        assert chosen < min(errors) + 1.5, "percentage points"


def more_points_sent_serve_the_own_method(v):
    ranked = v["found"].ranks("ari_pooled").set_index("method")["mean_rank"]
    assert ranked["Sample(n_sent=20)"] < ranked["Sample(n_sent=2)"]


LESSONS = {
    "clusters": the_clusters_of_all_clients_have_common_labels,
    "compare": exchange_in_every_round_pays_and_hardly_depends_on_the_method,
    "contamination": fedgrem_withstands_contamination_and_fedem_does_not,
    "methods": methods_agree_and_most_find_the_number_of_clusters,
    "mixed_regression": coefficients_are_found_together_and_not_alone,
    "mixture_of_regressions": fedgrem_estimates_mixtures_of_regressions_best,
    "new_clients": a_new_client_is_labelled,
    "number_of_clusters": the_chosen_v_gives_the_true_number,
    "own_method": more_points_sent_serve_the_own_method,
    "penalty": the_penalty_that_is_chosen_suits_the_clients,
    "regressions": the_two_phase_method_is_as_good_as_the_oracle,
    "trajectories": the_two_phase_method_converges_and_ifca_often_does_not,
    "weights": weights_are_those_of_the_clients,
}


@pytest.fixture(autouse=True)
def clean_up():
    yield
    plt.close("all")
    capabilities._defined.clear()


def test_every_example_has_a_lesson():
    assert {path.stem for path in GALLERY.glob("plot_*.py")} == {f"plot_{name}" for name in LESSONS}


@pytest.mark.slow
@pytest.mark.parametrize("name", LESSONS)
def test_an_example_shows_what_it_says(name):
    found = run(name)
    assert len(plt.get_fignums()) == 1
    LESSONS[name](found)

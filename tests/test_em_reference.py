"""Results of the authors' public program, reproduced (see tests/data/fedgrem_gmm_h1)."""

from pathlib import Path

import numpy as np
import pytest

from fedmix import Clients, align, methods
from fedmix.alignment import alignment_score
from fedmix.initialization import initialize
from fedmix.metrics import estimation_error
from fedmix.storage import read_arrays

REFERENCE = read_arrays(Path(__file__).parent / "data" / "fedgrem_gmm_h1" / "reference.npz")
CLIENTS = Clients.from_arrays(list(REFERENCE["x"]))
INITIAL = (REFERENCE["init_w"], REFERENCE["init_theta"])
TRUE = (REFERENCE["true_w"], REFERENCE["true_theta"])
GOOD = range(9)

METHODS = {
    "fedgrem": ("FedGrEM", {"central_steps": 2, "safe_step": False}),
    "fedgrem_iter20": ("FedGrEM", {"central_steps": 21, "safe_step": False}),
    "fedem": ("FedEM", {}),
    "local_grem": ("LocalGradientEM", {}),
    "pooled_grem": ("PooledGradientEM", {}),
    "tgmm": ("TGMM", {}),
}


@pytest.mark.parametrize("rounds", [1, 10])
@pytest.mark.parametrize("name", METHODS)
def test_published_code_is_reproduced(name, rounds):
    method, parameters = METHODS[name]
    fitted = getattr(methods, method)(
        n_components=5, init=INITIAL, density_floor="zeros", max_rounds=rounds, **parameters
    ).fit(CLIENTS)
    weights = REFERENCE[f"{name}_T{rounds}_w"]
    means = REFERENCE[f"{name}_T{rounds}_theta"]
    n_clients = len(weights)  # one for the pooled method
    np.testing.assert_allclose(fitted.weights_[:n_clients], weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(fitted.means_[:n_clients], means, rtol=0, atol=1e-12)
    assert fitted.n_rounds_ == rounds


def test_exact_central_update_beats_the_published_passes():
    errors = {}
    for steps in (2, "exact"):
        fitted = methods.FedGrEM(
            n_components=5, init=INITIAL, central_steps=steps, max_rounds=200
        ).fit(CLIENTS)
        errors[steps] = estimation_error(fitted.weights_, fitted.means_, *TRUE, GOOD)[1]
    assert errors["exact"] < errors[2] - 0.05


def test_errors_agree_with_the_published_ones():
    weight_error, mean_error = estimation_error(*INITIAL, *TRUE, GOOD)
    assert weight_error == pytest.approx(0.048225504654492796, abs=1e-14)
    assert mean_error == pytest.approx(1.1643683435820658, abs=1e-14)


def test_alignment_reaches_the_published_score():
    permutations = align(REFERENCE["mclust_theta"])
    score = alignment_score(REFERENCE["mclust_theta"], permutations)
    assert score == pytest.approx(float(REFERENCE["alignment_score"]), rel=1e-12)


def test_the_start_of_mclust_is_reproduced():
    weights, means = initialize(CLIENTS, 5, "mclust")
    for k in range(10):
        errors = estimation_error(
            weights[[k]], means[[k]], REFERENCE["mclust_w"][[k]], REFERENCE["mclust_theta"][[k]]
        )
        assert max(errors) < 1e-10


def test_shared_covariance_start_agrees_with_mclust_on_most_clients():
    weights, means = initialize(CLIENTS, 5, "eee")
    distances = [
        estimation_error(
            weights[[k]], means[[k]], REFERENCE["mclust_w"][[k]], REFERENCE["mclust_theta"][[k]]
        )[1]
        for k in GOOD
    ]
    assert np.sum(np.array(distances) < 0.01) >= 7
    assert max(distances) < 0.5

"""The authors' public program on a mixture of regressions (see tests/data/fedgrem_regression)."""

from pathlib import Path

import numpy as np
import pytest

from fedmix import Clients, methods
from fedmix.storage import read_arrays

REFERENCE = read_arrays(Path(__file__).parent / "data" / "fedgrem_regression" / "reference.npz")
CLIENTS = Clients.from_arrays(list(REFERENCE["x"]), responses=list(REFERENCE["y"]))
INITIAL = (REFERENCE["init_w"], REFERENCE["init_theta"])

#: The parameters of fedgrem_simulation's variant as_coded.
METHODS = {
    "local_grem": ("LocalGradientEM", {"density_floor": "below"}),
    "pooled_grem": ("PooledGradientEM", {"density_floor": "below"}),
    "fedem": ("FedEM", {"density_floor": "zeros"}),
    "fedgrem": ("FedGrEM", {"density_floor": "below", "central_steps": 2, "safe_step": False}),
}


class FedGMMFromReference(methods.FedGMM):
    """FedGMM with the covariate components that mclust fitted."""

    def _start_covariates(self, clients):
        m = self.n_covariate_components
        self.covariate_means_ = REFERENCE["covariate_means"].copy()
        self.covariances_ = np.repeat(REFERENCE["covariances"][:, None], m, axis=1)
        self.joint_weights_ = np.repeat(self.weights_[:, None] / m, m, axis=1)


@pytest.mark.parametrize("rounds", [1, 10, 60])
@pytest.mark.parametrize("name", METHODS)
def test_published_code_is_reproduced(name, rounds):
    method, parameters = METHODS[name]
    fitted = getattr(methods, method)(
        n_components=4, family="regression", init=INITIAL, max_rounds=rounds, **parameters
    ).fit(CLIENTS)
    weights = REFERENCE[f"{name}_T{rounds}_w"]
    n_clients = len(weights)  # one for the pooled method
    np.testing.assert_allclose(fitted.weights_[:n_clients], weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        fitted.means_[:n_clients], REFERENCE[f"{name}_T{rounds}_theta"], rtol=0, atol=1e-9
    )
    assert fitted.n_rounds_ == rounds


@pytest.mark.parametrize("rounds", [1, 10])
def test_fedgmm_is_reproduced_from_the_same_covariate_components(rounds):
    fitted = FedGMMFromReference(
        n_components=4, init=INITIAL, covariances="first", density_floor="zeros", max_rounds=rounds
    ).fit(CLIENTS)
    for name, ours in {
        "w": fitted.weights_,
        "theta": fitted.means_,
        "mu": fitted.covariate_means_,
        "sigma": fitted.covariances_[0, 0],
    }.items():
        np.testing.assert_allclose(ours, REFERENCE[f"fedgmm_T{rounds}_{name}"], rtol=0, atol=1e-12)

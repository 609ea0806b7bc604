"""What experiments offer and methods take, and which experiments have shared initial values."""

import numpy as np
import pytest

from fedmix import methods
from fedmix.errors import ConfigurationError
from fedmix.experiments import settings
from fedmix.experiments.base import Method, told

KNOWN = {
    "n_clusters": 3,
    "components_per_client": 2,
    "random_state": 7,
    "starts": {"mixtures": ("weights", "means"), "model": "one model", "models": "k models"},
}


def test_a_method_takes_what_it_has_and_nothing_else():
    assert told(methods.FFCM, KNOWN) == {"n_clusters": 3, "random_state": 7}
    assert told(methods.FedGEM, KNOWN) == {"components_per_client": 2, "random_state": 7}


def test_a_method_starts_from_the_kind_of_start_that_it_declares():
    known = {**KNOWN, "n_components": 3}
    assert told(methods.FedEM, known)["init"] == ("weights", "means")
    assert told(methods.IFCA, known)["init"] == "k models"
    assert told(methods.FedAvg, known)["init"] == "one model"
    assert "init" not in told(methods.OneShotClustering, known)


def test_the_configuration_wins_over_what_the_experiment_knows():
    built = Method("mine", "FedEM", {"init": "ward", "n_components": 4}).build(KNOWN)
    assert built.init == "ward"
    assert built.n_components == 4


def test_a_need_that_nobody_knows_is_a_clear_error():
    with pytest.raises(ConfigurationError, match=r"FedEM needs 'n_components'.*It knows comp"):
        Method("FedEM", "FedEM").build(KNOWN)


def test_a_parameter_that_the_method_has_not_is_a_clear_error():
    with pytest.raises(ConfigurationError, match=r"FFCM has no parameter 'fuzifier'. Did you"):
        Method("mine", "FFCM", {"fuzifier": 2.0}).build(KNOWN)


def test_what_is_configured_is_no_open_choice():
    assert Method("FedGrEM", "FedGrEM").open_choices == ["penalty_scale"]
    assert Method("FedGrEM", "FedGrEM", {"penalty_scale": 1.0}).open_choices == []


@pytest.mark.parametrize("name", settings.names())
def test_every_experiment_with_settings_makes_and_runs_problems(name):
    module = __import__(f"fedmix.experiments.{name}", fromlist=["run"])
    assert callable(module.make_problem)
    assert callable(module.run)


def test_an_unknown_experiment_is_a_clear_error():
    with pytest.raises(ConfigurationError, match="Did you mean 'matrix'"):
        settings.declared("matrx")


def test_a_start_given_as_arrays_is_no_truth_value():
    known = {**KNOWN, "starts": {"models": np.ones((2, 2))}}
    np.testing.assert_array_equal(told(methods.IFCA, known)["init"], np.ones((2, 2)))

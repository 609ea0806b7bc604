"""What experiments declare, offer and share, and what their methods start from."""

import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import ClassVar, get_args

import numpy as np
import pytest
from pydantic import ValidationError

import small_run
from configured_studies import CONFIG, STUDY, options, spoil
from fedmix import experiments, methods
from fedmix.errors import ConfigurationError
from fedmix.experiments import (
    federated_clustering,
    mixed_regression,
    mixture_simulation,
    real_clustering,
)
from fedmix.experiments.base import Method, arguments_of
from fedmix.experiments.clustering import UNITS
from fedmix.experiments.runner import Scenario, run_block
from fedmix.experiments.settings import declared, names, units_of
from fedmix.initialization import INITIALIZATIONS
from fedmix.methods import capabilities
from fedmix.methods.base import FederatedEstimator, register
from fedmix.partition import CONTAMINATIONS, SCALINGS
from fedmix.partition.contamination import PLACES
from fedmix.pipeline.checking.studies import GIVEN, GIVEN_BY
from fedmix.pipeline.coverage import scenario_of
from fedmix.pipeline.request import read_request
from fedmix.simulate import isotropic_clusters
from fedmix.streams import Streams

KNOWN = {
    "n_clusters": 3,
    "components_per_client": 2,
    "random_state": 7,
    "starts": {"mixtures": ("weights", "means"), "model": "one model", "models": "k models"},
}


def choices(settings, name):
    return set(get_args(settings.model_fields[name].annotation))


@pytest.mark.parametrize("name", names())
def test_every_experiment_declares_settings_and_metrics_and_makes_and_runs_problems(name):
    settings, metrics = declared(name)
    module = import_module(f"fedmix.experiments.{name}")
    assert module.Settings is settings
    assert metrics
    assert set(units_of(name)) <= set(UNITS)
    for field in settings.model_fields.values():
        assert field.description.endswith("."), (name, field)
    assert callable(module.make_problem)
    assert callable(module.run)


def test_all_other_modules_are_known_as_no_experiments():
    modules = {path.stem for path in Path(experiments.__file__).parent.glob("[a-z]*.py")}
    others = {"base", "clustering", "given_clients", "runner", "settings"}
    assert set(names()) == modules - others


def test_declared_choices_are_those_of_the_code():
    real, regression = real_clustering.Settings, mixed_regression.Settings
    assert choices(real, "contaminated") == set(PLACES)
    assert choices(real, "contamination") == set(CONTAMINATIONS["points"])
    assert choices(real, "scaling") == set(SCALINGS)
    assert choices(real, "initialization") == set(INITIALIZATIONS["gaussian"])
    assert choices(regression, "contamination") == set(CONTAMINATIONS["responses"])
    simulated = declared("cluster_simulation")[0]
    assert choices(simulated, "imbalance") == set(isotropic_clusters.IMBALANCES)
    for model, known in INITIALIZATIONS.items():
        assert choices(mixture_simulation.Initializations, model) == set(known)


@pytest.mark.parametrize(
    ("given", "nearest"), [("real_clusterings", "real_clustering"), ("matrx", "matrix")]
)
def test_an_unknown_experiment_names_the_nearest(given, nearest):
    with pytest.raises(ConfigurationError, match=f"Did you mean '{nearest}'"):
        declared(given)


@pytest.mark.parametrize(
    "value", [True, "2.0", float("nan"), float("inf"), -1.0, 0, [], [0.0], None]
)
def test_a_radius_is_a_positive_number_or_several(value):
    values = {"dataset": "d", "embedding": "raw", "partition": "dealt", "n_clients": 2}
    values |= {"train_fraction": 0.5, "spared_classes": 0}
    federated_clustering.Settings(**values, v=2)
    federated_clustering.Settings(**values, v=[0.5, 2])
    with pytest.raises(ValidationError):
        federated_clustering.Settings(**values, v=value)


def test_planning_imports_no_numerical_library_for_settings():
    code = """if 1:
        import sys
        from fedmix.experiments.settings import declared, names
        for name in names():
            declared(name)
        assert not {"numpy", "pandas", "scipy", "sklearn", "numba"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_method_takes_what_it_has_and_nothing_else():
    assert arguments_of(methods.FFCM, KNOWN) == {"n_clusters": 3, "random_state": 7}
    assert arguments_of(methods.FedGEM, KNOWN) == {"components_per_client": 2, "random_state": 7}


def test_a_method_starts_from_the_kind_of_start_that_it_declares():
    known = {**KNOWN, "n_components": 3}
    assert arguments_of(methods.FedEM, known)["init"] == ("weights", "means")
    assert arguments_of(methods.IFCA, known)["init"] == "k models"
    assert arguments_of(methods.FedAvg, known)["init"] == "one model"
    assert "init" not in arguments_of(methods.OneShotClustering, known)


def test_the_configuration_wins_over_what_the_experiment_knows():
    built = Method("mine", "FedEM", {"init": "ward", "n_components": 4}).build(KNOWN)
    assert built.init == "ward"
    assert built.n_components == 4


def test_a_need_that_nobody_knows_is_a_clear_error():
    with pytest.raises(ConfigurationError, match=r"FedEM needs 'n_components'.*It provides comp"):
        Method("FedEM", "FedEM").build(KNOWN)


def test_a_parameter_that_the_method_has_not_is_a_clear_error():
    with pytest.raises(ConfigurationError, match=r"FFCM has no parameter 'fuzifier'. Did you"):
        Method("mine", "FFCM", {"fuzifier": 2.0}).build(KNOWN)


def test_what_is_configured_is_no_open_choice():
    assert Method("FedGrEM", "FedGrEM").open_choices == ["penalty_scale"]
    assert Method("FedGrEM", "FedGrEM", {"penalty_scale": 1.0}).open_choices == []


def test_a_start_given_as_arrays_is_no_truth_value():
    known = {**KNOWN, "starts": {"models": np.ones((2, 2))}}
    np.testing.assert_array_equal(arguments_of(methods.IFCA, known)["init"], np.ones((2, 2)))


MIXTURES = {
    "model": "regression",
    "h": 0.0,
    "n_clients": 3,
    "n_points": {"gaussian": 60, "regression": 60},
    "outlier": {"gaussian": {"mean": 2.0, "variance": 3.0}, "regression": {"coefficient": 3.0}},
    "density_floor": {},
    "max_rounds": 10,
    "tol": 0.0,
}


def error(parameters, strategy):
    starts = {"gaussian": "eee", "regression": strategy}
    setting = mixture_simulation.Settings(**MIXTURES, initialization=starts)
    streams = Streams("study", "setting", 0)
    problem = mixture_simulation.make_problem(setting, None, streams)
    problem |= mixture_simulation.initial_values(setting, problem, None, streams)
    method = Method("PooledEM", "PooledEM", {"max_rounds": 0, **parameters})
    found = mixture_simulation.run(method, setting, problem, None, streams)
    return found.metrics["means_error"]


@pytest.mark.parametrize("strategy", ["regression", "mixreg"])
def test_a_method_may_run_the_setting_s_strategy_itself(strategy):
    own = error({"init": None}, strategy)
    assert own == error({"init": strategy}, strategy)
    assert own != error({}, strategy)  # that of the first client


class NeedsMore(FederatedEstimator):
    """Needs a value that no experiment gives, so that the error names those that it gives."""

    families: ClassVar = ("gaussian", "regression")
    needs: ClassVar = ("more",)
    constraints: ClassVar = {"more": ["integer >= 1", None], "family": ["string"]}

    def __init__(self, more=None, family="gaussian", random_state=0):
        self.more, self.family, self.random_state = more, family, random_state

    def _fit(self, clients):
        raise NotImplementedError

    def _predict(self, clients):
        raise NotImplementedError


def test_a_check_knows_what_each_simulation_gives_to_methods(tmp_path):
    register(NeedsMore)
    request = small_run.request_in(tmp_path)
    given = {}
    for study in request.studies.values():
        setting = next(iter(study.settings.values()))
        if not setting.embedded and study.experiment not in given:
            scenario = Scenario(**scenario_of(study, setting))
            with pytest.raises(ConfigurationError, match="'more', which this study") as error:
                run_block(scenario, [Method("NeedsMore", "NeedsMore")], [0])
            provided = str(error.value).partition("It provides ")[2].strip(".").split(", ")
            given[study.experiment] = [name for name in GIVEN if name in provided]
    capabilities._defined.clear()
    assert len(given) > 6
    assert given == {name: list(GIVEN_BY.get(name, GIVEN[:-1])) for name in given}


def test_a_method_whose_needs_an_experiment_does_not_give_is_found_before_any_run(tmp_path):
    shutil.copytree(CONFIG, tmp_path / "config")
    spoil(tmp_path / "config" / STUDY, "\nmethods:\n", "\nmethods:\n  - FedGEM\n  - KFED\n")
    with pytest.raises(ConfigurationError) as error:
        read_request(tmp_path / "config", options(), tmp_path)
    said = "gives only n_components. Add what is missing to `parameters`"
    told = str(error.value)
    assert f"FedGEM needs components_per_client, and the experiment real_clustering {said}" in told
    assert "KFED needs components_per_client, n_clusters, and" in told


def test_more_replications_of_a_method_than_of_its_study_are_refused(tmp_path):
    shutil.copytree(CONFIG, tmp_path / "config")
    more = "\nmethods:\n  - {name: CentralGMM, replications: 201}\n"
    spoil(tmp_path / "config" / STUDY, "\nmethods:\n", more)
    with pytest.raises(ConfigurationError, match="replications: the study has only 200 repl"):
        read_request(tmp_path / "config", options(), tmp_path)

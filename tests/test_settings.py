"""What experiments declare is what their code knows, and costs planning nothing."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

from fedmix import experiments
from fedmix.errors import ConfigurationError
from fedmix.experiments.settings import (
    declared,
    federated_clustering,
    mixed_regression,
    mixture_simulation,
    names,
    real_clustering,
    units_of,
)
from fedmix.experiments.units import UNITS
from fedmix.initialization import INITIALIZATIONS
from fedmix.partition import CONTAMINATIONS, SCALINGS
from fedmix.partition.contamination import PLACES
from fedmix.simulate import isotropic_clusters

ROOT = Path(__file__).parents[1]


def choices(settings, name):
    return set(get_args(settings.model_fields[name].annotation))


def test_every_experiment_declares_settings_and_metrics():
    modules = {path.stem for path in Path(experiments.__file__).parent.glob("[a-z]*.py")}
    assert set(names()) == modules - {"base", "runner", "units"}
    for name in names():
        settings, metrics = declared(name)
        assert import_module(f"fedmix.experiments.{name}").Settings is settings
        assert metrics
        assert set(units_of(name)) <= set(UNITS)
        for field in settings.model_fields.values():
            assert field.description.endswith("."), (name, field)


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


def test_an_unknown_experiment_names_the_nearest():
    with pytest.raises(ConfigurationError, match="Did you mean 'real_clustering'"):
        declared("real_clusterings")


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

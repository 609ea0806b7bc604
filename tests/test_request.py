"""The configuration that is shipped, and what a wrong one is told."""

import inspect
import shutil
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from fedmix import methods
from fedmix.configuration import read_yaml
from fedmix.errors import ConfigurationError
from fedmix.pipeline.request import embedded_path, read_request

ROOT = Path(__file__).parents[1]
PRESETS = sorted(path.stem for path in (ROOT / "config" / "presets").glob("*.yaml"))


def options(**changes):
    return {**read_yaml(ROOT / "config" / "config.yaml"), **changes}


@pytest.fixture
def folder(tmp_path):
    """A copy of the configuration that a test may spoil."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    shutil.copytree(ROOT / "workflow" / "schemas", tmp_path / "workflow" / "schemas")
    return tmp_path / "config"


def edit(path, change):
    document = yaml.safe_load(path.read_text())
    change(document)
    path.write_text(yaml.safe_dump(document))


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_resolves_and_shows_something(preset, tmp_path):
    request = read_request(ROOT / "config", options(preset=preset), tmp_path)
    assert request.studies
    assert request.items


@pytest.mark.parametrize("preset", PRESETS)
def test_every_method_is_given_parameters_that_it_has(preset, tmp_path):
    request = read_request(ROOT / "config", options(preset=preset), tmp_path)
    for study in request.studies.values():
        for setting in study.settings.values():
            for name in study.methods_of(setting):
                method = study.method_in(name, setting)
                known = inspect.signature(methods.get(method.estimator)).parameters
                assert set(method.parameters) <= set(known), (study.name, name)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_experiment_and_builder_exists(preset, tmp_path):
    request = read_request(ROOT / "config", options(preset=preset), tmp_path)
    for study in request.studies.values():
        module = import_module(f"fedmix.experiments.{study.experiment}")
        assert all(hasattr(module, f) for f in ("make_problem", "initial_values", "run"))
    for item in request.items.values():
        if item.kind == "figure":
            assert hasattr(import_module(f"fedmix.views.figures.{item.builder}"), "draw"), item.name


def test_the_quick_preset_needs_no_network(tmp_path):
    request = read_request(ROOT / "config", options(preset="quick"), tmp_path)
    for dataset, _ in request.embeddings():
        assert any("files" not in s for s in request.datasets[dataset]["sources"]), dataset


def test_one_replication_number_overrides_every_study(tmp_path):
    request = read_request(ROOT / "config", options(replications=7, block=3), tmp_path)
    for study in request.studies.values():
        for setting in study.settings.values():
            for method in study.methods_of(setting):
                assert study.blocks_of(method, setting) == ["0-2", "3-5", "6-6"]


def test_optional_settings_wait_for_their_embedding(folder, tmp_path):
    path = folder / "papers" / "fedgrem" / "studies" / "fedgrem_real.yaml"
    edit(path, lambda study: study["settings"][0].update(optional=True))
    without = read_request(folder, options(preset="paper"), tmp_path)
    assert any("pendigits/raw.npz is not at hand" in reason for reason in without.left_out)
    place = tmp_path / embedded_path({"dataset": "pendigits", "embedding": "raw"})
    place.parent.mkdir(parents=True)
    place.touch()
    present = read_request(folder, options(preset="paper"), tmp_path)
    assert not any("pendigits" in reason for reason in present.left_out)
    more = present.studies["fedgrem_real"].settings
    assert len(more) > len(without.studies["fedgrem_real"].settings)


def spoil_dataset(study):
    study["settings"][0]["dataset"] = "pendigit"


def spoil_embedding(study):
    study["settings"][0]["embedding"] = "rwa"


def spoil_method(study):
    study["methods"].append("FedGREM")


def spoil_key(study):
    study["replication"] = 3


def spoil_contamination(study):
    study["settings"][0]["n_contaminated"] = 23


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (spoil_dataset, "unknown data set 'pendigit'. Did you mean 'pendigits'"),
        (spoil_embedding, "'pendigits' has no embedding 'rwa'. Did you mean 'raw'"),
        (spoil_method, "unknown method 'FedGREM'. Did you mean 'FedGrEM'"),
        (spoil_key, "unknown key 'replication'. Did you mean 'replications'"),
        (spoil_contamination, "23 of 44 clients contaminated: at most one half"),
    ],
)
def test_a_wrong_study_is_told_what_and_where(folder, spoil, says):
    edit(folder / "papers" / "fedgrem" / "studies" / "fedgrem_real.yaml", spoil)
    with pytest.raises(ConfigurationError, match=rf"studies/fedgrem_real.yaml.*{says}"):
        read_request(folder, options(preset="paper"))


def test_a_wrong_option_preset_estimator_or_item_is_told_too(folder):
    with pytest.raises(ConfigurationError, match=r"unknown key 'mirorr'. Did you mean 'mirror'"):
        read_request(folder, options(mirorr="x"))
    with pytest.raises(ConfigurationError, match="Did you mean 'quick'"):
        read_request(folder, options(preset="quik"))
    with pytest.raises(ConfigurationError, match="replications"):
        read_request(folder, options(replications=0))
    edit(folder / "methods.yaml", lambda m: m["FedGrEM"].update(estimator="FedGrM"))
    with pytest.raises(ConfigurationError, match=r"unknown estimator 'FedGrM'. Did you mean"):
        read_request(folder, options())


def test_an_item_of_an_unknown_study_is_told(folder):
    change = {"study": "fedgrem_reall"}
    edit(
        folder / "papers" / "fedgrem" / "tables.yaml", lambda i: i["fedgrem_table1"].update(change)
    )
    with pytest.raises(ConfigurationError, match=r"unknown study 'fedgrem_reall'. Did you mean"):
        read_request(folder, options())

import pytest
import yaml

from fedmix.configuration import merged, raise_all, read_yaml, validate
from fedmix.errors import ConfigurationError
from fedmix.pipeline.plan import plan_study, replications_of

METHODS = {
    "FedGrEM": {"estimator": "FedGrEM", "label": "FedGrEM", "parameters": {"step_scale": 0.9}},
    "FedGMM": {"estimator": "FedGMM", "label": "Fed-GMM"},
}


def document(**changes):
    base = yaml.safe_load("""
        paper: fedgrem
        experiment: mixture_simulation
        replications: 50
        block: 20
        constants: {n: 150, outlier: {mean: 2.0, sd: 1.0}}
        settings: [{model: [gaussian, regression], h: [0.0, 0.5]}]
        setting_id: "{model}-h{h}"
        variants:
          as_written: {}
          as_coded: {constants: {outlier: {mean: 2.5}}, methods: {FedGrEM: {central_steps: 2}}}
        methods: [FedGrEM, {name: FedGMM, where: {model: [regression]}}]
    """)
    return {**base, **changes}


def test_settings_are_the_product_of_variants_and_grid():
    study = plan_study("s", document(), METHODS)
    assert len(study.settings) == 8
    setting = study.settings["as_coded.regression-h0.5"]
    assert setting.values["outlier"] == {"mean": 2.5, "sd": 1.0}
    assert setting.name == "regression-h0.5"


def test_a_variant_changes_its_methods_only_there():
    study = plan_study("s", document(), METHODS)
    written, coded = (study.settings[f"{v}.gaussian-h0.0"] for v in ("as_written", "as_coded"))
    assert study.method_in("FedGrEM", written).parameters == {"step_scale": 0.9}
    assert study.method_in("FedGrEM", coded).parameters == {"step_scale": 0.9, "central_steps": 2}


def test_what_a_variant_says_of_a_method_holds_for_its_aliases():
    alias = {"name": "FedGrEM-0.5", "method": "FedGrEM", "parameters": {"step_scale": 0.5}}
    study = plan_study("s", document(methods=["FedGrEM", alias]), METHODS)
    coded = study.settings["as_coded.gaussian-h0.0"]
    assert study.method_in("FedGrEM-0.5", coded).parameters == {
        "step_scale": 0.5,
        "central_steps": 2,
    }


def test_a_method_runs_only_where_it_may():
    study = plan_study("s", document(), METHODS)
    assert study.methods_of(study.settings["as_coded.gaussian-h0.0"]) == ["FedGrEM"]
    assert study.methods_of(study.settings["as_coded.regression-h0.0"]) == ["FedGrEM", "FedGMM"]


def test_without_variants_the_folder_is_the_setting():
    study = plan_study("s", document(variants=None), METHODS)
    assert "gaussian-h0.0" in study.settings


def blocks(**changes):
    study = plan_study("s", document(**changes), METHODS)
    return study.blocks_of("FedGrEM", study.settings["as_coded.gaussian-h0.0"])


def test_blocks_cover_all_replications_and_stay_when_more_are_added():
    few, many = blocks(replications=40), blocks(replications=60)
    assert many[: len(few)] == few == ["0-19", "20-39"]
    covered = [r for b in many for r in replications_of(b)]
    assert covered == list(range(60))


def test_a_slow_method_or_a_variant_may_have_fewer_replications():
    slow = [{"name": "FedGrEM", "replications": 30}]
    assert blocks(replications=60, methods=slow) == ["0-19", "20-29"]
    assert blocks(replications=10, methods=slow) == ["0-9"]
    fewer = {"variants": {"as_coded": {"replications": 20}}}
    assert blocks(replications=60, **fewer) == ["0-19"]
    assert blocks(replications=60, methods=slow, **fewer) == ["0-19"]


def test_of_several_conditions_one_must_hold():
    where = [{"model": "regression"}, {"variant": "as_coded", "h": 0.0}]
    study = plan_study("s", document(methods=[{"name": "FedGrEM", "where": where}]), METHODS)
    there = {name for name, s in study.settings.items() if study.methods_of(s)}
    assert there == {
        "as_written.regression-h0.0",
        "as_written.regression-h0.5",
        "as_coded.regression-h0.0",
        "as_coded.regression-h0.5",
        "as_coded.gaussian-h0.0",
    }


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"methods": ["FedGREM"]}, "unknown method 'FedGREM'. Did you mean 'FedGrEM'"),
        ({"setting_id": "{model}"}, "two settings share the id"),
        ({"setting_id": "{modle}"}, "names 'modle'.*Did you mean 'model'"),
        (
            {"variants": {"a": {"methods": {"FedGM": {}}}}},
            "changes the unknown method 'FedGM'.*Did you mean 'FedGMM'",
        ),
    ],
)
def test_a_wrong_study_is_a_clear_error(changes, says):
    with pytest.raises(ConfigurationError, match=says):
        plan_study("s", document(**changes), METHODS)


def test_merging_keeps_what_is_not_changed_and_null_removes_a_mapping():
    base = {"a": {"x": 1, "y": 2}, "b": {"z": 3}, "c": 1}
    assert merged(base, {"a": {"y": 5}, "b": None, "c": None}) == {"a": {"x": 1, "y": 5}, "c": None}


def test_validation_reports_all_errors_with_nearest_names():
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"preset": {"enum": ["quick", "paper"]}, "block": {"type": "integer"}},
    }
    with pytest.raises(ConfigurationError) as caught:
        validate({"preset": "quik", "blok": 3, "block": "many"}, schema, "config.yaml")
    message = str(caught.value)
    assert "3 errors" in message
    assert "unknown key 'blok'. Did you mean 'block'" in message
    assert "config.yaml: preset: 'quik' is not valid. Did you mean 'quick'" in message
    assert "config.yaml: block" in message


def test_a_key_given_twice_is_refused(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text("block: 1\nblock: 2\n")
    with pytest.raises(ConfigurationError, match=r"study.yaml: key 'block' is given twice.*line 2"):
        read_yaml(path)


def test_a_missing_file_names_its_neighbours(tmp_path):
    (tmp_path / "quick.yaml").write_text("")
    with pytest.raises(ConfigurationError, match="Did you mean 'quick'"):
        read_yaml(tmp_path / "quik.yaml")


def test_no_error_raises_nothing():
    raise_all([])

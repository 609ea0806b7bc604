import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from fedmix.configuration import Document, merged, read_yaml
from fedmix.errors import ConfigurationError
from fedmix.pipeline.plan import combinations, plan_study, replications_of
from fedmix.pipeline.provenance import Brief

METHODS = {
    "FedGrEM": {"estimator": "FedGrEM", "label": "FedGrEM", "parameters": {"step_scale": 0.9}},
    "FedGMM": {"estimator": "FedGMM", "label": "Fed-GMM"},
}


def document(**changes):
    base = yaml.safe_load("""
        experiment: mixture_simulation
        replications: 50
        block: 20
        constants: {n: 150, outlier: {mean: 2.0, sd: 1.0}}
        settings: [{grid: {model: [gaussian, regression], h: [0.0, 0.5]}}]
        setting_id: "{model}-h{h}"
        variants:
          as_written: {}
          as_coded: {constants: {outlier: {mean: 2.5}}, methods: {FedGrEM: {central_steps: 2}}}
        methods: [FedGrEM, {name: FedGMM, where: {model: [regression]}}]
    """)
    return Document({**base, **changes}, (lambda keys: f"study.yaml:{'.'.join(map(str, keys))}",))


def test_settings_are_the_product_of_variants_and_grid():
    study = plan_study("s", "fedgrem", document(), METHODS)
    assert len(study.settings) == 8
    setting = study.settings["as_coded.regression-h0.5"]
    assert setting.values["outlier"] == {"mean": 2.5, "sd": 1.0}
    assert setting.name == "regression-h0.5"
    own = document(settings=[{"model": "regression", "h": 0.5, "outlier": {"mean": 3.0}}])
    setting = plan_study("s", "fedgrem", own, METHODS).settings["as_coded.regression-h0.5"]
    assert setting.values["outlier"] == {"mean": 3.0, "sd": 1.0}


def test_a_variant_changes_its_methods_only_there():
    study = plan_study("s", "fedgrem", document(), METHODS)
    written, coded = (study.settings[f"{v}.gaussian-h0.0"] for v in ("as_written", "as_coded"))
    assert study.method_in("FedGrEM", written).parameters == {"step_scale": 0.9}
    assert study.method_in("FedGrEM", coded).parameters == {"step_scale": 0.9, "central_steps": 2}


def test_what_a_variant_says_of_a_method_holds_for_its_aliases():
    alias = {"name": "FedGrEM-0.5", "method": "FedGrEM", "parameters": {"step_scale": 0.5}}
    study = plan_study("s", "fedgrem", document(methods=["FedGrEM", alias]), METHODS)
    coded = study.settings["as_coded.gaussian-h0.0"]
    assert study.method_in("FedGrEM-0.5", coded).parameters == {
        "step_scale": 0.5,
        "central_steps": 2,
    }
    variants = {"v": {"methods": {"FedGrEM": {"step_scale": 0.7}}}}
    mine = {"name": "mine", "method": "FedGrEM"}
    study = plan_study("s", "fedgrem", document(methods=[mine], variants=variants), METHODS)
    changed = study.method_in("mine", study.settings["v.gaussian-h0.0"])
    assert changed.parameters == {"step_scale": 0.7}


def test_a_method_that_varies_another_inherits_from_its_entries_and_its_own_parameters_win():
    changed = {"step_scale": 0.7, "tol": 1e-4, "penalty_scale": 2.0}
    listed = {"name": "FedGrEM", "parameters": changed}
    own = {"penalty_scale": 8.0, "central_steps": 5}
    mine = {"name": "mine", "method": "FedGrEM", "parameters": own}
    study = plan_study("s", "fedgrem", document(methods=[mine, listed]), METHODS)
    coded = study.settings["as_coded.gaussian-h0.0"]
    assert study.method_in("mine", coded).parameters == {"step_scale": 0.7, "tol": 1e-4, **own}


def test_a_variant_that_names_a_method_wins_over_its_own_parameters():
    mine = {"name": "mine", "method": "FedGrEM", "parameters": {"central_steps": 5}}
    variants = {"v": {"methods": {"FedGrEM": {"central_steps": 2}, "mine": {"central_steps": 1}}}}
    study = plan_study("s", "fedgrem", document(methods=[mine], variants=variants), METHODS)
    setting = study.settings["v.gaussian-h0.0"]
    assert study.method_in("mine", setting).parameters["central_steps"] == 1


def test_a_method_runs_only_where_it_may():
    study = plan_study("s", "fedgrem", document(), METHODS)
    assert study.methods_of(study.settings["as_coded.gaussian-h0.0"]) == ["FedGrEM"]
    assert study.methods_of(study.settings["as_coded.regression-h0.0"]) == ["FedGrEM", "FedGMM"]
    only = document(variants={"v": {"only": ["FedGMM"]}})
    study = plan_study("s", "fedgrem", only, METHODS)
    assert study.methods_of(study.settings["v.regression-h0.0"]) == ["FedGMM"]


def test_without_variants_the_folder_is_the_setting():
    without = document()
    del without.content["variants"]
    study = plan_study("s", "fedgrem", without, METHODS)
    assert "gaussian-h0.0" in study.settings
    without.content["setting_id"] = "{model}-h{h}-all"
    assert "gaussian-h0.0-all" in plan_study("s", "fedgrem", without, METHODS).settings


def test_a_list_outside_a_grid_is_a_value():
    entries = [{"sizes": [3, 4], "grid": {"model": ["gaussian", "regression"], "v": [[1, 2], 3]}}]
    changes = {"settings": entries, "setting_id": "{model}-v{v}", "variants": {"a": {}}}
    with pytest.raises(ConfigurationError, match=r"study.yaml.*cannot name a folder"):
        plan_study("s", "fedgrem", document(**changes), METHODS)
    found = list(combinations(document(**changes).content))
    assert [values["sizes"] for _, _, values in found] == [[3, 4]] * 4
    assert [values["v"] for _, _, values in found] == [[1, 2], 3] * 2
    assert {keys for _, keys, _ in found} == {("settings", 0)}


def blocks(**changes):
    study = plan_study("s", "fedgrem", document(**changes), METHODS)
    own = study.blocks(study.settings["as_coded.gaussian-h0.0"])
    return [block.name for block in own if "FedGrEM" in block.methods]


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
    more = {"variants": {"as_coded": {"replications": 40}}}
    assert blocks(replications=60, methods=slow, **more) == ["0-19", "20-29"]


def test_a_block_ends_where_the_replications_of_a_method_end():
    methods = [{"name": "FedGrEM", "replications": 30}, "FedGMM"]
    study = plan_study("s", "fedgrem", document(methods=methods), METHODS)
    setting = study.settings["as_coded.regression-h0.0"]
    assert [(block.name, block.methods) for block in study.blocks(setting)] == [
        ("0-19", ("FedGrEM", "FedGMM")),
        ("20-29", ("FedGrEM", "FedGMM")),
        ("30-49", ("FedGMM",)),
    ]
    for enough, numbers in (
        (40, {"FedGrEM": 30, "FedGMM": 40}),
        (70, {"FedGrEM": 30, "FedGMM": 50}),
    ):
        limited = replace(study, enough=lambda study, setting, enough=enough: enough)
        assert limited.replications_in(setting) == numbers


def test_of_several_conditions_one_must_hold():
    where = [{"model": "regression"}, {"variant": "as_coded", "setting": "gaussian-h0.0"}]
    study = plan_study(
        "s", "fedgrem", document(methods=[{"name": "FedGrEM", "where": where}]), METHODS
    )
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
        (
            {"setting_id": "{model}"},
            r"study\.yaml:settings\.0: two settings share the id 'as_written\.gaussian'",
        ),
        (
            {"variants": {"v": {"settings": [{"grid": {"model": ["a"], "h": [0.0, 0.0]}}]}}},
            r"study\.yaml:variants\.v\.settings\.0: two settings share",
        ),
        (
            {"setting_id": "{mode}"},
            r"study\.yaml:settings\.0: missing mode, which .*setting_id names\. .*has: .*model",
        ),
        ({"methods": ["FedGrEM", "FedGrEM"]}, "'FedGrEM' is listed twice"),
        ({"setting_id": "{model"}, "'{model' cannot be filled in: expected '}'"),
        ({"setting_id": "{outlier:d}"}, "cannot be filled in: unsupported format"),
        ({"setting_id": "{h:{width}}"}, "cannot be filled in: 'width'"),
        ({"setting_id": ".{model}-h{h}"}, r"'\.gaussian-h0\.0' cannot name .* no \. at its start"),
    ],
)
def test_a_wrong_study_is_a_clear_error(changes, says):
    with pytest.raises(ConfigurationError, match=says):
        plan_study("s", "fedgrem", document(**changes), METHODS)


def test_merging_keeps_what_is_not_changed_and_null_is_a_value():
    base = {"a": {"x": 1, "y": 2}, "b": {"z": 3}, "c": 1}
    changes = {"a": {"y": 5}, "b": None, "c": None}
    assert merged(base, changes) == {"a": {"x": 1, "y": 5}, "b": None, "c": None}


def test_two_variants_of_one_role_are_refused():
    same = {"a": {"role": "written"}, "b": {"role": "written"}}
    match = r"variants\.b\.role: a, b have the role 'written'"
    with pytest.raises(ConfigurationError, match=match):
        plan_study("s", "fedgrem", document(variants=same), METHODS)


def test_a_variant_that_names_no_role_decides_nothing_and_a_study_without_variants_is_the_texts():
    roles = {"a": {"role": "authors"}, "b": {}, "c": {"role": "diagnostic"}}
    study = plan_study("s", "fedgrem", document(variants=roles), METHODS)
    assert study.roles == {"a": "authors", "b": "diagnostic", "c": "diagnostic"}
    plain = document()
    plain.content.pop("variants", None)
    assert plan_study("s", "fedgrem", plain, METHODS).roles == {"default": "written"}


def test_a_method_is_called_as_it_is_registered_unless_its_parameters_differ():
    entries = read_yaml(Path(__file__).parents[1] / "config" / "methods.yaml")
    assert all(e["estimator"] == name for name, e in entries.items() if "parameters" not in e)


def test_a_registered_method_needs_no_entry():
    listed = ["LocalEM", {"name": "mine", "method": "FedEM"}]
    study = plan_study("s", "fedgrem", document(methods=listed), METHODS)
    assert {m.name: (m.estimator, m.label) for m in study.methods.values()} == {
        "LocalEM": ("LocalEM", "LocalEM"),
        "mine": ("FedEM", "mine"),
    }


def test_a_study_of_all_registered_methods_takes_the_first_entry_of_each():
    entries = {
        name: {"estimator": "FedEM", "label": name, "paper": "https://example.org"}
        for name in ("first", "second")
    }
    study = plan_study("s", "fedgrem", document(methods="registered"), entries)
    assert {"first", "LocalEM"} <= set(study.methods)
    assert not {"second", "FedEM"} & set(study.methods)
    assert study.methods["first"].estimator == "FedEM"
    assert study.methods["first"].paper == "https://example.org"
    assert study.methods["LocalEM"].paper == ""


def test_a_long_parameter_is_recorded_by_its_name_and_hash():
    brief = Brief("2 settings", {"a": {"h": 0.0, "sizes": [1, 2]}, "b": {"h": 1.0}})
    assert re.fullmatch(r"2 settings \([0-9a-f]{24}\)", repr(brief))
    assert repr(Brief("2 settings", {**brief, "b": {"h": 1.5}})) != repr(brief)
    layout = Brief("layout", {"title": "Table 1", "rows": list(range(1000))})
    assert re.fullmatch(r"layout \([0-9a-f]{24}\)", repr(layout))
    assert repr(Brief("layout", {**layout, "title": "Table 2"})) != repr(layout)
    assert pickle.loads(pickle.dumps(layout)) == layout
    sent = pickle.loads(pickle.dumps(brief))  # as Snakemake does for a job's script
    assert sent == dict(brief)
    assert repr(sent) == repr(brief)

"""Every effect in the register is that of one switch: the two readings differ in nothing else."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from configured_studies import CONFIG, configured_studies
from fedmix.cells.papers import read_discrepancies, read_papers
from fedmix.conditions import has_values
from fedmix.configuration import Document
from fedmix.pipeline.checking import Vocabulary
from fedmix.pipeline.checking.claims import discrepancy_errors
from fedmix.pipeline.plan import Setting, Study

ENTRIES = read_discrepancies(read_papers(CONFIG))
EFFECTS = [
    pytest.param(effect, id=f"{entry['id']}-{i}")
    for entry in ENTRIES
    for i, effect in enumerate(entry.get("effects", []))
]


def side_of(effect: Mapping[str, Any], side: str) -> tuple[str, list[Setting]]:
    """Return a reading's method and the settings in which that runs."""
    study = configured_studies()[effect["study"]]
    wanted = {**effect.get("where", {}), **effect[side]}
    method = wanted.pop("method", effect.get("method"))
    wanted.pop("metric", None)
    variant = wanted.pop("variant", next(iter(study.variants)))
    found = [
        setting
        for setting in study.settings.values()
        if setting.variant == variant
        and has_values(setting.values, wanted)
        and method in study.methods_of(setting)
    ]
    return method, found


def pairs_of(effect: Mapping[str, Any]) -> Iterator[tuple[Setting, Setting]]:
    """Yield the settings that are compared: those of one name, or the only ones there are."""
    before, after = side_of(effect, "from")[1], side_of(effect, "to")[1]
    if len(before) == len(after) == 1:
        yield before[0], after[0]
        return
    varied = effect["from"].keys() | effect["to"].keys()
    for a in before:
        kept = {key: value for key, value in a.values.items() if key not in varied}
        yield from ((a, b) for b in after if a.name == b.name or has_values(b.values, kept))


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def switched(study: Study, effect: Mapping[str, Any], before: Setting, after: Setting) -> set[str]:
    """Return the settings and the method's parameters in which two readings differ."""
    found = differences(before.values, after.values)
    old = study.method_in(side_of(effect, "from")[0], before)
    new = study.method_in(side_of(effect, "to")[0], after)
    if old.estimator == new.estimator:
        found |= differences(old.parameters, new.parameters)
    return found


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_effect_is_that_of_its_switch_alone(effect):
    study = configured_studies()[effect["study"]]
    named = effect.get("switch", [])
    expected = {named} if isinstance(named, str) else set(named)
    pairs = list(pairs_of(effect))
    assert pairs, "there is nothing to compare"
    for before, after in pairs:
        assert switched(study, effect, before, after) == expected, (before.folder, after.folder)


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_effect_varies_a_switch_a_method_or_a_metric(effect):
    if "switch" not in effect:
        assert effect["from"].keys() == effect["to"].keys()
        assert effect["from"].keys() <= {"method", "metric"}


def test_a_contrast_of_whole_variants_is_found_out():
    study = configured_studies()["fedgem_radius"]
    effect = {"study": "fedgem_radius", "method": "FedGEM", "metric": "ari_per_client"}
    effect |= {"from": {"variant": "as_written"}, "to": {"variant": "corrected"}}
    before, after = next(pairs_of(effect))
    assert {"radius", "direction"} < switched(study, effect, before, after)


def test_a_variant_may_run_some_methods_only():
    study = configured_studies()["fedgem_benchmark"]
    runs = {s.variant: study.methods_of(s) for s in study.settings.values()}
    assert runs["afcl_trained"] == ["AFCL"]
    assert len(runs["as_coded"]) == len(study.methods)


def test_a_switch_that_the_study_does_not_have_is_told():
    effect = {"study": "fedgem_radius", "method": "FedGEM", "metric": "ari_per_client"}
    effect |= {"from": {"variant": "as_written"}, "to": {"variant": "towards"}}
    studies = {"fedgem_radius": Vocabulary.of([configured_studies()["fedgem_radius"]])}

    def errors(switch):
        entry = {"effects": [{**effect, "switch": switch}]}
        return list(discrepancy_errors(Document(entry, (lambda keys: "here",)), studies))

    assert errors("direction") == errors(["direction", "v"]) == []
    (message,) = errors("directon")
    assert "unknown switch 'directon'. Did you mean 'direction'" in message


def test_no_two_methods_of_a_study_are_the_same():
    for study in configured_studies().values():
        for setting in study.settings.values():
            ran = [study.method_in(name, setting) for name in study.methods_of(setting)]
            kinds = {json.dumps([m.estimator, m.parameters], sort_keys=True) for m in ran}
            assert len(kinds) == len(ran), f"{study.name}/{setting.folder}"

"""The register is complete; its effects are measured, and each is that of one switch."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from configured_studies import CONFIG, configured_studies
from fedmix import methods
from fedmix.cells.discrepancies import NOT_MEASURED, measure_discrepancies, to_markdown
from fedmix.cells.papers import read_discrepancies, read_papers
from fedmix.conditions import has_values
from fedmix.configuration import Document
from fedmix.errors import ConfigurationError
from fedmix.pipeline.checking import Vocabulary
from fedmix.pipeline.checking.references import discrepancy_errors
from fedmix.pipeline.plan import Setting, Study
from made_up_claims import paper_folder
from synthetic_results import cells

ROOT = Path(__file__).parents[1]
NO_CELLS = cells().iloc[:0]


@pytest.fixture(scope="module")
def entries() -> list[dict]:
    return read_discrepancies(read_papers(ROOT / "config"))


def entry(**effect) -> dict:
    spec = {"label": "x", "study": "fedgem_benchmark", **effect}
    text = {"where": "here", "what": "something is written twice", "choice": "the first one"}
    return {"id": "e", "paper": "fedgem", "kind": "slip", **text, "effects": [spec]}


def test_every_paper_has_entries_and_every_entry_has_a_choice(entries):
    papers = [e["paper"] for e in entries]
    assert {p: papers.count(p) >= 4 for p in set(papers)} == dict.fromkeys(
        ["fedgrem", "mixed_regression", "fedgem"], True
    )
    assert all(e["choice"] for e in entries)


def test_without_results_effects_are_not_measured_yet(entries):
    table = measure_discrepancies(entries, NO_CELLS).set_index("id")
    assert table.effect["fedgem-metric"] == NOT_MEASURED
    assert "Nothing" in table.effect["fedgrem-footnote"]


def test_effects_between_variants_metrics_and_methods_are_measured(entries):
    table = measure_discrepancies(entries, cells()).set_index("id")
    assert "over 3 settings" in table.effect["two-phase-ifca-means"]
    assert "per client (as published) to pooled" in table.effect["fedgem-metric"]
    assert table.effect["fedgrem-local-lead"].count("change") == 2


def test_an_effect_is_the_paired_difference_of_the_two_readings():
    spec = {"method": "FedGEM", "where": {"dataset": "mnist", "variant": "as_coded"}}
    spec |= {"from": {"metric": "ari_per_client"}, "to": {"metric": "ari_pooled"}}
    text = measure_discrepancies([entry(**spec)], cells()).effect[0]
    chosen = cells()[(cells().setting_dataset == "mnist") & (cells().variant == "as_coded")]
    means = chosen[chosen.method == "FedGEM"].groupby("metric")["mean"].first()
    expected = means["ari_pooled"] - means["ari_per_client"]
    assert f"change {expected:+.3g}" in text
    assert "(n=12)" in text


def test_variants_that_ran_different_settings_are_not_compared():
    made = cells()
    own = made[(made["study"] == "fedgem_benchmark") & (made["method"] == "AFCL")]
    one, *_, other = own["setting"].unique()
    place = [("as_coded", one), ("corrected", other)]
    apart = own[[found in place for found in zip(own["variant"], own["setting"], strict=True)]]
    wanted = {"from": {"variant": "as_coded"}, "to": {"variant": "corrected"}}
    spec = entry(metric="ari_pooled", method="AFCL", **wanted)
    assert measure_discrepancies([spec], apart).effect.tolist() == [NOT_MEASURED]


def test_readings_that_vary_a_setting_are_matched_by_the_rest():
    spec = {"study": "fedgrem_real", "metric": "misclustering", "method": "FedEM"}
    spec |= {"where": {"dataset": "pendigits"}}
    spec |= {"from": {"n_contaminated": 0}, "to": {"n_contaminated": 9}}
    text = measure_discrepancies([entry(**spec)], cells()).effect[0]
    assert "over 2 settings" in text  # one for each variant
    assert text.split(",")[0].count(" %") == 2


def test_an_effect_does_not_mix_variants(entries):
    studies = configured_studies()
    for e in entries:
        for effect in e.get("effects", []):
            named = "variant" in {*effect.get("where", {}), *effect["from"], *effect["to"]}
            assert named or len(studies[effect["study"]].variants) < 2, (e["id"], effect["label"])


def test_the_page_of_the_register_is_up_to_date(entries):
    text = to_markdown(measure_discrepancies(entries, NO_CELLS), read_papers(ROOT / "config"))
    assert all(f"### {e['id']}" in text for e in entries)
    page = (ROOT / "docs/discrepancies.md").read_text()
    # Effects change with the runs; ids, places, descriptions and choices must be the register's.
    for e in entries:
        for part in (e["id"], e["where"], e["what"], e["choice"]):
            assert part in page


def test_a_malformed_register_is_refused_with_all_errors(tmp_path):
    malformed = {**entry(), "kind": "typo", "colour": 1}
    del malformed["paper"]
    with pytest.raises(ConfigurationError) as error:
        read_discrepancies(paper_folder(tmp_path, "discrepancies", [malformed]))
    assert "colour" in str(error.value)
    assert "'typo' is not valid" in str(error.value)


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
        defaults = getattr(methods, old.estimator)().get_params()
        found |= differences(defaults | dict(old.parameters), defaults | dict(new.parameters))
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
    studies = {"fedgem_radius": Vocabulary([configured_studies()["fedgem_radius"]])}

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


def test_a_paper_without_discrepancies_has_an_empty_page():
    measured = measure_discrepancies([], NO_CELLS)
    assert measured[measured["paper"] == "mine"].empty
    assert to_markdown(measured, read_papers(ROOT / "config")).count("##") == 0

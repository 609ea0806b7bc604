"""The register is complete, and its effects are measured, not typed."""

from pathlib import Path

import pytest

from configured_studies import configured_studies
from fedmix.cells.discrepancies import NOT_MEASURED, measure_discrepancies, to_markdown
from fedmix.cells.papers import read_discrepancies, read_papers
from fedmix.conditions import has_values
from fedmix.errors import ConfigurationError
from made_up_claims import paper_folder
from synthetic_results import cells

ROOT = Path(__file__).parents[1]


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


def test_effects_name_configured_variants_settings_and_methods(entries):
    for e in entries:
        for spec in e.get("effects", []):
            study = configured_studies()[spec["study"]]
            for side in ("from", "to"):
                wanted = {**spec.get("where", {}), **spec[side]}
                assert wanted.pop("method", spec.get("method")) in study.methods, e["id"]
                assert wanted.pop("metric", spec.get("metric")), e["id"]
                variant = wanted.pop("variant", next(iter(study.variants)))
                found = [s for s in study.settings.values() if s.variant == variant]
                assert any(has_values(s.values, wanted) for s in found), (e["id"], side)


def test_without_results_effects_are_not_measured_yet(entries):
    table = measure_discrepancies(entries).set_index("id")
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
    text = to_markdown(measure_discrepancies(entries), read_papers(ROOT / "config"))
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

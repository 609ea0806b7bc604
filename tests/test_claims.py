"""Claims are put to the results with their uncertainty."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from configured_studies import configured_studies
from fedmix.cells import predicates
from fedmix.cells.claims import CLAIM_VERDICTS, evaluate_claims, read_claims
from fedmix.cells.effects import Effect, mean_effect, paired_effect, unpaired_effect
from fedmix.cells.frame import make_cells
from fedmix.cells.papers import read_papers
from fedmix.cells.scorecard import cells_table, claims_table, scorecard
from fedmix.conditions import has_values
from fedmix.errors import ConfigurationError
from synthetic_results import PUBLISHED, RUN, cells, printed_numbers, results_and_timings

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def claims() -> list[dict]:
    return read_claims(read_papers(ROOT / "config"))


@pytest.fixture(scope="module")
def evaluated(claims) -> pd.DataFrame:
    return evaluate_claims(claims, cells(), results_and_timings()[0]).set_index("id")


def frame(values: dict[str, np.ndarray], metric: str = "error", **columns) -> pd.DataFrame:
    """Return results of one setting, one array a method."""
    rows = [
        {"study": "s", "variant": "v", "setting": "a", "method": m, "replication": r, "value": x}
        for m, xs in values.items()
        for r, x in enumerate(xs)
    ]
    return pd.DataFrame(rows).assign(metric=metric, status="ok", round=pd.NA, **RUN, **columns)


def paper_folder(folder: Path, name: str, entries: list[dict]) -> dict:
    """Return one paper that has nothing but these claims, or discrepancies."""
    shutil.copytree(ROOT / "workflow/schemas", folder / "workflow/schemas")
    paper = folder / "config/papers/fedgem"
    paper.mkdir(parents=True)
    shutil.copy(ROOT / "config/papers/fedgem/about.yaml", paper)
    (paper / f"{name}.yaml").write_text(yaml.safe_dump(entries))
    return read_papers(folder / "config")


def answer(results: pd.DataFrame, predicate: str, **parameters) -> pd.Series:
    claim = {"id": "c", "paper": "p", "section": "1", "claim": "?", "study": "s"}
    claim |= {"predicate": predicate, "parameters": parameters}
    measured = make_cells(results, pd.DataFrame(), [], PUBLISHED, paper="p", labels={})
    return evaluate_claims([claim], measured, results).iloc[0]


def test_at_least_35_claims_cover_all_three_papers(claims):
    assert len(claims) >= 35
    assert {claim["paper"] for claim in claims} == {"fedgrem", "mixed_regression", "fedgem"}


def test_claims_speak_of_configured_settings_and_methods(claims):
    for claim in claims:
        if "study" not in claim:
            continue
        study = configured_studies()[claim["study"]]
        where, parameters = claim.get("where", {}), claim["parameters"]
        places = [s for s in study.settings.values() if has_values(s.values, where)]
        assert places, claim["id"]
        for key in ("along", "per", "column", "by"):
            if key in parameters:
                assert any(parameters[key] in s.values for s in places), claim["id"]
        speaks_of_values = "at" in parameters  # `than` is then a setting's value
        keys = ("method", "to", "first", "middle", "last", *(() if speaks_of_values else ("than",)))
        for key in keys:
            named = parameters.get(key, [])
            named = [named] if isinstance(named, str) else named
            assert set(named) - set(study.methods) <= {"all", "FedGrEM-2.05"}, claim["id"]


def test_every_claim_gets_one_of_the_verdicts(claims, evaluated):
    assert len(evaluated) == len(claims)
    assert set(evaluated.verdict) <= set(CLAIM_VERDICTS)


def test_every_predicate_answers_on_results_of_the_pipelines_shape(claims, evaluated):
    answered = set(evaluated[evaluated.verdict != "not testable here"].index)
    used = {claim["predicate"] for claim in claims if claim["id"] in answered}
    # `fails` waits for a step constant beyond the printed ones.
    assert set(predicates.names()) - used <= {"fails"}


def test_known_truths_of_the_made_up_results_come_out(evaluated):
    assert evaluated.verdict["two-phase-beats-fedavg"] == "holds"
    assert evaluated.verdict["two-phase-more-steps-faster-c1"] == "holds"
    assert evaluated.verdict["ifca-arrives-c2"] == "does not hold"
    assert evaluated.verdict["fedgem-scales-better-than-afcl-in-clients"] == "holds"
    assert evaluated.verdict["fedgrem-gaussian-fedgmm"] == "not testable here"
    assert "response" in evaluated["where"]["fedgrem-gaussian-fedgmm"]


def test_claims_without_their_results_are_not_testable_and_say_why(claims):
    table = evaluate_claims(claims, cells().iloc[:0])
    assert set(table.verdict) == {"not testable here"}
    assert table["where"].str.len().min() > 10


def test_pairing_sees_what_the_spread_would_hide():
    rng = np.random.default_rng(0)
    common = rng.normal(0, 10, 20)
    results = frame({"A": common, "B": common + rng.normal(0.5, 0.1, 20)})
    parameters = {"metric": "error", "method": "A", "direction": "below", "than": "all"}
    assert answer(results, "ordered", **parameters).verdict == "holds"


def test_noise_is_undecided_and_neither_holds_nor_fails():
    rng = np.random.default_rng(1)
    results = frame({"A": rng.normal(0, 1, 5), "B": rng.normal(0, 1, 5)})
    parameters = {"metric": "error", "method": "A", "direction": "below", "than": ["B"]}
    assert answer(results, "ordered", **parameters).verdict == "undecided"


def test_one_replication_proves_nothing():
    results = frame({"A": [0.0], "B": [100.0]})
    parameters = {"metric": "error", "method": "A", "direction": "below", "than": ["B"]}
    assert answer(results, "ordered", **parameters).verdict == "undecided"


def test_a_claim_that_holds_somewhere_names_where():
    good = frame({"A": [1.0, 1.1, 0.9], "B": [2.0, 2.1, 1.9]}).assign(setting="good")
    bad = frame({"A": [3.0, 3.1, 2.9], "B": [2.0, 2.1, 1.9]}).assign(setting="bad", variant="w")
    parameters = {"metric": "error", "method": "A", "direction": "below", "than": "all"}
    found = answer(pd.concat([good, bad]), "ordered", **parameters)
    assert found.verdict == "holds only under named settings"
    assert found["where"] == "1 of 2 settings: v/good"
    assert [(b["variant"], b["verdict"]) for b in found.by_variant] == [
        ("v", "holds"),
        ("w", "does not hold"),
    ]


def test_failed_replications_are_no_values():
    results = frame({"A": [1.0, 1.0, 1.1], "B": [2.0, 2.1, 2.0]})
    results.loc[results.method == "B", "status"] = "diverged"
    parameters = {"metric": "error", "method": "A", "direction": "below", "than": "all"}
    assert answer(results, "ordered", **parameters).verdict == "not testable here"
    assert answer(results, "fails", method="B").verdict == "holds"
    assert answer(results, "fails", method="A").verdict == "does not hold"


def test_equivalence_needs_precision():
    wide = frame({"A": [0.0, 2.0, 1.0], "B": [1.0, 1.0, 1.0]})
    narrow = frame({"A": [1.0, 1.01, 0.99], "B": [1.0, 1.0, 1.0]})
    parameters = {"metric": "error", "method": "A", "to": "B", "tolerance": 0.1}
    assert answer(wide, "similar", **parameters).verdict == "undecided"
    assert answer(narrow, "similar", **parameters).verdict == "holds"


@pytest.mark.parametrize(("sign", "verdict"), [(1, "holds"), (-1, "does not hold")])
def test_a_trend_is_told_by_its_slope(sign, verdict):
    parts = [
        frame({"A": sign * h + np.array([0.0, 0.1, -0.1])}, setting_h=float(h)).assign(
            setting=f"h{h}"
        )
        for h in range(4)
    ]
    found = answer(
        pd.concat(parts), "trend", metric="error", method="A", along="h", direction="rising"
    )
    assert found.verdict == verdict


def test_effects_know_their_interval():
    effect = mean_effect([1.0, 2.0, 3.0])
    assert effect.se == pytest.approx(1 / np.sqrt(3))
    assert effect.half_width == pytest.approx(9.924843 * effect.se, rel=1e-6)
    assert (effect.above(), effect.below(), effect.below(10)) == ("unclear", "unclear", "yes")
    assert Effect(0.0, 0.0, 5).below() == "no"
    assert Effect(0.0, 0.0, 5).within(0.0) == "yes"


def test_only_shared_replications_are_paired():
    a = pd.Series([1.0, 2.0, 3.0], index=[0, 1, 2])
    b = pd.Series([0.0, 0.0], index=[2, 5])
    assert paired_effect(a, b).mean == 3.0
    assert paired_effect(a, b.iloc[1:]) is None
    assert unpaired_effect(a, b).n == 2


def test_a_claim_with_an_unknown_predicate_or_parameter_is_refused(tmp_path):
    base = {"section": "1", "claim": "A claim of some length.", "study": "s"}
    claims = [
        base | {"id": "a", "predicate": "ordred", "parameters": {}},
        base | {"id": "b", "predicate": "fails", "parameters": {"method": "A", "shares": 1}},
        base | {"id": "c", "predicate": "fails"},
    ]
    with pytest.raises(ConfigurationError, match="'c' occurs twice"):
        read_claims(paper_folder(tmp_path / "twice", "claims", [*claims, claims[-1]]))
    with pytest.raises(ConfigurationError) as error:
        read_claims(paper_folder(tmp_path / "wrong", "claims", claims))
    message = str(error.value)
    assert "Did you mean 'ordered'" in message
    assert "takes no 'shares'" in message
    assert "needs 'method'" in message


def test_the_scorecard_counts_every_cell_and_claim_once(claims):
    evaluated = evaluate_claims(claims, cells(), results_and_timings()[0])
    table = scorecard(cells(), evaluated)
    assert list(table.index) == ["mixed_regression", "fedgrem", "fedgem"]  # by year
    assert table.filter(like="cells: ").to_numpy().sum() == len(printed_numbers())
    assert table.filter(like="claims: ").to_numpy().sum() == len(claims)
    assert len(claims_table(evaluated)) == len(claims)
    assert len(cells_table(cells())) == (cells().verdict != "").sum()


def test_a_diagnostic_variant_decides_no_claim():
    good = frame({"A": [1.0, 1.1, 0.9], "B": [2.0, 2.1, 1.9]})
    results = pd.concat([good, good.assign(variant="trial", value=-good.value)])
    measured = make_cells(results, pd.DataFrame(), [], PUBLISHED, "p", {}, diagnostic=["trial"])
    claim = {"id": "c", "paper": "p", "section": "1", "claim": "?", "study": "s"}
    claim |= {"predicate": "ordered"}
    claim |= {"parameters": {"metric": "error", "method": "A", "direction": "below", "than": "all"}}
    found = evaluate_claims([claim], measured).iloc[0]
    assert found.verdict == "holds"
    assert [answer["variant"] for answer in found.by_variant] == ["v"]

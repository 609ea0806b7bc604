"""Claims are put to the results with their uncertainty."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedmix.cells import predicates
from fedmix.cells.claims import CLAIM_VERDICTS, _final, claims_table, evaluate_claims
from fedmix.cells.equivalence import judge
from fedmix.cells.evidence import METHODS, SETTINGS, Evidence
from fedmix.cells.frame import make_cells
from fedmix.cells.papers import read_claims, read_papers
from fedmix.cells.scorecard import cells_table, scorecard
from fedmix.cells.unreported import Share
from fedmix.errors import ConfigurationError
from made_up_claims import BAD, GOOD, LOWEST, NOISE, ROLES, answer, frame, paper_folder, places
from synthetic_results import PUBLISHED, cells, printed_numbers, results_and_timings

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def claims() -> list[dict]:
    return read_claims(read_papers(ROOT / "config"))


@pytest.fixture(scope="module")
def evaluated(claims) -> pd.DataFrame:
    return evaluate_claims(claims, cells(), results_and_timings()[0]).set_index("id")


def test_at_least_35_claims_cover_all_three_papers_and_what_lies_beyond(claims):
    papers = {"fedgrem", "mixed_regression", "fedgem"}
    assert sum(claim["paper"] in papers for claim in claims) >= 35
    assert {claim["paper"] for claim in claims} == papers | {"beyond"}


def test_without_claims_their_table_is_empty(evaluated):
    none = evaluate_claims([], cells())
    assert list(none) == [*evaluated.reset_index()]
    assert claims_table(none).empty
    assert "claims: holds" in scorecard(cells(), none)


@pytest.mark.slow
def test_every_claim_gets_one_of_the_verdicts(claims, evaluated):
    assert len(evaluated) == len(claims)
    assert set(evaluated.verdict) <= set(CLAIM_VERDICTS)


def test_every_predicate_answers_on_results_of_the_pipelines_shape(claims, evaluated):
    answered = set(evaluated[evaluated.verdict != "not testable"].index)
    used = {claim["predicate"] for claim in claims if claim["id"] in answered}
    # `fails` waits for a step constant beyond the printed ones.
    assert set(predicates.names()) - used <= {"fails"}


def test_known_truths_of_the_made_up_results_come_out(evaluated):
    assert evaluated.verdict["two-phase-beats-fedavg"] == "holds"
    assert evaluated.verdict["two-phase-more-steps-faster-c1"] == "holds"
    assert evaluated.verdict["ifca-arrives-c2"] == "reversed"
    assert evaluated.verdict["fedgem-sensitivity-cluster-number"] == "holds"
    assert evaluated.verdict["fedgrem-gaussian-fedgmm"] == "not testable"
    assert "response" in evaluated["where"]["fedgrem-gaussian-fedgmm"]


def test_claims_without_their_results_are_not_testable_and_say_why(claims):
    table = evaluate_claims(claims, cells().iloc[:0])
    assert set(table.verdict) == {"not testable"}
    assert table["where"].str.len().min() > 10


@pytest.mark.parametrize(
    ("kinds", "verdict"),
    [
        ([GOOD, GOOD], "holds"),
        ([GOOD, GOOD, NOISE], "holds in most"),
        ([GOOD, GOOD, BAD], "mixed"),  # one decided no is enough
        ([GOOD, BAD], "mixed"),
        ([BAD, BAD, NOISE], "reversed"),
        ([GOOD, NOISE], "inconclusive"),
        ([BAD, NOISE, NOISE], "mixed"),  # refuted, whatever more runs say
        ([BAD, NOISE], "mixed"),  # no in half of the settings is not in most
    ],
)
def test_a_verdict_tells_in_how_many_settings_a_claim_holds(kinds, verdict):
    assert answer(places(*kinds), "ordered", **LOWEST).verdict == verdict


def test_every_setting_is_listed_by_its_answer_however_many_there_are():
    found = answer(places(*[GOOD] * 20, *[BAD] * 10), "ordered", **LOWEST)["where"]
    good, bad = ("/".join(map(str, numbers)) for numbers in (range(20), range(20, 30)))
    assert found == f"yes in 20 of 30: s{good}; no in 10 of 30: s{bad}"


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (("n20-h0.5-K10", "n20-h1.0-K10"), "yes in 1 of 2: h0.5; no in 1 of 2: h1.0"),
        (("n20-h0.5", "n50"), "yes in 1 of 2: n20-h0.5; no in 1 of 2: n50"),
        (("F-M, n 0", "F-M, n 8"), "yes in 1 of 2: n 0; no in 1 of 2: n 8"),
        (("F-M, n 0", "M, n 0"), "yes in 1 of 2: F-M; no in 1 of 2: M"),
    ],
)
def test_settings_are_named_by_what_tells_them_apart(ids, told):
    results = pd.concat([frame(k).assign(setting=s) for k, s in zip((GOOD, BAD), ids, strict=True)])
    assert answer(results, "ordered", **LOWEST)["where"] == told


def test_groups_of_settings_are_named_by_what_they_have_in_common():
    grid = [(x, v) for v in (0.1, 10.0) for x in (1, 2, 3)]
    parts = [
        frame({"A": x + np.array([0, 0.1, -0.1])}).assign(
            setting=f"x{x}-v{v}", setting_x=x, setting_weight=v
        )
        for x, v in grid
    ]
    wanted = {"metric": "error", "method": "A", "along": "x", "direction": "falling"}
    found = answer(pd.concat(parts), "trend", **wanted, per="weight")
    assert {c["place"] for c in found.details} == {"weight 0.1: A", "weight 10: A"}


def test_a_claim_of_most_or_several_settings_is_held_to_no_more():
    results = places(GOOD, GOOD, BAD)
    assert answer(results, "ordered", {"extent": "most"}, **LOWEST).verdict == "holds"
    results = places(GOOD, GOOD, BAD, BAD, BAD)
    assert answer(results, "ordered", **LOWEST).verdict == "mixed"
    found = answer(results, "ordered", {"extent": "several"}, **LOWEST)
    assert found.verdict == "holds"
    assert found["where"].endswith("no in 3 of 5: s2/3/4 (2 are enough)")


def test_the_verdict_is_that_of_the_authors_variant_alone():
    results = pd.concat([places(GOOD, GOOD), places(BAD, BAD, variant="w")])
    found = answer(results, "ordered", **LOWEST)
    assert (found.verdict, found.source) == ("holds", "authors")
    counts = [found[f"{source}_{a}"] for source in ("authors", "written") for a in ("yes", "no")]
    assert counts == [2, 0, 0, 2]
    only_text = answer(places(BAD, BAD, variant="w"), "ordered", **LOWEST)
    assert (only_text.verdict, only_text.source) == ("reversed", "written")


def test_an_inferred_protocol_can_support_a_claim_and_not_refute_it():
    for kinds, verdict in (
        ((GOOD, GOOD), "holds"),
        ((BAD, BAD), "inconclusive"),
        ((GOOD, BAD), "inconclusive"),
    ):
        found = answer(places(*kinds, variant="i"), "ordered", **LOWEST)
        assert (found.verdict, found.source) == (verdict, "inferred")
        assert (verdict == "holds") != any("does not refute" in text for text in found["remarks"])


def test_an_inferred_protocol_does_not_speak_for_those_that_were_tried():
    good, bad = ({name: 4 * values for name, values in kind.items()} for kind in (GOOD, BAD))
    inferred = places(good, good, variant="i")
    tried = [places(bad, bad, variant="trial"), places(bad, bad, variant="w")]
    said = {"unreported": "how clients start"}
    found = answer(pd.concat([inferred, *tried]), "ordered", said, **LOWEST)
    assert (found.verdict, found.source) == ("depends on an unreported choice", "inferred")
    assert answer(inferred, "ordered", said, **LOWEST).verdict == "holds"


@pytest.mark.parametrize(
    ("source", "no", "verdict"),
    [
        ("inferred", 11, "depends on an unreported choice"),
        ("inferred", 10, "holds"),
        ("authors", 11, "holds"),
    ],
)
def test_most_other_protocols_must_say_no_to_an_inferred_one(source, no, verdict):
    share = Share(0.5, 21, "protocols", yes=10, no=no)
    assert _final("holds", source, share, "") == verdict


def test_data_that_stand_in_for_the_papers_count_for_no_claim():
    claim = {"id": "c", "paper": "p", "section": "1", "claim": "?", "study": "s"}
    claim |= {"predicate": "ordered", "parameters": LOWEST}
    found = {}
    for stands_in in (False, True):
        results = places(GOOD, BAD)
        measured = judge(make_cells(results, pd.DataFrame(), [], PUBLISHED, "p", {}, ROLES))
        measured["is_stand_in"] = stands_in & measured["setting"].eq("s1")
        found[stands_in] = evaluate_claims([claim], measured, results).verdict[0]
    assert found == {False: "mixed", True: "holds"}


def test_our_reading_of_a_vague_sentence_can_hold_and_does_not_refute_it():
    vague = {"implied": "the sentence names no method"}
    for kinds, verdict in (((GOOD, GOOD), "holds"), ((BAD, BAD), "inconclusive")):
        found = answer(places(*kinds), "ordered", vague, **LOWEST)
        assert (found.verdict, found.source) == (verdict, "authors")
        refuted = "A no does not refute the claim: the sentence names no method"
        assert (refuted in found["remarks"]) == (verdict == "inconclusive")


def test_margins_are_positive_on_the_claimed_side():
    found = answer(places(GOOD, GOOD, BAD), "ordered", **LOWEST)
    assert found.authors_median == pytest.approx(1.0)
    assert found.authors_smallest == pytest.approx(-1.0)
    noisy = answer(places(NOISE), "ordered", **LOWEST)
    assert noisy.authors_low < noisy.authors_smallest < noisy.authors_high


def test_an_unreported_choice_decides_where_variants_fall_out_differently():
    said = {"unreported": "how clients are contaminated"}
    good, bad = ({name: 4 * values for name, values in kind.items()} for kind in (GOOD, BAD))
    results = pd.concat([places(good, good), places(bad, bad, variant="trial")])
    found = answer(results, "ordered", said, **LOWEST)
    assert found.verdict == "depends on an unreported choice"
    assert "how clients are contaminated; it holds in 50%" in found.remarks[0]
    assert "decided by the variant: it holds in v, not in trial" in found.remarks[0]
    assert answer(places(good, good), "ordered", said, **LOWEST).verdict == "holds"
    noise = {name: 4 * values for name, values in NOISE.items()}
    some = [places(noise, noise, variant="trial"), places(good, good, noise, variant="w")]
    found = answer(pd.concat([places(good, good), *some]), "ordered", said, **LOWEST)
    assert "it holds in 100% of 2 variants" in found.remarks[0]  # of which w in most settings
    few = pd.concat([places(GOOD, GOOD), places(BAD, BAD, variant="trial")])
    assert answer(few, "ordered", said, **LOWEST).verdict == "holds"  # three replications


def test_the_text_s_own_variant_that_says_no_is_told():
    results = pd.concat([places(GOOD, GOOD), places(BAD, BAD, variant="w")])
    found = answer(results, "ordered", **LOWEST)
    assert found.verdict == "holds"
    assert "Does not hold in the variant closest to the text: no in both" in found.remarks
    results = pd.concat([places(GOOD, GOOD), places(GOOD, BAD, variant="w")])
    [remark] = answer(results, "ordered", **LOWEST)["remarks"]
    assert remark.startswith("Does not hold in the variant closest to the text: yes in 1 of 2")


def test_a_setting_counts_as_run_if_the_variant_that_answers_ran_it():
    said = {"where": {"setting": ["s0", "s1"]}}
    results = pd.concat([places(GOOD), places(GOOD, GOOD, variant="w")])
    found = answer(results, "ordered", said, **LOWEST)
    assert (found.verdict, found.source) == ("partly untested", "authors")
    assert "Not run, or only on other data: setting s1" in found.remarks


def test_another_reading_of_a_data_set_is_the_same_data_set():
    said = {"where": {"dataset": ["abalone", "abalone_as_written", "frog_a"]}}
    own = frame(GOOD, setting_dataset="abalone"), frame(GOOD, setting_dataset="frog_a")
    results = pd.concat([part.assign(setting=f"s{i}") for i, part in enumerate(own)])
    assert answer(results, "ordered", said, **LOWEST).verdict == "holds"


def test_a_claim_on_settings_or_rounds_has_a_control_of_its_own():
    rising = [
        frame({"A": h + np.array([0.0, 0.1, -0.1])}, setting_h=float(h)).assign(setting=f"h{h}")
        for h in range(5)
    ]
    wanted = {"metric": "error", "method": "A", "along": "h", "direction": "rising"}
    assert answer(pd.concat(rising), "trend", **wanted).chance < 0.5  # one method has one name
    rounds = [
        frame({"A": np.exp(-t) * np.array([1.0, 1.1, 0.9])}).assign(round=float(t))
        for t in range(6)
    ]
    last = rounds[-1].assign(round=pd.NA)
    wanted = {"metric": "error", "method": "A", "rounds": 5, "factor": 0.1}
    found = answer(pd.concat([*rounds, last]), "falls_by_round", **wanted)
    assert found.verdict == "holds"
    assert found.chance < 0.5


def test_what_a_claim_names_and_nobody_ran_leaves_it_partly_untested():
    said = {"where": {"setting": ["s0", "s7"]}}
    found = answer(places(GOOD), "ordered", said, **LOWEST)
    assert found.verdict == "partly untested"
    assert found.remarks[-1] == "Not run, or only on other data: setting s7"
    assert answer(places(BAD), "ordered", said, **LOWEST).verdict == "reversed"
    said = {"where": {"setting": ["s0", "s1", "s2", "s7"]}}
    found = answer(places(GOOD, GOOD, NOISE), "ordered", said, **LOWEST)
    assert found.verdict == "holds in most"  # not "yes wherever it was run"
    assert found.remarks[-1] == "Not run, or only on other data: setting s7"


def test_two_settings_settle_a_claim_about_several_whatever_was_not_run():
    said = {"where": {"setting": ["s0", "s1", "s7"]}, "extent": "several"}
    assert answer(places(GOOD, GOOD), "ordered", said, **LOWEST).verdict == "holds"
    assert answer(places(GOOD), "ordered", said, **LOWEST).verdict == "partly untested"


def test_enough_settings_settle_a_claim_about_most_of_them_whatever_was_not_run():
    def verdict(said):
        said = {"where": {"setting": ["s0", "s1", "s2", *said]}, "extent": "most"}
        return answer(places(GOOD, GOOD, GOOD), "ordered", said, **LOWEST).verdict

    assert verdict(["s7", "s8"]) == "holds"  # three of five
    assert verdict(["s7", "s8", "s9"]) == "partly untested"


@pytest.mark.parametrize("dead", ["A", "B"])
def test_a_setting_in_which_a_method_always_failed_is_not_passed_over(dead):
    results = places(GOOD, GOOD, GOOD)
    failed = (results["setting"] == "s2") & (results["method"] == dead)
    results.loc[failed, ["status", "metric"]] = ["diverged", ""]
    found = answer(results, "ordered", **LOWEST)
    assert (found.verdict, found["where"]) == ("partly untested", "yes in both")
    assert found.remarks == [f"No answer where every replication failed: {dead} in v, s2"]
    text = results.assign(variant="w")
    results.loc[results["method"] == dead, ["status", "metric"]] = ["diverged", ""]
    found = answer(pd.concat([results, text]), "ordered", **LOWEST)
    assert (found.verdict, found.source) == ("partly untested", "written")
    assert f"{dead} in v, s0, {dead} in v, s1" in found.remarks[-1]


def test_a_predicate_that_holds_whatever_the_methods_are_called_says_nothing():
    trivial = {"metric": "error", "method": "A", "direction": "above", "than": "B", "factor": 0.1}
    results = places(GOOD, GOOD, GOOD, GOOD)
    found = answer(results, "ordered", **trivial)
    assert found.verdict == "holds"
    assert found.chance == 1.0
    assert found.remarks[0].startswith("Says little")
    telling = answer(results, "ordered", **LOWEST)
    assert telling.chance < 0.5
    assert telling.remarks == []


def test_a_method_alone_has_no_control_by_its_name():
    wanted = {"metric": "error", "method": "A", "high": 1.8}
    both = places(GOOD, GOOD)
    for alone in (both, both[both["method"] == "A"], both.replace({"metric": {"error": "other"}})):
        only = pd.concat([alone[alone["method"] != "A"], both[both["method"] == "A"]])
        found = answer(only, "between", **wanted)
        assert (found.verdict, found.chance, found.remarks) == ("holds", None, [])


def test_shuffles_are_the_same_whenever_they_are_drawn():
    results = places(GOOD, GOOD, BAD)
    one, other = (answer(results, "ordered", **LOWEST).chance for _ in range(2))
    assert one == other


@pytest.mark.parametrize("what", [METHODS, SETTINGS])
def test_shuffles_do_not_depend_on_the_order_of_the_cells(what):
    results = places(GOOD, GOOD, BAD)
    third = results[results["method"] == "A"].assign(method="C", value=3.0)
    whole = pd.concat([results, third])
    rows = make_cells(whole, pd.DataFrame(), [], PUBLISHED, "p", {}, ROLES)
    in_order, reverse = Evidence(rows), Evidence(rows[::-1])
    for draw in range(3):
        one, other = (evidence.shuffled(draw, what) for evidence in (in_order, reverse))
        for place in one.places("s"):
            for method in one.methods(place):
                own, others = (e.score(place, method, "error") for e in (one, other))
                assert own.scores.tolist() == others.scores.tolist()


def test_an_id_given_twice_is_refused(tmp_path):
    claim = {"section": "1", "claim": "A claim of some length.", "study": "s"}
    claim |= {"id": "c", "predicate": "fails", "parameters": {"method": "A"}}
    with pytest.raises(ConfigurationError, match="'c' is also in config"):
        read_claims(paper_folder(tmp_path / "twice", "claims", [claim, claim]))


@pytest.mark.slow
def test_the_scorecard_counts_every_cell_and_claim_once(claims, evaluated):
    table = scorecard(cells(), evaluated)
    judged = [n for item, n in printed_numbers() if item.metric != "seconds"]
    # Papers by year, then what lies beyond them.
    assert list(table.index) == ["mixed_regression", "fedgrem", "fedgem", "beyond"]
    assert table.filter(like="cells: ").to_numpy().sum() == len(judged)
    assert table.filter(like="claims: ").to_numpy().sum() == len(claims)
    assert len(claims_table(evaluated.reset_index())) == len(claims)
    assert len(cells_table(cells())) == (cells().verdict != "").sum()


def test_a_diagnostic_variant_decides_no_claim():
    results = pd.concat([frame(GOOD), frame(BAD).assign(variant="trial")])
    found = answer(results, "ordered", **LOWEST)
    assert found.verdict == "holds"
    assert {check["variant"] for check in found.details} == {"v"}
    assert (
        answer(frame(GOOD).assign(variant="trial"), "ordered", **LOWEST).verdict == "not testable"
    )


def test_printed_numbers_are_put_to_the_predicates_as_independent_means(claims):
    own = [claim for claim in claims if claim["id"] == "fedgrem-pendigits-lowest"]
    found = evaluate_claims(own, cells()).iloc[0]
    assert (found.published_yes, found.published_no, found.published_unclear) == (4, 0, 0)
    assert not found.published_fails
    # In the pipeline's unit: Local-EM's 12.94 less 9.39 percent, at 20.5 %.
    assert found.published_smallest == pytest.approx((12.94 - 9.39) / 100)


def test_every_claim_that_the_print_contradicts_is_explained(claims, evaluated):
    explained = {claim["id"] for claim in claims if "contradiction" in claim}
    assert set(evaluated.index[evaluated["published_fails"]]) == explained


def test_quotations_are_short_and_every_claim_on_results_has_one(claims):
    for claim in claims:
        assert 6 <= len(claim["quote"]) <= 240, claim["id"]

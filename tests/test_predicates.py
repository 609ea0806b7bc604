"""Predicates tell yes, no and unclear apart, also between the values of unreported choices."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells import predicates
from fedmix.cells.effects import Finding, mean_effect
from fedmix.cells.evidence import Place
from fedmix.cells.predicates import Check, check
from fedmix.cells.unreported import Share, answer_of, share_of
from fedmix.declarations import problems
from fedmix.errors import ConfigurationError
from made_up_claims import LOWEST, answer, frame


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
    assert answer(results, "ordered", **parameters).verdict == "inconclusive"


def test_one_replication_proves_nothing():
    results = frame({"A": [0.0], "B": [100.0]})
    parameters = {"metric": "error", "method": "A", "direction": "below", "than": ["B"]}
    assert answer(results, "ordered", **parameters).verdict == "inconclusive"


def test_the_floats_of_both_ways_can_be_compared():
    results = frame({"A": [1.0] * 3, "B": [1.0] * 3})
    results["floats_up"] = np.where(results["method"] == "A", 10, 15)
    results["floats_down"] = np.where(results["method"] == "A", 10, 30)
    wanted = {"metric": "floats", "method": "A", "direction": "below", "than": "B", "factor": 0.5}
    assert answer(results, "ordered", **wanted).verdict == "holds"
    assert answer(results, "ordered", **wanted | {"factor": 0.4}).verdict == "reversed"


def test_bimodal_scores_are_told_by_the_share_of_replications():
    rng = np.random.default_rng(0)
    lower = {"A": np.r_[rng.normal(1.0, 0.01, 19), 900.0], "B": rng.normal(2.0, 0.01, 20)}
    results = frame(lower)
    assert answer(results, "ordered", **LOWEST).verdict == "inconclusive"  # one failure is enough
    usual = {"metric": "error", "method": "A", "direction": "below", "than": "B"}
    assert answer(results, "usually", **usual).verdict == "holds"
    half = frame({"A": np.r_[np.zeros(9), 5 * np.ones(11)], "B": np.full(20, 2.0)})
    assert answer(half, "usually", **usual).verdict == "inconclusive"


def test_a_trajectory_that_ends_early_keeps_its_last_score():
    last = frame({"A": np.full(30, 1.0), "B": np.full(30, 2.0)})
    rounds = [last.assign(round=float(t), value=last["value"] + 3.0 - t) for t in range(4)]
    early = last["method"].eq("A") & (last["replication"] > 0)  # one replication goes on
    rounds[3] = rounds[3][~early]
    results = pd.concat([last, *rounds])
    usual = {"metric": "error", "method": "A", "direction": "below", "than": "B"}
    found = answer(results, "usually", **usual, at_round=3)
    assert found.details[0]["n"] == 30
    falls = {"metric": "error", "method": "A", "rounds": 3, "factor": 0.9}
    assert answer(results, "falls_by_round", **falls).details[0]["n"] == 30


def test_failed_replications_are_no_values():
    results = frame({"A": 10 * [1.0, 1.0, 1.1], "B": 10 * [2.0, 2.1, 2.0]})
    results.loc[results.method == "B", "status"] = "diverged"
    parameters = {"metric": "error", "method": "A", "direction": "below", "than": "all"}
    assert answer(results, "ordered", **parameters).verdict == "not testable"
    assert answer(results, "fails", method="B").verdict == "holds"
    assert answer(results, "fails", method="A", share=0.5).verdict == "reversed"
    assert answer(results, "fails", method="A", share=0.1).verdict == "inconclusive"  # 0 of 30


def test_equivalence_needs_precision():
    wide = frame({"A": [0.0, 2.0, 1.0], "B": [1.0, 1.0, 1.0]})
    narrow = frame({"A": [1.0, 1.01, 0.99], "B": [1.0, 1.0, 1.0]})
    parameters = {"metric": "error", "method": "A", "to": "B", "tolerance": 0.1}
    assert answer(wide, "similar", **parameters).verdict == "inconclusive"
    assert answer(narrow, "similar", **parameters).verdict == "holds"


def test_distances_to_the_truth_are_compared():
    results = frame({"A": [9.0, 9.01, 8.99], "B": [12.0, 12.01, 11.99]}, setting_dataset="d")
    near = {"metric": "error", "method": "A", "direction": "below", "than": "B"}
    assert answer(results, "ordered", **near, targets={"d": 10.0}).verdict == "holds"
    assert answer(results, "ordered", **near, targets={"d": 12.0}).verdict == "reversed"
    assert answer(results, "ordered", **near, targets={"e": 10.0}).verdict == "not testable"


@pytest.mark.parametrize(("share_where_not", "verdict"), [(1.0, "reversed"), (0.0, "holds")])
def test_a_condition_predicts_where_it_holds_and_where_it_does_not(share_where_not, verdict):
    condition = np.repeat([1.0, 0.0], 30)
    score = np.repeat([1.0, share_where_not], 30)
    results = pd.concat([frame({"A": condition}, "condition"), frame({"A": score}, "score")])
    asked = {"metric": "score", "condition": "condition", "method": "A", "share": 0.5}
    assert answer(results, "predicted", **asked).verdict == "holds"
    assert answer(results, "predicted", **asked, holds=False).verdict == verdict


@pytest.mark.parametrize(("sign", "verdict"), [(1, "holds"), (-1, "reversed")])
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


@pytest.mark.parametrize(("noise", "verdict"), [(0.05, "holds"), (6.0, "inconclusive")])
def test_one_metric_moves_more_than_another_only_beyond_their_noise(noise, verdict):
    rng = np.random.default_rng(0)
    parts = [
        frame({"A": mean + noise * rng.normal(size=12)}, metric, setting_v=v).assign(
            setting=f"v{v}"
        )
        for v in (0.1, 1.0, 10.0)
        for metric, mean in (("count", 10.0 + v), ("error", 10.0))
    ]
    wanted = {"metric": "count", "than_metric": "error", "method": "A", "along": "v"}
    found = answer(pd.concat(parts), "moves_more", **wanted)
    assert found.verdict == verdict
    assert found.authors_low < found.authors_smallest < found.authors_high


def test_a_run_that_failed_does_not_decide_a_comparison_of_ratios():
    rng = np.random.default_rng(0)
    oracle = rng.uniform(1.0, 1.1, 20)
    scores = {"C1": oracle * rng.uniform(1.0, 1.02, 20), "C2": oracle * rng.uniform(1.4, 1.6, 20)}
    scores["C2"][0] *= 50
    parts = [
        frame({"A": own, "Oracle": oracle}, setting_case=case).assign(setting=case)
        for case, own in scores.items()
    ]
    wanted = {"metric": "error", "method": "A", "column": "case", "at": "C1", "than": "C2"}
    wanted["direction"] = "lower"
    found = answer(pd.concat(parts), "changes", relative_to="Oracle", **wanted)
    assert found.verdict == "holds"
    assert answer(pd.concat(parts), "changes", **wanted).verdict == "inconclusive"


def test_an_unknown_predicate_is_told_with_the_nearest_name():
    with pytest.raises(ConfigurationError, match="Did you mean 'ordered'"):
        predicates.parameters_of("ordred")


@pytest.mark.parametrize(
    ("parameters", "says"),
    [({"method": "FedGrEM", "shares": 1}, "shares"), ({"share": 0.5}, "method")],
)
def test_a_predicate_is_told_what_it_takes(parameters, says):
    problems_found = problems(
        predicates.parameters_of("fails"), parameters, {"method": ["FedGrEM"]}
    )
    assert any(says in message for _, message in problems_found)


@pytest.mark.parametrize(
    ("places", "text"),
    [
        (["mnist-bad0", "mnist-bad8", "frog_a"], "mnist-bad0/8, frog_a"),
        (["h0.5", "h1.75"], "h0.5/1.75"),
        (
            ["pen digits, n_contaminated 0", "MNIST, n_contaminated 0"],
            "pen digits, n_contaminated 0, MNIST, n_contaminated 0",
        ),
        (["5"], "5"),
    ],
)
def test_settings_that_differ_in_a_number_are_listed_together(places, text):
    assert predicates.listed(places) == text


@pytest.mark.parametrize(
    ("yes", "no", "depends"),
    [
        (100, 0, False),
        (0, 100, False),
        (96, 4, False),
        (4, 96, False),
        (95, 5, True),
        (5, 95, True),
    ],
)
def test_the_share_that_must_say_yes_is_that_which_must_say_no(yes, no, depends):
    found = Share(yes / 100, 100, "protocols", yes=yes, no=no, decided_by="decided by scaling")
    assert found.depends == depends
    assert not Share(yes / 100, 100, "protocols", yes=yes, no=no).depends  # no choice decides


def answers_with(values: dict[str, bool], replications: int) -> dict:
    """Return answers of protocols, each with an interval that tells."""
    claim = {"extent": "all"}
    return {
        name: answer_of(
            claim, [Check("p", "s", "yes" if yes else "no", "", 1.0, 0.9, 1.1, replications)], yes
        )
        for name, yes in values.items()
    }


def test_a_claim_that_is_false_in_every_protocol_does_not_depend_on_any():
    choices = pd.DataFrame({"scaling": ["a", "b"] * 30}, index=[f"p{i}" for i in range(60)])
    rng = np.random.default_rng(0)
    noise = {
        name: bool(flag) for name, flag in zip(choices.index, rng.random(60) < 0.3, strict=True)
    }
    few = share_of(answers_with(noise, 2), "protocols", choices)
    assert (few.yes, few.no, few.depends) == (0, 0, False)  # two replications are noise
    never = share_of(answers_with(dict.fromkeys(choices.index, False), 10), "protocols", choices)
    assert (never.yes, never.no, never.depends) == (0, 60, False)
    told = {name: choices.loc[name, "scaling"] == "a" for name in choices.index}
    found = share_of(answers_with(told, 10), "protocols", choices)
    assert found.depends
    assert "decided by scaling: it holds with a in 30 of 30, b in 0 of 30" in str(found)


@pytest.mark.parametrize("margin", [-1.0, -0.25, 0.0, 1.0])
def test_a_claim_that_is_equally_true_everywhere_hardly_ever_depends(margin):
    """Its margin in sd is the same in every protocol, so that no choice can decide."""
    rng = np.random.default_rng(0)
    choices = pd.DataFrame(
        {"scaling": ["a", "b", "c"] * 32, "start": ["x", "y"] * 48},
        index=[f"p{i}" for i in range(96)],
    )
    place = Place("study", "v", "s")
    depends = 0
    for _ in range(40):
        found = {}
        for name in choices.index:
            effect = mean_effect(margin + rng.standard_normal(10))
            checks = [check(place, "s", Finding.above(effect), "")]
            found[name] = answer_of({"extent": "all"}, checks, effect.mean > 0)
        depends += share_of(found, "protocols", choices).depends
    assert depends == 0

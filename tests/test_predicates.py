"""Predicates tell yes, no and unclear apart."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells import predicates
from fedmix.declarations import problems
from fedmix.errors import ConfigurationError
from made_up_claims import LOWEST, along, answer, answers, by_round, checks, frame


def test_pairing_sees_what_the_spread_would_hide():
    rng = np.random.default_rng(0)
    common = rng.normal(0, 10, 20)
    results = frame({"A": common, "B": common + rng.normal(0.5, 0.1, 20)})
    parameters = {"metric": "error", "method": "A", "direction": "below", "than": "all"}
    assert answer(results, "ordered", **parameters).verdict == "holds"


NOISE = np.random.default_rng(1).normal(0, 1, (2, 5))


@pytest.mark.parametrize(("ours", "theirs"), [NOISE, ([0.0], [100.0])])
def test_noise_or_one_replication_proves_nothing(ours, theirs):
    parameters = {"metric": "error", "method": "A", "direction": "below", "than": ["B"]}
    found = answer(frame({"A": ours, "B": theirs}), "ordered", **parameters)
    assert found.verdict == "inconclusive"


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


@pytest.mark.parametrize(
    ("means", "predicate", "parameters", "found"),
    [
        # A margin eases the bound on either side.
        ((9.9, 10.0), "ordered", {"direction": "above", "than": "B", "margin": 0.2}, "yes"),
        ((9.9, 10.0), "ordered", {"direction": "above", "than": "B", "margin": 0.05}, "no"),
        ((10.1, 10.0), "ordered", {"direction": "below", "than": "B", "margin": 0.2}, "yes"),
        ((5.0, 4.0, 6.0), "ordered", {"direction": "below", "than": "all", "need": "any"}, "yes"),
        ((5.0, 4.0, 6.0), "ordered", {"direction": "below", "than": "all"}, "no"),
        # The tolerance is a share of the reference's mean.
        ((10.4, 10.0), "similar", {"to": "B", "tolerance": 0.05}, "yes"),
        ((10.4, 10.0), "similar", {"to": "B", "tolerance": 0.03}, "no"),
        ((9.6, 10.0), "similar", {"to": "B", "tolerance": 0.03}, "no"),
        # Bounds are multiples of the truth.
        ((15.0,), "between", {"low": 1.2, "high": 1.6, "targets": {"d": 10.0}}, "yes"),
        ((15.0,), "between", {"low": 1.2, "high": 1.4, "targets": {"d": 10.0}}, "no"),
        ((15.0,), "between", {"low": 1.6, "targets": {"d": 10.0}}, "no"),
        # A score that is the same is not below.
        ((1.0, 1.0), "usually", {"direction": "below", "than": "B"}, "no"),
    ],
)
def test_a_bound_is_where_the_claim_puts_it(means, predicate, parameters, found):
    noise = np.tile([0.0, 1e-3, -1e-3], 10)
    scores = {name: mean + noise for name, mean in zip("ABC", means, strict=False)}
    results = frame(scores, setting_dataset="d")
    assert answers(results, predicate, method="A", **parameters) == [found]


def test_three_of_four_replications_are_not_yet_most():
    results = frame({"A": np.repeat([1.0, 3.0], [15, 5]), "B": np.full(20, 2.0)})
    assert answers(results, "usually", method="A", direction="below", than="B") == ["unclear"]


@pytest.mark.parametrize(
    ("means", "found"), [((10, 5, 5.2), "yes"), ((10, 5, 5.8), "no"), ((4, 5, 5.2), "no")]
)
def test_a_score_that_levels_stays_near_its_middle_mean(means, found):
    noise = np.array([0.0, 1e-3, -1e-3])
    results = frame({m: x + noise for m, x in zip("ABC", means, strict=True)})
    asked = {"first": "A", "middle": "B", "last": "C", "tolerance": 0.1}
    assert answers(results, "falls_then_levels", **asked) == [found]


def test_what_happens_by_round_is_measured_on_a_logarithmic_scale():
    later = {"slows": 0.1, "hastens": 1.1, "turns": -0.1}  # after a fall of 1 a round
    paths = {
        name: [np.exp(-min(t, 2) - rate * max(t - 2, 0)) for t in range(7)]
        for name, rate in later.items()
    }
    results = by_round(paths)
    for method, found in (("slows", "yes"), ("hastens", "no"), ("turns", "no")):
        assert answers(results, "slows_after", method=method, split=2, until=6) == [found]
    for factor, found in ((0.01, "yes"), (0.001, "no")):  # exp(-6.4) is .0017
        asked = {"method": "hastens", "rounds": 6, "factor": factor}
        assert answers(results, "falls_by_round", **asked) == [found]


def test_a_round_counts_from_the_first_that_is_near_the_end():
    results = by_round({"A": [4.0, 2.0, 1.0, 1.0], "B": [4.0, 4.0, 1.5, 1.0]})
    asked = {"method": "A", "direction": "below", "than": "B"}
    [found] = checks(results, "ordered", rounds_to=2.0, **asked)
    assert found.margin == 1.0  # rounds 1 and 2
    [found] = checks(results, "usually", at_round=1, **asked)
    assert found.detail.endswith("medians 2 and 4")
    assert checks(results, "usually", at_round=-1, **asked) == []  # before the first round


def test_rounds_can_be_those_of_another_method():
    parts = [
        by_round({"A": [4.0] * late + [1.0] * (8 - late), "B": [4.0, 1.0] + [1.0] * 6}).assign(
            setting=case, setting_case=case
        )
        for case, late in (("C1", 2), ("C2", 4))
    ]
    asked = {"method": "A", "column": "case", "at": "C1", "than": "C2", "direction": "lower"}
    [found] = checks(pd.concat(parts), "changes", rounds_to=1.0, relative_to="B", **asked)
    assert found.margin == pytest.approx(np.log(4 / 2))
    assert "log of rounds of A over that of B" in found.detail


@pytest.mark.parametrize(
    ("predicate", "parameters", "found"),
    [
        ("trend", {"method": "A", "direction": "level", "tolerance": 0.1}, "yes"),
        ("trend", {"method": "A", "direction": "level", "tolerance": 0.02}, "no"),
        ("grows_less", {"method": "A", "than": "B"}, "yes"),
        ("grows_less", {"method": "A", "than": ["B", "C"]}, "no"),  # C stays level
        ("scales", {"method": "D", "exponent": -0.5}, "yes"),
        ("scales", {"method": "D", "exponent": -0.7}, "no"),
        ("scales", {"method": "D", "exponent": -0.55, "at_most": True}, "yes"),
        ("scales", {"method": "D", "exponent": -0.7, "at_most": True}, "no"),
        ("scales", {"method": "D", "exponent": -0.2, "at_most": True}, "yes"),
    ],
)
def test_how_a_score_moves_with_a_setting_is_told_by_a_bound(predicate, parameters, found):
    means = {
        x: {"A": 10.0 + 0.5 * (x == 5), "B": 10.0 * x, "C": 10.0, "D": 10 * x**-0.5}
        for x in (5, 1, 2, 3, 4)  # in any order
    }
    assert answers(along("x", means), predicate, along="x", **parameters) == [found]


def test_what_comes_on_top_of_a_score_needs_the_score_at_zero():
    means = {x: {"A": float(np.hypot(3.0, x))} for x in (0, 1, 2, 4)}
    asked = {"method": "A", "along": "x", "exponent": 1.0, "above_zero": True}
    assert answers(along("x", means), "scales", **asked) == ["yes"]
    del means[0]
    assert answers(along("x", means), "scales", **asked) == []


@pytest.mark.parametrize(
    ("direction", "tolerance", "found"),
    [("lower", 0, "yes"), ("higher", 0, "no"), ("same", 0.4, "yes"), ("same", 0.2, "no")],
)
def test_a_change_is_that_at_one_value_from_another(direction, tolerance, found):
    results = along("h", {0: {"A": 10.0}, 1: {"A": 10.3}})
    asked = {"method": "A", "column": "h", "at": 0.0, "than": 1.0, "direction": direction}
    assert answers(results, "changes", tolerance=float(tolerance), **asked) == [found]


@pytest.mark.parametrize(("ratio", "found"), [(2.0, "yes"), (0.5, "no"), (1.2, "no")])
def test_a_knee_moves_by_its_ratio_up_to_a_factor_of_one_and_a_half(ratio, found):
    parts = [
        along("x", {x: {"A": min(x / (2 * v), 1.0)} for x in range(5)})
        .assign(setting_v=float(v))
        .assign(setting=lambda own, v=v: own["setting"] + f"-v{v}")
        for v in (1, 2)
    ]
    results = pd.concat(parts)
    asked = {"method": "A", "along": "x", "column": "v", "at": 2.0, "than": 1.0, "ratio": ratio}
    assert answers(results, "knee_moves", **asked) == [found]


def test_a_span_is_a_share_of_its_own_average():
    noise = 0.01 * np.random.default_rng(0).normal(size=12)
    parts = [
        frame({"A": mean + noise}, metric, setting_v=v).assign(setting=f"v{v}")
        for v, *means in ((1.0, 10.0, 1.0), (2.0, 20.0, 3.0))
        for metric, mean in zip(("count", "error"), means, strict=True)
    ]
    asked = {"metric": "count", "than_metric": "error", "method": "A", "along": "v"}
    assert answers(pd.concat(parts), "moves_more", **asked) == ["no"]  # 2/3 of 15, all of 2


@pytest.mark.parametrize(
    ("extent", "counts"),
    [("all", [1, 2, 3, 4]), ("most", [1, 2, 2, 3]), ("several", [1, 2, 2, 2])],
)
def test_most_are_more_than_half_and_several_are_two(extent, counts):
    assert [predicates.needed({"extent": extent}, n) for n in (1, 2, 3, 4)] == counts


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

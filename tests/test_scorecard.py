"""The verdict on one printed number, its error rates on known truths, and the small tables."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

from fedmix.cells import calibration
from fedmix.cells.equivalence import compare, decide
from fedmix.cells.scorecard import counts, rank_agreement, score_tables
from fedmix.cells.verdicts import RULES, distance, judge_numbers, printed_cells
from fedmix.views.calibration import calibration_page, goals
from synthetic_cells import frame as synthetic_frame
from synthetic_results import cells, of_item, shipped_items


def test_rank_agreement_is_perfect_for_the_printed_order_itself():
    table = of_item(cells(), "fedgrem_table3")
    table = table.assign(mean=table.printed_mean * table.scale, verdict="agrees")
    table = table[table["variant"] == "paper_like"]
    agreement = rank_agreement(table, shipped_items())
    assert len(agreement) == 4
    np.testing.assert_allclose(agreement.kendall_tau, 1.0)
    assert agreement.same_best.all()
    turned = rank_agreement(table.assign(mean=-table["mean"]), shipped_items())
    assert (turned.kendall_tau < -0.99).all()
    assert not turned.same_best.any()


def test_no_order_of_merit_is_made_of_seconds():
    seconds = rank_agreement(cells()[cells().metric == "seconds"], shipped_items())
    assert seconds.same_best.isna().all()
    assert seconds.kendall_tau.notna().all()


def test_a_variant_that_tries_one_switch_does_not_decide():
    names = ["printed_file", "printed_line"]
    program = cells()["variant"].eq("as_coded") & cells()["study"].eq("fedgrem_simulation")
    tried = cells().assign(role=cells()["role"].mask(program, "diagnostic"))
    judged = judge_numbers(tried).set_index(names)
    free = judge_numbers(cells()).set_index(names)
    helped = free[(free["item"] == "fedgrem_table5") & (free.note != "")]
    assert len(helped)
    assert (free.verdict[helped.index] != "differs").all()
    assert (judged.verdict[helped.index] == "differs").all()
    assert (judged.note[helped.index] == free.note[helped.index]).all()  # readers still learn of it


def test_where_only_diagnostic_variants_ran_a_number_counts_as_not_run():
    alone = cells()[cells().variant == "as_coded"].assign(role="diagnostic")
    assert judge_numbers(alone).counted.isin(["not run", "not judged"]).all()


def test_a_table_counts_one_variant_and_never_the_best_number_by_number():
    frame = printed_cells(cells())
    own = frame[(frame["item"] == "fedgrem_table5") & (frame["variant"] == "as_coded")]
    score = score_tables(cells(), shipped_items(), {}).set_index("item").loc["fedgrem_table5"]
    assert (score["variant"], score["role"]) == ("as_coded", "authors")
    for verdict in ("differs", "undecided", "not run"):
        assert score[verdict] == (own["verdict"] == verdict).sum()
    without = frame[frame["variant"] != "as_coded"]
    assert (
        score_tables(without, shipped_items(), {}).set_index("item").loc["fedgrem_table5", "role"]
        == "written"
    )


def test_an_agreement_from_which_no_variant_differs_is_counted_apart():
    rows = {"as_coded": ("authors", "agrees"), "as_written": ("written", "agrees closely")}
    frame = pd.concat([_number(name, *own) for name, own in rows.items()])
    [found] = judge_numbers(frame).to_dict("records")
    assert (found["verdict"], found["counted"]) == ("agrees", "agrees (not discriminating)")
    assert found["power"] == 0
    for open_ in ("undecided", "cannot be decided", "agrees in mean only"):
        unclear = pd.concat([frame.iloc[:1], _number("as_written", "written", open_)])
        [found] = judge_numbers(unclear).to_dict("records")
        assert found["counted"] == "agrees (not discriminating)"
        assert np.isnan(found["power"])  # one variant alone is decided
    tried = pd.concat([frame, _number("one_switch", "diagnostic", "differs")])
    [found] = judge_numbers(tried).to_dict("records")
    assert found["counted"] == "agrees"
    assert found["power"] == pytest.approx(1 / 3)
    [alone] = judge_numbers(frame[frame["variant"] == "as_coded"]).to_dict("records")
    assert alone["counted"] == "agrees"  # nothing else was tried


def test_values_of_an_unknown_protocol_count_by_how_near_the_nearest_protocol_comes():
    own = [_number("paper_like", "inferred", "differs", line) for line in (2, 3)]
    alone = judge_numbers(pd.concat(own))
    assert alone["verdict"].eq("differs").all()
    assert alone["counted"].eq("protocol unknown: not near").all()
    for other, words in (("differs", "not near"), ("undecided", "undecided")):
        searched = [
            _number("searched", "searched", v, 2 + i) for i, v in enumerate(["agrees", other])
        ]
        counted = judge_numbers(pd.concat([*own, *searched]))["counted"]
        assert list(counted) == ["protocol unknown: near", f"protocol unknown: {words}"]


def test_the_nearest_protocol_is_the_inferred_variant_where_it_is_nearer_than_the_search_s():
    own = [_number("paper_like", "inferred", "agrees", line) for line in (2, 3)]
    searched = [_number("searched", "searched", "differs", line) for line in (2, 3)]
    counted = judge_numbers(pd.concat([*own, *searched]))["counted"]
    assert list(counted) == ["protocol unknown: near"] * 2


def test_the_distance_of_a_protocol_is_a_root_mean_square():
    away = pd.DataFrame({"difference_in_sd": [0.0, 0.0, -3.0]})
    assert distance(away) == pytest.approx(np.sqrt(3.0))


@pytest.mark.parametrize(
    ("found", "near", "counted"),
    [
        (["differs"] * 2 + ["agrees"], ["agrees"] * 3, "protocol unknown: near"),
        (["differs", "undecided", "undecided"], ["agrees"] * 3, "protocol unknown: near"),
        (["differs"] * 3, ["agrees in mean only"] * 3, "protocol unknown: near"),
        (["differs"] + ["agrees"] * 2, ["agrees"] * 3, "differs"),
        (["differs", "agrees"], ["agrees"] * 2, "differs"),  # no more than agree
        (["differs"] * 3, ["agrees"] + ["undecided"] * 2, "differs"),
        (["differs"] * 2, ["agrees", "undecided"], "differs"),  # near half is not near most
    ],
)
def test_a_program_that_did_not_make_the_table_leaves_its_protocol_unknown(found, near, counted):
    rows = [_number("as_coded", "authors", v, line) for line, v in enumerate(found)]
    rows += [_number("searched", "searched", v, line) for line, v in enumerate(near)]
    assert judge_numbers(pd.concat(rows))["counted"][0] == counted


def test_run_times_are_noted_and_never_counted():
    [found] = judge_numbers(of_item(cells(), "fedgrem_table6").iloc[:1]).to_dict("records")
    assert found["counted"] == "not judged"
    assert "not judged" not in counts(cells())


def test_run_times_that_were_not_run_are_not_counted_as_missing():
    numbers = judge_numbers(_number("", "", "not judged"))
    assert numbers["counted"].tolist() == ["not judged"]


def test_a_number_keeps_its_name_where_variants_call_its_column_otherwise():
    frame = pd.concat(
        [
            _number("as_coded", "authors", "agrees", column="abalone"),
            _number("as_written", "written", "differs", column="abalone_as_written"),
        ]
    )
    [found] = judge_numbers(frame).to_dict("records")
    assert (found["column"], found["power"]) == ("abalone", 0.5)


def test_the_side_of_the_print_is_told_in_a_sentence():
    shifts = [-7.0, -6.0, -5.0]
    frame = pd.concat(
        [
            _number("as_coded", "authors", "agrees", line, difference=d / 10, difference_in_se=d)
            for line, d in enumerate(shifts)
        ]
    )
    [table] = score_tables(frame, {}, {}).to_dict("records")
    assert table["direction"] == (
        "All 3 lie below the published values; the median difference is -6.0 standard errors."
    )
    other = frame.assign(difference=[0.1, -0.2, -0.3])
    assert score_tables(other, {}, {})["direction"][0].startswith(
        "2 of 3 lie below the published values"
    )


def _number(variant: str, role: str, verdict: str, line: int = 2, **columns) -> pd.DataFrame:
    away = {"differs": 2.0, "undecided": 0.4}.get(verdict, 0.1)
    names = {"variant": variant, "role": role, "verdict": verdict, "difference_in_sd": away}
    names |= {"printed_mean": 1.0, "printed_sd": 0.1, "printed_replications": 50}
    return synthetic_frame([names | {"printed_file": "f", "printed_line": line, **columns}])


def replications(mean: float, sd: float, n: int) -> np.ndarray:
    """Return n values with exactly this mean and standard deviation."""
    if n < 2:
        return np.full(n, mean)
    values = np.arange(n, dtype=float)
    return mean + sd * (values - values.mean()) / values.std(ddof=1)


@pytest.mark.parametrize(
    ("mean", "n", "verdict"),
    [
        (10.0, 400, "agrees closely"),
        (
            10.2,
            100_000,
            "cannot be decided",
        ),  # the published value's own error: a fifth of its spread, give or take
        (10.2, 100, "agrees"),
        (10.5, 400, "cannot be decided"),  # on the edge of the margin
        (10.7, 400, "differs"),
        (11.5, 100, "differs"),
        (11.5, 3, "undecided"),  # noise of three replications could hide anything
        (10.0, 1, "undecided"),
        (10.0, 4, "undecided"),  # absence of a proven difference is no agreement
        (float("nan"), 0, "not run"),
    ],
)
def test_the_verdict_follows_the_rule(mean, n, verdict):
    printed_replications = 60 if n == 100_000 else 200
    values = replications(mean, 1.0 if n != 3 else 3.0, n)
    narrow = {100_000: 0.45}.get(n, 1.0)
    assert compare(values, 10.0, narrow, printed_replications, 2).verdict == verdict


def test_differences_are_given_in_printed_sd_and_in_standard_errors():
    comparison = compare(replications(11.0, 2.0, 16), 10.0, 4.0, 64, 3)
    assert comparison.difference == pytest.approx(1.0)
    assert comparison.difference_in_sd == pytest.approx(0.25)
    assert comparison.difference_in_se == pytest.approx(1.0 / np.sqrt(4 / 16 + 16 / 64), rel=1e-6)


def test_the_interval_of_the_difference_is_welchs():
    ours, theirs = np.random.default_rng(1).normal(size=(2, 30))
    theirs = 3 * theirs[:12] + 1
    printed = theirs.mean(), theirs.std(ddof=1)
    comparison = compare(ours, *printed, 12, 12)
    expected = ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.9)
    np.testing.assert_allclose([comparison.low, comparison.high], expected, rtol=1e-9)


def test_the_ratio_of_spreads_has_an_interval_that_covers():
    rng = np.random.default_rng(2)
    found = [
        compare(rng.normal(size=20), 0.0, rng.normal(size=30).std(ddof=1), 30, 6)
        for _ in range(400)
    ]
    covered = np.mean([c.sd_ratio_low <= 1 <= c.sd_ratio_high for c in found])
    assert 0.85 < covered < 0.95


@pytest.mark.parametrize(
    ("sd", "verdict"),
    [
        (0.3, "agrees in mean only"),
        (0.45, "agrees closely"),  # less than half, but not beyond the interval of the ratio
        (0.7, "agrees closely"),
        (2.1, "agrees"),  # more than twice, but not beyond the interval
        (2.5, "agrees in mean only"),
    ],
)
def test_a_spread_beyond_a_factor_of_two_is_no_full_agreement(sd, verdict):
    assert compare(replications(10.0, sd, 200), 10.0, 1.0, 200, 2).verdict == verdict


def test_most_of_what_cannot_be_decided_agrees_in_the_end_if_it_is_an_exact_replication():
    rng = np.random.default_rng(4)
    theirs, first, later = (rng.normal(size=2000) / np.sqrt(n) for n in (50, 50, 4950))
    few = decide(first - theirs, 1.0, 50, 1.0, 50, 3)[-1]
    many = decide(0.01 * first + 0.99 * later - theirs, 1.0, 5000, 1.0, 50, 3)[-1]
    changed = many[few == "cannot be decided"]
    assert 0.7 < np.mean(changed == "agrees") < 0.8
    assert "unless our mean changes" in RULES["cannot be decided"]


def test_what_no_number_of_replications_decides_is_told_apart():
    few = compare(replications(10.0, 1.0, 10), 10.0, 1.0, 10, 2)
    assert few.verdict == "cannot be decided"  # the published mean itself is known to .32 sd
    assert few.needed == np.inf
    assert compare(replications(10.0, 1.0, 10), 10.0, 1.0, 200, 2).verdict == "undecided"


def test_the_replications_needed_decide():
    few = compare(replications(10.3, 1.0, 20), 10.0, 1.0, 200, 2)
    assert few.verdict == "undecided"
    assert compare(replications(10.0, 0.01, 20), 10.0, 1.0, 200, 2).needed == 2  # at the least
    enough = int(np.ceil(few.needed * 1.2))
    assert compare(replications(10.3, 1.0, enough), 10.0, 1.0, 200, 2).verdict == "agrees"
    assert compare(replications(10.5, 1.0, 20), 10.0, 1.0, 200, 2).needed == np.inf


def test_a_print_without_spread_is_met_by_its_own_digits():
    values = replications(0.0001, 1e-6, 50)
    assert compare(values, 0.0, 0.0, 50, 3).verdict in ("agrees", "agrees closely")
    assert compare(replications(0.01, 1e-6, 50), 0.0, 0.0, 50, 3).verdict == "differs"


def test_rounding_in_print_is_part_of_the_error():
    values = replications(0.2621, 1e-9, 50)
    assert compare(values, 0.262, 1e-9, 50, 3).difference_in_se == pytest.approx(0.3464, rel=1e-3)


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "DESIGNS", ((100, 100),))
        return calibration.calibrate(exact=2, others=1)


@pytest.mark.slow
def test_every_truth_has_its_shares(found):
    numbers, claims = found
    assert list(numbers["truth"]) == [truth.name for truth in calibration.TRUTHS]
    assert list(numbers["n"]) == [40, 20, 20, 20, 20, 8, 4]
    assert list(claims["truth"]) == list(calibration.CLAIMS)
    for shares in found:
        assert shares.iloc[:, 3:].sum(axis=1).tolist() == pytest.approx([1.0] * len(shares))


@pytest.mark.slow
def test_what_is_true_agrees_and_what_is_false_differs(found):
    numbers, claims = (part.set_index("truth") for part in found)
    agreeing = numbers["agrees"] + numbers["agrees closely"]
    assert agreeing["exact replication"] > 0.7
    assert numbers.loc["two columns swapped", "differs"] == 1
    assert numbers.loc["shifted by one sd", "differs"] > 0.9
    assert numbers.loc["a third of the spread", "agrees in mean only"] > 0.9
    assert claims.loc["true: A is lowest", "holds"] == 1
    assert claims.loc["false: D is below A", "reversed"] == 1
    assert claims.loc["false in one setting: D is below E", "mixed"] == 1
    assert claims.loc["false, equal means: B is below C", "holds"] == 0


@pytest.mark.slow
def test_the_page_has_the_goals_beside_what_was_found(found, tmp_path):
    page, figure = tmp_path / "calibration.md", tmp_path / "calibration.svg"
    calibration_page(*found, page, figure)
    text = page.read_text(encoding="utf-8")
    assert goals(*found) in text
    assert "of 40 values (goal: under 5 %)" in text
    assert "| two columns swapped | 8 |" in text
    assert "calibration.svg" in text
    assert figure.read_text(encoding="utf-8").lstrip().startswith("<!DOCTYPE svg")

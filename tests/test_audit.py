"""Verdicts follow their rule, and no printed cell is forgotten."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells import audit_cells, counts, rank_agreement, summarise_variants
from fedmix.cells.evidence import Evidence, of_variants
from fedmix.cells.verdicts import VERDICTS, compare, speed_verdict
from fedmix.errors import DataError
from synthetic_results import published_cells, results_and_timings


@pytest.fixture(scope="module")
def measured() -> tuple[pd.DataFrame, pd.DataFrame]:
    return results_and_timings()


@pytest.fixture(scope="module")
def cells(measured) -> pd.DataFrame:
    return audit_cells(*measured, published_cells())


@pytest.mark.parametrize(
    ("mean", "n", "verdict"),
    [
        (10.0, 100, "reproduced"),
        (10.2, 10_000, "reproduced"),  # told from the printed mean, but a fifth of its spread
        (10.7, 100, "close"),
        (11.5, 100, "differs"),
        (11.5, 3, "undecided"),  # noise of three replications could hide anything
        (10.0, 1, "undecided"),
        (10.3, 4, "close"),  # too imprecise to be called reproduced
        (float("nan"), 0, "not run"),
    ],
)
def test_the_verdict_follows_the_rule(mean, n, verdict):
    assert compare(mean, 1.0 if n != 3 else 3.0, n, 10.0, 1.0, 200, 2).verdict == verdict


def test_differences_are_given_in_printed_sd_and_in_standard_errors():
    comparison = compare(11.0, 2.0, 16, 10.0, 4.0, 64, 3)
    assert comparison.difference == pytest.approx(1.0)
    assert comparison.in_sd == pytest.approx(0.25)
    assert comparison.in_se == pytest.approx(1.0 / np.sqrt(4 / 16 + 16 / 64), rel=1e-6)


def test_rounding_in_print_is_part_of_the_error():
    assert compare(0.2621, 1e-9, 50, 0.262, 1e-9, 50, 3).in_se == pytest.approx(0.3464, rel=1e-3)


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(1.2, "reproduced"), (0.6, "close"), (2.5, "differs")]
)
def test_seconds_are_judged_by_ratios(ratio, verdict):
    assert speed_verdict(ratio) == verdict


def test_every_printed_cell_appears_once_in_every_variant_of_its_table(cells):
    assert len(cells) == 2 * len(published_cells())  # each study is made up in two variants
    assert not cells.duplicated(["paper", "table", "row", "column", "variant"]).any()
    assert set(cells.verdict) <= set(VERDICTS)


def test_units_are_the_papers(cells):
    cell = cells[(cells.metric == "misclustering") & (cells.variant == "paper_like")].iloc[0]
    assert cell.scaled_mean == pytest.approx(cell["mean"] * 100)
    assert cell.difference == pytest.approx(cell.scaled_mean - cell.printed_mean)
    assert cell.se == pytest.approx(cell.sd / np.sqrt(cell.n))


def test_a_cell_that_only_the_codes_variant_reproduces_says_so(cells):
    summary = summarise_variants(cells)
    assert len(summary) == len(published_cells())
    notes = summary[summary.table == "5"].note
    assert notes.eq("differs as_written, agrees as_coded").any()


def test_seconds_do_not_depend_on_the_machines_speed(measured):
    results, timings = measured
    slower = timings.assign(seconds=timings.seconds * 37)
    one, other = (audit_cells(results, t, published_cells()) for t in (timings, slower))
    timed = one.metric == "seconds"
    assert timed.any()
    np.testing.assert_allclose(one[timed].relative_speed, other[timed].relative_speed)
    assert (one.verdict == other.verdict).all()


def test_without_results_every_cell_is_not_run(measured):
    empty = measured[0].iloc[:0]
    cells = audit_cells(empty, None, published_cells())
    assert len(cells) == len(published_cells())
    assert set(cells.verdict) == {"not run"}
    assert rank_agreement(cells).empty
    assert counts(cells).to_numpy().sum() == len(cells)


def test_a_stand_in_never_counts_as_a_reproduction(measured):
    results, timings = measured
    only = results[(results.dataset == "mnist")].assign(dataset="digits")
    cells = audit_cells(
        only,
        timings.iloc[:0],
        published_cells(),
        [{"theirs": {"dataset": "mnist"}, "ours": {"dataset": "digits"}}],
    )
    mnist = cells[(cells.setting_dataset == "mnist") & (cells.metric != "seconds")]
    assert set(mnist[mnist.n > 0].verdict) == {"stand-in"}
    assert set(cells[cells.setting_dataset == "pendigits"].verdict) == {"not run"}
    assert not counts(cells)[["reproduced", "close"]].to_numpy().any()


def test_a_stand_in_may_translate_other_values(measured):
    results, _ = measured
    few = results[(results.dataset == "pendigits") & (results.n_contaminated == 9)]
    few = few.assign(dataset="digits", n_contaminated=2)
    stand_in = {"theirs": {"dataset": "pendigits"}, "ours": {"dataset": "digits"}}
    stand_in["values"] = {"n_contaminated": {9: 2}}
    cells = audit_cells(few, None, published_cells(), [stand_in])
    assert set(cells[cells.n > 0].row) == {"20.5 %"}


def test_the_real_data_set_goes_before_its_stand_in(measured):
    stand_ins = [{"theirs": {"dataset": "mnist"}, "ours": {"dataset": "cifar10"}}]
    cells = audit_cells(*measured, published_cells(), stand_ins)
    assert "stand-in" not in set(cells.verdict)


def test_an_empty_frame_without_columns_is_no_results(measured):
    cells = audit_cells(pd.DataFrame(), pd.DataFrame(), published_cells())
    assert set(cells.verdict) == {"not run"}


def test_failures_are_counted_beside_the_mean(cells):
    cell = cells[(cells.table == "5") & (cells.row == "1.35") & (cells.column == "h = 0")]
    failed = cell.set_index("variant").n_failed
    assert failed["as_coded"] == 2
    assert failed["as_written"] == 0
    assert (cell.n == 12).all()


def test_rank_agreement_is_perfect_for_the_printed_order_itself():
    cells = published_cells()
    rows = cells[cells.table == "3"].assign(variant="v", n=5, verdict="close")
    rows["mean"] = rows.printed_mean * rows.scale
    agreement = rank_agreement(rows)
    assert len(agreement) == 4
    np.testing.assert_allclose(agreement.kendall_tau, 1.0)
    assert agreement.same_best.all()
    rows["mean"] = -rows["mean"]
    assert (rank_agreement(rows).kendall_tau < -0.99).all()
    assert not rank_agreement(rows).same_best.any()


def test_no_order_of_merit_is_made_of_seconds(cells):
    seconds = rank_agreement(cells[cells.metric == "seconds"])
    assert seconds.same_best.isna().all()
    assert seconds.kendall_tau.notna().all()


def test_a_replication_that_occurs_twice_is_refused(measured):
    results, _ = measured
    with pytest.raises(DataError, match="occurs twice"):
        Evidence(pd.concat([results, results.iloc[:1]]))


def test_the_audit_is_the_same_whatever_the_order_of_rows(measured, cells):
    results, timings = measured
    shuffled = results.sample(frac=1.0, random_state=1)
    pd.testing.assert_frame_equal(audit_cells(shuffled, timings, published_cells()), cells)


def test_a_variant_that_tries_one_switch_does_not_decide(measured, cells):
    diagnostic = {"fedgrem_simulation": ["as_coded"]}
    judged = summarise_variants(
        audit_cells(*measured, published_cells(), diagnostic=diagnostic)
    ).set_index(["table", "row", "column"])
    free = summarise_variants(cells).set_index(["table", "row", "column"])
    helped = free[(free.index.get_level_values("table") == "5") & (free.note != "")].index
    assert (free.verdict[helped] != "differs").all()
    assert (judged.verdict[helped] == "differs").all()
    assert (judged.note[helped] == free.note[helped]).all()  # the reader still learns of it


def test_rows_of_variants_are_told_by_study_and_name(measured):
    results, _ = measured
    named = results[of_variants(results, {"fedgrem_simulation": ["as_coded"]})]
    assert set(zip(named.study, named.variant, strict=True)) == {("fedgrem_simulation", "as_coded")}


def test_a_variant_is_diagnostic_in_its_own_study_only(measured, cells):
    diagnostic = {"fedgrem_simulation": ["as_coded"]}
    judged = audit_cells(*measured, published_cells(), diagnostic=diagnostic)
    elsewhere = judged.study != "fedgrem_simulation"
    others = [summarise_variants(table[elsewhere]).verdict.tolist() for table in (judged, cells)]
    assert (judged[elsewhere].variant == "as_coded").any()
    assert others[0] == others[1]


def test_where_only_diagnostic_variants_ran_a_cell_counts_as_not_run(cells):
    alone = cells[cells.variant == "as_coded"].assign(diagnostic=True)
    assert summarise_variants(alone).verdict.eq("not run").all()

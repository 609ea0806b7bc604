"""Each table's answer in words, and the counts that an exact replication is expected to get."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.answers import lead_of
from fedmix.cells.calibration import expected_counts, simulate
from fedmix.cells.equivalence import judge
from fedmix.cells.items import Table
from fedmix.cells.papers import Paper
from fedmix.cells.scorecard import score_tables
from synthetic_cells import unjudged

ROOT = Path(__file__).parents[1]
PUBLISHED = {"FedGrEM": 10.0, "FedEM": 14.0, "LocalEM": 20.0}
TABLE = Table(
    name="item",
    paper="paper",
    title="Paper, Table 1",
    caption="Errors.",
    study="study",
    metric="error",
    row="{setting}",
    column="{method}",
    unit="percent",
    digits=2,
    best="lowest",
)


def variant(name, role, means, best="FedGrEM", n=200):
    """Return a table's cells in one variant: means of ours beside those published."""
    values = np.tile([-1.0, 1.0], n // 2)
    return [
        {
            "variant": name,
            "role": role,
            "method": method,
            "label": method,
            "setting": setting,
            "row": setting,
            "column": method,
            "mean": means[method],
            "sd": values.std(ddof=1),
            "n": n,
            "values": means[method] + values,
            "best": "best" if method == best else "",
            "printed_mean": mean,
            "printed_sd": 1.0,
            "printed_replications": 200,
            "printed_text": f"{mean}",
            "printed_file": "f",
            "printed_line": 10 * i + j,
        }
        for i, setting in enumerate(("0 %", "10 %"))
        for j, (method, mean) in enumerate(PUBLISHED.items())
    ]


def five_draws(between):
    """Return cells of a setting under five draws, whose means lie so far apart."""
    return [
        row
        | {"study": "draws", "setting": f"s{i}", "item": "", "printed_file": ""}
        | {"mean": row["mean"] + between * i}
        for i in range(5)
        for row in variant("v", "authors", PUBLISHED)[:3]
    ]


def scored(*variants, paper=None, table=TABLE):
    frame = judge(unjudged([row for rows in variants for row in rows]))
    return score_tables(frame, {"item": table}, {"paper": paper} if paper else {}).iloc[0]


def test_the_answer_says_what_holds_by_how_much_and_on_what_it_depends():
    half = {"FedGrEM": 12.0, "FedEM": 14.0, "LocalEM": 20.0}
    gone = {"FedGrEM": 15.0, "FedEM": 14.0, "LocalEM": 20.0}
    found = scored(variant("as_coded", "authors", half), variant("as_written", "written", gone))
    assert found["answer"].startswith(
        "The method published as best has the best mean in 2 of 2 settings. On average FedGrEM is "
        "2.0 points ahead, where a lead of 4.0 points is published. 4 of 6 values agree"
    )
    assert found["answer"].endswith(" 2 differ.")
    assert "In other variants FedGrEM is 1.0 points behind (as written)." in found["more"]
    assert "Variant as written" not in found["more"]  # it differs from 2 of 6


def test_other_data_and_other_metrics_are_compared_with_nothing():
    rows = unjudged(variant("v", "authors", PUBLISHED))
    for changed in ({"judged": False}, {"is_stand_in": True}):
        found = judge(rows.assign(**changed))
        assert found[["difference", "low", "sd_ratio"]].isna().all(axis=None)
    never = judge(rows.assign(is_stand_in=True, n=0, values=[[] for _ in range(len(rows))]))
    assert set(never["verdict"]) == {"not run"}


def test_the_text_s_own_variant_that_says_no_is_told():
    away = {name: mean + 5 for name, mean in PUBLISHED.items()}
    found = scored(variant("as_coded", "authors", PUBLISHED), variant("text", "written", away))
    assert "Variant text differs from 6 of 6 values." in found["more"]
    assert "FedGrEM is 4.0 points ahead" in found["answer"]
    assert "Variant text" not in scored(variant("text", "written", away))["more"]  # it counts


def test_an_order_that_does_not_hold_is_told_with_the_distance():
    turned = {"FedGrEM": 15.0, "FedEM": 14.0, "LocalEM": 20.0}
    found = scored(variant("as_coded", "authors", turned, best="FedEM"))
    assert found["answer"].startswith(
        "The method published as best has the best mean in 0 of 2 settings. On average FedGrEM is "
        "1.0 points behind, where a lead of 4.0 points is published."
    )


def test_a_lead_of_nothing_is_told_in_words():
    level = variant("as_coded", "authors", dict.fromkeys(PUBLISHED, 12.0))
    said = "On average FedGrEM is level with the best other method, where a lead of 4.0 points"
    assert said in scored(level)["answer"]


def test_a_tie_with_the_best_is_told_beside_the_best():
    rows = variant("as_coded", "authors", PUBLISHED)
    for row, best in zip(rows[3:], ("tied", "best", ""), strict=True):
        row["best"] = best
    assert scored(rows)["answer"].startswith(
        "The method published as best has the best mean in 1 of 2 settings. In 1 more no test "
        "finds a better one. On average"
    )


def test_a_lead_is_told_in_the_unit_shown():
    shares = [
        row | {"scale": 0.01, "mean": row["mean"] / 100, "values": row["values"] / 100}
        for row in variant("as_coded", "authors", PUBLISHED)
    ]
    assert "FedGrEM is 4.0 points ahead" in scored(shares)["answer"]
    found = scored(
        variant("as_coded", "authors", PUBLISHED | {"FedGrEM": 12.7}),
        table=TABLE.model_copy(update={"unit": ""}),
    )
    assert "FedGrEM is 1.3 ahead, where a lead of 4 is published" in found["answer"]


def test_a_variant_in_which_the_method_is_further_behind_says_by_how_much():
    rows = variant("as_coded", "authors", PUBLISHED | {"FedEM": 9.0}, best="FedEM")
    rows += variant("as_written", "written", PUBLISHED | {"FedEM": 8.0}, best="FedEM")
    assert "In other variants FedGrEM is 2.0 points behind (as written)." in scored(rows)["more"]


def test_run_times_on_other_data_are_not_judged_and_not_counted():
    timed = {"metric": "seconds", "is_stand_in": True}
    rows = [row | timed for row in variant("v", "authors", PUBLISHED)]
    rows[-1] |= {"is_stand_in": False, "n": 0, "values": []}  # a row that was not run
    found = scored(rows)
    assert found["answer"] == "Run times are noted and not judged."
    assert found["stand-in"] == 0


def test_a_table_of_an_unknown_protocol_counts_what_comes_near():
    found = scored(variant("like", "inferred", PUBLISHED))
    assert "The paper does not report how the table was made. The nearest" in found["answer"]
    assert "agrees with 6 of 6 values and differs from 0." in found["answer"]
    assert "For FedGrEM alone, this protocol agrees with 2 of 2" in found["more"]


def test_values_that_agree_in_mean_alone_are_told_apart():
    near = {
        role: [
            row | {"sd": 0.1, "values": row["mean"] + 0.1 * (row["values"] - row["mean"])}
            for row in variant("v", role, {name: mean + 0.25 for name, mean in PUBLISHED.items()})
        ]
        for role in ("authors", "inferred")
    }
    assert "0 of 6 values agree" in scored(near["authors"])["answer"]
    assert "None differs; 6 are undecided." in scored(near["authors"])["answer"]
    assert scored(near["inferred"])["answer"].endswith(
        "It is 0.25 published standard deviations away. It agrees with 6 of 6 values (in mean "
        "only) and differs from 0. An exact replication would be expected to agree with 6."
    )


def test_a_nearest_protocol_says_how_many_values_it_leaves_undecided():
    wide = {name: mean + 1.5 for name, mean in PUBLISHED.items()}
    found = scored(variant("like", "inferred", wide, n=2))
    assert "agrees with 0 of 6 values and differs from 0; 6 are undecided." in found["answer"]


def test_values_that_more_runs_cannot_decide_are_told_apart_with_the_draw():
    rows = [row | {"other_draws": "draws"} for row in variant("like", "inferred", PUBLISHED)]
    assert scored(rows, five_draws(1.0))["answer"].endswith(
        "It is 0.00 published standard deviations away, on one draw of the data. It agrees with 0 "
        "of 6 values and differs from 0; 6 cannot be decided by more runs unless "
        "our means change. An exact replication would be expected to agree with 0."
    )


def test_a_table_whose_protocol_was_searched_counts_the_nearest_one_alone():
    away = {name: mean + 5 for name, mean in PUBLISHED.items()}
    rows = variant("as_coded", "authors", away), variant("searched", "searched", PUBLISHED, n=20)
    found = scored(*rows)
    assert (found["variant"], found["protocol unknown: near"]) == ("searched", 6)
    assert "Variant as coded agrees with 0 of 6 values and differs from 6." in found["answer"]
    assert "was tested on 20 new replications" in found["answer"]
    assert found["above"] == 0  # as_coded has all six above


def test_a_variant_that_failed_throughout_is_told_as_such():
    failed = {"n": 0, "failed": 200, "values": [], "best": ""}
    dead = [row | failed for row in variant("as_coded", "authors", PUBLISHED)]
    told = "Not compared: no replication of variant as coded has finished."
    assert scored(dead)["answer"] == told
    assert scored(dead, variant("as_written", "written", PUBLISHED))["answer"] == told
    other = [row | {"is_stand_in": True} for row in variant("as_coded", "authors", PUBLISHED)]
    assert scored(other)["answer"] == "Not compared: other data stand in for the paper's."


def test_a_lead_needs_methods_that_can_be_ordered():
    frame = pd.DataFrame(variant("as_coded", "authors", PUBLISHED))
    frame = frame.assign(scale=1.0, is_stand_in=False)
    assert lead_of(frame, "none") is None
    assert lead_of(frame[frame["method"] != "FedEM"], "lowest") is None
    assert lead_of(frame, "highest").method == "LocalEM"
    level = frame.assign(printed_mean=[1.0, 2.0, 3.0, 9.0, 2.0, 3.0])  # each is best somewhere
    assert lead_of(level, "lowest") is None
    other = frame.iloc[:3].assign(setting="20 %", printed_mean=[15.0, 14.0, 20.0])
    assert lead_of(pd.concat([other, frame]), "lowest").method == "FedGrEM"  # in two of three
    assert lead_of(frame.assign(n=5), "lowest").settings == 2
    assert lead_of(frame.assign(n=4), "lowest") is None  # too few replications
    alone = frame.iloc[:3].assign(setting=["a", "b", "c"])  # one method in each setting
    assert lead_of(alone, "lowest") is None


def test_a_setting_whose_published_best_failed_has_no_lead():
    frame = pd.DataFrame(variant("as_coded", "authors", PUBLISHED))
    frame = frame.assign(scale=1.0, is_stand_in=False)
    failed = (frame["setting"] == frame["setting"].iloc[0]) & (frame["label"] == "FedGrEM")
    assert lead_of(frame, "lowest").settings == 2
    assert lead_of(frame.assign(n=frame["n"].where(~failed, 0)), "lowest").settings == 1
    assert lead_of(frame.assign(is_stand_in=True), "lowest") is None


def test_no_other_method_is_called_the_one_published_as_best():
    frame = pd.DataFrame(variant("as_coded", "authors", PUBLISHED)).assign(scale=1.0)
    worst = frame[frame["label"] == "LocalEM"].assign(label="Other", column="Other")
    frame = pd.concat([frame, worst.assign(printed_mean=30.0)]).assign(is_stand_in=False)
    not_run = frame["label"] == "FedGrEM"  # such a value has a place, and no setting of ours
    missing = frame[not_run].assign(setting="", n=0)
    assert lead_of(frame, "lowest").method == "FedGrEM"
    assert lead_of(pd.concat([frame[~not_run], missing]), "lowest") is None
    first = missing["row"] == "0 %"
    some = pd.concat([frame[~not_run | (frame["row"] != "0 %")], missing[first]])
    assert lead_of(some, "lowest").settings == 1
    turned = {"row": "column", "column": "row"}  # methods in rows
    assert lead_of(some.rename(columns=turned), "lowest").settings == 1


def test_margins_of_substance_stand_beside_published_spreads():
    margins = {"error": {"size": 0.5, "reason": "half a point, which nobody would choose by"}}
    paper = Paper(
        key="paper", kind="papers", folder=ROOT, title="t", name="n", about="a", margins=margins
    )
    means = PUBLISHED | {"FedEM": 14.2, "LocalEM": 21.0}
    found = scored(variant("as_coded", "authors", means), paper=paper)
    assert (found["same"], found["other"], found["compared"]) == (4, 2, 6)
    assert (
        "To within 0.5 points, 4 of 6 values are the same, 2 are not and 0 are undecided."
        in found["more"]
    )
    assert scored(variant("as_coded", "authors", means))["compared"] == 0


@pytest.mark.parametrize(("between", "speaks"), [(0.0, ""), (3.0, "draw in 6 of 6 values")])
def test_the_published_spread_tells_whether_something_was_drawn_once(between, speaks):
    rows = [row | {"other_draws": "draws"} for row in variant("v", "authors", PUBLISHED)]
    draws = five_draws(between)
    found = score_tables(judge(unjudged([*rows, *draws])), {"item": TABLE}, {}).iloc[0]["more"]
    assert ("published standard deviation" in found) == bool(speaks)
    assert speaks in found
    few = [row for row in draws if row["method"] == "FedGrEM"]  # behind 2 of 6 values
    found = score_tables(judge(unjudged([*rows, *few])), {"item": TABLE}, {}).iloc[0]["more"]
    assert "published standard deviation" not in found


@pytest.mark.parametrize("role", ["authors", "searched"])
def test_spreads_of_a_search_that_draws_partitions_anew_are_not_those_of_one_draw(role):
    rows = [row | {"other_draws": "draws"} for row in variant(role, role, PUBLISHED)]
    frame = judge(unjudged([*rows, *five_draws(3.0)]))
    told = score_tables(frame[frame["item"] != ""], {"item": TABLE}, {}).iloc[0]["more"]
    assert ("within one draw" in told) == (role == "authors")
    assert frame["draws_sd"].iloc[0] > 0  # its verdicts count the variance all the same


@pytest.mark.parametrize(
    ("n", "printed", "between", "closely", "agrees"),
    [
        (20, 200, 0.0, 0, 0.33),
        (50, 50, 0.0, 0, 0.58),
        (100, 100, 0.0, 0.09, 0.94),
        (100, 100, 0.25, 0, 0),
    ],
)
def test_an_exact_replication_does_not_agree_with_everything(n, printed, between, closely, agrees):
    draws = (between**2, 10) if between else (0.0, 2)
    found = Counter(simulate(1.0, n, printed, 2, draws, times=4000).tolist())
    assert found["agrees closely"] / 4000 == pytest.approx(closely, abs=0.02)
    both = found["agrees closely"] + found["agrees"]
    assert both / 4000 == pytest.approx(agrees, abs=0.03)
    assert found["differs"] / 4000 < 0.05


def test_expected_counts_add_up_to_the_values_that_can_be_compared():
    rows = variant("as_coded", "authors", PUBLISHED) + variant("trial", "diagnostic", PUBLISHED)
    expected = expected_counts(judge(unjudged(rows)))
    assert expected.loc["item"].sum() == pytest.approx(6)
    again = expected_counts(judge(unjudged(rows)))
    pd.testing.assert_frame_equal(expected, again)
    alone = variant("as_coded", "authors", PUBLISHED, n=2)
    once = [row | {"n": 1, "values": [1.0]} for row in alone]
    assert expected_counts(judge(unjudged(once))).empty  # one replication has no spread

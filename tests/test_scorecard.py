"""What a published value and a table count as, and how the order of the methods compares."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.scorecard import counts, rank_agreement, score_tables
from fedmix.cells.verdicts import judge_numbers, printed_cells
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
    unclear = pd.concat([frame.iloc[:1], _number("as_written", "written", "undecided")])
    [found] = judge_numbers(unclear).to_dict("records")
    assert found["counted"] == "agrees (not discriminating)"
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
            _number("nearest", "nearest", v, 2 + i) for i, v in enumerate(["agrees", other])
        ]
        counted = judge_numbers(pd.concat([*own, *searched]))["counted"]
        assert list(counted) == ["protocol unknown: near", f"protocol unknown: {words}"]


def test_the_nearest_protocol_is_the_inferred_variant_where_it_is_nearer_than_the_search_s():
    own = [_number("paper_like", "inferred", "agrees", line) for line in (2, 3)]
    searched = [_number("nearest", "nearest", "differs", line) for line in (2, 3)]
    counted = judge_numbers(pd.concat([*own, *searched]))["counted"]
    assert list(counted) == ["protocol unknown: near"] * 2


@pytest.mark.parametrize(
    ("found", "near", "counted"),
    [
        (["differs"] * 2 + ["agrees"], ["agrees"] * 3, "protocol unknown: near"),
        (["differs", "undecided", "undecided"], ["agrees"] * 3, "protocol unknown: near"),
        (["differs"] * 3, ["agrees in mean only"] * 3, "protocol unknown: near"),
        (["differs"] + ["agrees"] * 2, ["agrees"] * 3, "differs"),
        (["differs"] * 3, ["agrees"] + ["undecided"] * 2, "differs"),
    ],
)
def test_a_program_that_did_not_make_the_table_leaves_its_protocol_unknown(found, near, counted):
    rows = [_number("as_coded", "authors", v, line) for line, v in enumerate(found)]
    rows += [_number("nearest", "nearest", v, line) for line, v in enumerate(near)]
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

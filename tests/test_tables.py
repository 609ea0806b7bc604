"""A table lays cells out: ours, the mark of the verdict and the printed number, in every form."""

import re
from itertools import combinations
from math import inf, nan

import pandas as pd
import pytest

from fedmix.cells.claims import CLAIM_VERDICTS
from fedmix.cells.verdicts import COUNTED, NOT_JUDGED, VERDICTS
from fedmix.errors import DataError
from fedmix.views.captions import best_explained, failures, leaderboard, origin, stand_in
from fedmix.views.format import (
    COLORS,
    MARKS,
    SIGNS,
    as_verb,
    number,
    number_of,
    seconds,
    signed,
    tally,
    to_markdown,
    with_spread,
)
from fedmix.views.tables.build import as_text, blocks_of, build_table, caption, notes
from fedmix.views.tables.layout import lay_out
from synthetic_cells import frame, item

PRINTED = {"printed_text": "13.30 (1.17)", "printed_mean": 13.3, "verdict": "agrees closely"}


def text(cells, **options):
    return as_text(blocks_of(item(options=options), cells), cells, options.get("rows", ""))


def test_the_printed_number_and_its_verdict_stand_beside_ours():
    cells = frame(
        [
            {
                "row": "0 %",
                "column": "FedEM",
                "mean": 0.1325,
                "sd": 0.012,
                "scale": 0.01,
                **PRINTED,
            },
            {"row": "0 %", "column": "TGMM"},
        ]
    )
    table = text(cells)
    assert table.loc["0 %", "FedEM"] == "13.25 (1.20) ● [13.30 (1.17)]"
    assert table.loc["0 %", "TGMM"] == "1.00 (0.10)"


def test_a_printed_number_stands_as_printed_whatever_our_decimals():
    cells = frame([{"printed_text": "220 (18)", "verdict": "differs", "mean": 1.5, "digits": 0}])
    assert text(cells).iloc[0, 0] == "2 (0) ○ [220 (18)]"


def test_variants_are_stacked_in_the_order_of_the_cells():
    cells = frame(
        [
            {"variant": variant, "row": row, "column": column}
            for variant in ("corrected", "as_written")
            for column in ("h = 1", "h = 0")
            for row in ("0.95", "0.55")
        ]
    )
    table = text(cells, rows="step constant")
    assert list(table.columns) == ["h = 1", "h = 0"]
    assert list(table.index)[:2] == ["corrected, 0.95", "corrected, 0.55"]
    assert table.index.name == "variant, step constant"


def test_a_place_without_a_cell_is_a_dash():
    cells = frame([{"row": "a", "column": "x"}, {"row": "b", "column": "y"}])
    assert text(cells).loc["a", "y"] == "–"


def test_the_variant_that_counts_comes_first_and_diagnostic_ones_last():
    roles = {"switched": "diagnostic", "text": "written", "program": "authors"}
    rows = [{"variant": variant, "role": role} for variant, role in roles.items()]
    assert [block.variant for block in lay_out(frame(rows))] == ["program", "text", "switched"]


def test_rows_and_columns_of_which_a_variant_ran_nothing_can_be_left_out():
    places = [("a", "x", 4), ("a", "y", 0), ("b", "x", 0), ("b", "y", 0)]
    cells = frame([{"row": row, "column": column, "n": n} for row, column, n in places])
    block = blocks_of(item(), cells)[0]
    assert (block.rows, block.columns) == (["a", "b"], ["x", "y"])
    assert (block.that_ran().rows, block.that_ran().columns) == (["a"], ["x"])


def test_a_cell_says_its_n_where_it_is_not_the_usual_one():
    rows = [{"row": str(i)} for i in range(3)] + [{"row": "short", "n": 3, "failed": 1}]
    cells = frame([{**row, "method": row["row"]} for row in rows])
    table = text(cells)
    assert table.loc["short"].item() == "1.00 (0.10), n = 3"
    assert table.loc["0"].item() == "1.00 (0.10)"
    said = caption(item(), cells)
    assert "n = 4 replications unless a cell says otherwise; 1 failed replication left out" in said


def test_an_undefined_score_is_a_dash_and_shifts_nothing():
    scores = [{"metric": "silhouette"}, {"metric": "ari", "mean": 2.0}]
    rows = [{**score, "row": row} for row in ("whole", "part") for score in scores]
    cells = frame([r for r in rows if (r["row"], r["metric"]) != ("part", "silhouette")])
    table = text(cells)
    assert table.loc["whole"].item() == "1.00 (0.10) / 2.00 (0.10)"
    assert table.loc["part"].item() == "– / 2.00 (0.10)"


def test_a_method_with_another_metric_keeps_its_number():
    metrics = {"KFED": ("pooled", "clusters"), "FedGEM": ("per client", "clusters")}
    rows = [{"row": name, "metric": m} for name, own in metrics.items() for m in own]
    [block] = lay_out(frame(rows))
    shown = [entry.cell["metric"] for entry in block.entries["FedGEM", "column"]]
    assert shown == ["per client", "clusters"]


def test_a_metric_that_no_other_place_has_is_not_lost():
    places = [("whole", "silhouette"), ("whole", "ari"), ("other", "error")]
    cells = frame([{"row": row, "metric": metric} for row, metric in places])
    assert text(cells).loc["other"].item() == "1.00 (0.10)"


def test_variants_of_a_condensed_table_have_the_same_columns():
    rows = [
        {"variant": variant, "method": name, "label": name, "setting": f"n{n}", "setting_n": n}
        | {"mean": n**slope, "se": 0.0}
        for variant, slopes in (("one", {"A": 1, "B": 2}), ("two", {"B": 3, "C": 4}))
        for name, slope in slopes.items()
        for n in (1.0, 2.0, 4.0)
    ]
    slopes = {"kind": "slopes", "metric": "error"}
    table = text(
        frame(rows), condensed={**slopes, "rows": [{"row": "r", "along": "n", "exponent": 1}]}
    )
    assert list(table.columns) == ["predicted", "A", "B", "C"]
    assert [place[:4] for place in table.loc["one, r"]] == ["+1", "1.00", "2.00", "–"]
    assert [place[:4] for place in table.loc["two, r"]] == ["+1", "–", "3.00", "4.00"]


def test_a_leaderboard_is_in_the_order_of_ranks_under_the_names_that_are_shown():
    rows = [
        {"method": name, "label": name, "row": name, "column": data, "setting": data, "n": 5}
        | {"setting_dataset": data, "values": (mean,) * 5, "replications": tuple(range(5))}
        for name, mean in (("worst", 3.0), ("best", 1.0), ("middle", 2.0))
        for data in "abcdefghij"
    ]
    told = item(direction="lowest", options={"leaderboard": "error", "names": {"best": "B*"}})
    cells = frame(rows)
    assert as_text(blocks_of(told, cells), cells).index.tolist() == ["B*", "middle", "worst"]
    assert "10 independent data sets: B* 1.0, middle 2.0, worst 3.0." in notes(told, cells)[0]


def test_a_cell_whose_replications_all_failed_is_empty_but_there():
    cells = frame(
        [{"row": "ok"}, {"row": "none", "n": 0, "mean": float("nan"), "sd": float("nan")}]
    )
    assert text(cells).loc["none"].item() == "–, n = 0"


def test_a_table_shows_the_statistic_that_is_asked_for_a_metric():
    cells = frame([{"digits": None, "metric": m, "column": m} for m in ("error", "rate")])
    table = text(cells, show={"error": "quartiles"}, names={"error": "error (quartiles)"})
    assert table["error (quartiles)"].item() == "1 (0.9, 1.1)"
    assert table["rate"].item() == "1 (0.1)"


def test_short_times_are_thousandths_of_a_second():
    cells = frame([{"metric": "seconds", "unit": "seconds", "mean": 0.0123, "sd": 0.0004}])
    assert text(cells).iloc[0, 0] == "12.3 ms (0.4)"


def test_names_of_data_sets_are_for_people():
    cells = frame([{"column": "digits"}])
    assert list(text(cells).columns) == ["Digits (8x8)"]


def test_above_stand_title_replications_and_preset():
    said = caption(item(), frame([PRINTED]))
    assert said == "Paper, Table 1. Errors. n = 4 replications. Preset quick."


def test_below_stand_variants_and_marks():
    said = notes(item(), frame([PRINTED]))
    assert "Variant as written: what the text says." in said
    assert "Marks: ● agrees closely." in said


def test_the_variants_are_explained_in_the_table_s_order():
    roles = {"one_switch": "diagnostic", "as_coded": "authors", "as_written": "written"}
    cells = frame([{**PRINTED, "variant": name, "role": role} for name, role in roles.items()])
    said = notes(item(variants=dict.fromkeys(roles, "what it is")), cells)
    told = [line.partition(":")[0] for line in said if line.startswith("Variant ")]
    assert told == ["Variant as coded", "Variant as written", "Variant one switch"]


def test_seconds_that_are_not_judged_say_why():
    said = " ".join(notes(item(), frame([{**PRINTED, "verdict": "not judged"}])))
    assert "Not judged: run times depend on the machine, the language and the program" in said
    assert "Marks" not in said


@pytest.mark.parametrize(
    ("reasons", "says"),
    [
        (
            {"for regression data only": ["IFCA", "TwoPhase"], "not chosen": ["AFCL"]},
            "Not run, for regression data only: IFCA, TwoPhase. Not run, not chosen: AFCL.",
        ),
        ({"no data": ["A", "B, published"]}, "Not run, no data: A; B, published."),
    ],
)
def test_methods_and_data_that_cannot_run_are_named_with_the_reason(reasons, says):
    assert " ".join(notes(item(left_out=reasons), frame([{}]))).endswith(says)


@pytest.fixture
def written(tmp_path):
    def write(cells, **changes):
        outputs = [tmp_path / f"table.{s}" for s in ("csv", "md", "tex")]
        build_table(item(**changes), cells, outputs)
        return outputs

    return write


def test_every_output_is_written_in_its_format(written):
    csv, md, tex = written(frame([{**PRINTED, "failures": ""}, {"item": "another"}]))
    rows = pd.read_csv(csv)
    assert len(rows) == 1
    assert {"mean", "sd", "se", "n", "failed", "printed_text", "verdict"} <= set(rows)
    assert not {"values", "replications", "failures"} & set(rows)
    assert md.read_text().startswith("Paper, Table 1. Errors. n = 4 replications. Preset quick.\n")
    assert r"\toprule" in tex.read_text()
    assert r"\label{tab:item}" in tex.read_text()


def test_a_caption_says_which_data_stood_in(written):
    _, md, tex = written(frame([{"is_stand_in": True, "verdict": "stand-in"}]))
    for form in (md, tex):
        assert "STAND-IN: our numbers come from Digits (8x8)" in form.read_text()


def test_one_two_and_three_stand_ins_are_named():
    rows = [{"is_stand_in": True, "setting_dataset": name} for name in ("a", "b_c", "digits")]
    titles = {"digits": "Digits (8x8)"}
    assert stand_in(frame(rows[2:]), titles).startswith("STAND-IN: our numbers come from Digits")
    assert "come from a, b c and Digits (8x8), not" in stand_in(frame(rows), titles)
    compared = {"printed_mean": 1.0}
    one, two = (stand_in(frame([compared, *rows[:n]]), titles) for n in (1, 2))
    assert one == "Our version of a stands in for the paper's: its values are not compared."
    assert (
        two == "Our versions of a and b c stand in for the paper's: their values are not compared."
    )


def test_no_results_is_a_clear_error():
    with pytest.raises(DataError, match="Table 1: no results yet"):
        build_table(item(), frame([{"item": "another"}]), [])


def test_two_cells_in_one_place_are_refused():
    cells = frame([{"setting": "h0", "method": "FedEM"}, {"setting": "h1", "method": "FedEM"}])
    with pytest.raises(DataError, match="h0 FedEM and h1 FedEM both have row"):
        text(cells)


def test_values_that_were_not_published_stand_below_those_that_were():
    block = lay_out(frame([{"row": "new"}, {"row": "old", "printed_line": 3, **PRINTED}]))[0]
    assert block.rows == ["old", "new"]


def test_failures_are_added_up_and_a_long_origin_is_cut():
    fits = (("a", "FedEM", 2), ("b", "FedEM", 3), ("a", "FedGrEM", 1))
    rows = [
        {"setting": setting, "method": m, "label": m, "failed": n, "failures": f"timeout: {m}."}
        for setting, m, n in fits
    ]
    rows.append(rows[0] | {"method": "TGMM", "label": "TGMM", "failures": "error: x"})
    assert failures(frame(rows)) == (
        "Failed replications, which are left out: timeout in FedEM (5) and FedGrEM (1), first: "
        "FedEM; error in TGMM (2), first: x."
    )
    made = [{"made": "day 1"}, {"made": "day 2"}, {"made": "day 3, day 4"}]
    assert origin(frame(made)).startswith("Run on day 1, day 2 and 2 more. Written at")


def test_five_replications_can_have_a_best_value():
    [few] = best_explained(frame([{"n": 4}]), "lowest")
    assert few.startswith("Nothing is in bold: fewer than 5 replications")
    assert best_explained(frame([{"n": 5}]), "lowest") == []
    assert best_explained(frame([{"n": 4}]), "none") == []


def test_methods_closer_than_the_critical_difference_are_told_together():
    ranked = pd.DataFrame({"label": ["A", "B", "C"], "mean_rank": [1.0, 1.2, 2.8]})
    assert leaderboard(ranked, 10, 5) == (
        "Ordered by mean rank over 10 independent data sets: A 1.0, B 1.2, C 2.8. "
        "Not distinguished (critical difference 1.0): A to B."
    )
    assert leaderboard(ranked, 10, 4).endswith("fewer than 5 replications, no groups are formed.")


def test_a_caption_says_when_results_were_run_and_when_they_were_checked_since():
    checked = "2026-02-03 at commit def5678"
    cells = frame([{"checked": checked}, {"made": "2026-01-05 at commit aaa1111"}])
    said = origin(cells)
    assert said.startswith(
        "Run on 2026-01-02 at commit abc1234 and 2026-01-05 at commit aaa1111. A sample was run "
        f"again on {checked}, with equal results. Written at commit "
    )
    nothing = frame([{"made": ""}])
    assert origin(nothing).startswith("Written at commit ")


TABLE = pd.DataFrame(
    {"Local-EM": ["13.31 (1.20) | 13.30 (1.00) ●", "– | 12.88 (1.00) –"], "FedGrEM": ["", "12"]},
    index=["0 %", "6.8 %"],
)


def mean_sd(mean, sd, digits):
    return with_spread([number(mean, digits), number(sd, digits)])


def test_a_missing_mean_is_a_dash_and_a_missing_sd_is_left_out():
    assert mean_sd(float("nan"), 1.0, 3) == "–"
    assert mean_sd(0.25, None, 2) == "0.25"
    assert mean_sd(0.25, 0.5, 1) == "0.2 (0.5)"


def test_numbers_without_given_decimals_have_three_digits_and_stay_readable():
    assert [number(x) for x in (0.04387, 53224.0, 5533904.0)] == ["0.0439", "53,224", "5.53M"]
    assert [number(x) for x in (999.4, 999.7, 5.5e9, -0.0)] == ["999", "1,000", "5,500M", "0"]
    assert [number(x) for x in (1e6, -53224.0)] == ["1M", "-53,224"]
    assert [number(x) for x in (inf, -inf, nan)] == ["inf", "-inf", "–"]
    assert number(-0.001, 2) == "0.00"
    assert [signed(x) for x in (-2051.0, 0.0, 0.5, nan)] == ["-2,051", "+0", "+0.5", "–"]


def test_seconds_are_told_in_a_unit_that_fits():
    assert seconds([0.0123, 0.0004]) == "12.3 ms (0.4)"
    assert seconds([5.12, float("nan")]) == "5.12 s"
    assert seconds([0.1, 0.02]) == "0.1 s (0.02)"
    assert seconds([float("nan"), float("nan")]) == "–"


def test_markdown_keeps_its_columns_when_a_cell_holds_a_bar():
    lines = to_markdown(TABLE, "Table 1").splitlines()
    assert lines[0] == "Table 1"
    assert lines[2] == "|  | Local-EM | FedGrEM |"
    assert lines[4].endswith("| – |")
    assert r"\|" in lines[4]
    assert lines[2].count("|") == lines[3].count("|") == 4


def test_notes_stand_below():
    assert to_markdown(TABLE, notes=["n = 5.", "Marks."]).endswith("|\n\n- n = 5.\n- Marks.\n")


def test_tags_of_html_are_shown_as_text():
    names = ["<script>alert(1)</script>", "<!-- hidden", "p < 0.05, a<b? 3<4"]
    table = pd.DataFrame({"<img src=x>": names}, index=names)
    text = to_markdown(table, "<b>Caption", ["<i>Note"])
    assert not re.search(r"<[A-Za-z/!?]", text)
    assert "&lt;script>alert(1)&lt;/script>" in text
    assert "p < 0.05" in text
    assert "3<4" in text


def test_every_verdict_has_a_mark():
    assert set(MARKS) == {*VERDICTS, *COUNTED, *CLAIM_VERDICTS}
    assert [verdict for verdict, sign in SIGNS.items() if not sign] == [NOT_JUDGED]


@pytest.mark.parametrize("verdicts", [COUNTED, CLAIM_VERDICTS])
def test_signs_and_colours_tell_verdicts_apart(verdicts):
    assert len({SIGNS[verdict] for verdict in verdicts}) == len(verdicts)
    for one, other in combinations(verdicts, 2):
        first, second = (bytes.fromhex(COLORS[name][1:]) for name in (one, other))
        assert sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) > 50**2, (one, other)


def test_counts_are_told_with_their_verbs():
    assert tally({"agrees": 12, "undecided": 0, "differs": 1}) == "12 agree, 1 differs"
    assert tally({"agrees": 0}) == "–"
    assert as_verb("holds", 0) == "hold"
    assert [number_of(n, "replication") for n in (1, 20)] == ["1 replication", "20 replications"]


def test_values_of_unknown_protocols_are_counted_together():
    counts = {"agrees": 1, "protocol unknown: near": 5, "protocol unknown: not near": 2}
    assert tally(counts) == "1 agrees; protocol unknown: 5 near, 2 not near"
    assert tally({"protocol unknown: near": 5}) == "protocol unknown: 5 near"
    assert tally({"protocol unknown: near": 0}) == "–"

"""What is said above and below a table: numbers, metrics, failures and what is not shown."""

import pandas as pd
import pytest

from fedmix.cells.condensed import Contrast, contrasts
from fedmix.views.captions import best_explained, leaderboard, origin, power, replications, stand_in
from fedmix.views.format import to_markdown
from fedmix.views.tables.build import as_text, blocks_of, build_table, caption, notes
from fedmix.views.tables.layout import lay_out, lay_out_condensed
from synthetic_cells import frame, item

NOT_RUN = {"n": 0, "mean": float("nan"), "sd": float("nan")}
FAILED = {**NOT_RUN, "failed": 2, "failures": "timeout: over 60 s"}


def shown(cells, **options):
    return as_text(blocks_of(item(options=options), cells), cells, options.get("rows", ""))


def written(tmp_path, cells, suffix="md", **changes):
    path = tmp_path / f"table.{suffix}"
    build_table(item(**changes), cells, [path])
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([4, 4, 0], "n = 4 replications."),
        ([4, 5], "n = 5 replications in most cells."),
        ([1], "n = 1 replication."),
        ([0], "n = 0 replications."),
    ],
)
def test_the_usual_number_of_replications_is_told_whatever_was_not_run(numbers, said):
    assert replications(frame([{"n": n} for n in numbers]), "", "in most cells") == said


def test_a_best_value_is_possible_where_one_cell_has_five_replications():
    assert best_explained(frame([{"n": 5}, {"n": 4}]), "lowest") == []


@pytest.mark.parametrize(
    ("places", "mixed"),
    [
        ([("A", "x"), ("B", "y")], True),
        ([("A", "x"), ("B", "x")], False),
        ([("A", "x"), ("A", "y"), ("B", "x")], False),
    ],
)
def test_methods_with_metrics_of_their_own_are_compared_within_a_metric(places, mixed):
    rows = [{"method": name, "metric": metric, "best": "best"} for name, metric in places]
    [said] = best_explained(frame(rows), "lowest")
    assert ("the best of those scored by the same metric," in said) == mixed


@pytest.mark.parametrize(
    ("sd", "said"), [(0.1, "0.21 "), (46.0, "98 "), (46.9, "99.8 "), (4e3, "8,512 ")]
)
def test_what_can_be_detected_has_no_exponent(sd, said):
    assert f"differences from zero of {said}" in power(frame([{"sd": sd}]), "none", "error")


def test_no_method_and_one_method_have_no_groups():
    ranked = pd.DataFrame({"label": ["A"], "mean_rank": [1.0]})
    said = "Ordered by mean rank over 1 independent data set (as coded): A 1.0."
    assert leaderboard(ranked, 1, 9, "as coded") == said
    assert leaderboard(ranked[:0], 1, 9) == ""


def test_three_origins_are_two_and_one_more():
    days = frame([{"made": f"day {i}"} for i in (1, 2, 3)])
    assert origin(days).startswith("Run on day 1, day 2 and 1 more. ")


def test_printed_values_of_stand_ins_alone_are_compared_with_nothing():
    not_run = {"printed_mean": 1.0, "n": 0}
    cells = frame([{"is_stand_in": True, "printed_mean": 1.0}, not_run])
    assert stand_in(cells, {}).startswith("STAND-IN: our numbers come from digits, not")


def test_a_metric_that_is_named_stands_in_the_title_and_several_in_a_sentence():
    names = {"options": {"metrics": {"error": "the error", "rate": "the rate"}}}
    one, two = frame([{}]), frame([{}, {"metric": "rate"}])
    assert caption(item(**names), one).startswith("Paper, Table 1, the error. Errors. n = 4")
    assert "Table 1. Errors. In each place: the error / the rate. n = 4" in caption(
        item(**names), two
    )
    assert "In each place" not in caption(item(**names), two, ["the rate"])


def test_what_stands_beside_a_mean_is_said_unless_something_else_is_shown(tmp_path):
    said = "Means, and standard deviations in parentheses."
    printed = {"printed_text": "1.1", "row": "published"}
    text = written(tmp_path, frame([{}, printed]))
    assert said in text
    assert "In brackets: the published values, as printed." in text
    assert said not in written(tmp_path, frame([{}]), options={"show": {"error": "median"}})
    slopes = {"kind": "slopes", "metric": "error", "rows": []}
    slopes["rows"] = [{"row": "r", "along": "n", "exponent": 1}]
    cells = frame([{"setting_n": n, "setting": str(n)} for n in (1, 2, 4)])
    assert said not in written(tmp_path, cells, options={"condensed": slopes})


def test_leaderboards_of_variants_name_them():
    rows = [
        {"method": name, "label": name, "row": name, "variant": variant, "values": (mean,) * 4}
        for variant in ("as_coded", "as_written")
        for name, mean in (("A", 1.0), ("B", 2.0))
    ]
    told = item(direction="lowest", options={"leaderboard": "error"})
    said = notes(told, frame(rows))[0]
    assert "over 1 independent data set (as coded): A 1.0, B 2.0." in said
    assert "over 1 independent data set (as written): A 1.0" in said


def test_cells_that_failed_are_shown_with_how_they_failed(tmp_path):
    failed = [{"row": "slow", **FAILED}, {"row": "odd", **FAILED, "failures": ""}]
    cells = frame([*({"row": row} for row in "abc"), *failed])
    text = written(tmp_path, cells)
    assert "| slow | timeout, n = 0 |" in text
    assert "| odd | failed, n = 0 |" in text
    assert lay_out(cells)[0].that_ran().rows == [*"abc", "slow", "odd"]


def test_rows_stand_where_the_first_of_their_values_is_printed():
    lines = {"a": (2, 3), "b": (1, 9), "c": (None, None)}
    cells = frame(
        {"row": row, "column": f"{i}", "printed_line": line}
        for row, own in lines.items()
        for i, line in enumerate(own)
    )
    [block] = lay_out(cells)
    assert block.rows == ["b", "a", "c"]
    assert block.ordered(["c", "unknown"]).rows == ["c", "b", "a"]


def test_a_name_may_be_of_a_whole_row_or_of_a_part():
    cells = frame([{"row": "a, b"}, {"row": "a, c"}])
    names = {"a": "first", "a, b": "both"}
    assert shown(cells, names=names).index.tolist() == ["both", "first, c"]


@pytest.mark.parametrize(
    ("statistic", "said"),
    [("mean", "1.00"), ("median", "3.00"), ("quartiles", "3.00 (0.90, 1.10)")],
)
def test_another_statistic_takes_the_place_of_mean_and_deviation(statistic, said):
    assert shown(frame([{"median": 3.0}]), show={"error": statistic}).iloc[0, 0] == said


def test_a_corner_without_a_heading_stays_empty():
    cells = frame([{"variant": "one"}, {"variant": "two"}])
    assert shown(cells).index.name == ""
    assert shown(cells, rows="share").index.name == "variant, share"


def test_a_summary_of_many_cells_has_their_usual_number_of_replications():
    cells = frame({"setting": f"{n}", "setting_n": float(n), "mean": n, "n": n} for n in (4, 5, 5))
    cells = cells.assign(setting=["1", "2", "4"], setting_n=[1.0, 2.0, 4.0])
    rows = [{"row": "r", "along": "n", "exponent": 1}]
    [block] = lay_out_condensed(cells, {"kind": "slopes", "metric": "error", "rows": rows})
    assert {entry.cell["n"] for own in block.entries.values() for entry in own} == {5}


def test_a_table_of_numbers_has_four_digits_and_the_heading_of_its_rows():
    table = pd.DataFrame({"x": [0.123456, None]}, index=["a", "b"]).rename_axis("name")
    assert to_markdown(table).splitlines()[::2] == ["| name | x |", "| a | 0.1235 |"]


def test_what_a_table_can_show_is_told_by_medians_over_its_settings():
    values = {"A": (0.0, 0.0, 0.0, 0.0), "B": (-1.0, 1.0, -1.0, 1.0)}
    rows = [
        {"setting": f"s{spread}", "method": name, "values": tuple(spread * v for v in own)}
        | {"printed_mean": float(name == "B"), "scale": 0.01}
        for spread in (0.01, 0.02, 0.06)
        for name, own in values.items()
    ]
    cells = frame(rows)
    found = contrasts(cells, "lowest")
    least, middle, most = sorted(contrast.needed for contrast in found)
    said = power(cells, "lowest", "")
    assert f"differences of {found[1].visible:.2g} or more between the method published" in said
    assert "(80% power, level 5%, paired, median of 3)" in said
    assert f"need {middle:.0f} replications (median; from {least:.0f} to {most:.0f})." in said
    level = power(cells.assign(printed_mean=1.0), "lowest", "")
    assert "No number of replications would show the published differences." in level
    shown = f"from zero of {Contrast(0.1 / 0.01, 4).visible:.2g} or more"
    assert shown in power(cells, "none", "error")
    assert power(cells, "none", "") == ""

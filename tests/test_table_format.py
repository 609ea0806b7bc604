"""Tables as Markdown, and the numbers in them."""

import re

import pandas as pd

from fedmix.views.tables.format import (
    number,
    seconds,
    to_markdown,
    with_spread,
)

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


def test_seconds_are_told_in_a_unit_that_fits():
    assert seconds([0.0123, 0.0004]) == "12.3 ms (0.4)"
    assert seconds([5.12, float("nan")]) == "5.12 s"
    assert seconds([float("nan"), float("nan")]) == "–"


def test_markdown_keeps_its_columns_when_a_cell_holds_a_bar():
    lines = to_markdown(TABLE, "Table 1").splitlines()
    assert lines[0] == "Table 1"
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

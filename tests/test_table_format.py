"""Tables read the same as Markdown and LaTeX."""

import pandas as pd

from fedmix.views.tables.format import escape_latex, mean_sd, to_latex, to_markdown

TABLE = pd.DataFrame(
    {"Local-EM": ["13.31 (1.20) | 13.30 (1.00) ●", "– | 12.88 (1.00) –"], "FedGrEM": ["", "12"]},
    index=["0 %", "6.8 %"],
)


def test_a_missing_mean_is_a_dash_and_a_missing_sd_is_left_out():
    assert mean_sd(float("nan"), 1.0) == "–"
    assert mean_sd(0.25, None, 2) == "0.25"
    assert mean_sd(0.25, 0.5, 1) == "0.2 (0.5)"


def test_markdown_keeps_its_columns_when_a_cell_holds_a_bar():
    lines = to_markdown(TABLE, "Table 1").splitlines()
    assert lines[0] == "Table 1"
    assert r"\|" in lines[4]
    assert lines[2].count("|") == lines[3].count("|") == 4


def test_latex_is_booktabs_with_special_signs_made_safe():
    text = to_latex(TABLE, "Error in % & time")
    assert r"0 \% & 13.31 (1.20) | 13.30 (1.00) $\bullet$" in text
    assert r"\caption{Error in \% \& time}" in text
    assert text.index(r"\toprule") < text.index(r"\midrule") < text.index(r"\bottomrule")
    assert escape_latex("a_b^c\\") == r"a\_b\textasciicircum{}c\textbackslash{}"

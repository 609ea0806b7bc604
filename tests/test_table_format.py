"""Tables read the same as CSV, Markdown and LaTeX."""

import pandas as pd
import pytest

from fedmix.tables.format import beside, escape_latex, mean_sd, to_latex, to_markdown, write_all


@pytest.fixture
def cells() -> pd.DataFrame:
    common = {"digits": 2, "printed_sd": 1.0, "variant": "as_written"}
    rows = [
        ("0 %", "Local-EM", 13.31, 1.2, 13.3, "reproduced"),
        ("0 %", "FedGrEM", 12.0, 1.0, 9.62, "differs"),
        ("6.8 %", "Local-EM", float("nan"), float("nan"), 12.88, "not run"),
    ]
    names = ["row", "column", "scaled_mean", "scaled_sd", "printed_mean", "verdict"]
    return pd.DataFrame([dict(zip(names, r, strict=True)) | common for r in rows])


def test_ours_stands_beside_theirs_with_the_verdicts_sign(cells):
    table = beside(cells)
    assert table.loc["0 %", "Local-EM"] == "13.31 (1.20) | 13.30 (1.00) ●"
    assert table.loc["6.8 %", "Local-EM"] == "– | 12.88 (1.00) –"
    assert table.loc["6.8 %", "FedGrEM"] == ""
    assert list(table.index) == ["0 %", "6.8 %"]


def test_mixed_variants_are_refused_and_one_can_be_chosen(cells):
    mixed = pd.concat([cells, cells.assign(variant="as_coded")])
    with pytest.raises(ValueError, match=r"as_coded.*as_written"):
        beside(mixed)
    assert beside(mixed, variant="as_coded").shape == (2, 2)


def test_a_missing_mean_is_a_dash_and_a_missing_sd_is_left_out():
    assert mean_sd(float("nan"), 1.0) == "–"
    assert mean_sd(0.25, None, 2) == "0.25"
    assert mean_sd(0.25, 0.5, 1) == "0.2 (0.5)"


def test_markdown_keeps_its_columns_when_a_cell_holds_a_bar(cells):
    lines = to_markdown(beside(cells), "Table 1").splitlines()
    assert lines[0] == "Table 1"
    assert r"\|" in lines[4]
    assert lines[2].count("|") == lines[3].count("|") == 4


def test_latex_is_booktabs_with_special_signs_made_safe(cells):
    text = to_latex(beside(cells), "Error in % & time", "tab:one")
    assert r"0 \% & 13.31 (1.20) | 13.30 (1.00) $\bullet$" in text
    assert r"\caption{Error in \% \& time}" in text
    assert text.index(r"\toprule") < text.index(r"\midrule") < text.index(r"\bottomrule")
    assert escape_latex("a_b^c\\") == r"a\_b\textasciicircum{}c\textbackslash{}"


def test_all_three_files_are_written(cells, tmp_path):
    paths = write_all(beside(cells), tmp_path / "table-h0.5", "caption", "tab:x")
    assert [p.name for p in paths] == ["table-h0.5.csv", "table-h0.5.md", "table-h0.5.tex"]
    assert pd.read_csv(paths[0]).shape == (2, 3)

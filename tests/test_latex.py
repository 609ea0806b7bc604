"""Tables for a paper: LaTeX that compiles, numbers aligned, the best in bold."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fedmix.cells import verdicts
from fedmix.views.format import SIGNS
from fedmix.views.tables.build import build_table
from fedmix.views.tables.latex import escape_latex
from synthetic_cells import frame, item

KEPT = Path(__file__).parents[1] / "docs" / "reproduction" / "tables"
AWKWARD = r"[*] 50 % & 2|3 of 'a_b' <c> {d} \e ~ ^ # $ " + '"q" – ± × ≤ ν θ ≈ ● ◐ ◎ ◒ ∅ ○ ⊙ ⊚ ⊗ ◇ ü'
PLAIN = {"row": "plain", "column": "13 characters"}
DOCUMENT = r"""\documentclass{article}
\usepackage{booktabs,siunitx}
\begin{document}
\input{table}
\end{document}
"""


def latex(tmp_path, rows, **changes):
    path = tmp_path / "table.tex"
    build_table(item(**changes), frame(rows), [path])
    return path.read_text(encoding="utf-8")


def test_rules_alignment_caption_label_and_preset_stand_in_the_table(tmp_path):
    rows = [{"row": "0 %", "mean": 13.25, "sd": 1.2}, {"row": "20 %", "mean": 3.5}]
    text = latex(tmp_path, rows, options={"rows": "contaminated"})
    origin = "Run on 2026-01-02 at commit abc1234. Written at commit "
    assert text.startswith(f"% Preset quick. {origin}")
    assert text.splitlines()[1] == r"% \usepackage{booktabs,siunitx}", "what the table needs"
    assert r"S[table-format=2.2]@{\,}l" in text
    assert r"0 \% & 13.25 & (1.20) \\" in text
    caption = r"\caption{Paper, Table 1. Errors. n = 4 replications. Preset quick.}"
    places = [caption, r"\label{tab:item}", r"\toprule", r"\midrule", "13.25", r"\bottomrule"]
    found = [text.index(place.replace(r"\midrule", r"\cmidrule")) for place in places]
    assert found == sorted(found)


def test_the_best_and_its_ties_are_bold_in_every_form(tmp_path):
    rows = [
        {"column": "A", "mean": 1.0, "best": "best"},
        {"column": "B", "mean": 1.1, "best": "tied"},
        {"column": "C", "mean": 2.0},
    ]
    paths = [tmp_path / f"table.{suffix}" for suffix in ("tex", "md", "html")]
    build_table(item(), frame(rows), paths)
    tex, md, html = (path.read_text(encoding="utf-8") for path in paths)
    assert r"\bfseries 1.00 & \bfseries (0.10) & \bfseries 1.10 & \bfseries (0.10) & 2.00" in tex
    assert "| **1.00 (0.10)** | **1.10 (0.10)** | 2.00 (0.10) |" in md
    assert "<strong>1.10 (0.10)</strong></td><td>2.00 (0.10)</td>" in html
    for form in (tex, md, html):
        assert (
            "In bold: the best, and the methods that a paired test finds worse than no other"
            in form
        )


def test_a_printed_row_stands_below_ours(tmp_path):
    text = latex(tmp_path, [{"printed_text": "13.30 (1.17)", "verdict": "differs"}])
    ours, printed = text.index(r"row & 1.00 & (0.10) $\circ$"), text.index("published & 13.30")
    assert ours < printed


def test_what_was_not_run_has_no_row(tmp_path):
    missing = {"row": "never", "n": 0, "failed": 0, "mean": float("nan"), "verdict": "not run"}
    assert "never" not in latex(tmp_path, [{}, missing])


def test_a_variant_and_a_metric_have_a_table_and_a_label_each(tmp_path):
    rows = [
        {"variant": variant, "metric": metric}
        for variant in ("as_written", "as_coded")
        for metric in ("ari", "seconds")
    ]
    text = latex(tmp_path, rows, options={"metrics": {"ari": "adjusted Rand index"}})
    assert text.count(r"\begin{table}") == 4
    assert r"\label{tab:item:as_coded:ari}" in text
    assert "as coded, adjusted Rand index. Errors." in text


def test_columns_that_do_not_fit_beside_each_other_stand_below(tmp_path):
    text = latex(tmp_path, [{"column": f"data set {i}, 0 of 10"} for i in range(12)])
    assert text.count(r"\begin{tabular}") > 1
    assert all(text.count(rf"data set {i}\\0 of 10") == 1 for i in range(12))


def test_long_heads_are_broken_and_negative_numbers_have_room_for_their_sign(tmp_path):
    text = latex(tmp_path, [{"column": "Pen digits, 0 of 44 contaminated", "mean": -0.5}, PLAIN])
    assert r"\shortstack{Pen digits\\0 of 44\\contaminated}" in text
    assert "S[table-format=-1.2]" in text
    assert r"{c}{13 characters}" in text


def columns_of(text):
    return [part.count("multicolumn") for part in text.split(r"\begin{tabular}")[1:]]


@pytest.mark.parametrize(
    ("name", "n", "columns", "size"),
    [
        ("four", 6, [6], "footnotesize"),  # 4 + 6 * (10 + 3) = 82 characters
        ("five5", 6, [5, 1], "footnotesize"),
        ("ten letter", 6, [5, 1], "footnotesize"),
        ("row", 12, [6, 6], "footnotesize"),
        ("row", 13, [7, 6], "scriptsize"),
        ("x" * 99, 2, [1, 1], "footnotesize"),
    ],
)
def test_a_line_has_as_many_columns_as_fit(tmp_path, name, n, columns, size):
    text = latex(tmp_path, [{"row": name, "column": f"c{i}"} for i in range(n)])
    assert columns_of(text) == columns
    assert rf"\centering\{size}" in text
    assert text.count(r"\cmidrule(lr){2-3}") == len(columns)
    assert text.count(r"\cmidrule(lr){4-5}") == sum(number > 1 for number in columns)


def test_numbers_are_aligned_beside_missing_ones_and_say_another_number_of_replications(tmp_path):
    plain = {"digits": 0, "mean": 12.0, "sd": 1.0}
    rows = [
        {**plain, "row": "a", "column": "x"},
        {**plain, "row": "b", "column": "y", "n": 5},
        {**plain, "row": "c", "column": "y", "n": 3},
        {**plain, "row": "d", "column": "y"},
        {"row": "a", "column": "many", "digits": None, "mean": 53224.0},
    ]
    text = latex(tmp_path, rows)
    assert text.count("S[table-format=2.0]") == 2
    assert "S[table-format=5.0]" in text
    assert "53224 & (0.1)" in text
    assert "{--}" in text
    assert "12 & (1) n = 5" in text
    assert "12 & (1) n = 3" in text
    assert text.count("n = ") == 3, "and once in the caption"


def test_metrics_without_names_have_tables_of_their_own_too(tmp_path):
    text = latex(tmp_path, [{"metric": "error"}, {"metric": "true_rate"}])
    assert r"\caption{Paper, Table 1, true rate. Errors." in text
    assert r"\label{tab:item:error}" in text


def test_text_beside_numbers_is_not_aligned_by_a_point(tmp_path):
    text = latex(tmp_path, [{"row": "a", "mean": 5.5e6, "digits": None}, {"row": "b"}])
    assert r"r@{\,}l" in text
    assert "{5.50M}" in text or "{5.5M}" in text


def test_every_special_sign_is_made_safe():
    assert escape_latex("a|b<c>") == r"a\textbar{}b\textless{}c\textgreater{}"
    assert escape_latex("a_b^c\\") == r"a\_b\textasciicircum{}c\textbackslash{}"
    assert escape_latex("± ν") == r"$\pm$ $\nu$"
    assert escape_latex("θΩ ≈ ∞") == r"$\theta$$\Omega$ $\approx$ $\infty$"


def test_no_name_is_an_argument_of_the_line_above(tmp_path):
    rows = [{"row": row, "column": "log-likelihood [nats]"} for row in ("a", "[b]", "*c")]
    text = latex(tmp_path, rows, options={"rows": "[method]"})
    assert not re.search(r"(\\\\|rule)\s*[\[*]", text)


def test_every_verdict_on_a_value_has_a_sign_of_its_own_that_latex_knows():
    signs = {SIGNS[name] for name in (*verdicts.VERDICTS, *verdicts.COUNTED)}
    written = [escape_latex(sign) for sign in signs]
    assert all(sign.isascii() for sign in written), written
    assert len(set(written)) == len(signs)


def test_kept_tables_have_only_signs_that_latex_knows():
    kept = {path.name: path.read_text(encoding="utf-8") for path in KEPT.glob("*.tex")}
    assert kept
    assert not [name for name, text in kept.items() if not text.isascii()]


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_latex_compiles_whatever_signs_names_have(tmp_path):
    rows = [
        {"row": AWKWARD, "column": f"{AWKWARD}, {i}", "mean": 1e4 + i, "best": "best"}
        for i in range(3)
    ]
    rows += [{"row": "text", "column": f"{AWKWARD}, 0", "mean": 0.0123, "metric": "seconds"}]
    latex(tmp_path, rows, title=AWKWARD, options={"rows": AWKWARD})
    (tmp_path / "paper.tex").write_text(DOCUMENT, encoding="utf-8")
    told = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if "siunitx.sty' not found" in told.stdout:
        pytest.skip("LaTeX has no siunitx")
    assert told.returncode == 0, told.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 1000

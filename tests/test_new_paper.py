"""The mistakes of somebody who adds a paper: each is told before a run, with what to do."""

from pathlib import Path

import pytest

from configured_studies import spoil
from fedmix import methods, plugins
from fedmix.__main__ import main

CONFIG, PUBLISHED = "config/papers/mine", "data/published/mine"
FIGURE = """mine_figure1:
  title: Mine, Figure 1
  caption: Adjusted Rand index against the number of clients.
  study: mine
  metric: ari_pooled
  builder: lines
  options: {x: setting_n_clients}
"""
DISCREPANCY = """- id: mine-order
  kind: text and code differ
  where: Section 3
  what: The text splits at random, and the program in order.
  choice: Both are run.
  effects:
    - {label: ARI, study: mine, metric: ari_pooled, method: KFED, from: {method: KFED},
       to: {method: FedKMeans}}
"""


@pytest.fixture
def paper(folder, monkeypatch, capsys):
    """The skeleton of a paper in a copy of the configuration, with a figure and a discrepancy."""
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv(plugins.VARIABLE, "")
    assert main(["new-paper", "mine"]) == 0
    Path(CONFIG, "figures.yaml").write_text(FIGURE)
    Path(CONFIG, "discrepancies.yaml").write_text(DISCREPANCY)
    assert main(["check"]) == 0, capsys.readouterr().err
    yield Path()
    monkeypatch.delenv(plugins.VARIABLE)
    methods.use_plugins(None)


def told(capsys):
    """Return what the check says is wrong."""
    capsys.readouterr()
    assert main(["check"]) == 1
    return capsys.readouterr().err


def rename(old, new):
    Path(new).parent.mkdir(parents=True, exist_ok=True)
    Path(old).rename(new)


@pytest.mark.parametrize("name", ["my figure", "fïgure", "my/figure", "my.figure", "{x}", "-x"])
def test_an_item_whose_name_cannot_be_a_file_is_refused(paper, capsys, name):
    spoil(f"{CONFIG}/figures.yaml", "mine_figure1:", f"'{name}':")
    said = f"mine/figures.yaml:1: {name}: {name!r} cannot be the name of a table or a figure: only"
    assert said in told(capsys)


def test_an_item_with_the_name_of_a_paper_is_refused(paper, capsys):
    spoil(f"{CONFIG}/figures.yaml", "mine_figure1:", "mine:")
    assert "mine/figures.yaml:1: mine: 'mine' is the name of a paper." in told(capsys)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (CONFIG, "config/papers/my paper", "config/papers/my paper: 'my paper' cannot be"),
        (f"{CONFIG}/studies/mine.yaml", f"{CONFIG}/studies/m e.yaml", "'m e' cannot be the name"),
        (f"{CONFIG}/presets/quick.yaml", f"{CONFIG}/presets/q.2.yaml", "'q.2' cannot be the name"),
        (CONFIG, "config/papers/matrix", "config/beyond/matrix: config/papers/matrix has the same"),
        (CONFIG, "config/mine", "config/mine/about.yaml: the folder of a paper is config/papers/"),
        (f"{CONFIG}/claims.yaml", f"{CONFIG}/claims.yml", "mine/claims.yml: only files in .yaml"),
        (
            f"{CONFIG}/studies/mine.yaml",
            f"{CONFIG}/studies/matrix.yaml",
            "config/beyond/matrix/studies/matrix.yaml: config/papers/mine/studies/matrix.yaml has",
        ),
        (PUBLISHED, "data/published/mein", "no file 'table1.csv' in data/published/mine."),
    ],
)
def test_a_file_or_folder_in_a_wrong_place_is_told(paper, capsys, old, new, says):
    rename(old, new)
    assert says in told(capsys)


def test_a_variant_whose_name_cannot_be_a_folder_is_refused(paper, capsys):
    spoil(f"{CONFIG}/studies/mine.yaml", "as_written:", "as/written:")
    assert "variants.as/written: 'as/written' cannot be the name of a variant" in told(capsys)


def test_two_of_the_same_name_are_both_named(paper, capsys):
    spoil(f"{CONFIG}/figures.yaml", "mine_figure1:", "mine_table1:")
    said = "mine/figures.yaml:1: mine_table1 is also in config/papers/mine/tables.yaml:2: mine_ta"
    assert said in told(capsys)
    spoil(f"{CONFIG}/figures.yaml", "mine_table1:", "mine_figure1:")
    claims = Path(f"{CONFIG}/claims.yaml")
    claims.write_text(claims.read_text() * 2)
    said = "0.id. Rename one."
    assert "1.id: 'mine-k-fed-above' is also in config/papers/mine/claims.yaml" in told(capsys)
    assert said in told(capsys)


def test_an_id_that_is_not_plain_is_told_in_words(paper, capsys):
    spoil(f"{CONFIG}/claims.yaml", "id: mine", "id: Mine")
    said = "0.id: expected lower-case letters, digits and hyphens, got 'Mine-k-fed-above'"
    assert said in told(capsys)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(",", ";"), "csv:1: expected names separated by commas, got 'n_"),
        (lambda _: "", "table1.csv: expected a line with the names of columns"),
        (lambda text: text.split("\n")[0], "table1.csv: expected a line with the names of columns"),
        (lambda text: text.replace("0.040", "-0.040"), "sd is '-0.040', expected a decimal number"),
        (
            lambda text: text + "5,k-FED,0.3,0.1\n",
            "table1.csv, line 6: line 2 has the same n_clients, method. Remove one",
        ),
    ],
)
def test_wrong_published_values_are_told(paper, capsys, change, says):
    values = Path(PUBLISHED, "table1.csv")
    values.write_text(change(values.read_text()))
    assert says in told(capsys)


def test_a_published_value_belongs_to_one_item(paper, capsys):
    Path(PUBLISHED, "more.csv").write_text("a,b\n1,2\n")
    assert "mine/more.csv:2: expected one table or figure that has this value" in told(capsys)
    Path(PUBLISHED, "more.csv").unlink()
    text = Path(CONFIG, "tables.yaml").read_text()
    Path(CONFIG, "tables.yaml").write_text(text + text.replace("mine_table1", "mine_table2"))
    assert "under `printed`, got mine_table1 and mine_table2." in told(capsys)


def test_published_values_of_no_paper_are_told(paper, capsys):
    Path("data/published/mein").mkdir()
    Path("data/published/mein/table1.csv").write_text("a,b\n1,2\n")
    said = "data/published/mein: no tables.yaml or figures.yaml of such a paper. Did you mean 'mine"
    assert said in told(capsys)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_as_spreadsheets_write_them_are_read(paper, end):
    values = Path(PUBLISHED, "table1.csv")
    text = values.read_text().replace(",", ", ").replace("\n", end)
    values.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert main(["check"]) == 0


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("{x: setting_n_clients}", "{xlabel: x}", "options: missing x, which a figure of lines"),
        ("builder: lines", "builder: points", "options: missing along, which a figure of points"),
        (
            "lines\n  options: {x: setting_n_clients}",
            "ranks\n  options: {rows: [{metric: ari_pooled}]}",
            "options.rows.0: missing rank, title",
        ),
    ],
)
def test_an_option_that_a_figure_needs_is_told(paper, capsys, old, new, says):
    spoil(f"{CONFIG}/figures.yaml", old, new)
    assert says in told(capsys)


def test_a_figure_with_published_values_of_its_own_says_their_digits(paper, capsys):
    """They bound the rounding error, on which the verdicts depend."""
    values = Path(CONFIG, "tables.yaml").read_text()
    own = FIGURE + values[values.index("  printed:") :]
    Path(CONFIG, "figures.yaml").write_text(f"{FIGURE}  printed: mine_table1\n")
    assert main(["check"]) == 0  # a table's values have its digits
    Path(CONFIG, "tables.yaml").write_text("{}")
    Path(CONFIG, "figures.yaml").write_text(own)
    assert "mine_figure1: lacks digits, which printed numbers need" in told(capsys)
    Path(CONFIG, "figures.yaml").write_text(own.replace("  printed:", "  digits: 3\n  printed:"))
    assert main(["check"]) == 0


def test_published_values_belong_to_one_metric(paper, capsys):
    """A list would compare each of its metrics with the same values."""
    own = f"{FIGURE}  printed: mine_table1\n"
    Path(CONFIG, "figures.yaml").write_text(own.replace("ari_pooled", "[ari_pooled]"))
    assert main(["check"]) == 0
    Path(CONFIG, "figures.yaml").write_text(own.replace("ari_pooled", "[ari_pooled, seconds]"))
    assert (
        "mine/figures.yaml:1: mine_figure1: metric: expected one metric beside published values, "
        "got a list. Give each metric an item of its own" in told(capsys)
    )


def test_an_option_in_all_panels_is_enough(paper):
    panels = "{rows: [{x: setting_n_clients}, {x: 2 * setting_n_clients}]}"
    spoil(f"{CONFIG}/figures.yaml", "{x: setting_n_clients}", panels)
    assert main(["check"]) == 0


def test_an_effect_of_nothing_is_told(paper, capsys):
    spoil(f"{CONFIG}/discrepancies.yaml", "to: {method: FedKMeans}", "to: {method: KFED}")
    assert "0.effects.0.to: the same as `from`" in told(capsys)


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("studies/mine", "[KFED, FedKMeans]", "KFED", "methods: expected a list such as [KFED]"),
        (
            "presets/quick",
            "mine: {rep",
            "[mine]\n#",
            "studies: expected studies with their changes",
        ),
        ("studies/mine", "[KFED,", "[MyOwn,", "A method of your own is found with plugins=<its"),
        ("tables", "ari_pooled", "ari_poold", "Valid: ari_per_client, ari_per_client_weighted, "),
        ("claims", "ari_pooled", "ari_poold", "floats_up, n_clusters, observed_rate, "),
    ],
)
def test_what_is_expected_is_told(paper, capsys, file, old, new, says):
    spoil(f"{CONFIG}/{file}.yaml", old, new)
    said = told(capsys)
    assert says in said
    assert "rank: " not in said


# Each test has a method of its own name, because modules are imported once.
@pytest.mark.parametrize(
    ("name", "given", "says"),
    [("Public", "def fit(", "replaces fit"), ("Misspelt", "def _fti(", "has no _fit")],
)
def test_a_method_without_the_functions_it_needs_is_told(paper, capsys, name, given, says):
    assert main(["new-method", name]) == 0
    spoil(f"my_methods/{name.lower()}.py", "def _fit(", given)
    assert main(["check", "--plugins", "my_methods"]) == 1
    said = capsys.readouterr().err
    assert f"{name} {says}. Define _fit(clients)" in said


def test_a_method_without_the_decorator_is_told_unless_it_is_a_base(paper, capsys):
    for name, more in (("Bare", ""), ("Basis", "\n\n@register\nclass Final(Basis):\n    pass\n")):
        assert main(["new-method", name]) == 0
        file = Path(f"my_methods/{name.lower()}.py")
        file.write_text(file.read_text().replace("@register\n", "") + more)
    assert main(["check", "--plugins", "my_methods"]) == 1
    said = capsys.readouterr().err
    assert "bare.py: Bare is a method without @register" in said
    assert "Basis" not in said


def test_a_folder_of_plugins_is_found_in_the_repository_from_elsewhere(
    paper, tmp_path, monkeypatch, capsys
):
    assert main(["new-method", "OfTheLab", "--folder", "my methods"]) == 0
    assert "plugins='my methods'" in capsys.readouterr().out
    spoil("config/config.yaml", "plugins: null", "plugins: my methods")
    spoil(f"{CONFIG}/studies/mine.yaml", "[KFED,", "[OfTheLab, KFED,")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert main(["status", "mine", "--workflow", str(tmp_path)]) == 0
    assert "OfTheLab" in capsys.readouterr().out


def test_a_figure_has_no_number_to_explain(paper, capsys):
    assert main(["explain", "mine_figure1", "5 clients", "k-FED"]) == 1
    said = "mine_figure1 is a figure, which has no rows and columns. Name a table: "
    assert said in capsys.readouterr().err

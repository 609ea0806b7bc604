"""A printed number and its verdict read on every surface as they should."""

import csv
import re
from collections import Counter
from decimal import Decimal
from html.parser import HTMLParser

import pandas as pd
import pytest

from fedmix.cells.scorecard import counts, score_tables, scorecard
from fedmix.cells.verdicts import COUNTED, SEARCHED
from fedmix.pipeline.judged import explain_kept
from fedmix.pipeline.status import summary_lines
from fedmix.views.format import SIGNS, tally
from fedmix.views.page.build import build_pages
from fedmix.views.page.contents import PageContext
from fedmix.views.page.views import score_views
from fedmix.views.tables.build import build_table
from synthetic_cells import laid_out
from synthetic_results import PUBLISHED, ROOT, cells, shipped_items
from test_docs import script

TABLES = {i.name: i for i in shipped_items().values() if i.kind == "table" and i.printed}
IN_BRACKETS = re.compile(r"\[(.*?)\]")
LABEL = re.compile(r"\\label{tab:[^:}]*:?([^:}]*)")
HEAD = re.compile(r"\\multicolumn\{2\}\{c\}\{(?:\\shortstack\{)?(.*?)\}+(?= [&\\])")


def rows_of(name: str) -> pd.DataFrame:
    frame = cells()
    return frame[frame["item"] == name]


def expected(name: str) -> dict[tuple[str, str], str]:
    """Return (row as the table names it, column) -> printed text, of the published files."""
    own = rows_of(name)
    several = own["variant"].nunique() > 1
    found = {}
    for cell in own[own["printed_text"] != ""].to_dict("records"):
        variant = cell["variant"].replace("_", " ")
        row = f"{variant}, {cell['row']}" if several else cell["row"]
        found[row, cell["column"]] = as_published(cell, shipped_items()[name])
    return found


def as_published(cell: dict, item) -> str:
    """Return the published line that a cell names, with the digits of the published value."""
    with open(PUBLISHED / cell["printed_file"], encoding="utf-8", newline="") as file:
        line = list(csv.DictReader(file))[cell["printed_line"] - 2]
    mean, sd = (padded(line[item.printed[name]], item.digits) for name in ("mean", "sd"))
    return f"{mean} ({sd})"


def padded(text: str, digits: int) -> str:
    """Return a number with the zeros that a file leaves out; none of its own digits is lost."""
    number = Decimal(text)
    return f"{number:.{max(digits, -number.as_tuple().exponent)}f}"


def read_lines(lines: list[list[str]]) -> dict[tuple[str, str], str]:
    """Return (row, column) -> what stands in brackets, of a table's lines."""
    (_, *columns), *body = lines
    return {
        (row, column): IN_BRACKETS.search(text).group(1)
        for row, *texts in body
        for column, text in zip(columns, texts, strict=True)
        if "[" in text
    }


def read_latex(text: str) -> dict[tuple[str, str], str]:
    """Return (row, column) -> the published value, which stands in a row below ours."""
    found = {}
    for table in text.split(r"\begin{table}")[1:]:
        variant = LABEL.search(table)[1]
        for tabular in table.split(r"\begin{tabular}")[1:]:
            columns = [plain(head) for head in HEAD.findall(tabular)]
            body = tabular.partition(r"\cmidrule")[2]
            for line in [line for line in body.splitlines() if line.endswith(r"\\")]:
                name, *texts = (plain(part) for part in line[:-2].split("&"))
                if name != r"\quad published":
                    row = f"{variant.replace('_', ' ')}, {name}" if variant else name
                    continue
                pairs = zip(columns, texts[::2], texts[1::2], strict=True)
                found |= {(row, c): f"{value} {sd}" for c, value, sd in pairs if sd}
    return found


def plain(latex: str) -> str:
    return re.sub(r"\\([%_&#$])", r"\1", latex.replace(r"\\", ", ")).strip()


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_every_printed_number_in_its_place(name, tmp_path):
    outputs = [tmp_path / f"table.{suffix}" for suffix in ("csv", "md", "tex")]
    build_table(laid_out(TABLES[name]), cells(), outputs)
    wanted = expected(name)
    assert wanted

    table = pd.read_csv(outputs[0], keep_default_na=False)
    table = table.reindex(columns=["printed_text", "verdict"], fill_value="")  # one may be left out
    assert list(table["printed_text"]) == list(rows_of(name)["printed_text"])
    assert list(table["verdict"]) == list(rows_of(name)["verdict"])

    lines = [line for line in outputs[1].read_text().splitlines() if line.startswith("|")]
    cut = [[part.strip() for part in line.strip("|").split(" | ")] for line in lines]
    assert read_lines([cut[0], *cut[2:]]) == wanted
    signs = Counter(filter(None, (SIGNS.get(verdict) for verdict in table["verdict"])))
    text = "".join(map("".join, cut[2:]))
    assert {sign: text.count(f" {sign} [") for sign in signs} == signs

    assert read_latex(outputs[2].read_text()) == wanted


def test_verdicts_are_counted_alike_on_page_console_and_in_the_readme(tmp_path, monkeypatch):
    claims = pd.DataFrame({"paper": ["fedgem"] * 3, "verdict": ["holds", "mixed", "holds"]})
    wanted = {paper: tally(own) for paper, own in counts(cells()).to_dict("index").items()}
    assert set(wanted) == {"fedgrem", "fedgem"}

    (tmp_path / "audit").mkdir()
    (tmp_path / "README.md").write_text("Stamp.")
    scores = score_tables(cells(), TABLES, {})
    for folder in (tmp_path, tmp_path / "audit"):
        scores.to_csv(folder / "scores.csv")
        listed = claims.assign(section="", chance=0.0, published_fails=False)
        listed.rename_axis("id").to_csv(folder / "claims.csv")
    scorecard(cells(), claims).to_csv(tmp_path / "scorecard.csv")
    told = list(summary_lines(tmp_path, 0.0))
    assert set(told) >= {f"{paper}, published values: {said}" for paper, said in wanted.items()}
    assert "fedgem, claims: 2 hold, 1 mixed" in told

    update = script("update_readme")
    monkeypatch.setattr(update, "KEPT", tmp_path)
    readme = update.summary(update.read_scorecard())
    for paper, own in counts(cells()).to_dict("index").items():
        [line] = [line for line in readme.splitlines() if update.PAPERS[paper].title in line]
        for text, verdicts in update._VALUES.items():
            n = sum(own.get(verdict, 0) for verdict in verdicts)
            said = update._singular(text.format(n)) if n == 1 else text.format(n)
            assert said in line or not n, said
    assert "Of 3 claims, 2 hold and 1 holds in some settings and fails in others." in readme

    for view in score_views(cells(), claims, dict.fromkeys(wanted, "A paper")):
        assert tally(view["cells"]) == wanted[view["key"]]


class PrintedTexts(HTMLParser):
    """Collects, article by article, (variant, row, column number) -> the text in small print."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, dict[tuple[str, str, int], str]] = {}
        self.article = self.variant = self.row = self.tag = ""
        self.column = -1

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tag = tag
        if tag == "article":
            self.article = values.get("id", "")
            self.found[self.article] = {}
        elif tag == "tr":
            self.column = -1
        elif tag == "td":
            self.column += 1
        elif tag in ("h4", "th"):
            self.variant, self.row = ("", "") if tag == "h4" else (self.variant, "")

    def handle_endtag(self, tag):
        self.tag = ""

    def handle_data(self, data):
        if self.tag == "h4":
            self.variant += data
        elif self.tag == "th":
            self.row += data
        elif self.tag == "small":
            self.found[self.article][self.variant, self.row, self.column] = data


@pytest.mark.slow
def test_the_page_has_every_printed_number_in_its_place(tmp_path):
    context = PageContext(
        cells(),
        scores=score_tables(cells(), TABLES, {}),
        ranks=pd.DataFrame({"item": [], "variant": []}),
        claims=pd.DataFrame({"paper": [], "section": [], "verdict": []}),
        discrepancies=pd.DataFrame({"paper": [], "where": []}),
        papers={"fedgrem": "FedGrEM", "fedgem": "FedGEM"},
        tables=[laid_out(item) for item in TABLES.values()],
    )
    reader = PrintedTexts()
    build_pages(context, tmp_path / "index.html")
    for page in (tmp_path / "pages").glob("*_table*.html"):
        reader.feed(page.read_text(encoding="utf-8"))
    for name in TABLES:
        own = rows_of(name)
        columns = list(dict.fromkeys(own["column"]))
        several = own["variant"].nunique() > 1
        found = {
            (f"{variant}, {row}" if several else row, columns[place]): text
            for (variant, row, place), text in reader.found[name.replace("_", "-")].items()
        }
        assert found == expected(name)


KEPT = ROOT / "docs" / "reproduction"
TEXT = {"row": str, "column": str, "variant": str, "verdict": str, "printed_text": str}
KEPT_TABLES = sorted(item.name for item in shipped_items().values() if item.kind == "table")


def read_printed(path) -> pd.DataFrame:
    frame = pd.read_csv(path, dtype=TEXT, keep_default_na=False)
    return frame[frame["printed_text"] != ""]


CELLS = read_printed(KEPT / "cells.csv")
PLACE = ["variant", "row", "column", "printed_text"]


def verdicts_of(frame: pd.DataFrame) -> dict[tuple[str, ...], tuple[str, int]]:
    """Return (variant, row, column, published text) -> verdict and number of replications."""
    return {
        tuple(cell[name] for name in PLACE): (cell["verdict"], int(cell["n"] or 0))
        for cell in frame.to_dict("records")
    }


def explained(item: str, row: str, column: str) -> dict[str, tuple[str, str]]:
    """Return variant -> published text and verdict, as `explain --kept` says them."""
    found, variant, published = {}, "", ""
    for line in list(explain_kept(KEPT, item, row, column))[2:]:
        if line and not line.startswith(" "):
            variant = line
        elif line.startswith("  published: "):
            published = line.removeprefix("  published: ")
        elif line.startswith("  verdict: "):
            found[variant] = published, line.removeprefix("  verdict: ").partition(" (")[0]
    return found


@pytest.mark.parametrize("item", [name for name in KEPT_TABLES if name in set(CELLS["item"])])
def test_a_published_number_has_one_verdict_in_all_files_and_explanations(item):
    own = CELLS[CELLS["item"] == item]
    path = KEPT / "tables" / f"{item}.csv"
    shown = verdicts_of(read_printed(path)) if path.is_file() else {}
    kept = verdicts_of(own)
    assert shown == {place: kept[place] for place in shown}
    ran = verdicts_of(own[own["role"] != SEARCHED])
    assert {place for place, (_, n) in ran.items() if n} <= set(shown)
    for (row, column), there in own.groupby(["row", "column"], sort=False):
        wanted = {
            cell["variant"] or "not run": (cell["printed_text"], cell["verdict"])
            for cell in there.to_dict("records")
        }
        said = explained(item, row, column)
        assert {name: said[name] for name in wanted} == wanted


@pytest.mark.parametrize("item", [name for name in KEPT_TABLES if name in set(CELLS["item"])])
def test_the_explanations_count_what_the_scores_count(item):
    own = CELLS[CELLS["item"] == item]
    said = [
        line.removeprefix("  the published value counts as: ").partition(" (its")[0]
        for row, column in own[["row", "column"]].drop_duplicates().itertuples(index=False)
        for line in explain_kept(KEPT, item, row, column)
        if line.startswith("  the published value counts as: ")
    ]
    counted = Counter(name.partition(" (ours")[0] for name in said)
    score = pd.read_csv(KEPT / "scores.csv", index_col="item").loc[item]
    assert counted == {name: int(score[name]) for name in COUNTED if score[name]}

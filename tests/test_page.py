"""The pages say what the frames say, hang together without a server, and work in a real browser."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pandas as pd
import pytest

from fedmix.cells.frame import read_cells
from fedmix.cells.verdicts import judge_numbers
from fedmix.storage import read_table, write_table
from fedmix.views.page.build import build_pages
from fedmix.views.page.contents import Figure, PageContext, Search, pages_of
from fedmix.views.page.reproduction import front_page, table_page
from fedmix.views.page.views import about, anchor, claim_views, table_views
from made_up_page import PAPERS, frames, judged, of_page
from synthetic_results import cells, cells_of, results_and_timings, shipped_items

pytestmark = pytest.mark.slow

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PIXEL = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="600" height="200">'
    b'<rect width="600" height="200" fill="#0072b2"/></svg>'
)


def first_cell() -> dict:
    own = cells()
    return own[own["item"] == "fedgrem_table1"].iloc[0].to_dict()


def context(folder, preset="quick") -> PageContext:
    (folder / "figure.svg").write_bytes(PIXEL)
    (folder / "figure.md").write_text("STAND-IN: of other data. Bands.")
    (folder / "words.md").write_text("- The nearest is p01.\n- LocalEM: <none>, first_client.\n")
    curve = Figure("fedgrem", "Which protocol?", folder / "figure.svg")
    claims = Figure("fedgrem", "Claims over all protocols", folder / "figure.svg")
    return replace(
        of_page(**frames()),
        figures=[
            Figure("fedgrem", "FedGrEM, Figure 3", folder / "figure.svg"),
            Figure("fedgrem", "FedGrEM, Table 1 as a figure", folder / "figure.svg"),
        ],
        searches=[Search("fedgrem", "fedgrem_table1", folder / "words.md", [curve])],
        claim_figures=[claims],
        provenance={"commit": "abc1234", "machine": "<2 cores>", "do": "`make <it>`"},
        preset=preset,
        explanations={anchor(first_cell()): "raw file <a>, then the method"},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    build_pages(context(folder), folder / "index.html")
    return folder


def read(folder) -> dict[str, str]:
    """Return every page by its address."""
    pages = [folder / "index.html", *sorted((folder / "pages").glob("*.html"))]
    return {p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in pages}


@pytest.fixture(scope="module")
def pages(folder) -> dict[str, str]:
    return read(folder)


class Tags(HTMLParser):
    """Checks that every tag is closed, and collects ids and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.ids, self.addresses = [], [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        self.addresses += [values[k] for k in ("src", "href") if k in values]
        if tag not in {"meta", "img", "br", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def tags(pages) -> dict[str, Tags]:
    found = {name: Tags() for name in pages}
    for name, parser in found.items():
        parser.feed(pages[name])
    return found


def test_every_page_is_well_formed_and_every_link_leads_somewhere(tags, folder):
    for name, page in tags.items():
        assert page.open == []
        assert len(page.ids) == len(set(page.ids))
        for address in page.addresses:
            assert "://" not in address
            target, _, fragment = address.partition("#")
            path = ((folder / name).parent / target).resolve() if target else folder / name
            assert path.is_file(), f"{name}: {address}"
            if fragment:
                assert fragment in tags[path.relative_to(folder).as_posix()].ids, address


def test_the_first_page_is_short_and_leads_to_every_other(tags, pages):
    linked = {address.partition("#")[0] for address in tags["index.html"].addresses}
    assert set(pages) - {"index.html"} <= linked
    assert "13.30 (1.17)" not in pages["index.html"]
    assert len(pages["index.html"]) < 60_000


def test_every_printed_table_has_a_page_with_all_that_belongs_to_it(pages, tags):
    for item in shipped_items().values():
        if item.kind == "table" and item.printed and item.judged:
            assert item.name.replace("_", "-") in tags[f"pages/{item.name}.html"].ids
    page = pages["pages/fedgrem_table1.html"]
    for text in (
        "13.30 (1.17)",
        "FedGrEM, Table 1 as a figure",
        "STAND-IN: of other data. Bands.",
        'id="claim-fedgrem-pendigits-lowest"',
        "“FedGrEM performs the best in most settings”",
        "The nearest is p01.",
        "Local-EM: &lt;none&gt;, first client.",
    ):
        assert text in page, text


def test_a_page_s_table_and_its_readings_in_other_metrics_stand_together():
    found = {page.name: page for page in pages_of(of_page(**frames()))}
    names = [table["name"] for table in found["fedgem_table1"].tables]
    assert names == ["fedgem_table1", "fedgem_table1_one_metric", "fedgem_table1_pooled"]


def test_all_claims_and_discrepancies_are_there(tags):
    assert sum(i.startswith("claim-") for i in tags["pages/claims.html"].ids) >= 35
    assert "fedgem-metric" in tags["pages/discrepancies.html"].ids


def test_the_curves_of_the_claims_stand_below_them(pages):
    text = pages["pages/claims.html"]
    assert text.index("</table>") < text.index("Claims over all protocols.")
    assert 'href="#curves"' in text


def test_a_table_s_count_stands_on_top_with_its_variant(pages):
    score = frames()["scores"].set_index("item").loc["fedgrem_table1"]
    top = pages["pages/fedgrem_table1.html"].partition("<main>")[0]
    assert "<b>paper like</b> (inferred)" in top
    near = "protocol unknown: near"
    assert f"</span> {score[near]} {near}" in top


def test_a_table_that_is_not_judged_has_no_line_of_counts(pages):
    top = pages["pages/fedgrem_table6.html"].partition("<main>")[0]
    assert "Run times are noted and not judged." in top
    assert "Published values" not in top


def test_the_variant_that_counts_is_shown_first():
    given = of_page(**frames())
    shown = [table for page in pages_of(given) for table in page.tables]
    views = table_views(shown, given, judge_numbers(given.cells))
    counted = [
        (view["variants"][0]["name"], view["score"]["variant"]) for view in views if view["score"]
    ]
    assert counted
    assert all(first == variant for first, variant in counted if variant)


def test_a_claim_about_several_tables_stands_with_each_and_unclear_answers_count():
    given = of_page(**frames())
    page = next(page for page in pages_of(given) if page.name == "fedgrem_table1")
    claim = given.claims[given.claims["paper"] == "fedgrem"].head(1).assign(section="Tables 1-3")
    assert len(about(page, claim, "section")) == 1
    assert about(page, claim.assign(paper="fedgem"), "section").empty
    unclear = claim.assign(written_yes=0, written_no=0, written_unclear=2)
    assert "written" in [source["name"] for source in claim_views(unclear)[0]["sources"]]


def test_a_cell_has_an_anchor_and_links_to_its_explanation(pages, tags):
    name, page = anchor(first_cell()), tags["pages/fedgrem_table1.html"]
    assert {name, f"explain-{name}"} <= set(page.ids)
    assert f"#explain-{name}" in page.addresses
    assert "raw file &lt;a&gt;, then the method" in pages["pages/fedgrem_table1.html"]
    own = cells()
    judged = own[own["verdict"] != ""]
    everywhere = {i for found in tags.values() for i in found.ids}
    assert {anchor(cell) for cell in judged.to_dict("records")} <= everywhere


def test_verdicts_are_told_by_sign_and_word_beside_colour(pages):
    html = "".join(pages.values())
    cell = re.search(r'<td class="v-differs"[^>]*title="differs[^"]*"[^>]*>(.*?)</td>', html)
    assert '<span class="sign">○</span>' in cell.group(1)


def test_a_quick_run_is_announced_on_every_page_and_a_full_one_is_not(pages, tmp_path):
    assert all("A quick run." in html for html in pages.values())
    build_pages(context(tmp_path, preset="paper"), tmp_path / "index.html")
    assert not any("run.</strong> Its sizes" in html for html in read(tmp_path).values())
    build_pages(context(tmp_path, preset="mine"), tmp_path / "index.html")
    assert "files <code>mine.yaml</code> in the folder" in read(tmp_path)["index.html"]


def test_the_legends_have_no_marks_of_markdown(pages):
    assert "as holds, but part of what the claim is about" in pages["pages/claims.html"]


def test_commands_are_shown_as_code(pages):
    assert "<code>make &lt;it&gt;</code>" in pages["index.html"]
    assert "(<code>snakemake protocols</code>)" in pages["pages/discrepancies.html"]


def test_what_comes_from_outside_is_escaped(pages):
    assert "&lt;2 cores&gt;" in pages["index.html"]
    assert "<2 cores>" not in pages["index.html"]


def test_figures_are_found_in_a_folder_of_any_name(tmp_path):
    elsewhere = tmp_path / "50% of #1? é"
    elsewhere.mkdir()
    (tmp_path / "site").mkdir()
    build_pages(context(elsewhere), tmp_path / "site" / "index.html")
    html = read(tmp_path / "site")["pages/figure.html"]
    assert '<img src="../../50%25%20of%20%231%3F%20%C3%A9/figure.svg"' in html


def test_pages_without_any_result_are_still_pages(tmp_path):
    results, timings = results_and_timings()
    nothing = results.iloc[:0]
    empty = of_page(**judged(cells_of(nothing, timings.iloc[:0]), nothing))
    build_pages(empty, tmp_path / "index.html")
    html = read(tmp_path)
    assert "not run" in html["pages/fedgrem_table1.html"]
    assert "not measured yet" in html["pages/discrepancies.html"]


def test_papers_without_claims_or_discrepancies_say_so(tmp_path):
    shown = of_page(**frames())
    none = {name: getattr(shown, name).iloc[:0] for name in ("claims", "discrepancies")}
    build_pages(replace(shown, **none), tmp_path / "index.html")
    html = read(tmp_path)
    assert "No claims are registered." in html["pages/claims.html"]
    assert "<table" not in html["pages/claims.html"]
    assert "No discrepancies are registered." in html["pages/discrepancies.html"]


def test_discrepancies_stand_in_the_order_of_the_papers(pages):
    headings = re.findall("<h2>(.*?)</h2>", pages["pages/discrepancies.html"])
    assert headings == [paper.title for paper in PAPERS.values() if paper.title in headings]
    assert len(headings) == 3
    summaries = re.findall("<summary>(.*?)</summary>", pages["pages/discrepancies.html"], re.S)
    begins = re.findall('<span class="fine begins">(.+?)</span>', "".join(summaries))
    assert len(begins) == len(summaries) > len(headings)
    assert max(map(len, map(unescape, begins))) <= 100


def test_every_page_allows_no_script_but_its_own_file(pages):
    for name, html in pages.items():
        if name.endswith(".html"):
            policy = re.search(r'Content-Security-Policy" content="(.*?)"', html)
            assert policy, name
            assert "default-src 'none'; script-src 'self' file:;" in policy[1]
            assert html.index(policy[0]) < html.index("<link")
            assert re.findall("<script[^>]*>.", html) == re.findall(
                r'<script src="(?:pages/)?page\.js" defer><', html
            )


def test_pages_in_markdown_show_tags_as_text(tmp_path):
    script = "<script>alert(1)</script>"
    given = replace(context(tmp_path), provenance={"Processor": f"a|b {script}"})
    (tmp_path / "figure.md").write_text(f"Of {script}.")
    pages = pages_of(given)
    page = next(page for page in pages if page.tables and page.figures)
    page.tables[0]["title"] = script
    timings = pd.DataFrame(
        {"study": [script], "replication": 0, "cpu_seconds": 1, "shared_seconds": 0}
    ).assign(variant="v", setting="s")
    for text in (front_page(pages, given, timings), table_page(page, page.tables[0], given, "")):
        assert "&lt;script>" in text
        assert "<script" not in text
    assert r"| Processor | a\|b &lt;script>" in front_page(pages, given, timings)
    assert "## Costs" in front_page(pages, given, timings)
    assert "## Costs" not in front_page(pages, given, timings[:0]), "nothing has been run"


def test_equal_results_give_equal_bytes_also_read_back_from_files(pages, tmp_path):
    read_back = {}
    for name, frame in frames().items():
        write_table(tmp_path / f"{name}.parquet", frame)
        read_back[name] = read_table(tmp_path / f"{name}.parquet")
    read_back["cells"] = read_cells([tmp_path / "cells.parquet"])
    again = replace(context(tmp_path), **read_back)
    build_pages(again, tmp_path / "index.html")
    assert read(tmp_path) == pages


TABLE_PROBE = """
  const article = document.getElementById("fedgrem-table1");
  const table = article.querySelector("table.sortable");
  const first = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[1].dataset.value));
  table.tHead.rows[0].cells[1].click(); const up = first();
  table.tHead.rows[0].cells[1].click(); const down = first();
  table.tBodies[0].rows[0].cells[1].click();
  const note = article.querySelector(".note").textContent;
  const shown = () => [...article.querySelectorAll(".variant")].map((v) => v.checkVisibility());
  const before = shown();
  const box = article.querySelector(".scroll");
  const hinted = box.classList.contains("more") === (box.scrollWidth > box.clientWidth + 2);
  article.querySelectorAll(".tabs button")[1].click();
  const image = document.querySelector("figure img").naturalWidth;
  const result = { up, down, before, after: shown(), note, hinted, image };
"""
CLAIMS_PROBE = """
  document.querySelector('.filter button[data-show="holds"]').click();
  const claims = [...document.querySelectorAll(".claims > tbody > tr")].filter((r) => !r.hidden);
  const result = { verdicts: [...new Set(claims.map((r) => r.dataset.verdict))] };
"""
PROBE = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  %s
  const root = document.documentElement;
  result.overflow = root.scrollWidth - root.clientWidth;
  result.errors = window.problems;
  document.body.innerHTML = "<pre id=probe></pre>";
  document.getElementById("probe").textContent = JSON.stringify(result);
}, 200));
</script>
"""
# Scripts before the page's policy run. This one comes after it, as if a name had brought it.
FOREIGN = """
<script>problems.push("a foreign script ran")</script>
<p><img src="data:," alt="" hidden onerror="problems.push('a foreign attribute ran')"></p>
"""
CATCH = "<script>window.problems = []; onerror = (e) => { problems.push(String(e)); };</script>"


def browse(page, width: int) -> str:
    """Return a page's document from a headless Chromium without network use."""
    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *("--disable-sync", "--hide-scrollbars", f"--window-size={width},1200"),
        *(f"--user-data-dir={page.parent / 'profile'}", "--virtual-time-budget=2000", "--dump-dom"),
        page.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def probed(folder, tmp_path, page: str, code: str, width: int) -> dict:
    """Return what a script finds on a page."""
    shutil.copytree(folder, tmp_path / "site")
    path = tmp_path / "site" / page
    html = path.read_text(encoding="utf-8").replace("<head>", f"<head>{CATCH}{PROBE % code}")
    path.write_text(html.replace("</body>", f"{FOREIGN}</body>"), encoding="utf-8")
    dom = browse(path, width)
    return json.loads(re.search(r'<pre id="probe">(.*?)</pre>', dom, re.DOTALL).group(1))


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
@pytest.mark.parametrize("width", [1280, 500])
def test_a_table_s_page_works_in_a_browser_at_desktop_and_phone_width(folder, tmp_path, width):
    found = probed(folder, tmp_path, "pages/fedgrem_table1.html", TABLE_PROBE, width)
    assert found["errors"] == []
    assert found["up"] == sorted(found["up"])
    assert found["down"] == sorted(found["up"], reverse=True)
    assert (found["before"], found["after"]) == ([True, False], [False, True])
    assert re.match(
        r"[\d.]+ %, Local-EM: (agrees|undecided|differs)[ a-z]*, n = 12, difference", found["note"]
    )
    assert found["hinted"], "a table wider than its place says that it scrolls"
    assert found["overflow"] == 0
    assert found["image"] == 600


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
@pytest.mark.parametrize("width", [1280, 500])
def test_claims_are_filtered_by_verdict_in_a_browser(folder, tmp_path, width):
    found = probed(folder, tmp_path, "pages/claims.html", CLAIMS_PROBE, width)
    assert found == {"verdicts": ["holds"], "overflow": 0, "errors": []}

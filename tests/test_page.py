"""The page is one file, says what the frames say, and works in a real browser."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pandas as pd
import pytest

from fedmix.cells.claims import evaluate_claims, read_claims
from fedmix.cells.discrepancies import measure_discrepancies, read_discrepancies
from fedmix.cells.frame import read_cells
from fedmix.cells.papers import read_papers
from fedmix.cells.ranks import rank_agreement
from fedmix.cells.scorecard import score_tables
from fedmix.errors import DataError
from fedmix.storage import read_table, write_table
from fedmix.views.page import Figure, PageContext, build_page
from fedmix.views.page.images import inline_image
from fedmix.views.page.views import anchor, items_named
from synthetic_cells import laid_out
from synthetic_results import ROOT, cells, cells_of, results_and_timings, shipped_items

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PAPERS = read_papers(ROOT / "config")
PIXEL = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="600" height="200">'
    b'<rect width="600" height="200" fill="#0072b2"/></svg>'
)


def judged(frame: pd.DataFrame, results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {
        "cells": frame,
        "scores": score_tables(frame),
        "ranks": rank_agreement(frame, shipped_items()),
        "claims": evaluate_claims(read_claims(PAPERS), frame, results),
        "discrepancies": measure_discrepancies(read_discrepancies(PAPERS), frame),
    }


@cache
def frames() -> dict[str, pd.DataFrame]:
    return judged(cells(), results_and_timings()[0])


def of_page(**parts) -> PageContext:
    return PageContext(
        **parts,
        papers={key: paper.title for key, paper in PAPERS.items()},
        tables=[laid_out(item) for item in shipped_items().values() if item.kind == "table"],
    )


def first_cell() -> dict:
    own = cells()
    return own[own["item"] == "fedgrem_table1"].iloc[0].to_dict()


def context(folder, preset="quick") -> PageContext:
    (folder / "figure.svg").write_bytes(PIXEL)
    (folder / "figure.md").write_text("STAND-IN: of other data. Bands.")
    return replace(
        of_page(**frames()),
        figures=[Figure("fedgrem", "FedGrEM, Figure 3", folder / "figure.svg")],
        provenance={"commit": "abc1234", "machine": "<2 cores>"},
        preset=preset,
        failures=pd.DataFrame(
            [{"study": "s", "variant": "v", "method": "M", "status": "diverged", "n": 2}]
        ),
        explanations={anchor(first_cell()): "raw file <a>, then the method"},
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return build_page(context(folder), folder / "index.html")


@pytest.fixture(scope="module")
def html(page) -> str:
    return page.read_text(encoding="utf-8")


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
def tags(html) -> Tags:
    parser = Tags()
    parser.feed(html)
    return parser


def test_the_page_is_well_formed_and_every_link_leads_somewhere(tags):
    assert tags.open == []
    assert len(tags.ids) == len(set(tags.ids))
    inner = {a[1:] for a in tags.addresses if a.startswith("#")}
    assert inner <= set(tags.ids)


def test_the_page_needs_no_network_and_no_file_beside_it(tags, html):
    assert all(a.startswith(("#", "data:image/")) for a in tags.addresses)
    assert "@import" not in html
    assert "url(" not in html


def test_all_printed_numbers_claims_and_discrepancies_are_there(html, tags):
    assert "13.30 (1.17)" in html
    for item in shipped_items().values():
        assert item.kind != "table" or not item.printed or item.name.replace("_", "-") in tags.ids
    assert sum(i.startswith("claim-") for i in tags.ids) >= 35
    assert "fedgem-metric" in tags.ids


def test_a_cell_has_an_anchor_and_links_to_its_explanation(html, tags):
    name = anchor(first_cell())
    assert {name, f"explain-{name}"} <= set(tags.ids)
    assert f"#explain-{name}" in tags.addresses
    assert "raw file &lt;a&gt;, then the method" in html
    own = cells()
    judged = own[own["verdict"] != ""]
    assert {anchor(cell) for cell in judged.to_dict("records")} <= set(tags.ids)


def test_a_figure_says_which_data_stood_in(html):
    assert "STAND-IN: of other data. Bands." in html


def test_verdicts_are_told_by_sign_and_word_beside_colour(html):
    cell = re.search(r'<td class="v-differs"[^>]*title="differs[^"]*"[^>]*>(.*?)</td>', html)
    assert '<span class="sign">○</span>' in cell.group(1)


def test_a_quick_run_is_announced_and_a_full_one_is_not(html, tmp_path):
    assert "A quick run." in html
    full = build_page(context(tmp_path, preset="paper"), tmp_path / "full.html").read_text()
    assert "run.</strong> Its sizes" not in full


def test_what_comes_from_outside_is_escaped(html):
    assert "&lt;2 cores&gt;" in html
    assert "<2 cores>" not in html


def test_a_page_without_any_result_is_still_a_page(tmp_path):
    results, timings = results_and_timings()
    nothing = results.iloc[:0]
    empty = of_page(**judged(cells_of(nothing, timings.iloc[:0]), nothing))
    html = build_page(empty, tmp_path / "index.html").read_text()
    assert "not run" in html
    assert "not measured yet" in html


def test_equal_results_give_equal_bytes(page, tmp_path):
    again = build_page(context(tmp_path), tmp_path / "index.html")
    assert again.read_bytes() == page.read_bytes()


def test_frames_read_back_from_files_make_the_same_page(page, tmp_path):
    read_back = {}
    for name, frame in frames().items():
        write_table(tmp_path / f"{name}.parquet", frame)
        read_back[name] = read_table(tmp_path / f"{name}.parquet")
    read_back["cells"] = read_cells([tmp_path / "cells.parquet"])
    again = replace(context(tmp_path), **read_back)
    assert build_page(again, tmp_path / "index.html").read_bytes() == page.read_bytes()


def test_a_heavy_vector_figure_gives_way_to_its_picture(tmp_path):
    (tmp_path / "a-h0.5.svg").write_bytes(PIXEL)
    (tmp_path / "a-h0.5.png").write_bytes(b"\x89PNG")
    assert inline_image(tmp_path / "a-h0.5.svg").startswith("data:image/svg+xml")
    assert inline_image(tmp_path / "a-h0.5.svg", limit=10).startswith("data:image/png")
    with pytest.raises(DataError, match="no such figure"):
        inline_image(tmp_path / "b.svg")


def test_references_to_tables_and_figures_are_understood():
    assert items_named("B.2, Tables 6-8") == {"Table 6", "Table 7", "Table 8"}
    assert items_named("C.1, C.3, Figures 1 and 3 right") == {"Figure 1", "Figure 3"}
    assert items_named("6.2, Figure 1a") == {"Figure 1"}
    assert items_named("Abstract") == set()


PROBE = """
<script>
window.addEventListener("load", () => {
  const article = document.getElementById("fedgrem-table1");
  const table = article.querySelector("table.sortable");
  const first = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[1].dataset.value));
  table.tHead.rows[0].cells[1].click(); const up = first();
  table.tHead.rows[0].cells[1].click(); const down = first();
  table.tBodies[0].rows[0].cells[1].click();
  const note = article.querySelector(".note").textContent;
  const shown = () => [...article.querySelectorAll(".variant")].map((v) => v.checkVisibility());
  const before = shown();
  article.querySelectorAll(".tabs button")[1].click();
  document.querySelector('.filter button[data-show="holds"]').click();
  const claims = [...document.querySelectorAll(".claims > tbody > tr")].filter((r) => !r.hidden);
  const result = { up, down, before, after: shown(), note,
    verdicts: [...new Set(claims.map((r) => r.dataset.verdict))],
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    image: document.querySelector("figure img").naturalWidth, errors: window.problems };
  document.body.innerHTML = "<pre id=probe></pre>";
  document.getElementById("probe").textContent = JSON.stringify(result);
});
</script>
"""


def browse(folder, *arguments: str, width: int) -> str:
    """Run headless Chromium without network use on ``folder/probe.html``."""
    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *("--disable-sync", "--hide-scrollbars", f"--window-size={width},1200"),
        *(f"--user-data-dir={folder / f'profile{width}'}", *arguments),
        (folder / "probe.html").as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
@pytest.mark.parametrize("width", [1280, 500])
def test_the_page_works_in_a_browser_at_desktop_and_phone_width(html, tmp_path, width):
    catch = "<script>window.problems = []; onerror = (e) => { problems.push(String(e)); };</script>"
    probe = html.replace("<head>", f"<head>{catch}").replace("</body>", f"{PROBE}</body>")
    (tmp_path / "probe.html").write_text(probe, encoding="utf-8")
    dom = browse(tmp_path, "--dump-dom", width=width)
    found = json.loads(re.search(r'<pre id="probe">(.*?)</pre>', dom, re.DOTALL).group(1))
    assert found["errors"] == []
    assert found["up"] == sorted(found["up"])
    assert found["down"] == sorted(found["up"], reverse=True)
    assert (found["before"], found["after"]) == ([True, False], [False, True])
    assert found["verdicts"] == ["holds"]
    assert re.match(
        r"[\d.]+ %, Local-EM: (agrees|undecided|differs)[ a-z]*, n = 12, difference", found["note"]
    )
    assert found["overflow"] == 0
    assert found["image"] == 600

"""The kept pages say by table and by claim what holds, from which evidence, and are whole."""

import re
from dataclasses import replace

import pandas as pd
import pytest

from fedmix.cells.claims import SOURCES
from fedmix.errors import DataError
from fedmix.pipeline.provenance import stamp_of
from fedmix.views.page import reproduction
from fedmix.views.page.contents import Figure, Search
from made_up_page import frames, of_page
from synthetic_results import ROOT, cells

pytestmark = pytest.mark.slow


STAMP = "Stamp: evidence 1a2b3c4d, configuration 5e6f7a8b, code 9c0d1e2f."


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return what the pages show of a made-up run, and its tables."""
    work = tmp_path_factory.mktemp("run")
    for path in ("figures/a.svg", "figures/c.svg", "figures/fedgrem_protocols/b.svg"):
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
        (work / path).with_suffix(".md").write_text("Bands.")
    (work / "words.md").write_text("- p01 is the nearest.\n- LocalEM: one_order.")
    shown = of_page(**frames())
    names = {table["name"] for table in shown.tables}
    tables = [work / f"{name}.md" for name in set(cells()["item"]) & names]
    for path in tables:
        path.write_text("| table in md |\n")
        path.with_suffix(".tex").write_text("| table in tex |\n")
        path.with_suffix(".csv").write_text("row,mean,made,commit\n0 of 10,1.50,today,abc\n")
    curve = Figure("fedgrem", "Which protocol?", work / "figures/fedgrem_protocols/b.svg")
    context = replace(
        shown,
        figures=[Figure("fedgrem", "FedGrEM, Table 5 as a figure", work / "figures/a.svg")],
        searches=[Search("fedgrem", "fedgrem_table1", work / "words.md", [curve])],
        provenance={"commit": "abc"},
        claim_figures=[Figure("fedgrem", "Claims", work / "figures/c.svg")],
    )
    columns = ["study", "method", "replication", "cpu_seconds", "shared_seconds"]
    rows = [("one", "a", 0, 3600, 0), ("one", "a", 1, 900, 1800), ("one", "b", 1, 900, 1800)]
    timings = pd.DataFrame(rows, columns=columns).assign(variant="v", setting="s")
    return context, tables, timings


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """Return what is kept of the run, beside a search that was kept before."""
    folder = tmp_path_factory.mktemp("reproduction") / "out"
    figure = folder / "protocols" / "fedgrem" / "kept.svg"
    figure.parent.mkdir(parents=True)
    figure.write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    figure.with_suffix(".md").write_text("Curves.")
    context, *files = run
    search = replace(context.searches[0], figures=[Figure("fedgrem", "Kept", figure)])
    common = replace(search, target="common")
    context = replace(context, searches=[*context.searches, search, common])
    reproduction.export_reproduction(folder, context, *files, STAMP)
    return folder


def test_every_link_leads_to_a_file_and_figures_are_there_once(folder):
    assert (folder / "protocols" / "fedgrem" / "kept.svg").is_file()
    assert sorted(p.name for p in (folder / "figures").glob("*.svg")) == [
        "a.svg",
        "c.svg",
        "fedgrem_protocols_b.svg",
    ]
    assert "](figures/c.svg)" in (folder / "claims.md").read_text(encoding="utf-8")
    assert not list(folder.rglob("*.html"))
    alone = [folder / "README.md", folder / "claims.md"]
    for page in [*alone, *folder.glob("tables/*.md"), *folder.glob("figures/*.md")]:
        text = page.read_text(encoding="utf-8")
        for address in re.findall(r"\]\(([^)]+)\)", text):
            if address == "#claims-of-the-paper":
                assert "\n## Claims of the paper\n" in text, page.name
            elif not address.startswith("../evidence"):  # a page of the documentation
                assert (page.parent / address).is_file(), f"{page.name}: {address}"


def test_every_page_ends_with_what_it_is_made_from(folder):
    for page in folder.glob("**/*.md"):
        if "protocols" not in page.parts:
            assert page.read_text(encoding="utf-8").endswith(f"\n{STAMP}\n"), page


def test_a_table_s_page_has_the_findings_of_its_search(folder):
    page = (folder / "tables" / "fedgrem_table1.md").read_text(encoding="utf-8")
    found = page.split("## Which protocol gives these values?")[-1]
    assert "\n- p01 is the nearest.\n- Local-EM: one order.\n" in found
    assert "](../figures/../protocols/fedgrem/kept.svg)\n\nCurves.\n" in found


def test_a_search_over_all_tables_has_a_page_of_its_own(folder):
    page = (folder / "figures" / "fedgrem.md").read_text(encoding="utf-8")
    assert page.startswith("# FedGrEM (")
    assert "\n- p01 is the nearest.\n" in page.split("## Which protocol gives these values?")[1]
    listed = (folder / "README.md").read_text(encoding="utf-8")
    assert ", search for the protocol](figures/fedgrem.md)\n" in listed


def test_tables_are_kept_for_other_programs_too(folder):
    table = folder / "tables" / "fedgrem_table5.md"
    assert table.with_suffix(".tex").read_text(encoding="utf-8") == "| table in tex |\n"
    assert table.with_suffix(".csv").read_text(encoding="utf-8") == "row,mean\n0 of 10,1.50\n"


def test_a_table_s_page_in_markdown_has_what_belongs_to_it(folder):
    page = (folder / "tables" / "fedgrem_table5.md").read_text(encoding="utf-8")
    score = frames()["scores"].set_index("item").loc["fedgrem_table5"]
    assert page.startswith(
        f"# FedGrEM, Table 5\n\n**{score['answer']}** {score['more']}\n\nas coded, "
    )
    for text in (score["direction"], "| table in md |", "](../figures/a.svg)", "## Discrepancies"):
        assert text in page
    assert "[csv](fedgrem_table5.csv), [tex](fedgrem_table5.tex)" in page


def test_a_table_that_is_not_judged_has_no_line_of_counts(folder):
    page = (folder / "tables" / "fedgrem_table6.md").read_text(encoding="utf-8")
    assert page.startswith(
        "# FedGrEM, Table 6\n\n**Run times are noted and not judged.**\n\n"
        "[Claims](#claims-of-the-paper): 5 not testable.\n\nThe table as a file: "
    )


def test_a_table_s_page_leads_to_its_claims(folder):
    text = (folder / "tables" / "fedgrem_table1.md").read_text(encoding="utf-8")
    assert "\n## Claims of the paper\n" in text
    assert "\n[Claims](#claims-of-the-paper): " in text.partition("The table as a file")[0]


def test_a_table_s_page_has_the_values_of_the_protocol_that_the_search_chose(run, tmp_path):
    context, tables, timings = run
    [path] = [path for path in tables if path.stem == "fedgrem_table1"]
    rows = "pendigits, " + context.cells["row"]
    counted = context.cells.assign(role="searched", row=rows)
    page = tmp_path / "tables" / path.name
    for own, told in ((counted, True), (counted.assign(n=0), False), (context.cells, False)):
        named = [
            table
            | {"datasets": {"pendigits": "Pen digits"}}
            | {"options": {**table["options"], "names": {"0 %": "clean"}}}
            for table in context.tables
        ]
        export_of = replace(context, cells=own, tables=named)
        reproduction.export_reproduction(tmp_path, export_of, [path], timings, STAMP)
        text = page.read_text(encoding="utf-8")
        assert ("The protocol that the search chose, on" in text) == told
        assert ("[13.30 (1.17)]" in text) == told
        assert (", Pen digits, clean |" in text) == told  # the data set's title, the item's name


def test_a_run_too_heavy_for_a_repository_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "LIMIT", 1000)
    with pytest.raises(DataError, match=r"more than 1 kB\. The largest files: "):
        reproduction.export_reproduction(tmp_path, *run, STAMP)


def test_the_front_page_says_what_each_table_comes_to_and_by_which_variant(folder):
    readme = (folder / "README.md").read_text(encoding="utf-8")
    # Replications and core-hours; what methods share counts once.
    assert re.search(r"\| one +\| +2 +\| +2(\.0+)? +\|", readme)
    [line] = [x for x in readme.splitlines() if x.startswith("- [FedGrEM, Table 5]")]
    score = frames()["scores"].set_index("item").loc["fedgrem_table5"]
    assert line.endswith(f": {score['answer']} (as coded)")


def test_claims_have_their_counts_for_every_source(folder):
    claims = pd.read_csv(folder / "claims.csv").set_index("id")
    for source in SOURCES:
        assert {f"{source}_{a}" for a in ("yes", "no", "unclear", "median", "smallest")} <= set(
            claims
        )
    assert claims.loc["fedgrem-pendigits-lowest", "published_yes"] == 4
    assert claims["quote"].str.len().gt(0).all()
    assert not claims["where"].fillna("").str.contains("...", regex=False).any()


def test_claims_are_told_in_sentences_and_with_the_names_that_readers_know(run, tmp_path):
    context, tables, timings = run
    [path] = [path for path in tables if path.stem == "fedgrem_table1"]
    known = {"pendigits": "Pen digits"}
    context = replace(
        context,
        claims=context.claims.assign(
            where="no: pendigits", remarks=[["A sentence.", "a | b"]] * len(context.claims)
        ),
        tables=[{**table, "datasets": known} for table in context.tables],
    )
    reproduction.export_reproduction(tmp_path, context, [path], timings, STAMP)
    listed = (tmp_path / "claims.md").read_text(encoding="utf-8")
    assert r"| no: Pen digits | – | A sentence. a \| b. |" in listed
    page = (tmp_path / "tables" / path.name).read_text(encoding="utf-8")
    assert "**: no: Pen digits. A sentence. a | b.\n" in page


def test_the_kept_pages_are_made_from_what_the_repository_holds():
    stamp = stamp_of(ROOT)
    kept = ROOT / "docs" / "reproduction"
    pages = [kept / "README.md", kept / "claims.md", *kept.glob("tables/*.md")]
    old = [page.name for page in pages if page.read_text(encoding="utf-8").split("\n")[-2] != stamp]
    assert not old, f"made from other evidence, configuration or code than {stamp} Run `make kept`."

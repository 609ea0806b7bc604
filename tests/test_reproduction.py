"""The kept run tells by table and by claim what it comes to, and keeps the pages whole."""

import hashlib
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest

from fedmix.cells.claims import SOURCES, evaluate_claims, read_claims
from fedmix.cells.discrepancies import measure_discrepancies, read_discrepancies
from fedmix.cells.papers import read_papers
from fedmix.cells.scorecard import rank_agreement, score_tables
from fedmix.errors import DataError
from fedmix.views.page import Figure, PageContext, Search, reproduction
from fedmix.views.page.reproduction import FIT, N_FITS, SECONDS, draw_sample
from synthetic_cells import laid_out
from synthetic_results import ROOT, cells, results_and_timings, shipped_items

pytestmark = pytest.mark.slow


def fits():
    """Return results and timings of twenty fits in each of three studies."""
    keys = [("one", "", "a", "FedEM", r) for r in range(20)]
    keys += [(study, "v", "b", "FedGrEM", r) for study in ("two", "three") for r in range(20)]
    timings = pd.DataFrame(keys, columns=FIT).assign(status="ok", cpu_seconds=1.0, shared_seconds=0)
    rounds = [("error", 1), ("error", pd.NA), ("ari", pd.NA)]
    scores = [timings[FIT].assign(metric=name, round=i, value=0.5) for name, i in rounds]
    return pd.concat(scores, ignore_index=True).astype({"round": "Int64"}), timings


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return what the pages show of a made-up run, and its tables."""
    work = tmp_path_factory.mktemp("run")
    papers = read_papers(ROOT / "config")
    for path in ("figures/a.svg", "figures/fedgrem_protocols/b.svg"):
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text("<svg/>")
        (work / path).with_suffix(".md").write_text("Bands.")
    (work / "words.md").write_text("- p01 is the nearest.")
    (work / "fedgrem_table5.md").write_text("| table |\n")
    (work / "raw.npz").write_bytes(b"points")
    curve = Figure("fedgrem", "Which protocol?", work / "figures/fedgrem_protocols/b.svg")
    context = PageContext(
        cells(),
        scores=score_tables(cells()),
        ranks=rank_agreement(cells(), shipped_items()),
        claims=evaluate_claims(read_claims(papers), cells(), results_and_timings()[0]),
        discrepancies=measure_discrepancies(read_discrepancies(papers), cells()),
        papers={key: paper.title for key, paper in papers.items()},
        tables=[laid_out(item) for item in shipped_items().values() if item.kind == "table"],
        figures=[Figure("fedgrem", "FedGrEM, Table 5 as a figure", work / "figures/a.svg")],
        searches=[Search("fedgrem", "fedgrem_table1", work / "words.md", [curve])],
        provenance={"commit": "abc"},
    )
    sample = draw_sample(*fits())
    return context, [work / "fedgrem_table5.md"], sample, [work / "raw.npz"], ["| study |"]


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """Return what is kept of the run, beside a search that was kept before."""
    folder = tmp_path_factory.mktemp("reproduction") / "out"
    figure = folder / "protocols" / "fedgrem" / "kept.svg"
    figure.parent.mkdir(parents=True)
    figure.write_text("<svg/>")
    figure.with_suffix(".md").write_text("Curves.")
    context, *files = run
    search = replace(context.searches[0], figures=[Figure("fedgrem", "Kept", figure)])
    context = replace(context, searches=[*context.searches, search])
    reproduction.export_reproduction(folder, context, *files, command="make all")
    return folder


class Addresses(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("src", "href")]


def test_pages_and_figures_are_whole_and_figures_are_there_once(folder):
    assert (folder / "protocols" / "fedgrem" / "kept.svg").is_file()
    assert sorted(p.name for p in (folder / "figures").iterdir()) == [
        "a.svg",
        "fedgrem_protocols_b.svg",
    ]
    for page in folder.rglob("*.html"):
        reader = Addresses()
        reader.feed(page.read_text(encoding="utf-8"))
        for address in filter(None, (a.partition("#")[0] for a in reader.found)):
            path = (page.parent / address).resolve()
            assert path.is_file(), f"{page.name}: {address}"
            assert path.is_relative_to(folder.resolve())


def test_a_table_s_page_in_markdown_has_what_belongs_to_it(folder):
    page = (folder / "tables" / "fedgrem_table5.md").read_text(encoding="utf-8")
    score = score_tables(cells()).set_index("item").loc["fedgrem_table5"]
    assert page.startswith("# FedGrEM, Table 5\n\n**as coded, ")
    for text in (score["direction"], "| table |", "](../figures/a.svg)", "## Discrepancies"):
        assert text in page
    assert '<a href="../pages/fedgrem_table5.html">' in page


def test_a_run_too_heavy_for_a_repository_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "LIMIT", 1000)
    with pytest.raises(DataError, match=r"more than 1 kB\. The largest files: "):
        reproduction.export_reproduction(tmp_path, *run, command="make all")


def test_the_front_page_says_what_each_table_comes_to_and_by_which_variant(folder):
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "## Costs\n\n| study |" in readme
    [line] = [x for x in readme.splitlines() if x.startswith("- [FedGrEM, Table 5]")]
    score = score_tables(cells()).set_index("item").loc["fedgrem_table5"]
    assert ": as coded, " in line
    assert line.endswith(score["direction"])


def test_claims_have_their_counts_for_every_source(folder):
    claims = pd.read_csv(folder / "claims.csv").set_index("id")
    for source in SOURCES:
        assert {f"{source}_{a}" for a in ("yes", "no", "unclear", "median", "smallest")} <= set(
            claims
        )
    assert claims.loc["fedgrem-pendigits-lowest", "print_yes"] == 4
    assert claims["quote"].str.len().gt(0).all()
    assert not claims["where"].fillna("").str.contains("...", regex=False).any()


def test_a_sample_has_every_study_and_the_data_s_checksums_are_kept(folder):
    sample = pd.read_csv(folder / "sample.csv")
    assert set(sample["study"]) == {"one", "two", "three"}
    assert len(sample.drop_duplicates(FIT)) == N_FITS
    assert len(sample) == 2 * N_FITS  # two scores each, and none of a round
    assert set(sample["preset"]) == {"paper"}
    checksum, name = (folder / "checksums.sha256").read_text().split()
    assert name.endswith("raw.npz")
    assert checksum == hashlib.sha256(b"points").hexdigest()


def test_a_sample_is_the_same_in_any_order_and_has_no_long_fit():
    results, timings = fits()
    sample = draw_sample(results, timings)
    pd.testing.assert_frame_equal(sample, draw_sample(results[::-1], timings[::-1]))
    timings.loc[timings["study"] == "one", "shared_seconds"] = SECONDS
    assert set(draw_sample(results, timings)["study"]) == {"two", "three"}

"""The documentation's fourth paper: two folders, and it is in targets, tables and the page."""

import re
import shutil

import pytest

from pipeline import ROOT, Pipeline

EXAMPLE = ROOT / "docs" / "examples" / "paper"
pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def extended(tmp_path_factory) -> Pipeline:
    """A copy of the repository with the paper in it, run as the page says, to the page in HTML."""
    page = (ROOT / "docs" / "adding_a_paper.md").read_text(encoding="utf-8")
    copied, command = re.search(r"```sh\n(cp .*)\nsnakemake --cores 2 (.*)\n```", page).groups()
    assert copied == "cp -r docs/examples/paper/* ."
    pipeline = Pipeline.new(tmp_path_factory.mktemp("extended"), papers=None)
    shutil.copytree(EXAMPLE, pipeline.project, dirs_exist_ok=True)
    # A preset with nothing else in it: what is shown is that nobody else need know the paper.
    preset = pipeline.project / "config/papers/waveforms/presets"
    (preset / "quick.yaml").rename(preset / "alone.yaml")
    pipeline.run(*command.split(), config={"preset": "alone", "replications": 3, "block": 3})
    return pipeline


def test_its_table_shows_its_printed_numbers_as_printed(extended):
    table = (extended.work / "results/alone/tables/waveforms_table1.md").read_text(encoding="utf-8")
    for text in ("0.281 (0.040)", "0.260 (0.012)", "0.290 (0.030)", "0.258 (0.010)"):
        assert f"[{text}]" in table


def test_its_figure_is_drawn_with_its_caption(extended):
    figures = extended.work / "results/alone/figures"
    assert (figures / "waveforms_figure1.svg").is_file()
    caption = (figures / "waveforms_figure1.md").read_text(encoding="utf-8")
    assert "against the number of clients" in caption


def test_its_claims_and_its_discrepancy_are_judged(extended):
    audit = extended.work / "results" / "alone" / "audit"
    claims = (audit / "claims.csv").read_text(encoding="utf-8")
    for name in ("waveforms-k-fed-above", "waveforms-clients-do-not-matter"):
        assert name in claims
    register = (audit / "discrepancies.md").read_text(encoding="utf-8")
    entry = register.partition("### waveforms-order")[2]
    assert re.search(r"k-FED's ARI, text to program: 0\.\d+ to 0\.\d+, change", entry)


def test_the_page_has_it(extended):
    index = (extended.work / "results/alone/index.html").read_text(encoding="utf-8")
    assert "One-shot clustering of waveforms (nobody 2020)" in index
    page = (extended.work / "results/alone/pages/waveforms_table1.html").read_text(encoding="utf-8")
    assert "k-FED has a higher ARI than FedKmeans at five and at ten clients." in page
    assert "0.281 (0.040)" in page


def test_no_other_file_knows_the_paper():
    for folder in ("src", "config", "workflow"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in {".py", ".yaml", ".smk"}:
                assert "nobody 2020" not in path.read_text(encoding="utf-8"), path

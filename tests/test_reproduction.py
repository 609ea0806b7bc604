"""The kept run tells by table and by claim what it comes to."""

import pandas as pd
import pytest

from fedmix.cells.claims import SOURCES, evaluate_claims, read_claims
from fedmix.cells.papers import read_papers
from fedmix.cells.scorecard import score_tables
from fedmix.views.page.reproduction import export_reproduction
from synthetic_results import ROOT, cells, results_and_timings


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduction")
    table = folder / "fedgrem_table5.md"
    table.write_text("| |\n")
    claims = read_claims(read_papers(ROOT / "config"))
    found = evaluate_claims(claims, cells(), results_and_timings()[0])
    export_reproduction(folder / "out", cells(), found, {"commit": "abc"}, [table], [], "make all")
    return folder / "out"


def test_the_front_page_says_what_each_table_comes_to_and_by_which_variant(folder):
    readme = (folder / "README.md").read_text(encoding="utf-8")
    [line] = [x for x in readme.splitlines() if x.startswith("- [fedgrem_table5]")]
    score = score_tables(cells()).set_index("item").loc["fedgrem_table5"]
    assert ": as_coded, " in line
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

"""The archive of a run is a valid crate, and gives its tables and pages in an empty folder."""

import shutil
import zipfile
from pathlib import Path

import pytest

from crates import validate
from pipeline import jobs_of

pytestmark = pytest.mark.workflow

PAGE = "results/smoke/index.html"
# Behind each value: files of the run, which the empty folder does not have.
EXPLANATIONS = '<details class="explanations">'


def test_the_archive_of_a_run_is_a_valid_crate(finished, tmp_path, monkeypatch):
    with zipfile.ZipFile(finished.work / "results/smoke/archive.zip") as bundle:
        bundle.extractall(tmp_path)
    assert validate(tmp_path, monkeypatch) == []


def shown(work: Path) -> dict[str, str]:
    """Return the table, the pages and their figures, without where each value comes from.

    Those of run times are left out: the evidence keeps three digits of these.
    """
    names = ("index.html", "pages/*.html", "page_figures/*", "tables/fedgrem_table1.*")
    found = [path for name in names for path in (work / "results/smoke").glob(name)]
    return {
        path.name: path.read_text(encoding="utf-8").partition(EXPLANATIONS)[0]
        for path in found
        if "table6" not in path.name
    }


def test_a_table_and_the_pages_come_from_an_archive_and_no_method_runs(pipeline, tmp_path):
    shutil.move(pipeline.work / "results/smoke/archive.zip", tmp_path / "archive.zip")
    before = shown(pipeline.work)
    assert {"index.html", "fedgrem_table1.html", "fedgrem_table1_figure.svg"} <= set(before)
    shutil.rmtree(pipeline.work)
    pipeline.work.mkdir()
    added = pipeline.command(
        "evidence", "add", tmp_path / "archive.zip", "--directory", pipeline.work
    )
    assert added.stdout == "fedgrem_real: 6 replications added\n", added.stderr
    assert jobs_of(pipeline.run("fedgrem_table1", PAGE)) == {
        "collect_results": 1,
        "make_table": 1,
        "fedgrem_table1": 1,
        "draw_figures": 1,
        "judge_results": 1,
        "explain_cells": 1,
        "build_page": 1,
    }
    assert shown(pipeline.work) == before
    assert not (pipeline.work / "data").exists()
    anew = pipeline.planned("fedgrem_table1", config={"evidence": False})
    assert anew["run_methods"] == 2
    more = pipeline.planned("fedgrem_table1", config={"replications": 2})
    assert more["run_methods"] == 2

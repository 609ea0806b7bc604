"""What the pages show of the made-up results."""

from functools import cache

import pandas as pd

from fedmix.cells.claims import evaluate_claims
from fedmix.cells.discrepancies import measure_discrepancies
from fedmix.cells.papers import read_claims, read_discrepancies, read_papers
from fedmix.cells.scorecard import rank_agreement, score_tables
from fedmix.views.page.contents import PageContext
from synthetic_cells import laid_out
from synthetic_results import ROOT, cells, results_and_timings, shipped_items

PAPERS = read_papers(ROOT / "config")


def judged(frame: pd.DataFrame, results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {
        "cells": frame,
        "scores": score_tables(frame, shipped_items(), PAPERS),
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

"""What the pages say of claims, scores and cells."""

from math import inf, nan

import pandas as pd
import pytest

from fedmix.cells.calibration import SCORED
from fedmix.cells.claims import SOURCES
from fedmix.cells.verdicts import COUNTED, judge_numbers
from fedmix.views.captions import in_words
from fedmix.views.page.contents import Page, PageContext, pages_of
from fedmix.views.page.views import (
    about,
    anchor,
    claim_views,
    downloads,
    failure_rows,
    page_lines,
    score_in_words,
    table_views,
    variant_counts,
)
from made_up_page import frames, of_page
from synthetic_cells import frame, item


def claim(**changes) -> pd.DataFrame:
    """Return one claim, which the text's variant alone answers."""
    names = ("yes", "no", "unclear", "median", "smallest", "low", "high")
    none = {f"{source}_{name}": 0 for source in SOURCES for name in names}
    plain = {"verdict": "holds", "chance": nan, "written_yes": 1}
    return pd.DataFrame([none | plain | changes])


def test_margins_have_no_exponents_and_an_interval_where_there_is_one():
    large = {"written_median": 52413.0, "written_smallest": -0.5}
    for low, high, told in (
        (-0.75, 1.0, "+52,413; -0.5 (-0.75 to +1)"),
        (-inf, inf, "+52,413; -0.5"),  # of one replication
    ):
        [view] = claim_views(claim(**large, written_low=low, written_high=high))
        [source] = view["sources"]
        assert (source["name"], source["margins"]) == ("written", told)


def test_every_source_that_answers_a_claim_is_shown():
    [view] = claim_views(claim(written_no=1, authors_unclear=1))
    assert {source["name"] for source in view["sources"]} == {"written", "authors"}
    assert view["chance_shown"] == ""
    assert claim_views(claim(chance=0.05))[0]["chance_shown"] == "5%"


def test_the_front_page_has_a_line_for_each_page_of_a_paper():
    tables = [{"name": "table1", "caption": "Errors."}]
    pages = [
        Page("table1", "early", "Early, Table 1", tables),
        Page("figure2", "early", "Early, Figure 2"),
        Page("early", "early", "Early (2022)", tables),
    ]
    scores = pd.DataFrame({"item": []})
    claims = pd.DataFrame(
        {"paper": "early", "section": ["Table 1", "Tables 1 and 2"], "verdict": ["holds", "mixed"]}
    )
    told = [(line["title"], line["about"]) for line in page_lines(pages, scores, claims)["early"]]
    assert told == [
        ("Early, Table 1", "Errors."),
        ("Early, Figure 2", ""),
        ("Further tables and figures", ""),
    ]
    [first, *_] = page_lines(pages, scores, claims)["early"]
    assert first["claims"] == {"holds": 1, "mixed": 1}


def notes_of(**cell) -> str:
    """Return what the page says of a cell at which a reader points."""
    cells = frame([{"verdict": "agrees", "printed_text": "1.0", "n": 12} | cell])
    names = ["item", "variant", "note"]
    nothing = pd.DataFrame(columns=names)
    given = PageContext(cells, nothing, nothing, nothing, nothing, papers={})
    [view] = table_views([item(papers={})], given, nothing)
    [[[shown]]] = [row["cells"] for row in view["variants"][0]["rows"]]
    return shown["note"]


def test_a_note_has_the_numbers_behind_a_verdict():
    interval = {"difference": -0.1, "low": -0.3, "high": 0.1}
    told = "agrees, n = 12, difference -0.1, 90 % interval -0.3 to +0.1"
    assert notes_of(**interval) == told
    assert notes_of(sd_ratio=0.713) == "agrees, n = 12, sd 0.71 times the published one"
    failed = notes_of(failed=2, failures="timeout", verdict="", printed_text="")
    assert failed == "n = 12, 2 failed (timeout)"
    assert notes_of(draws="borrowed") == (
        "agrees, n = 12, variance between draws borrowed from another variant or setting"
    )


@pytest.mark.parametrize(
    ("verdict", "needed", "told"),
    [
        ("undecided", 30.2, "undecided, n = 12, about 31 replications would decide"),
        ("undecided", nan, "undecided, n = 12"),
        ("agrees", 30.2, "agrees, n = 12"),
        (
            "cannot be decided",
            inf,
            "more replications would not decide unless our mean changes",
        ),
    ],
)
def test_a_note_says_how_many_replications_would_decide(verdict, needed, told):
    assert notes_of(verdict=verdict, needed=needed).endswith(told)


def test_underscores_become_spaces_but_in_the_names_of_guides():
    assert in_words("as_coded (docs/protocol_search.md) by as_written") == (
        "as coded (docs/protocol_search.md) by as written"
    )


def test_scores_are_told_in_words_unless_nothing_is_judged():
    score = dict.fromkeys(COUNTED, 0) | {f"expected: {name}": 0.0 for name in SCORED}
    score |= {"variant": "as_coded", "direction": ""}
    assert score_in_words(score) == ""
    score |= {"agrees": 3, "differs": 1}
    assert score_in_words(score) == "as coded, 3 agree, 1 differs."
    score |= {"expected: agrees": 3.6, "expected: differs": 0.4, "direction": "All 4 lie below."}
    assert score_in_words(score) == (
        "as coded, 3 agree, 1 differs. All 4 lie below. "
        "An exact replication would be expected to get: 4 agree."
    )
    halves = {"expected: agrees": 1.5, "expected: undecided": 1.5, "expected: differs": 1.0}
    assert score_in_words(score | halves).endswith("to get: 2 agree, 1 undecided, 1 differs.")
    not_run = score | {"variant": "", "agrees": 0, "differs": 0, "not run": 4}
    assert score_in_words(not_run).startswith("no variant, 4 not run. ")


def test_values_are_counted_by_variant_and_failures_by_kind():
    printed = {"verdict": "agrees", "printed_text": "1.0", "printed_file": "a", "printed_line": 1}
    cells = frame(
        [
            printed,
            printed | {"printed_line": 2, "verdict": "differs"},
            printed | {"printed_line": 3, "variant": "", "verdict": "not run"},
            {"failed": 2, "failures": "timeout"},
            {"failed": 2, "failures": "timeout", "metric": "seconds"},  # the same replications
            {"failed": 1, "failures": "timeout", "setting": "other"},
        ]
    )
    [counted] = variant_counts(cells)
    assert {name: n for name, n in counted["counts"].items() if n} == {"agrees": 1, "differs": 1}
    [failed] = failure_rows(cells)
    assert (failed["failures"], failed["failed"]) == ("timeout", 3)


def test_tables_in_which_nothing_was_tried_have_no_files():
    table = {"name": "t"}
    assert downloads(table, frame([{"n": 0}])) == {}
    assert downloads(table, frame([{"n": 0, "failed": 1}])) == {"CSV": "t.csv", "LaTeX": "t.tex"}


def test_claims_stand_on_the_pages_of_their_paper_and_its_tables():
    page = Page("table1", "early", "Early, Table 1")
    places = [("early", "4, Tables 1-3"), ("early", "4, Table 2"), ("late", "4, Table 1")]
    claims = pd.DataFrame(places, columns=["paper", "section"])
    assert list(about(page, claims, "section").index) == [0]
    assert about(page, claims[:0], "section").empty
    assert about(Page("early", "early", "Early (2022)"), claims, "section").empty


def test_cells_that_differ_in_a_sign_alone_have_anchors_of_their_own():
    cell = frame([{}]).iloc[0].to_dict()
    settings = ("shift 1", "shift -1", "init k-means", "init k-means++", "é", "ü")
    assert len({anchor({**cell, "setting": name}) for name in settings}) == len(settings)


def test_a_variant_is_explained_where_it_is_shown_and_not_below_all():
    given = of_page(**frames())
    tables = [table for page in pages_of(given) for table in page.tables]
    for view in table_views(tables, given, judge_numbers(given.cells)):
        known = next(t["variants"] for t in tables if t["title"] == view["title"])
        for variant in view["variants"]:
            assert variant["what"] in ("", *known.values())
            assert not any(note.startswith(f"Variant {variant['name']}") for note in view["notes"])

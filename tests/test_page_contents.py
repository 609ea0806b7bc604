"""What belongs on which page, which file of a figure it shows, and the words for a run."""

import json

import pandas as pd
import pytest

from fedmix import __version__
from fedmix.errors import DataError
from fedmix.revision import LIBRARIES
from fedmix.storage import write_records, write_table
from fedmix.views.page.contents import (
    Figure,
    PageContext,
    Search,
    describe_run,
    items_named,
    light_image,
    names_of,
    pages_of,
    read_context,
    read_description,
    translator,
    write_description,
)
from synthetic_cells import frame

JUDGED = ("scores", "ranks", "claims", "discrepancies")
PAPERS = {"later": "Later (2024)", "early": "Early (2022)"}  # in the order to be shown


def table(name: str, title: str, paper: str = "early") -> dict:
    return {"name": name, "title": title, "paper": paper}


def context(**parts) -> PageContext:
    """Return a context without results, with cells of the tables a, b and c."""
    nothing = dict.fromkeys(JUDGED, pd.DataFrame())
    cells = frame({"item": name} for name in "abc")
    return PageContext(**({"cells": cells, "papers": PAPERS} | nothing | parts))


def test_what_names_the_same_table_shares_a_page_and_the_rest_follows():
    tables = [
        table("a", "Early, what was left over"),
        table("b", "Early, Table 1"),
        table("c", "Early, Table 1 with one metric"),
        table("not_in_the_cells", "Early, Table 2"),
        table("b", "Other, Table 3", "a paper that is not shown"),
    ]
    figures = [
        Figure("early", "Early, Table 1 by variant", "figures/early_variants.svg"),
        Figure("later", "Later, Figure 3", "figures/later_figure3.svg"),
    ]
    searches = [Search("early", "c", "c.md"), Search("early", "common", "common.md")]
    pages = pages_of(context(tables=tables, figures=figures, searches=searches))
    assert [(page.name, page.title, page.is_published) for page in pages] == [
        ("later_figure3", "Later, Figure 3", True),
        ("b", "Early, Table 1", True),
        ("early", "Early (2022)", False),
    ]
    assert [[own["name"] for own in page.tables] for page in pages] == [[], ["b", "c"], ["a"]]
    assert [page.figures for page in pages] == [figures[1:], figures[:1], []]
    assert [page.searches for page in pages] == [[], searches[:1], searches[1:]]


def test_a_context_is_read_from_the_files_of_a_run(tmp_path):
    write_table(tmp_path / "cells.parquet", frame([{"item": "a"}]))
    write_records(tmp_path / "audit.json", dict.fromkeys(JUDGED, pd.DataFrame({"paper": ["x"]})))
    write_description(tmp_path / "run.csv", {"Preset": "quick"})
    (tmp_path / "explained.json").write_text(json.dumps({"a": "from a file"}))
    (tmp_path / "curve.md").write_text("A curve.", encoding="utf-8")
    (tmp_path / "words.md").write_text("- One - two.\n\n- Three.\n", encoding="utf-8")
    files = [tmp_path / name for name in ("cells.parquet", "audit.json", "run.csv")]
    curve = {"paper": "x", "title": "Curve", "path": tmp_path / "curve.svg"}
    search = {"paper": "x", "target": "a", "words": tmp_path / "words.md", "figures": [curve]}
    found = read_context(
        *files,
        tmp_path / "explained.json",
        unavailable={"study": {"EMNIST": "data/emnist.npz", "CIFAR-10": "data/cifar.npz"}},
        figures=[{**curve, "caption": "Its own."}],
        searches=[search],
        papers={"x": "X"},
    )
    assert found.cells["item"].tolist() == ["a"]
    assert found.explanations == {"a": "from a file"}
    assert found.figures[0].read_caption() == "Its own."
    assert found.searches[0].figures[0].read_caption() == "A curve."
    assert found.searches[0].read_words() == ["One - two.", "Three."]
    assert found.provenance["Data not available"] == (
        "study: EMNIST (`snakemake --cores 1 data/emnist.npz` makes it); "
        "study: CIFAR-10 (`snakemake --cores 1 data/cifar.npz` makes it)"
    )
    plain = read_context(*files, papers={"x": "X"})
    assert (plain.provenance, plain.explanations) == ({"Preset": "quick"}, {})


def test_a_heavy_vector_figure_gives_way_to_its_picture(tmp_path):
    (tmp_path / "a-h0.5.svg").write_bytes(b"<svg/>")
    assert light_image(tmp_path / "a-h0.5.svg", limit=5).suffix == ".svg"
    (tmp_path / "a-h0.5.png").write_bytes(b"\x89PNG")
    assert light_image(tmp_path / "a-h0.5.svg").suffix == ".svg"
    assert light_image(tmp_path / "a-h0.5.svg", limit=5).suffix == ".png"
    with pytest.raises(DataError, match="no such figure"):
        light_image(tmp_path / "b.svg")
    with pytest.raises(DataError, match=r"takes figures as \.svg or \.png files"):
        light_image(tmp_path / "b.pdf")


def test_references_to_tables_and_figures_are_understood():
    assert items_named("B.2, Tables 6-8") == {"Table 6", "Table 7", "Table 8"}
    assert items_named("C.1, C.3, Figures 1 and 3 right") == {"Figure 1", "Figure 3"}
    assert items_named("6.2, Figure 1a") == {"Figure 1"}
    assert items_named("Figures 1a and 2b") == {"Figure 1", "Figure 2"}
    assert items_named("Tables 3a-4b, 6") == {"Table 3", "Table 4", "Table 6"}
    assert items_named("Tables 6–7") == {"Table 6", "Table 7"}
    assert items_named("Figures 1, 2, and 3") == {"Figure 1", "Figure 2", "Figure 3"}
    assert items_named("Tables 6 & 7") == {"Table 6", "Table 7"}
    assert items_named("Abstract") == set()


def timings(*dates):
    made = [
        json.dumps({"date": date, "commit": "abc1234", "python": "3.11", "processor": "one"})
        for date in dates
    ]
    plain = {name: "1.0" for name in LIBRARIES}
    made = [json.dumps(json.loads(text) | plain) for text in made]
    return pd.DataFrame({"study": "s", "replication": range(len(made)), "made": made}).assign(
        cpu_seconds=3600.0
    )


def test_a_run_of_one_day_and_of_several_tells_its_dates_once():
    options = {"preset": "paper", "only": "fedgrem", "partial": False, "limit": None}
    runs = timings("2026-01-03", "2026-01-02", "2026-01-04")
    told = describe_run(options, pd.concat([runs, runs.assign(cpu_seconds=0.0)]))
    assert told["Made"] == "2026-01-02 to 2026-01-04"
    assert told["Preset"] == "paper only=fedgrem"
    assert told["Replications, at most"] == "s 3"
    assert told["Core-hours of the methods"] == "3.00"
    assert told["fedmix"] == f"{__version__}, commit abc1234"
    assert (told["Python"], told["Processor"]) == ("3.11", "one")
    assert describe_run(options, timings("2026-01-02", "2026-01-02"))["Made"] == "2026-01-02"
    others = runs.assign(made=runs["made"].str.replace('"one"', '"other"'))
    assert describe_run(options, pd.concat([others, runs]))["Processor"] == "one; other"


def test_before_anything_was_run_there_is_a_description_too(tmp_path):
    told = describe_run({"preset": "quick"}, pd.DataFrame())
    assert (told["Made"], told["fedmix"]) == ("", __version__)
    write_description(tmp_path / "run.csv", told)
    assert read_description(tmp_path / "run.csv") == told


def test_identifiers_are_replaced_by_names_unless_they_are_ordinary_words():
    tables = [{"datasets": {"digits": "Digits (8x8)", "frog_a": "Frogs"}}]
    names = names_of(tables, frame([{"method": "FedEM", "label": "Fed-EM"}, {"method": ""}]))
    translate = translator(names)
    assert translate("digits, frog_a and a_b by FedEM") == "digits, Frogs and a b by Fed-EM"
    assert translate("not-FedEM, FedEMs") == "not-FedEM, FedEMs"
    assert translator({"emnist": "EMNIST Balanced"})("on emnist") == "on EMNIST Balanced"
    nested = translator({"k": "K", "k-means": "Lloyd's", "k-means++": "seeded"})
    assert nested("k, k-means and k-means++") == "K, Lloyd's and seeded"
    assert translator({})("no_name at all") == "no name at all"

"""Kept numbers are explained without any run, and say what a published value counts as."""

import csv
from pathlib import Path

import pandas as pd
import pytest

from fedmix.__main__ import main
from fedmix.cells.verdicts import RULES
from fedmix.errors import ConfigurationError, DataError
from fedmix.pipeline.judged import answer_of, explain_kept

ROOT = Path(__file__).parents[1]


@pytest.fixture
def kept(tmp_path):
    """Return a folder of kept pages, with one value."""
    cell = {
        **{"paper": "p", "item": "t", "row": "0 %", "column": "FedGrEM", "variant": "as_coded"},
        **{
            "role": "inferred",
            "n": 20,
            "mean": 1.5,
            "sd": 0.1,
            "printed_text": "1.4 (0.1)",
            "printed_sd": 0.1,
            "needed": 40.2,
            "difference": 0.1,
        },
        **{"low": 0.05, "high": 0.15, "verdict": "differs", "draws": "borrowed"},
    }
    names = ["variant", "mean", "sd", "difference", "low", "high", "needed", "draws"]
    empty = dict.fromkeys(names, "")
    other = {**cell, **empty, "row": "0.50", "n": 0, "verdict": "not run"}
    pd.DataFrame([cell, other]).to_csv(tmp_path / "cells.csv", index=False)
    with open(tmp_path / "scores.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [["item", "role", "answer", "more"], ["t", "inferred", "The order holds.", "It leads."]]
        )
    return tmp_path


def test_a_kept_number_is_explained_without_any_run(kept):
    said = "\n".join(explain_kept(kept, "t", "0%", "fedgrem"))
    assert said.startswith("The order holds. It leads.\n\nas_coded\n")
    assert "  ours: 1.5 (sd 0.1), 20 replications\n" in said
    assert "  ours minus theirs: 0.1, 90 % [0.05, 0.15]\n" in said
    assert "  margin: 0.1 to either side (one unit of the last digit)\n" in said
    assert "  role: inferred (inferred from the published values; no program" in said
    told = explain_kept(kept, "t", "0%", "fedgrem", variants={"as_coded": "their program"})
    assert "  what it is: their program" in told
    not_run = list(explain_kept(kept, "t", "0.50", "FedGrEM"))[2:]
    assert not_run == [
        *("not run", "  published: 1.4 (0.1)", f"  verdict: not run ({RULES['not run']})"),
        *("  the published value counts as: not run", ""),
        "docs/whole_run.md says what has been run, and which data are missing.",
    ]
    for words in ("as_coded", "1.4 (0.1)", "verdict: differs", "20 replications", "borrowed"):
        assert words in said
    assert "  the published value counts as: protocol unknown: not near (its" in said
    with pytest.raises(
        ConfigurationError, match="published values of a table, and know none of 'u'"
    ):
        list(explain_kept(kept, "u", "1%", "FedGrEM"))
    with pytest.raises(ConfigurationError, match="No cells with row '1%'"):
        list(explain_kept(kept, "t", "1%", "FedGrEM"))


def test_a_kept_value_counts_by_all_variants_and_the_one_that_counts_is_the_first(kept):
    cell = pd.read_csv(kept / "cells.csv", keep_default_na=False).iloc[0]
    roles = ("diagnostic", "agrees"), ("fair", "undecided"), ("inferred", "agrees")
    rows = [{**cell, "variant": r, "role": r, "verdict": v} for r, v in roles]
    pd.DataFrame(rows).to_csv(kept / "cells.csv", index=False)
    table = "item,role,answer,more\nt,{},,\n"
    (kept / "scores.csv").write_text(table.format("fair"))
    said = list(explain_kept(kept, "t", "0 %", "FedGrEM"))
    assert [line for line in said if line in dict(roles)] == ["fair", "inferred", "diagnostic"]
    assert [line for line in said if "counts" in line] == [
        "  the published value counts as: undecided"
    ]
    pd.DataFrame(rows).assign(role=["diagnostic", "fair", "authors"]).to_csv(
        kept / "cells.csv", index=False
    )
    (kept / "scores.csv").write_text(table.format("authors"))
    [counted] = [line for line in explain_kept(kept, "t", "0 %", "FedGrEM") if "counts" in line]
    assert counted.startswith("  the published value counts as: agrees (not discriminating) (ours")


def test_a_number_is_found_by_the_names_that_its_table_shows(kept):
    names = {"FedGrEM": "Federated", "0 %": "none"}
    assert list(explain_kept(kept, "t", "None", "federated", names)) == list(
        explain_kept(kept, "t", "0%", "FedGrEM")
    )
    with pytest.raises(ConfigurationError, match=r"column 'Fed'\. Did you mean 'Federated'"):
        list(explain_kept(kept, "t", "none", "Fed", names))


def test_what_a_kept_number_lacks_is_left_out(kept):
    cells = pd.read_csv(kept / "cells.csv", keep_default_na=False)
    stand_in = {"row": "2 %", "difference": "", "low": "", "high": "", "verdict": "stand-in"}
    once = {"row": "1 %", "n": 1, "sd": "", "low": "", "high": "", "verdict": "undecided"}
    rows = [{**cells.iloc[0], **change} for change in ({}, stand_in, once)]
    pd.DataFrame(rows).to_csv(kept / "cells.csv", index=False)
    _, *told = list(explain_kept(kept, "t", "2 %", "FedGrEM"))[4:]
    assert told[0] == "  ours: 1.5 (sd 0.1), 20 replications"
    assert told[1].startswith("  verdict: stand-in (")
    _, *told = list(explain_kept(kept, "t", "1 %", "FedGrEM"))[4:]
    assert told[:2] == ["  ours: 1.5, 1 replication", "  ours minus theirs: 0.1"]


def test_an_undecided_number_says_how_many_replications_would_decide(kept):
    cells = pd.read_csv(kept / "cells.csv", keep_default_na=False)
    for needed, said in ((40.2, ["41 replications of ours would decide"]), ("", []), ("inf", [])):
        row = {**cells.iloc[0], "printed_sd": 0.4, "verdict": "undecided", "needed": needed}
        pd.DataFrame([row]).to_csv(kept / "cells.csv", index=False)
        told = list(explain_kept(kept, "t", "0 %", "FedGrEM"))
        assert "  margin: 0.2 to either side (half of the published sd)" in told
        decide = [line.partition(",")[0].strip() for line in told if "would decide" in line]
        assert decide == said


def test_without_kept_cells_one_learns_how_to_make_them(tmp_path):
    assert answer_of(tmp_path, "t") == ""
    with pytest.raises(DataError, match="make kept"):
        list(explain_kept(tmp_path, "t", "0 %", "FedGrEM"))


def test_the_command_explains_a_kept_number(capsys):
    assert (
        main(["explain", "fedgrem_table4", "0.55", "h=0", "--kept", "--workflow", str(ROOT)]) == 0
    )
    assert "0.072 (0.017)" in capsys.readouterr().out

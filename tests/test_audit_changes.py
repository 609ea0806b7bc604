"""The pages on the plan of the analysis and on what changed since the first audit."""

from pathlib import Path

import pytest

import test_docs
from test_docs import DOCS


@pytest.fixture
def script():
    return test_docs.script("audit_changes")


def test_the_page_is_as_the_script_writes_it(script):
    page = (DOCS / "audit_changes.md").read_text(encoding="utf-8")
    assert script.changes() in page, "run python docs/audit_changes.py"


def run_of(folder: Path, claims: list[str], scores: list[str]) -> Path:
    """Write what a run's audit says."""
    for name, lines in {"claims": claims, "scores": scores}.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def rows_of(text: str, heading: str) -> list[list[str]]:
    part = text.split(f"### {heading}")[1].split("###")[0]
    return [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")]


def test_every_changed_verdict_has_its_reason_and_its_counts(script, tmp_path):
    names = script.verdicts_now()
    claims = ["id,verdict,source,authors_yes,authors_no,authors_unclear"]
    claims += [f"{name},holds in most,authors,3,1,0" for name in names]
    text = script.changes(run_of(tmp_path, claims, ["item"]))
    rows = rows_of(text, "Claims")[1:]
    assert ["two-phase-fedprox-reaches-oracle", "does not hold", "dropped"] in [r[:3] for r in rows]
    changed = [row for row in rows if row[2] != "dropped"]
    assert len(changed) == len(set(names) & {row[0] for row in rows})
    assert all(new == "holds in most (yes in 3 of 4, authors)" for _, _, new, _ in changed)
    assert all(len(why) > 20 and "more than half" in why for *_, why in changed)


def test_a_verdict_that_stayed_is_not_listed(script, tmp_path):
    claims = ["id,verdict,source,authors_yes,authors_no,authors_unclear"]
    claims += ["two-phase-beats-fedavg,holds,authors,3,0,0"]
    text = script.changes(run_of(tmp_path, claims, ["item"]))
    assert "two-phase-beats-fedavg" not in [row[0] for row in rows_of(text, "Claims")]


def test_tables_stand_beside_what_they_came_to_first(script, tmp_path):
    names = ["item", "variant", "direction", *script.COUNTED]
    table5 = ["fedgrem_table5", "as_coded", "All 72 lie below the published values."]
    table5 += ["72" if name == "differs" else "0" for name in script.COUNTED]
    text = script.changes(run_of(tmp_path, ["id"], [",".join(names), ",".join(table5)]))
    rows = {row[0]: row[1:] for row in rows_of(text, "Tables")}
    first, now, side = rows["fedgrem_table5"]
    assert (now, side) == ("as_coded: 72 differs", "All 72 lie below the published values.")
    assert first == "5 reproduced, 67 close"
    assert rows["fedgem_table1"][1].startswith("not run again yet")


def test_the_first_audits_tables_add_up_to_its_scorecard(script):
    tables = script.rows_of(script.FIRST / "tables.csv")
    papers = {row["paper"]: row for row in script.rows_of(script.FIRST / "scorecard.csv")}
    for paper in ("fedgrem", "fedgem"):
        own = [row for row in tables if row["item"].startswith(f"{paper}_")]
        for verdict in own[0].keys() - {"item"}:
            total = sum(int(row[verdict]) for row in own)
            assert total == int(papers[paper][f"cells: {verdict}"])


def test_what_needs_a_run_waits_for_one(script, tmp_path):
    found = script.verdicts_now(run_of(tmp_path, ["id,verdict"], ["item"]))
    assert found["fedgem-time-flat-in-features"] == "not testable"
    assert found["fedgem-beats-afcl"] == "not run again yet"


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """Return the program, which writes into a folder of the test."""
    module = test_docs.script("analysis_plan")
    for name, file in (("PAGE", "plan.md"), ("ENTRIES", "plan.csv"), ("VERDICTS", "claims.csv")):
        monkeypatch.setattr(module, name, tmp_path / file)
    return module


def test_the_plan_in_the_repository_is_that_of_the_configuration(plan, monkeypatch):
    monkeypatch.setattr(plan, "ENTRIES", DOCS / "analysis_plan.csv")
    assert plan.touched() == [], "run python docs/analysis_plan.py with the reason for the change"


def test_the_plan_has_every_claim_with_its_test(plan):
    plan.freeze("First plan.")
    page = plan.PAGE.read_text(encoding="utf-8")
    for words in ("fedgrem-pendigits-lowest", "paper_like**: inferred", "FedGEM: ari_pooled"):
        assert words in page
    assert plan.main([]) == 0


def test_a_change_is_listed_with_its_reason_and_the_verdicts_that_it_touches(plan, monkeypatch):
    plan.freeze("First plan.")
    known = list(plan.entries())
    name = next(name for kind, name, _ in known if kind == "claim")
    changed = [(k, n, f"{text} changed" if n == name else text) for k, n, text in known]
    monkeypatch.setattr(plan, "entries", lambda: iter(changed))
    plan.VERDICTS.write_text(f"id,verdict\n{name},reversed\n")
    assert plan.main([]) == 1
    plan.freeze("The sentence was quoted wrongly.")
    told = plan.PAGE.read_text(encoding="utf-8").partition(plan.CHANGES)[2]
    assert "The sentence was quoted wrongly." in told
    assert f"It touches 1: {name} (reversed)." in told
    plan.freeze("Nothing else.")
    again = plan.PAGE.read_text(encoding="utf-8").partition(plan.CHANGES)[2]
    assert "It touches no rule and no claim." in again
    assert "quoted wrongly" in again  # earlier changes stay

"""The plan of the analysis is the frozen one, and a change of it is listed with its reason."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Return the program, which writes into a folder of the test."""
    spec = importlib.util.spec_from_file_location("analysis_plan", DOCS / "analysis_plan.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PAGE", tmp_path / "plan.md")
    monkeypatch.setattr(module, "ENTRIES", tmp_path / "plan.csv")
    return module


def test_the_plan_in_the_repository_is_that_of_the_configuration(script, monkeypatch):
    monkeypatch.setattr(script, "ENTRIES", DOCS / "analysis_plan.csv")
    assert script.touched() == [], "run python docs/analysis_plan.py with the reason for the change"


def test_the_plan_has_every_claim_with_its_test(script):
    script.freeze("First plan.")
    page = script.PAGE.read_text(encoding="utf-8")
    for words in ("fedgrem-pendigits-lowest", "paper_like**: inferred", "FedGEM: ari_pooled"):
        assert words in page
    assert script.main([]) == 0


def test_a_change_is_listed_with_its_reason_and_the_verdicts_that_it_touches(script, monkeypatch):
    script.freeze("First plan.")
    known = list(script.entries())
    name = next(name for kind, name, _ in known if kind == "claim")
    changed = [(k, n, f"{text} changed" if n == name else text) for k, n, text in known]
    monkeypatch.setattr(script, "entries", lambda: iter(changed))
    monkeypatch.setattr(script, "_verdicts", lambda: {name: "reversed"})
    assert script.main([]) == 1
    script.freeze("The sentence was quoted wrongly.")
    told = script.PAGE.read_text(encoding="utf-8").partition(script.CHANGES)[2]
    assert "The sentence was quoted wrongly." in told
    assert f"It touches 1: {name} (reversed)." in told
    script.freeze("Nothing else.")
    again = script.PAGE.read_text(encoding="utf-8").partition(script.CHANGES)[2]
    assert "It touches 0" in again
    assert "quoted wrongly" in again  # earlier changes stay

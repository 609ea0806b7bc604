"""The page of what the first audit got wrong follows the registry and the kept run."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("audit_changes", DOCS / "audit_changes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_as_the_script_writes_it(script):
    page = (DOCS / "audit_changes.md").read_text(encoding="utf-8")
    assert script.changes() in page, "run python docs/audit_changes.py"


def test_every_changed_verdict_has_its_reason(script, tmp_path, monkeypatch):
    rows = [f"{name},holds,authors" for name in script.verdicts_now()]
    exported = "\n".join(["id,verdict,source", *rows]) + "\n"
    (tmp_path / "claims.csv").write_text(exported, encoding="utf-8")
    monkeypatch.setattr(script, "NOW", tmp_path)
    table = script.changes()
    assert "| two-phase-fedprox-reaches-oracle | " in table
    assert "| dropped |" in table
    changed = [line.split(" | ") for line in table.splitlines() if line.startswith("| fed")]
    assert changed
    assert all(new == "holds" and len(why) > 20 for _, _, new, why in changed)
    assert not any(old == new for _, old, new, _ in changed)


def test_what_needs_a_run_waits_for_one(script, tmp_path, monkeypatch):
    (tmp_path / "claims.csv").write_text("id,verdict\n", encoding="utf-8")
    monkeypatch.setattr(script, "NOW", tmp_path)
    found = script.verdicts_now()
    assert found["fedgem-time-flat-in-features"] == "not testable"
    assert found["fedgem-beats-afcl"] == "not run again yet"

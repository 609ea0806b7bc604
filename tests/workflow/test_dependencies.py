"""What a rule says that its job depends on is what the job really loads."""

from pathlib import Path

import pytest

from fedmix.methods import index
from fedmix.pipeline import provenance
from pipeline import METHODS, ROOT

pytestmark = pytest.mark.workflow

SCRIPTS = ROOT / "workflow" / "scripts"
# What decides which replications a job runs, and describes them. It changes none of them.
PLANNING = ("pipeline/", "cells/", "conditions.py", "configuration.py", "revision.py")
# Loaded by names in the configuration: the rules name them (workflow/rules/*.smk).
BY_NAME = {
    "judge_results": ["fedmix.cells"],
    "explain_cells": ["fedmix.cells", "fedmix.experiments"],
    "build_archive": ["fedmix.cells", "fedmix.experiments"],
}


@pytest.fixture(scope="module")
def loaded(finished) -> dict[str, set[str]]:
    """Return the files of fedmix that each script has loaded in a run."""
    return {
        file.name: {name_of(module) for module in file.read_text().split()} - {None}
        for file in (finished.project.parent / "loaded").iterdir()
        if (SCRIPTS / f"{file.name}.py").is_file()
    }


def name_of(module: str) -> str | None:
    path = provenance._path(module)
    return path and provenance._name(module, path)


def covered(script: str) -> set[str]:
    """Return the files in the hash of a rule."""
    if script == "run_methods":
        own = [index()[name] for name in METHODS]
        experiment = ["fedmix.experiments.real_clustering", "fedmix.experiments.runner"]
        return set(provenance.source_files(*own, *experiment))
    names = set(provenance.source_files(*BY_NAME.get(script, [])))
    for module in provenance._imports("script", SCRIPTS / f"{script}.py"):
        names |= set(provenance._closure(module))
    return names


def test_the_run_had_jobs_of_every_stage(loaded):
    assert {"run_methods", "collect_results", "make_table", "make_figure"} <= set(loaded)
    assert {"draw_figures", "judge_results", "explain_cells", "build_page", "build_archive"} <= set(
        loaded
    )


def test_every_module_that_a_job_loads_is_in_its_hash(loaded):
    for script, files in loaded.items():
        if script == "run_methods":
            files = {name for name in files if not name.startswith(PLANNING)}
        assert files <= covered(script), script


def test_the_hash_of_a_script_changes_with_a_module_that_it_imports(pipeline):
    source = Path("src/fedmix/cells/measured.py")
    path = pipeline.project / source
    path.write_text(path.read_text() + "\nchanged = 1\n")
    planned = pipeline.planned("fedgrem_table1")
    assert "collect_results" in planned
    assert "run_methods" not in planned

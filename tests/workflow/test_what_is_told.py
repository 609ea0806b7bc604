"""What a run tells: what is wrong with a request before any job, and what became of it."""

import re
import shutil
import subprocess
import sys

import pytest

from pipeline import COLLECTED, SMOKE, jobs_of

pytestmark = pytest.mark.workflow

BROKEN = """

def _broken(*_, **__):
    raise RuntimeError("broken on purpose")


FedGrEM.fit = _broken
"""


FIGURE = """
{name}:
  title: Any figure
  caption: Of no use.
  study: fedgrem_real
  metric: misclustering
  builder: lines
  options: {{x: setting_n_contaminated}}
"""


def test_a_run_ends_with_what_it_made(pipeline):
    pipeline.forget_runs()
    (pipeline.work / "results/smoke/tables/fedgrem_table1.md").unlink()
    output = pipeline.run("fedgrem_table1").stdout
    assert "\ntables in results/smoke/tables: fedgrem_table1\n" in output
    assert re.search(r"of \d+ steps \(\d+%\) done", output)


def test_a_method_that_fails_throughout_ends_the_run_with_its_error_after_the_table(pipeline):
    source = pipeline.project / "src/fedmix/methods/fedgrem.py"
    source.write_text(source.read_text() + BROKEN)
    failed = pipeline.run("fedgrem_table1", check=False)
    assert failed.returncode != 0
    assert "every replication of FedGrEM failed" in failed.stdout
    assert "the first with RuntimeError: broken on purpose" in failed.stdout
    table = pipeline.work / "results/smoke/tables/fedgrem_table1.md"
    assert table.stat().st_mtime > source.stat().st_mtime


def test_planning_still_tells_every_job(pipeline):
    pipeline.forget_runs()
    output = pipeline.run("--dry-run", COLLECTED).stdout
    assert "run_methods" in output[output.index("Job stats:") :]


def test_a_finished_run_has_nothing_to_do_and_says_so(pipeline):
    assert "Nothing to be done" in pipeline.run(COLLECTED).stdout


def test_a_tab_in_the_configuration_is_told(pipeline):
    pipeline.edit("config/config.yaml", "preset: quick", "preset:\tquick\n\tblock: 2")
    failed = pipeline.run(check=False)
    assert failed.returncode != 0
    assert "not mix whitespace and tab" in failed.stdout


def test_a_home_that_cannot_be_made_is_told(pipeline):
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": ""}
    failed = pipeline.run("fedgrem_table1", environment=nowhere, check=False)
    assert failed.returncode != 0
    assert "/proc/nowhere" in failed.stdout


def test_a_target_behind_the_configuration_is_told(pipeline):
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--directory", pipeline.work]
    command += ["--config", "preset=smoke", "matrix"]
    failed = subprocess.run(command, cwd=pipeline.project, capture_output=True, text=True)
    assert failed.returncode != 0
    assert "name=value" in failed.stderr
    assert "'matrix'" in failed.stderr


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("fedgrem_tabel1", "There is no target 'fedgrem_tabel1'.*Did you mean 'fedgrem_table1'"),
        ("mixed_regression_figure1", "It belongs to --config preset=paper or preset=quick"),
    ],
)
def test_a_target_of_no_or_another_preset_is_told_with_the_nearest(finished, target, says):
    failed = finished.run(target, check=False)
    assert failed.returncode != 0
    assert re.search(says, failed.stdout, re.DOTALL)


@pytest.mark.parametrize("name", ["page", "make_table", "all"])
def test_an_item_with_the_name_of_a_target_or_a_rule_is_told(pipeline, name):
    with open(pipeline.project / "config/papers/fedgrem/figures.yaml", "a") as stream:
        stream.write(FIGURE.format(name=name))
    failed = pipeline.run("fedgrem_table1", check=False)
    assert failed.returncode != 0
    assert f"table or figure '{name}' has the name of another target" in failed.stdout


def test_a_mirror_that_is_no_folder_is_told_before_any_job(finished):
    failed = finished.run("fedgrem_table1", config={"mirror": "/nowhere"}, check=False)
    assert failed.returncode != 0
    assert "The mirror /nowhere is not a folder" in failed.stdout
    assert "Building DAG" not in failed.stdout


def test_a_table_comes_from_an_archive_and_no_method_runs(pipeline, tmp_path):
    shutil.move(pipeline.work / "results/smoke/archive.zip", tmp_path / "archive.zip")
    table = pipeline.work / "results/smoke/tables/fedgrem_table1.md"
    before = table.read_text()
    shutil.rmtree(pipeline.work)
    pipeline.work.mkdir()
    added = pipeline.command(
        "evidence", "add", tmp_path / "archive.zip", "--directory", pipeline.work
    )
    assert added.stdout == "fedgrem_real: 6 replications added\n", added.stderr
    assert jobs_of(pipeline.run("fedgrem_table1")) == {
        "collect_results": 1,
        "make_table": 1,
        "fedgrem_table1": 1,
    }
    assert table.read_text() == before
    assert not (pipeline.work / "data").exists()
    anew = pipeline.planned("fedgrem_table1", config={"evidence": False})
    assert anew["run_methods"] == 2
    more = pipeline.planned("fedgrem_table1", config={"replications": 2})
    assert more["run_methods"] == 2


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"preset": "smok"}, "Did you mean 'smoke'?"),
        ({"replication": 3}, "unknown key 'replication'. Did you mean 'replications'"),
    ],
)
def test_a_wrong_option_is_told_with_the_nearest_name(finished, config, says):
    failed = finished.run("fedgrem_table1", config=config, check=False)
    assert failed.returncode != 0
    assert says in failed.stdout


def test_contamination_of_a_majority_is_refused(pipeline):
    pipeline.edit(SMOKE, "n_contaminated: [0, 1]", "n_contaminated: [3]")
    failed = pipeline.run("fedgrem_table1", check=False)
    assert failed.returncode != 0
    assert "3 of 5 clients contaminated: at most one half" in failed.stdout


def test_an_unknown_method_and_data_set_are_told_with_the_nearest_names(pipeline):
    pipeline.edit(SMOKE, "[LocalEM, FedGrEM", "[LocalEM, FedGREM")
    failed = pipeline.run("fedgrem_table1", check=False)
    assert "unknown method 'FedGREM'. Did you mean 'FedGrEM'" in failed.stdout
    pipeline.edit(SMOKE, "FedGREM", "FedGrEM")
    pipeline.edit(SMOKE, "- dataset: digits", "- dataset: digit")
    failed = pipeline.run("fedgrem_table1", check=False)
    assert "unknown data set 'digit'. Did you mean 'digits'" in failed.stdout

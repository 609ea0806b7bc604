"""The messages of a run: what is wrong with a request before any job, and what it made."""

import re
import subprocess
import sys

import pytest

from fedmix.configuration import read_yaml
from fedmix.errors import ConfigurationError
from fedmix.pipeline.request import read_request
from pipeline import COLLECTED, SMOKE, Pipeline

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


def test_a_run_ends_with_what_it_made(finished):
    output = (finished.project.parent / "output").read_text()
    assert "\ntables in results/smoke/tables: fedgrem_table1\n" in output
    assert re.search(r"of \d+ steps \(\d+%\) done", output)


def test_a_page_shows_the_figure_that_is_made_by_name(finished):
    """One job draws those of all pages, another the one that a target names."""
    shown = finished.work / "results/smoke"
    by_name = shown / "figures/fedgrem_table1_figure.svg"
    for suffix in (".svg", ".md"):
        on_page = shown / "page_figures" / by_name.with_suffix(suffix).name
        assert on_page.read_bytes() == by_name.with_suffix(suffix).read_bytes()
    for suffix in (".pdf", ".png"):
        assert by_name.with_suffix(suffix).stat().st_size > 1000
    page = (shown / "pages/fedgrem_table1.html").read_text(encoding="utf-8")
    assert 'src="../page_figures/fedgrem_table1_figure.svg"' in page


def test_a_method_that_fails_throughout_ends_the_run_with_its_error_after_the_table(pipeline):
    pipeline.edit(SMOKE, "n_contaminated: [0, 1]", "n_contaminated: [0]")  # one job of the method
    source = pipeline.change_method(BROKEN)
    failed = pipeline.run("fedgrem_table1", check=False)
    assert failed.returncode != 0
    assert "every replication of FedGrEM failed" in failed.stdout
    assert "the first with RuntimeError: broken on purpose" in failed.stdout
    table = pipeline.work / "results/smoke/tables/fedgrem_table1.md"
    assert table.stat().st_mtime > source.stat().st_mtime


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


def test_a_target_of_no_preset_is_told_with_the_nearest(finished):
    failed = finished.run("fedgrem_tabel1", check=False)
    assert failed.returncode != 0
    says = "There is no target 'fedgrem_tabel1'.*Did you mean 'fedgrem_table1'"
    assert re.search(says, failed.stdout, re.DOTALL)


def test_a_target_of_another_preset_is_told_with_that_preset(tmp_path):
    whole = Pipeline.new(tmp_path, papers=None)
    failed = whole.run("mixed_regression_figure1", check=False)
    assert failed.returncode != 0
    assert "It belongs to --config preset=paper or preset=quick" in failed.stdout


def test_items_with_the_name_of_a_target_or_a_rule_are_told(pipeline):
    names = ("page", "make_table", "all")
    with open(pipeline.project / "config/papers/fedgrem/figures.yaml", "a") as stream:
        stream.writelines(FIGURE.format(name=name) for name in names)
    failed = pipeline.run("fedgrem_table1", check=False)
    assert failed.returncode != 0
    for name in names:
        assert f"table or figure '{name}' has the name of another target" in failed.stdout


def test_a_mirror_that_is_no_folder_is_told_before_any_job(finished):
    failed = finished.run("fedgrem_table1", config={"mirror": "/nowhere"}, check=False)
    assert failed.returncode != 0
    assert "The mirror /nowhere is not a folder" in failed.stdout
    assert "Building DAG" not in failed.stdout


def test_a_wrong_request_is_told_and_ends_the_run(pipeline):
    pipeline.edit(SMOKE, "[LocalEM, FedGrEM", "[LocalEM, FedGREM")
    failed = pipeline.run("fedgrem_table1", check=False)
    assert failed.returncode != 0
    assert "unknown method 'FedGREM'. Did you mean 'FedGrEM'" in failed.stdout


def refusal(pipeline, **config) -> str:
    """Return why a request is refused. The test above shows that Snakemake tells it and ends."""
    chosen = {"preset": "smoke", "replications": 1, **config}
    options = read_yaml(pipeline.project / "config/config.yaml") | chosen
    with pytest.raises(ConfigurationError) as refused:
        read_request(pipeline.project / "config", options, pipeline.work)
    return str(refused.value)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"preset": "smok"}, "Did you mean 'smoke'?"),
        ({"replication": 3}, "unknown key 'replication'. Did you mean 'replications'"),
    ],
)
def test_a_wrong_option_is_told_with_the_nearest_name(finished, config, says):
    assert says in refusal(finished, **config)


def test_contamination_of_a_majority_is_refused(pipeline):
    pipeline.edit(SMOKE, "n_contaminated: [0, 1]", "n_contaminated: [3]")
    assert "3 of 5 clients contaminated: at most one half" in refusal(pipeline)


def test_an_unknown_data_set_is_told_with_the_nearest_name(pipeline):
    pipeline.edit(SMOKE, "- dataset: digits", "- dataset: digit")
    assert "unknown data set 'digit'. Did you mean 'digits'" in refusal(pipeline)

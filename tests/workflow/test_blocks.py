"""What runs again after a change: counted in dry runs, and read off the logs."""

import pytest

from fedmix.storage import read_table
from pipeline import COLLECTED, METHODS, SETTING, SMOKE, jobs_of

pytestmark = pytest.mark.workflow

ITS_JOBS_AND_WHAT_FOLLOWS = {
    "run_methods": 2,
    "collect_results": 1,
    "make_table": 1,
    "fedgrem_table1": 1,
}


def test_more_replications_run_only_the_new_blocks_and_planning_tells_every_job(pipeline):
    told = pipeline.run("--dry-run", COLLECTED, config={"replications": 3})
    assert jobs_of(told) == {"run_methods": 4, "collect_results": 1}
    assert "run_methods" in told.stdout[told.stdout.index("Job stats:") :]


def test_a_methods_parameters_rerun_that_method_and_what_follows(pipeline):
    pipeline.edit(
        "config/methods.yaml",
        "FedGrEM:\n  estimator: FedGrEM\n",
        "FedGrEM:\n  estimator: FedGrEM\n  parameters: {step_scale: 0.5}\n",
    )
    assert pipeline.planned("fedgrem_table1") == ITS_JOBS_AND_WHAT_FOLLOWS


LEAVES_THE_FOLDER = """

def _leaves(self, *arguments, **options):
    import os

    os.chdir("/")
    return _fit(self, *arguments, **options)


_fit, FedGrEM.fit = FedGrEM.fit, _leaves
"""


def test_a_methods_code_reruns_that_method_and_what_follows(pipeline):
    """Of its jobs the other methods do not run again. It leaves the folder, to no effect."""
    expected = collected(pipeline)
    before = timings_of(pipeline)
    assert pipeline.fits() == list(METHODS)
    pipeline.change_method(LEAVES_THE_FOLDER)
    assert jobs_of(pipeline.run("fedgrem_table1")) == ITS_JOBS_AND_WHAT_FOLLOWS
    assert pipeline.fits() == ["FedGrEM"]
    assert collected(pipeline) == expected
    after = timings_of(pipeline)
    assert {name for name in METHODS if after[name].equals(before[name])} == set(METHODS) - {
        "FedGrEM"
    }


def collected(pipeline):
    """Return the hashes of everything but the blocks, which hold the keys of the code."""
    return {name: sha for name, sha in pipeline.results().items() if "/0-0." not in name}


def timings_of(pipeline):
    rows = read_table(pipeline.work / SETTING / "0-0.timings.parquet")
    return {name: rows[rows["method"] == name].reset_index(drop=True) for name in METHODS}


def test_another_block_size_runs_nothing_again(pipeline):
    """The replication of the smaller block is taken over, the other one is new."""
    pipeline.run(f"{SETTING}/0-1.parquet", config={"replications": 2, "block": 2})
    log = pipeline.work / SETTING.replace("results", "logs/run_methods", 1) / "0-1.log"
    assert "replication 1: ok" in log.read_text()
    assert "replication 0: " not in log.read_text()


def test_a_method_that_does_not_run_and_how_a_run_is_carried_out_rerun_nothing(pipeline):
    pipeline.change_method("\nchanged = 1\n", module="fedgem")
    assert not pipeline.planned(COLLECTED, config={"download_timeout": 5})


def test_a_label_reruns_the_cells_and_the_table_alone(pipeline):
    pipeline.edit("config/methods.yaml", "label: Local-EM\n", "label: local EM\n")
    for name in ("misclustering", "runtime"):
        pipeline.edit(f"data/published/fedgrem/{name}.csv", "Local-EM", "local EM")
    assert pipeline.planned("fedgrem_table1") == {
        "collect_results": 1,
        "make_table": 1,
        "fedgrem_table1": 1,
    }


def test_a_layout_reruns_the_table_alone(pipeline):
    tables = "config/papers/fedgrem/tables.yaml"
    pipeline.edit(tables, "{rows: contaminated clients}", "{rows: bad clients}")
    assert pipeline.planned("fedgrem_table1") == {"make_table": 1, "fedgrem_table1": 1}


def test_a_value_of_one_setting_leaves_the_other_alone(pipeline):
    pipeline.edit(SMOKE, "n_contaminated: [0, 1]", "n_contaminated: [0, 2]")
    planned = pipeline.planned("fedgrem_table1")
    assert planned["run_methods"] == 1


def test_another_limit_starts_the_jobs_again_which_keep_what_was_not_stopped(pipeline):
    planned = pipeline.planned(COLLECTED, config={"replication_timeout": 100})
    assert planned["run_methods"] >= 1

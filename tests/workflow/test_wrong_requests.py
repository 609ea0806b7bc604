"""A wrong request is told before any job runs."""

import pytest

pytestmark = pytest.mark.workflow

SMOKE = "config/papers/fedgrem/presets/smoke.yaml"


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

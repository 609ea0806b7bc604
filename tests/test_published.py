"""Every printed number has a cell of ours it is held against."""

from pathlib import Path

import pandas as pd
import pytest
from fedmix.cells.matching import has_values

from configured_studies import configured_studies
from fedmix import cells as published
from fedmix.errors import DataError
from fedmix.pipeline.plan import plan_study

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "data/published"
MAPPING = ROOT / "config/published.yaml"


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    return published.load(FOLDER, MAPPING)


def test_every_printed_number_becomes_exactly_one_cell(cells):
    printed = sum(len(pd.read_csv(path)) for path in FOLDER.glob("*.csv"))
    assert len(cells) == printed == 471
    identity = ["paper", "table", "row", "column"]
    assert not cells.duplicated(identity).any()


def test_printed_numbers_are_read_as_printed(cells):
    cell = cells[
        (cells.table == "1") & (cells.setting_dataset == "pendigits") & (cells.row == "20.5 %")
    ]
    fedgrem = cell[cell.column == "FedGrEM"].iloc[0]
    assert (fedgrem.printed_mean, fedgrem.printed_sd) == (9.39, 1.25)
    assert (fedgrem.method, fedgrem.setting_n_contaminated) == ("FedGrEM", 9)
    assert fedgrem.scale == 0.01


def test_step_constants_name_the_aliases_of_the_simulation(cells):
    steps = cells[cells.table == "5"]
    assert set(steps.method) >= {"FedGrEM-0.55", "FedGrEM-0.95", "FedGrEM-1.35"}
    assert set(steps.setting_model) == {"gaussian"}
    assert len(steps) == 9 * 8


def test_each_method_is_held_against_the_metric_the_paper_gave_it(cells):
    ari = cells[cells.title == "Adjusted Rand index"].set_index("printed_method").metric
    assert set(ari["FedGEM"]) == {"ari_per_client"}
    assert set(ari["GMM"]) == {"ari_pooled"}


def test_no_printed_cell_is_without_a_configured_cell(cells):
    mapping = published.read_mapping(MAPPING)
    assert set(cells.study) <= configured_studies().keys()
    assert published.unmatched(cells, configured_studies(), mapping) == []
    assert all(entry["reason"] for entry in mapping["not_run"])


def test_a_cell_that_no_study_runs_is_listed_unless_it_is_excused(cells):
    document = {"paper": "fedgrem", "experiment": "x", "replications": 1, "block": 1}
    document |= {"settings": [{"dataset": ["mnist"], "n_contaminated": [0, 8, 16, 24]}]}
    document |= {"setting_id": "{dataset}-{n_contaminated}", "methods": ["LocalEM"]}
    known = {"LocalEM": {"estimator": "LocalEM", "label": "Local-EM"}}
    studies = {"fedgrem_real": plan_study("fedgrem_real", document, known)}
    table = cells[cells.table.isin(["2", "3"]) & (cells.paper == "fedgrem")]
    lines = published.unmatched(table, studies, {})
    assert len(lines) == 6 * 4 + 7 * 4  # all other methods, and the other data set
    assert "fedgrem table 2, 0 % / Local-GrEM: study 'fedgrem_real' has no method" in lines[0]
    assert "has no setting {'dataset': 'fashion_mnist'" in lines[-1]
    excuses = {"not_run": [{"where": {"table": "3"}, "reason": "no data"}]}
    assert len(published.unmatched(table, studies, excuses)) == 6 * 4


def test_setting_values_are_compared_as_numbers_and_lists_mean_any():
    assert has_values({"h": 0.30000000000000004, "n": 3}, {"h": 0.3, "n": 3.0})
    assert has_values({"dataset": "mnist"}, {"dataset": ["mnist", "cifar10"]})
    assert not has_values({"h": 1}, {"h": "1"})
    assert not has_values({}, {"h": 1})


def test_a_printed_row_without_an_entry_is_an_error_that_names_it(tmp_path):
    (tmp_path / "extra.csv").write_text("table,method,mean,sd\n9,A,1,2\n")
    for path in FOLDER.glob("*.csv"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(DataError, match=r"extra\.csv, line 2: covered by no entry"):
        published.load(tmp_path, MAPPING)


def test_a_missing_file_is_named_with_its_neighbours(tmp_path):
    (tmp_path / "fedgem_runtimes.csv").write_text("table\n")
    with pytest.raises(DataError, match=r"no file 'fedgrem_misclustering\.csv'"):
        published.load(tmp_path, MAPPING)

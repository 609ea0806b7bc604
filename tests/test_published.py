"""Every printed number has a cell of ours it is held against, and reads as printed."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from configured_studies import configured_studies
from fedmix.cells.items import Item, read_items
from fedmix.cells.papers import read_papers
from fedmix.cells.printed import PrintedTable, check_coverage, names_of, plain
from fedmix.conditions import has_values, rows_with, same_value
from fedmix.configuration import Document
from fedmix.errors import ConfigurationError, DataError
from fedmix.experiments.base import Method
from fedmix.experiments.runner import Scenario, identity_of
from synthetic_results import PUBLISHED, ROOT, printed_numbers, shipped_items


def shown_by(item: Item) -> list[dict]:
    """Return what names each method of each setting that an item shows, as configured."""
    study = configured_studies()[item.study]
    found = []
    for setting in study.settings.values():
        scenario = Scenario(study.name, setting.variant, setting.name, "", setting.values)
        for name in study.methods_of(setting) if setting.matches(item.where) else ():
            planned = study.method_in(name, setting)
            identity = identity_of(scenario, Method(name, "", planned.parameters))
            bad, clients = (setting.values.get(k) for k in ("n_contaminated", "n_clients"))
            share = {} if bad is None else {"contaminated_percent": round(100 * bad / clients, 1)}
            found.append(identity | share | {"label": planned.label})
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the printed numbers that a test may spoil."""
    shutil.copytree(PUBLISHED, tmp_path / "published")
    return tmp_path / "published"


def test_every_printed_number_is_held_against_exactly_one_item():
    check_coverage(shipped_items().values(), PUBLISHED)
    printed = sum(len(pd.read_csv(path)) for path in PUBLISHED.glob("*/*.csv"))
    assert len(printed_numbers()) == printed == 471


@pytest.mark.parametrize(
    "name", [n for n, item in shipped_items().items() if item.printed and item.judged]
)
def test_every_printed_number_has_a_configured_cell_that_shows_its_metric(name):
    item = shipped_items()[name]
    table = PrintedTable(item, PUBLISHED)
    met = {
        table.number(names_of(item, identity)[0] or {}).line
        for identity in shown_by(item)
        if table.number(names_of(item, identity)[0] or {}) and item.metrics_of(identity["method"])
    }
    assert met == {number.line for number in table}


def test_printed_texts_have_the_digits_of_the_print():
    texts = {(i.name, *n.names.values()): n.text for i, n in printed_numbers()}
    assert texts["fedgrem_table1", "pendigits", 0.0, "Local-EM"] == "13.30 (1.17)"
    assert texts["fedgrem_table1", "pendigits", 20.5, "FedGrEM"] == "9.39 (1.25)"
    assert texts["fedgrem_table4", 0.55, 0.0] == "0.072 (0.017)"
    assert texts["fedgrem_table5", 0.55, 1.0] == "1.89 (0.70)"
    assert texts["fedgrem_table6", "pendigits", 13.6, "FedGrEM"] == "46.90 (2.31)"
    assert texts["fedgem_table1", "emnist", "GMM"] == "0.235 (0.010)"
    assert texts["fedgem_table2", "mnist", "DP-GMM"] == "110.20 (6.09)"
    # The one number that its table prints with more digits than the others.
    assert texts["fedgem_table6", "fashion_mnist", "FFCM-avg1"] == "0.009 (0.0023)"
    assert texts["fedgem_table7", "mnist", "FFCM-avg2"] == "220 (18)"


def test_a_printed_numbers_place_follows_from_its_printed_columns_alone():
    # Else a number that was not run would have no place.
    for item in shipped_items().values():
        if item.printed:
            assert set(item.columns_named) <= set(item.printed["columns"]), item.name


def test_each_method_is_held_against_the_metric_the_paper_gave_it():
    table = shipped_items()["fedgem_table1"]
    assert table.metrics_of("FedGEM") == ["ari_per_client"]
    assert table.metrics_of("CentralGMM") == ["ari_pooled"]
    assert shipped_items()["fedgem_table2"].metrics_of("CentralGMM") == []


def test_a_printed_row_without_an_item_is_an_error_that_names_it(folder):
    (folder / "fedgem" / "extra.csv").write_text("table,method,mean,sd\n9,A,1,2\n")
    with pytest.raises(DataError, match=r"fedgem/extra\.csv, line 2: no item"):
        check_coverage(shipped_items().values(), folder)


def test_a_printed_row_of_two_items_is_an_error(folder):
    again = shipped_items()["fedgrem_table1"].model_copy(update={"name": "again"})
    with pytest.raises(DataError, match=r"fedgrem/misclustering\.csv, line 2: 2 items"):
        check_coverage([*shipped_items().values(), again], folder)


def test_a_missing_file_is_named_with_its_neighbours(folder):
    (folder / "fedgem" / "runtime.csv").rename(folder / "fedgem" / "runtimes.csv")
    with pytest.raises(DataError, match=r"no file 'fedgem/runtime\.csv'.*fedgem/runtimes\.csv"):
        PrintedTable(shipped_items()["fedgem_table7"], folder)


def test_a_missing_column_is_named_with_its_neighbours(folder):
    item = shipped_items()["fedgem_table7"]
    wrong = item.model_copy(update={"printed": {**item.printed, "mean": "mean_second"}})
    with pytest.raises(DataError, match=r"no column 'mean_second'.*Did you mean 'mean_seconds'"):
        PrintedTable(wrong, folder)


def test_printed_numbers_that_the_columns_do_not_tell_apart_are_refused():
    item = shipped_items()["fedgrem_table1"]
    vague = item.model_copy(update={"printed": {**item.printed, "columns": {"method": "label"}}})
    with pytest.raises(DataError, match="must tell all rows apart"):
        PrintedTable(vague, PUBLISHED)


def preset_part(content: dict) -> Document:
    return Document(content, (lambda keys: "preset.yaml:1",))


def test_an_item_that_borrows_unknown_printed_numbers_is_told():
    change = {"fedgem_table1_pooled": preset_part({"printed": "fedgem_table11"})}
    with pytest.raises(ConfigurationError, match="Did you mean 'fedgem_table1'"):
        read_items(read_papers(ROOT / "config"), change)


def test_a_preset_that_spoils_an_item_is_told():
    with pytest.raises(ConfigurationError, match="unknown item 'fedgem_tabel1'"):
        read_items(read_papers(ROOT / "config"), {"fedgem_tabel1": preset_part({})})
    with pytest.raises(ConfigurationError, match="unknown key 'metrics'"):
        read_items(read_papers(ROOT / "config"), {"fedgem_table1": preset_part({"metrics": "ari"})})


def test_setting_values_are_compared_as_numbers_and_lists_mean_any():
    assert has_values({"h": 0.30000000000000004, "n": 3}, {"h": 0.3, "n": 3.0})
    assert has_values({"dataset": "mnist"}, {"dataset": ["mnist", "cifar10"]})
    assert has_values({"dataset": "mnist"}, [{"dataset": "emnist"}, {"dataset": "mnist"}])
    assert not has_values({"h": 1}, {"h": "1"})
    assert not has_values({}, {"h": 1})
    assert has_values({}, {})
    assert not same_value(None, "None")


def test_names_are_equal_as_text_and_numbers_by_value():
    assert plain(1) == plain(1.0) == plain("1.0")
    assert plain("1_0") != plain(10)


def test_rows_are_picked_by_the_same_conditions():
    frame = pd.DataFrame({"h": [0.1 + 0.2, 1.0], "model": ["gaussian", "regression"]})
    assert rows_with(frame, {"h": 0.3}).index.tolist() == [0]
    assert rows_with(frame, {"model": ["gaussian", "regression"], "h": 1}).index.tolist() == [1]
    assert len(rows_with(frame, {})) == 2

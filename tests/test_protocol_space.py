"""The space of a search: what is declared, drawn and filled in."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.papers import read_papers
from fedmix.cells.protocols.design import draw_protocols
from fedmix.cells.protocols.space import Value, read_searches
from fedmix.configuration import read_yaml
from fedmix.errors import ConfigurationError
from fedmix.experiments.base import Method
from fedmix.protocols import Protocol
from synthetic_search import ROOT, choice, printed_of, search_of, space


def paper_with(tmp_path, change):
    """A copy of the paper's folder whose space was changed."""
    import yaml

    folder = tmp_path / "config" / "papers" / "fedgrem"
    (folder / "protocols").mkdir(parents=True)
    own = ROOT / "config" / "papers" / "fedgrem"
    (folder / "about.yaml").write_text((own / "about.yaml").read_text())
    (folder / "studies").symlink_to(own / "studies")
    (tmp_path / "config" / "methods.yaml").symlink_to(ROOT / "config" / "methods.yaml")
    document = read_yaml(own / "protocols" / "fedgrem.yaml")
    change(document)
    (folder / "protocols" / "fedgrem.yaml").write_text(yaml.safe_dump(document))
    return read_papers(tmp_path / "config")


@pytest.mark.parametrize(
    ("search", "preset", "largest"),
    [
        *(("fedgrem", preset, 1.0) for preset in ("quick", "paper")),
        *(("fedgrem_simulation", preset, 3.0) for preset in ("quick", "paper")),
        ("fedgem_benchmark", "paper", 1.0),
    ],
)
def test_every_row_and_method_of_the_paper_has_a_printed_cell(search, largest, preset):
    own = search_of(search, preset)
    printed = printed_of(own, preset)
    for name, table in own.tables.items():
        assert len(printed[name]) == len(table.rows) * len(own.methods)
        assert printed[name]["mean"].between(0, largest).all()


def test_parts_of_a_table_are_held_against_their_own_cells():
    own = search_of("fedgem_benchmark", "paper")
    assert {table.item for table in own.tables.values()} == {"fedgem_table1"}
    printed = printed_of(own, "paper")
    fedgem = {name: cells.set_index("method")["mean"]["FedGEM"] for name, cells in printed.items()}
    assert fedgem == {"abalone": 0.138, "frog_b": 0.468}


def test_a_choice_of_the_features_needs_all_of_them():
    own = search_of("fedgem_benchmark", "paper")
    assert own.data("frog_b") == [("frog_b", "raw"), ("frog_b", "standardized")]
    assert search_of("fedgrem_simulation", "paper").data("fedgrem_table5") == []


@pytest.mark.parametrize(
    ("search", "table", "filled"),
    [
        (
            "fedgrem",
            "fedgrem_table2",
            "embedding scaling initialization alignment contamination contaminated",
        ),
        ("fedgem_benchmark", "abalone", "embedding partition v"),
        ("fedgem_benchmark", "frog_b", "embedding partition v"),
    ],
)
def test_choices_of_the_paper_fill_parameters_that_exist(search, table, filled):
    own = search_of(search, "paper")
    design = draw_protocols(own)
    protocol = own.protocol(table, design.iloc[0].to_dict())
    assert set(protocol.setting) == set(filled.split())
    assert all(c.silent for c in own.choices.values())


def test_preset_that_is_not_listed_has_no_search():
    assert read_searches(read_papers(ROOT / "config"), "smoke") == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(claim={"method": "FedGrEMM"}), "FedGrEMM.*not run"),
        (lambda d: d["choices"]["rounds"]["methods"].update(KFED="rounds"), "KFED.*not run"),
        (lambda d: d["choices"]["scaling"].update(tables=["table9"]), "unknown table 'table9'"),
        (lambda d: d["rungs"].reverse(), "must not rise"),
        (lambda d: d["choices"]["scaling"].pop("silent"), "silent"),
        (lambda d: d.update(only_tables=["fedgrem_table9"]), "unknown table 'fedgrem_table9'"),
        (lambda d: d.update(study="fedgrem_reel"), "no study 'fedgrem_reel'.*fedgrem_real"),
        (lambda d: d["methods"].update(FedGREM={}), "unknown method 'FedGREM'.*FedGrEM"),
    ],
)
def test_wrong_spaces_are_named(tmp_path, change, message):
    with pytest.raises(ConfigurationError, match=message):
        read_searches(paper_with(tmp_path, change), "paper")


def test_unknown_parameter_is_named_before_anything_runs():
    wrong = choice("penalty", {"1": 1.0}, methods={"FedGrEM": "penalty_scal"})
    own = space()
    own.choices["penalty"] = wrong
    with pytest.raises(ConfigurationError, match="penalty_scale"):
        draw_protocols(own)


def test_units_that_an_experiment_does_not_know_are_named_before_anything_runs():
    own = search_of("fedgrem_simulation", "quick")
    spread = Value(name="2 spreads", value=2.0, units=["spread"], weight=1.0)
    choice = own.choices["penalty_scale"].model_copy(update={"by_name": {spread.name: spread}})
    own.choices["penalty_scale"] = choice
    with pytest.raises(ConfigurationError, match="choices: penalty_scale: unknown units 'spread'"):
        draw_protocols(own)


def test_unknown_setting_is_named_before_anything_runs():
    own = search_of("fedgrem", "paper")
    own.choices["scaling"] = choice("scaling", {"none": 1.0, "nowhere": 1.0}, setting="scaling")
    with pytest.raises(ConfigurationError, match="scaling: nowhere"):
        draw_protocols(own)


def test_design_follows_the_weights_and_is_the_same_each_time():
    design = draw_protocols(space())
    assert design["scaling"].value_counts().to_dict() == {"none": 48, "global": 16}
    assert design["rounds"].value_counts()["1000"] == 32
    assert design["protocol"].is_unique
    pd.testing.assert_frame_equal(design, draw_protocols(space()))


def test_protocol_fills_settings_and_parameters():
    row = {"protocol": "p0", "scaling": "none", "penalty": "2", "rounds": "20"}
    expected = [
        Method("LocalEM", "LocalEM", {"tol": 1e-4}),
        Method("FedEM", "FedEM", {"tol": 1e-4, "max_rounds": "20"}),
        Method("FedGrEM", "FedGrEM", {"tol": 1e-4, "penalty_scale": "2"}),
    ]
    assert space().protocol("one", row) == Protocol("p0", {"scaling": "none"}, expected)


def test_choice_on_an_entry_holds_for_the_methods_that_vary_it():
    own = search_of("fedgrem_simulation", "paper")
    chosen = {name: choice.values[0].name for name, choice in own.choices.items()}
    protocol = own.protocol("fedgrem_table5", {"protocol": "p0", **chosen, "safe_step": "guarded"})
    assert len(protocol.methods) == 9
    assert {method.estimator for method in protocol.methods} == {"FedGrEM"}
    assert all(method.parameters["safe_step"] is True for method in protocol.methods)
    steps = [method.parameters["step_scale"] for method in protocol.methods]
    assert steps == pytest.approx(np.arange(0.55, 1.4, 0.1))


def test_rungs_run_only_what_no_earlier_one_has_run():
    own = space()
    first, second = own.cells("one", 0), own.cells("one", 1)
    assert first == [(0, 0), (0, 1)]
    assert set(first).isdisjoint(second)
    assert set(first) | set(second) == {(n, r) for n in (0, 2) for r in range(3)}


def test_texts_weights_and_budgets_do_not_rerun_anything():
    own = space()
    other = space(sizes=(32, 4))
    assert own.for_running("one") == other.for_running("one")

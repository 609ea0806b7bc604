"""The space of a search: what is declared, drawn and filled in."""

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from fedmix.cells.papers import read_papers
from fedmix.cells.protocols.choices import Choice
from fedmix.cells.protocols.running import draw_protocols
from fedmix.cells.protocols.space import read_searches
from fedmix.configuration import read_yaml
from fedmix.errors import ConfigurationError
from fedmix.experiments.base import Method
from fedmix.protocols import Protocol
from synthetic_search import ROOT, printed_of, search_of, space


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
            "scaling initialization alignment own_start contamination contaminated embedding",
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
        (lambda d: d["claim"].update(baseline="LocalEMM"), "LocalEMM.*not run"),
        (
            lambda d: d["choices"]["penalty_scale"]["values"]["spreads"].update(between=[8, 0.01]),
            "ends above its start",
        ),
        (lambda d: d["choices"]["scaling"].pop("silent"), "silent"),
        (lambda d: d.update(only_tables=["fedgrem_table9"]), "unknown table 'fedgrem_table9'"),
        (lambda d: d.update(study="fedgrem_reel"), "no study 'fedgrem_reel'.*fedgrem_real"),
        (
            lambda d: d["tables"]["fedgrem_table1"].update(seen=[0, 4]),
            "fedgrem_table1.*seen: the table has no row '4'",
        ),
        (
            lambda d: d["tables"]["fedgrem_table1"].update(first_trial={"scalling": "none"}),
            "first_trial: unknown choice 'scalling'.*scaling",
        ),
        (
            lambda d: d["tables"]["fedgrem_table1"].update(first_trial={"scaling": "nonne"}),
            "scaling: no value is meant by 'nonne'.*none",
        ),
        (
            lambda d: d["tables"]["fedgrem_table1"].update(first_trial={"penalty_decay": "0.1"}),
            "penalty_decay: the optimiser does not try '0.1'",
        ),
        (lambda d: d["methods"].update(FedGREM={}), "unknown method 'FedGREM'.*FedGrEM"),
    ],
)
def test_wrong_spaces_are_named(tmp_path, change, message):
    with pytest.raises(ConfigurationError, match=message):
        read_searches(paper_with(tmp_path, change), "paper")


def range_of(**values):
    own = {"weight": 3.0, "between": [0.01, 100], "log": True, "units": ["spread"]}
    values = {"1": {"value": 1.0, "weight": 1.0}, "spreads": own | values}
    return Choice(name="first", silent="", values=values, methods={"FedGrEM": "initial_penalty"})


def test_a_range_is_drawn_evenly_on_its_scale_beside_single_values():
    choice = range_of()
    assert choice.draw(0.2) == "1"
    assert choice.draw(0.25) == "0.01 spreads"
    assert choice.draw(0.625) == "1 spreads"
    assert choice.draw(0.999999) == "100 spreads"


def test_a_range_without_log_is_drawn_evenly():
    choice = range_of(between=[2, 10], log=False)
    shares = (0.25, 0.4375, 0.625, 0.999999)
    assert [choice.draw(share) for share in shares] == [f"{n} spreads" for n in (2, 4, 6, 10)]
    assert choice.categories[1:3] == ["2 to 4 spreads", "4 to 6 spreads"]


@pytest.mark.parametrize("text", ["1", "0.01 spreads", "3.02 spreads", "100 spreads"])
def test_what_a_protocol_says_is_read_as_the_value(text):
    value = range_of().meant(text)
    number = float(text.split()[0])
    assert value.value(text) == (1.0 if text == "1" else {"value": number, "units": ["spread"]})


def test_numbers_of_a_range_fall_into_parts():
    choice = range_of()
    assert choice.categories == [
        "1",
        "0.01 to 0.1 spreads",
        "0.1 to 1 spreads",
        "1 to 10 spreads",
        "10 to 100 spreads",
    ]
    texts = ("1", "0.01 spreads", "0.5 spreads", "1 spreads", "100 spreads")
    assert [choice.meant(text).category(text) for text in texts] == choice.categories


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"between": [2, 1]}, "ends above its start"),
        ({"between": [2, 2]}, "ends above its start"),
        ({"between": None}, "log needs a range"),
        ({"value": 3.0}, "a range has no value"),
        ({"between": [0, 1]}, "positive"),
    ],
)
def test_wrong_ranges_are_told(wrong, message):
    with pytest.raises(ValidationError, match=message):
        range_of(**wrong)


@pytest.mark.parametrize("filled", [{}, {"setting": "h", "methods": {"FedEM": "init"}}])
def test_a_choice_fills_a_value_of_the_setting_or_parameters(filled):
    with pytest.raises(ValidationError, match="expected either setting or methods"):
        Choice(name="first", silent="", values={"a": {"weight": 1.0}}, **filled)


def test_design_follows_the_weights_and_is_the_same_each_time():
    design = draw_protocols(space())
    assert design["scaling"].value_counts().to_dict() == {"none": 48, "global": 16}
    assert design["rounds"].value_counts()["1000"] == 32
    assert design["protocol"].is_unique
    pd.testing.assert_frame_equal(design, draw_protocols(space()))


def test_a_choice_that_is_drawn_apart_leaves_the_others_as_they_were():
    own, before = space(), draw_protocols(space())
    values = {"pca": {"weight": 1.0}, "tsne": {"weight": 1.0}}
    added = {"name": "embedding", "silent": "", "values": values, "setting": "embedding"}
    own.choices["embedding"] = Choice(**added, drawn_apart=True)
    design = draw_protocols(own)
    assert design["embedding"].value_counts().to_dict() == {"pca": 32, "tsne": 32}
    pd.testing.assert_frame_equal(design.drop(columns="embedding"), before)
    own.choices["embedding"] = Choice(**added)
    assert not draw_protocols(own).drop(columns="embedding").equals(before)


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


def test_the_search_sees_every_other_row_and_fresh_replications_judge():
    own = space()
    assert own.drawn_cells("one") == [(n, r) for n in (0, 2) for r in range(3)]
    assert own.cells("tried", ["one"])["one"] == [(0, r) for r in range(4)]
    assert own.cells("confirmed", ["one"])["one"] == [(0, 4), (0, 5)]  # not seen before
    assert own.cells("compared", ["one"])["one"] == [(n, r) for n in (0, 2) for r in (6, 7)]
    fresh = range(1000, 1003)
    assert own.cells("judged", ["one"])["one"] == [(n, r) for n in (0, 2) for r in fresh]


def test_the_rows_that_the_search_sees_can_be_given():
    own = space()
    own.tables["one"] = own.tables["one"].model_copy(update={"seen": [2]})
    assert own.cells("confirmed", ["one"])["one"] == [(2, 4), (2, 5)]
    assert own.for_running("one") == space().for_running("one")


def test_jobs_run_every_drawn_protocol_once():
    draw = space().draw
    for n, blocks in {9: ["0-3", "4-7", "8-8"], 8: ["0-3", "4-7"], 3: ["0-2"]}.items():
        assert draw.model_copy(update={"protocols": n, "block": 4}).blocks() == blocks


def test_only_several_tables_have_a_common_protocol_which_can_be_searched_in_its_own_way():
    assert space().targets == {"one": ["one"]}
    own = space(("one", "two"))
    assert own.targets == {"one": ["one"], "two": ["two"], "common": ["one", "two"]}
    own = own.model_copy(update={"common": own.search.model_copy(update={"trials": 500})})
    assert own.search_of(own.targets["common"]).trials == 500
    assert own.search_of(["one"]).trials == 120


def test_a_table_can_be_searched_and_drawn_with_less():
    own = space(("one", "two"))
    less = own.search.model_copy(update={"trials": 18, "replications": 1, "judged": 2})
    own.tables["two"] = own.tables["two"].model_copy(update={"drawn": 2, "search": less})
    assert own.drawn_cells("two") == [(n, r) for n in (0, 2) for r in range(2)]
    assert own.cells("tried", ["two"])["two"] == [(0, 0)]
    assert own.cells("judged", ["two"])["two"] == [(n, r) for n in (0, 2) for r in (1000, 1001)]
    assert len(own.drawn_cells("one")) == 6
    assert own.search_of(["one"]).trials == 120
    assert own.search_of(own.targets["common"]).trials == 18
    assert own.cells("tried", own.targets["common"]) == {"one": [(0, 0)], "two": [(0, 0)]}
    assert own.for_running("two").tables["two"].search is None


def test_texts_weights_and_budgets_do_not_rerun_anything():
    own = space()
    other = own.model_copy(update={"search": own.search.model_copy(update={"trials": 5})})
    assert own.for_running("one") == other.for_running("one")

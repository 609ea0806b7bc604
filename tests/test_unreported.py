"""Whether a claim depends on an unreported choice, by the ways to run its experiment."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fedmix.cells import unreported
from fedmix.cells.effects import mean_effect
from fedmix.cells.evidence import Place
from fedmix.cells.predicates import Check, check
from fedmix.cells.unreported import (
    Share,
    answer_of,
    answers,
    choices_by_weight,
    deciding_margin,
    open_claims,
    protocol_answers,
    read_curves,
    share_of,
)


@pytest.mark.parametrize(
    ("yes", "no", "depends"),
    [
        (100, 0, False),
        (0, 100, False),
        (96, 4, False),
        (4, 96, False),
        (95, 5, True),
        (5, 95, True),
    ],
)
def test_the_share_that_must_say_yes_is_that_which_must_say_no(yes, no, depends):
    found = Share(yes / 100, 100, "protocols", yes=yes, no=no, decided_by="decided by scaling")
    assert found.depends == depends
    assert not Share(yes / 100, 100, "protocols", yes=yes, no=no).depends  # no choice decides


def answers_with(values: dict[str, bool], replications: int) -> dict:
    """Return answers of protocols, each with an interval that tells."""
    claim = {"extent": "all"}
    return {
        name: answer_of(
            claim, [Check("p", "s", "yes" if yes else "no", "", 1.0, 0.9, 1.1, replications)], yes
        )
        for name, yes in values.items()
    }


def test_a_claim_that_is_false_in_every_protocol_does_not_depend_on_any():
    choices = pd.DataFrame({"scaling": ["a", "b"] * 30}, index=[f"p{i}" for i in range(60)])
    rng = np.random.default_rng(0)
    noise = {
        name: bool(flag) for name, flag in zip(choices.index, rng.random(60) < 0.3, strict=True)
    }
    few = share_of(answers_with(noise, 2), "protocols", choices)
    assert (few.yes, few.no, few.depends) == (0, 0, False)  # two replications are noise
    never = share_of(answers_with(dict.fromkeys(choices.index, False), 10), "protocols", choices)
    assert (never.yes, never.no, never.depends) == (0, 60, False)
    told = {name: choices.loc[name, "scaling"] == "a" for name in choices.index}
    found = share_of(answers_with(told, 10), "protocols", choices)
    assert found.depends
    assert "decided by scaling: it holds with a in 30 of 30, b in 0 of 30" in str(found)


@pytest.mark.parametrize("margin", [-1.0, -0.25, 0.0, 1.0])
def test_a_claim_that_is_equally_true_everywhere_hardly_ever_depends(margin):
    """Its margin in sd is the same in every protocol, so that no choice can decide."""
    rng = np.random.default_rng(0)
    choices = pd.DataFrame(
        {"scaling": ["a", "b", "c"] * 32, "start": ["x", "y"] * 48},
        index=[f"p{i}" for i in range(96)],
    )
    place = Place("study", "v", "s")
    depends = 0
    for _ in range(40):
        found = {}
        for name in choices.index:
            effect = mean_effect(margin + rng.standard_normal(10))
            checks = [check(place, "s", effect.above(), "")]
            found[name] = answer_of({"extent": "all"}, checks, effect.mean > 0)
        depends += share_of(found, "protocols", choices).depends
    assert depends == 0


def test_what_tells_protocols_near_the_print_apart_is_no_choice():
    """They were chosen by the published values, so that their choices are not tested."""
    told = answers_with({"p0": True, "p1": True, "s1.7": False}, 10)
    near = share_of(told, "protocols near the published values")
    assert (near.yes, near.no, near.depends) == (2, 1, False)
    assert "(tested on s)" in str(near)
    assert str(near).endswith("; beyond noise it holds in 2 of 3 and does not hold in 1")
    assert share_of(answers_with({"v": True, "w": True}, 10)).decided_by == ""
    variants = share_of(told)
    assert variants.depends
    assert "it holds in 67% of 3 variants; beyond" in str(variants)
    assert str(variants).endswith("decided by the variant: it holds in p0, p1, not in s1.7")
    assert str(share_of(answers_with({"v": True}, 2))) == "it holds in 100% of 1 variant"
    one = share_of(answers_with({"s1.7": False}, 2), "protocols near the published values")
    assert str(one) == "it holds in 0% of 1 protocol near the published values (tested on s)"


def some_checks(said, replications=10):
    return [Check("p", "s", answer, "", 1.0, 0.9, 1.1, replications) for answer in said]


@pytest.mark.parametrize(
    ("extent", "said", "decided"),
    [
        ("all", ["yes", "yes"], True),
        ("all", ["yes", "no"], False),
        ("all", ["yes", "unclear"], None),
        ("most", ["yes", "yes", "no"], True),
        ("most", ["yes", "unclear", "no"], None),
        ("most", ["yes", "no", "no"], False),
        ("several", ["yes", "yes", "no", "no"], True),
    ],
)
def test_intervals_decide_by_the_extent_of_a_claim(extent, said, decided):
    claim = {"extent": extent}
    assert answer_of(claim, some_checks(said), True).decided is decided
    few = [*some_checks(said), *some_checks(["yes"], 9)]
    assert answer_of(claim, few, True).decided is None
    assert answer_of(claim, few, True).holds


def test_the_margin_that_decides_is_that_of_the_last_setting_that_is_needed():
    found = [Check("p", "s", "yes", "", margin, 0.0, 1.0, 10) for margin in (3.0, -1.0, 2.0)]
    for extent, margin in {"all": -1.0, "most": 2.0, "several": 2.0}.items():
        assert deciding_margin({"extent": extent}, found) == margin


def test_a_variant_without_an_answer_counts_for_nothing(monkeypatch):
    places = [Place("study", variant, "s") for variant in ("v", "w", "v")]
    monkeypatch.setattr(unreported, "places_of", lambda *asked: places)
    monkeypatch.setattr(unreported, "ask", lambda claim, evidence, own: own)
    found = answers({}, None, lambda claim, own: len(own) if own[0].variant == "v" else None)
    assert found == {"v": 2}
    assert share_of({}) is None


def test_the_choice_that_decides_is_told_with_the_values_that_many_protocols_have():
    sizes = {"none": 10, "by_client": 12, "rare": 9}
    scaling = [name for name, size in sizes.items() for _ in range(size)]
    choices = pd.DataFrame({"start": "same", "how_scaled": scaling})
    choices["noise"] = ["a", "b"] * 15 + ["a"]
    holds = choices["how_scaled"].eq("none") | choices.index.isin([30])
    weight = choices_by_weight(holds, choices)
    assert list(weight.index) == ["how_scaled", "noise"]  # of a single start nothing can be told
    assert choices_by_weight(holds | True, choices).empty  # nothing is told apart
    alone = choices_by_weight(holds, choices[["how_scaled"]])
    assert weight["how_scaled"] == pytest.approx(2 * alone["how_scaled"])
    found = share_of(answers_with(dict(holds), 2), "protocols", choices)
    assert found.choice == "depending most on how scaled: none in 100%, by_client in 0%"
    found = share_of(answers_with(dict(holds), 10), "protocols", choices)
    assert found.decided_by.startswith("decided by how scaled: it holds with by_client in 0 of 12")
    chance = share_of(
        answers_with(dict(choices["noise"].eq("a")), 10), "protocols", choices[["how_scaled"]]
    )
    assert (chance.choice, chance.decided_by) == ("and no single choice decides", "")
    few = pd.DataFrame({"start": [f"start {i // 8}" for i in range(64)]})
    told = share_of(answers_with(dict(few["start"].lt("start 4")), 2), "protocols", few)
    assert told.choice == "depending most on start"  # each value has eight protocols
    always = share_of(answers_with(dict.fromkeys(choices.index, True), 10), "protocols", choices)
    assert str(always) == (
        "it holds in 100% of 31 protocols (tested on s); beyond noise it holds in 31 of 31 and "
        "does not hold in 0"
    )


def test_open_claims_are_on_an_unreported_choice_and_about_a_table_of_the_search():
    tables = {
        name: SimpleNamespace(setting={"dataset": name, "n_clients": 5}) for name in ("a", "b")
    }
    space = SimpleNamespace(study="s", tables=tables)
    said = {"study": "s", "unreported": "how clients start"}
    about = {"where": {"dataset": ["a"], "n_contaminated": 3}}
    claims = [said, said | about, {"study": "s"}, said | {"study": "t"}]
    claims += [said | {"where": {"dataset": "c"}}, {"unreported": "without a study"}]
    assert open_claims(claims, space) == [said, said | about]


def test_drawn_protocols_that_ran_the_most_tables_answer_else_those_near_the_print(monkeypatch):
    monkeypatch.setattr(unreported, "answers_by_protocol", lambda claim, answered: answered)
    tables = {name: SimpleNamespace(setting={"dataset": name}) for name in "abc"}
    ran = [("drawn", "p0", "a"), ("drawn", "p0", "b"), ("drawn", "p1", "a")]
    ran += [("near", "s1", table) for table in "abc"]
    search = SimpleNamespace(
        space=SimpleNamespace(tables=tables),
        runs=pd.DataFrame(ran, columns=["kind", "protocol", "table"]),
        drawn={"p0": "yes", "p1": "no"},
        near={"s1": "yes"},
        answers={},
    )
    about_a = {"id": "about a", "where": {"dataset": "a"}}
    assert protocol_answers({"id": "about all"}, search) == ("drawn", {"p0": "yes"})
    assert protocol_answers(about_a, search) == ("drawn", search.drawn)
    search.drawn = {"p1": "no"}
    assert protocol_answers({"id": "about all too"}, search) == ("near", search.near)
    assert protocol_answers({"id": "about all"}, search) == ("drawn", {"p0": "yes"})  # remembered


def test_a_tie_does_not_lie_on_the_claimed_side():
    for margin, holds in ((0.0, False), (1e-9, True)):
        tie = Check("p", "s", "unclear", "", margin, -1.0, 1.0, 10)
        assert unreported._by_side({}, [tie]).holds == holds


def test_choices_of_curves_are_read_as_names(tmp_path):
    (tmp_path / "curves.csv").write_text(
        "search,replications,margin,low,high,holds,nearest,scaling,share\n"
        "s,3,0.5,-inf,inf,True,False,none,0.50\ns,3,1,0,2,False,True,,0.25\n"
    )
    found = read_curves(tmp_path / "curves.csv")
    assert found["scaling"].tolist() == ["none", ""]
    assert found["share"].tolist() == ["0.50", "0.25"]
    assert found["nearest"].tolist() == [False, True]
    assert found["margin"].tolist() == [0.5, 1.0]

"""A claim depends on an unreported choice only beyond noise, by one threshold on both sides."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.effects import Finding, mean_effect
from fedmix.cells.evidence import Place
from fedmix.cells.predicates import Check, check
from fedmix.cells.unreported import Share, answer_of, share_of


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
            checks = [check(place, "s", Finding.above(effect), "")]
            found[name] = answer_of({"extent": "all"}, checks, effect.mean > 0)
        depends += share_of(found, "protocols", choices).depends
    assert depends == 0

"""The controls of a protocol search: how much it means that a protocol is near."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.protocols.findings import (
    _leads,
    _percent,
    _permuted,
    held_out,
    leads_where_others_are_near,
    permuted,
    under_priors,
)
from fedmix.cells.protocols.running import draw_protocols
from fedmix.cells.protocols.score import score_tables
from synthetic_search import CLAIM, PRINTED, runs_of, space


def test_columns_are_exchanged_within_a_kind_alone():
    own = space()
    kinds = {"LocalEM": "local", "FedEM": "federated", "FedGrEM": "federated"}
    columns = {m: c.model_copy(update={"kind": kinds[m]}) for m, c in own.methods.items()}
    own = own.model_copy(update={"methods": columns})
    control = permuted(own, runs_of({"a": 0.2, "b": 1.0}), {"one": PRINTED}).iloc[0]
    assert control["distance"] == pytest.approx(0.2, rel=1e-2)
    assert (control["permutations"], control["share"], control["tried"]) == (1, 0.0, 2)
    # FedEM and FedGrEM are ten published sd apart.
    assert control["permuted_median"] == pytest.approx(10 * np.sqrt(2 / 3), rel=0.1)


@pytest.mark.filterwarnings("error")
def test_without_two_columns_of_a_kind_none_can_be_exchanged():
    own = space()
    columns = {m: c.model_copy(update={"kind": m}) for m, c in own.methods.items()}
    own = own.model_copy(update={"methods": columns})
    control = permuted(own, runs_of({"a": 0.2, "b": 1.0}), {"one": PRINTED})
    assert control["permutations"].tolist() == [0]
    [said] = _permuted(own, control)
    assert said == (
        "The nearest of 2 drawn protocols is 0.20 from table one; no two methods are of one kind, "
        "so that no columns can be exchanged."
    )


def test_a_protocol_with_a_fit_that_diverged_is_never_the_nearest():
    runs = runs_of({"diverged": 0.0, "near": 0.5})
    first = runs["protocol"].eq("diverged") & runs["replication"].eq(0)
    runs.loc[first & runs["method"].eq("FedEM"), "value"] = np.nan
    own = space()
    assert permuted(own, runs, {"one": PRINTED})["distance"].tolist() == [pytest.approx(0.5)]
    control = held_out(own, runs, {"one": PRINTED}).iloc[0]
    assert (control["seen"], control["held_out"]) == (pytest.approx(0.0), np.inf)


def test_columns_that_did_not_choose_judge_the_protocol():
    own = space()
    runs = runs_of({"near": 0.5, "other": 1.0, "far": 4.0})
    # One column alone speaks for a protocol that is far from the others.
    lucky = runs["protocol"].eq("far") & runs["method"].eq("FedEM")
    runs.loc[lucky, "value"] = 0.2
    control = held_out(own, runs, {"one": PRINTED}).iloc[0]
    assert (control["methods"], control["splits"], control["tried"]) == (1, 3, 3)
    # LocalEM and FedGrEM choose "near", FedEM chooses "far".
    assert control["seen"] == pytest.approx(0.5)
    assert control["held_out"] == pytest.approx(0.5)
    assert control["median"] == pytest.approx(1.0)


def test_a_table_chooses_the_protocol_that_others_judge():
    own = space(tables=("one", "two"))
    parts = [
        runs_of({"a": 0.2, "b": 1.0, "c": 3.0}),
        runs_of({"a": 2.0, "b": 0.4, "c": 3.0}, table="two"),
    ]
    found = held_out(own, pd.concat(parts), {"one": PRINTED, "two": PRINTED}).set_index("table")
    assert found["methods"].tolist() == [0, 0]
    assert found.loc["one", ["seen", "held_out", "median"]].tolist() == pytest.approx(
        [0.2, 2.0, 2.0]
    )
    assert found.loc["two", ["seen", "held_out", "median"]].tolist() == pytest.approx(
        [0.4, 1.0, 1.0]
    )


def test_shares_are_weighed_again_under_other_priors():
    own = space()
    design = draw_protocols(own)
    holds = design["scaling"] == "none"
    scores = design.assign(table="one", lowest=holds)
    found = under_priors(own, scores).set_index("prior")
    assert found.loc["weights", "share"] == pytest.approx(0.75)
    assert found.loc["weights", "n"] == len(design)
    assert found.loc["uniform", "share"] == pytest.approx(0.5, abs=0.1)
    assert found.loc["uniform", "n"] < len(design)
    none = own.choices["scaling"].by_name["none"].model_copy(update={"natural": False})
    own.choices["scaling"].by_name["none"] = none
    found = under_priors(own, scores).set_index("prior")
    assert found.loc["natural", "share"] == 0.0
    assert found.loc["natural", "n"] == (~holds).sum()
    assert "reported" not in found.index  # nothing is reported
    both = own.choices["scaling"].by_name
    both["global"] = both["global"].model_copy(update={"natural": False})
    found = under_priors(own, scores).set_index("prior")
    assert np.isnan(found.loc["natural", "share"])  # none is natural, so that no share is told
    assert found.loc["natural", "n"] == 0
    none = none.model_copy(update={"reported": True})
    own.choices["scaling"].by_name["none"] = none
    found = under_priors(own, scores).set_index("prior")
    assert found.loc["reported", ["share", "n"]].tolist() == [1.0, holds.sum()]


def test_leads_are_told_where_the_other_columns_are_near():
    runs = runs_of({"near": 0.5, "far": 2.0})
    scores = score_tables(runs, {"one": PRINTED}, CLAIM)
    row = leads_where_others_are_near(scores).iloc[0]
    assert (row["n"], row["least"]) == (1, pytest.approx(1.0))
    leads = {0.1: 2.0, 0.2: 1.5, 0.3: 1.0, 1.0: 0.0, 1.2: 4.5}  # the last is not near
    scores = pd.DataFrame({"others": list(leads), "lead": list(leads.values())})
    scores = scores.assign(table="one", protocol=scores.index)
    found = leads_where_others_are_near(scores).iloc[0]
    ends = found[["n", "least", "quarter", "three_quarters", "most"]]
    assert ends.tolist() == [4, 0.0, 0.75, 1.625, 2.0]


def test_a_lead_is_a_share_of_the_published_one_in_the_rows_that_ran():
    """As published, FedGrEM leads by .1 in the first row and by .3 in the second."""
    last = PRINTED["n_contaminated"].eq(2) & PRINTED["method"].eq("FedGrEM")
    wide = PRINTED.assign(mean=PRINTED["mean"] - 0.2 * last)
    runs = runs_of({"a": 0.0, "s1.0": 0.0})
    runs.loc[runs["n_contaminated"].eq(2) & runs["method"].eq("FedGrEM"), "value"] -= 0.2
    both = score_tables(runs[runs["protocol"] == "a"], {"one": wide}, CLAIM)
    first_row = runs[(runs["protocol"] == "s1.0") & (runs["n_contaminated"] == 0)]
    scores = pd.concat([both, score_tables(first_row, {"one": wide}, CLAIM)])
    row = leads_where_others_are_near(scores).iloc[0]
    assert row[["n", "least", "most"]].tolist() == pytest.approx([2, 1.0, 1.0])
    # It lies behind in the only row that this one ran: no share can be told.
    behind = PRINTED.assign(mean=0.3 - PRINTED["mean"])
    none = score_tables(runs[runs["n_contaminated"] == 0], {"one": behind}, CLAIM)
    assert leads_where_others_are_near(none.assign(others=0.0)).empty


def test_a_protocol_that_ran_again_counts_once_by_its_fresh_replications():
    scores = pd.DataFrame({"protocol": ["s1.0", "s1.1", "s1.0"], "lead": [3.0, 0.5, 0.7]})
    scores = scores.assign(table="one", others=[0.1, 0.1, 0.2])
    row = leads_where_others_are_near(scores).iloc[0]
    assert row[["n", "least", "most"]].tolist() == [2, 0.5, 0.7]
    scores["others"] = [0.1, 0.1, 2.0]
    assert leads_where_others_are_near(scores)["n"].tolist() == [1]


def test_leads_and_small_shares_are_told_in_order():
    row = {"table": "one", "n": 14}
    row |= {"least": -0.25, "quarter": 0.5, "three_quarters": 1.5, "most": 2.0}
    [said, one] = _leads(space(), pd.DataFrame([row, row | {"n": 1}]))
    assert "14 protocols), the lead of FedGrEM lies between -0.25 and 2.00 of the published" in said
    assert said.endswith("in the same rows (the middle half: 0.50 to 1.50).")
    assert "in 1 protocol. Below 10 the range of leads is not given." in one
    few = {0.0: "0 %", 1e-4: "0.1 %", 0.004: "0.4 %", 0.0149: "1 %"}
    most = {0.99: "99 %", 0.996: "99.6 %", 0.9999: "99.9 %", 1.0: "100 %"}
    assert {share: _percent(share) for share in few | most} == few | most

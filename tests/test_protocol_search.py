"""The search for a protocol: scores, controls, shares and words."""

import shutil

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.papers import read_papers
from fedmix.cells.protocols.findings import find, in_words, under_priors, variance_shares
from fedmix.cells.protocols.running import Runner, draw_protocols
from fedmix.cells.protocols.score import judged_cells, score_search, score_tables
from fedmix.cells.protocols.space import Claim, read_searches
from fedmix.data import Dataset
from fedmix.errors import DataError
from fedmix.simulate.waveform import waveform
from fedmix.views.figures.protocols import (
    CAPTIONS,
    draw_search,
)
from synthetic_search import CLAIM, ITEM, PRINTED, ROOT, printed_of, runs_of, search_of, space


def test_distance_is_in_printed_standard_deviations():
    scores = score_tables(runs_of({"a": 0.0, "b": -2.0}), {"one": PRINTED}, CLAIM)
    scores = scores.set_index("protocol")
    assert scores.loc["a", "distance"] == pytest.approx(0.0, abs=1e-9)
    assert scores.loc["b", "distance"] == pytest.approx(2.0)
    assert scores.loc["b", "cells"] == 6
    assert scores.loc["b", "effect"] == pytest.approx(-0.1)
    assert scores["lowest"].all()
    assert scores["others"].tolist() == pytest.approx([0.0, 2.0], abs=1e-9)
    assert scores["least_lead"].tolist() == pytest.approx([1.0, 1.0])
    assert (scores["distance_low"] <= scores["distance"]).all()
    assert (scores["distance"] <= scores["distance_high"]).all()


def test_claim_can_be_that_a_method_lies_above_some_others():
    # The published table has LocalEM at .3, FedEM at .2 and FedGrEM at .1 in every row.
    runs = runs_of({"a": 0.0})
    for claim, effect in (
        (Claim(method="FedEM", direction="above", than=["FedGrEM"]), 0.1),
        (Claim(method="FedEM", direction="above"), -0.1),
        (Claim(method="FedEM", than=["LocalEM"]), -0.1),
        (Claim(method="FedEM"), 0.1),
    ):
        score = score_tables(runs, {"one": PRINTED}, claim).iloc[0]
        assert score["effect"] == pytest.approx(effect)
        assert score["lowest"] == (len(claim.than) > 0)
        assert score["rows_lowest"] == 2 * len(claim.than)


def test_shares_of_the_lead_are_those_of_rows_in_which_the_method_leads_as_published():
    wide = PRINTED.assign(mean=PRINTED["mean"].where(PRINTED["n_contaminated"] == 0, 0.2))
    runs = runs_of({"a": 0.0}).assign(protocol="a")
    score = score_tables(runs, {"one": wide}, CLAIM).iloc[0]
    assert (score["least_lead"], score["most_lead"]) == (pytest.approx(1.0), pytest.approx(1.0))
    far = PRINTED["method"].eq("FedGrEM") & PRINTED["n_contaminated"].eq(2)
    further = PRINTED.assign(mean=PRINTED["mean"] - 0.1 * far)
    score = score_tables(runs, {"one": further}, CLAIM).iloc[0]
    assert (score["least_lead"], score["most_lead"]) == (pytest.approx(0.5), pytest.approx(1.0))


def test_equal_errors_summed_in_another_order_are_no_lead():
    runs = runs_of({"a": 0.0}, replications=3)
    values = {"LocalEM": (0.3, 0.2, 0.1), "FedEM": (0.4, 0.5, 0.6), "FedGrEM": (0.1, 0.2, 0.3)}
    runs["value"] = [values[m][r] for m, r in zip(runs["method"], runs["replication"], strict=True)]
    assert np.mean(values["FedGrEM"]) != np.mean(values["LocalEM"])
    score = score_tables(runs, {"one": PRINTED}, CLAIM).iloc[0]
    assert (score["effect"], score["rows_lowest"]) == (0.0, 0)


def test_method_that_diverged_is_behind_the_others_whatever_their_scale():
    far = PRINTED.assign(mean=50 * PRINTED["mean"])
    runs = runs_of({"a": 0.0})
    runs["value"] *= 50
    runs.loc[runs["method"] == "FedGrEM", "value"] = np.nan
    score = score_tables(runs, {"one": far}, CLAIM).iloc[0]
    assert score["effect"] == pytest.approx(15.0 - 10.0)
    assert not score["lowest"]
    runs["value"] /= 50
    score = score_tables(runs, {"one": PRINTED}, CLAIM).iloc[0]
    assert score["effect"] == pytest.approx(1.0 - 0.2)  # an error of 1 where all are below


def test_protocol_with_a_fit_that_diverged_is_infinitely_far():
    runs = runs_of({"a": 0.0, "b": 0.0})
    runs.loc[(runs["protocol"] == "a") & (runs["method"] == "FedGrEM"), "value"] = np.nan
    scores = score_tables(runs, {"one": PRINTED}, CLAIM).set_index("protocol")
    assert scores.loc["a", "distance"] == np.inf
    assert not scores.loc["a", "lowest"]
    assert scores.loc["b", "distance"] < 0.1


def test_table_without_a_printed_cell_is_an_error():
    own = search_of("fedgrem", "paper")
    table = own.tables["fedgrem_table1"]
    own.tables["fedgrem_table1"] = table.model_copy(update={"rows": [0, 4]})
    with pytest.raises(
        DataError, match=r"fedgrem_table1 has no printed mean.*with n_contaminated 4"
    ):
        printed_of(own, "paper")


def search(own):
    """A whole search on made-up runs: protocols without scaling lie nearer."""
    design = draw_protocols(own)
    rng = np.random.default_rng(1)
    base = np.where(design["scaling"] == "none", 1.0, 4.0) + 0.1 * rng.random(len(design))
    trials = pd.DataFrame(
        [
            {
                "protocol": f"s{seed}.0",
                "seed": seed,
                "start": 0,
                "trial": 0,
                "objective": 1.0,
                "complete": True,
                "kind": "confirmed",
            }
            | design.iloc[seed].drop("protocol").to_dict()
            for seed in (1, 2)
        ]
    )
    runs = {
        "drawn": runs_of(dict(zip(design["protocol"], base, strict=True))),
        "tried": runs_of({"s1.0": 0.4, "s2.0": 0.3}, rows=(0,)),
        "compared": runs_of({"s1.0": 0.7, "s2.0": 0.8}),
        "judged": runs_of({"s1.0": 0.5, "s2.0": 0.6}),
    }
    return design, trials, runs, score_search(own, design, trials, runs, {"one": PRINTED})


def test_judged_protocols_are_ranked_with_the_rows_seen_and_held_out():
    own = space()
    _, _, runs, scores = search(own)
    judged = scores[scores["kind"] == "judged"].set_index("protocol")
    assert judged["rank"].to_dict() == {"s1.0": 1, "s2.0": 2}
    for part in ("distance", "saw", "held_out"):
        np.testing.assert_allclose(judged[part], [0.5, 0.6], atol=1e-3)
    assert scores["kind"].value_counts().to_dict() == {"drawn": 64, "tried": 2, "judged": 2}
    cells = judged_cells(scores, runs["judged"], {"one": PRINTED})
    assert cells["rank"].value_counts().to_dict() == {1: 18, 2: 18}


def test_two_seeds_with_one_objective_have_one_nearest_protocol():
    own = space()
    design, trials, runs, _ = search(own)
    same = runs_of({"s1.0": 0.7})
    both = pd.concat([same, same.assign(protocol="s2.0")])
    assert ranks_of(own, design, trials, runs | {"compared": both}) == {"s1.0": 1, "s2.0": 2}


def test_all_rows_of_further_replications_rank_the_best_of_each_seed():
    own = space()
    design, trials, runs, _ = search(own)
    compared = runs["compared"]
    unseen = (compared["protocol"] == "s1.0") & (compared["n_contaminated"] == 2)
    moved = compared.assign(value=compared["value"].mask(unseen, 0.9))
    assert ranks_of(own, design, trials, runs | {"compared": moved}) == {"s1.0": 2, "s2.0": 1}


def ranks_of(own, design, trials, runs):
    found = score_search(own, design, trials, runs, {"one": PRINTED})
    return found[found["kind"] == "judged"].set_index("protocol")["rank"].to_dict()


def test_a_table_of_one_row_holds_nothing_out_and_says_so():
    own = space()
    table = own.tables["one"].model_copy(update={"rows": [0]})
    own = own.model_copy(update={"tables": {"one": table}})
    design, trials, runs, _ = search(own)
    one = {kind: part[part["n_contaminated"] == 0] for kind, part in runs.items()}
    printed = {"one": PRINTED[PRINTED["n_contaminated"] == 0]}
    scores = score_search(own, design, trials, one, printed)
    assert scores["held_out"].isna().all()
    said = told(own, scores, one, printed)
    assert "nothing is held out, because the table has one row" in said
    assert "FedGrEM is the lowest of 3 methods in 1 of 1 row. Its lead is" in said


def told(own, scores, runs, printed):
    return " ".join(in_words(own, "one", scores, find(own, scores, runs["drawn"], printed)))


def test_the_words_say_where_the_claim_holds_and_what_the_search_chose():
    own = space()
    scalings = own.choices["scaling"].by_name
    scalings["global"] = scalings["global"].model_copy(update={"natural": False})
    _, _, runs, scores = search(own)
    scores["lowest"] = scores["scaling"] == "none"
    said = told(own, scores, runs, {"one": PRINTED})
    assert "is the lowest of 3 methods in all rows of table one in 75 % of 64 drawn" in said
    assert "drawn protocols (95 % interval 63 % to 84 %); in" in said
    uniform = under_priors(own, scores[scores["kind"] == "drawn"]).set_index("prior").loc["uniform"]
    assert f"; in {uniform['share']:.0%}".replace("%", " % if all values of a choice") in said
    assert f"(effective number {uniform['n']:.0f}), 100 % among natural values" in said
    assert "alone (effective number 48)." in said  # none is reported
    assert "This depends on scaling (100 % of the variance explained)." in said
    assert "Values of at least 10 protocols: none in 100 % of 48, global in 0 % of 16." in said
    first = scores[scores["rank"] == 1].iloc[0]
    assert f"search chose, s1.0: scaling {first['scaling']}, penalty {first['penalty']}," in said


def test_a_judged_protocol_that_diverged_or_does_not_lead_is_told_plainly():
    own = space()
    design, trials, runs, _ = search(own)
    judged = runs["judged"]
    diverged = (judged["protocol"] == "s1.0") & (judged["method"] == "LocalEM")
    behind = (judged["protocol"] == "s2.0") & (judged["method"] == "FedGrEM")
    value = judged["value"].mask(diverged).where(~behind, 0.5)
    runs = runs | {"judged": judged.assign(value=value)}
    scores = score_search(own, design, trials, runs, {"one": PRINTED})
    said = told(own, scores, runs, {"one": PRINTED})
    assert "s1.0 has no distance from table one, because a method diverged. FedGrEM is" in said
    assert "in which it leads in the paper (below zero another method is ahead)." in said
    assert "inf" not in said


def test_variance_belongs_to_the_choices_that_make_it():
    own = space(drawn=256)
    design = draw_protocols(own)
    alone = (design["rounds"] == "20").astype(float)
    mixed = ((design["scaling"] == "none") == (design["penalty"] == "1")).astype(float)
    found = variance_shares(own, "one", design.assign(distance=np.exp(alone), lowest=mixed))
    found = found.set_index(["outcome", "choice"])["share"]
    assert found["distance", "rounds"] > 0.9
    assert found["distance", "scaling"] < 0.05
    assert found.loc["distance"].sum() == pytest.approx(1.0)


def test_an_outcome_that_does_not_vary_has_no_shares():
    own = space()
    single = {
        name: choice.model_copy(update={"by_name": dict(list(choice.by_name.items())[:1])})
        for name, choice in own.choices.items()
    }
    alone = own.model_copy(update={"choices": single})
    none = variance_shares(alone, "one", draw_protocols(alone).assign(distance=1.0, lowest=True))
    assert list(none) == ["table", "outcome", "choice", "share"]
    assert none.empty
    design = draw_protocols(own).assign(distance=1.0, lowest=True)
    assert (variance_shares(own, "one", design)["share"] == 0).all()


@pytest.mark.slow
def test_sentences_and_figures_are_made_from_a_search(tmp_path):
    own = space()
    _, trials, runs, scores = search(own)
    printed = {"one": PRINTED}
    text = told(own, scores, runs, printed)
    assert "64 protocols drawn by how natural each choice is (3 replications, all rows)" in text
    assert "FedGrEM is the lowest of 3 methods in all rows of table one in 100 % of 64" in text
    assert "0.50 on the rows that the search saw and 0.50 on those held out" in text
    assert "The choices of the protocol that the search chose, s1.0: scaling" in text
    assert "by 1 of the columns of table one is 1.0" in text
    parts = {
        "scores": scores,
        "judged": judged_cells(scores, runs["judged"], printed),
        "shares": variance_shares(own, "one", scores[scores["kind"] == "drawn"]),
        "trials": trials,
    }
    outputs = [tmp_path / f"t_{kind}.{s}" for kind in CAPTIONS for s in ("svg", "md")]
    draw_search(own, {"one": ITEM}, parts, outputs, preset="paper")
    assert all(path.stat().st_size > 1000 for path in outputs if path.suffix == ".svg")
    assert CAPTIONS["curve"] in (tmp_path / "t_curve.md").read_text()


@pytest.mark.slow
def test_the_documented_paper_is_searched_by_its_own_study(folder, tmp_path):
    shutil.copytree(ROOT / "docs" / "examples" / "paper", tmp_path, dirs_exist_ok=True)
    own = read_searches(read_papers(folder), "quick")["waveforms"]
    one_each = own.draw.model_copy(update={"replications": 1})  # of each protocol
    own = own.model_copy(update={"draw": one_each})
    printed = printed_of(own, "quick", folder, tmp_path / "data" / "published")
    [name] = own.tables
    points, labels = waveform(400, np.random.default_rng(0))
    runner = Runner(own, {name: dict.fromkeys(own.methods, "ari_pooled")})
    dataset = Dataset("waveform_generated", points, labels)
    runner.benches[name].data["waveform_generated", "raw"] = dataset
    protocols = draw_protocols(own).to_dict("records")
    runs = runner.run(protocols, {name: own.drawn_cells(name)})
    scores = score_tables(runs, printed, own.claim)
    assert len(scores) == 16
    assert (scores["cells"] == 4).all()
    # High values are good: k-FED leads where its index is above FedKMeans'.
    means = runs.groupby(["protocol", "n_clients", "method"])["value"].mean().unstack()
    leads = (means["KFED"] > means["FedKMeans"]).groupby("protocol").all()
    assert scores.set_index("protocol")["lowest"].equals(leads.rename("lowest"))

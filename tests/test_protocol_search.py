"""The search for a protocol: scores, halving, controls, shares and words."""

import shutil

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.items import Item
from fedmix.cells.papers import read_papers
from fedmix.cells.protocols.controls import held_out, permuted
from fedmix.cells.protocols.design import draw_protocols, survivors, vary
from fedmix.cells.protocols.outcome import nearest_cells, rank_protocols
from fedmix.cells.protocols.score import score_protocols, score_tables
from fedmix.cells.protocols.shares import variance_shares
from fedmix.cells.protocols.space import Claim, read_searches
from fedmix.cells.protocols.words import in_words
from fedmix.data import Dataset
from fedmix.errors import DataError
from fedmix.protocols import Bench
from fedmix.simulate.waveform import waveform
from fedmix.views.figures.protocols import CAPTIONS, draw_search
from synthetic_search import CLAIM, PRINTED, ROOT, choice, printed_of, runs_of, search_of, space


def test_distance_is_in_printed_standard_deviations():
    scores = score_protocols(runs_of({"a": 0.0, "b": -2.0}), PRINTED, CLAIM)
    scores = scores.set_index("protocol")
    assert scores.loc["a", "distance"] == pytest.approx(0.0, abs=1e-9)
    assert scores.loc["b", "distance"] == pytest.approx(2.0)
    assert scores.loc["b", "cells"] == 6
    assert scores.loc["b", "effect"] == pytest.approx(-0.1)
    assert scores["lowest"].all()
    assert scores["rank_correlation"].tolist() == pytest.approx([1.0, 1.0])
    assert (scores["distance_low"] <= scores["distance"]).all()
    assert (scores["distance"] <= scores["distance_high"]).all()


def test_sd_distance_is_zero_where_spreads_are_the_printed_ones():
    runs = runs_of({"a": 0.0}, replications=2)
    means = runs.groupby(["n_contaminated", "method"])["value"].transform("mean")
    sign = np.where(runs["replication"] == 0, -1, 1)
    runs["value"] = means + sign * 0.01 / np.sqrt(2)
    assert score_protocols(runs, PRINTED, CLAIM)["sd_distance"].item() == pytest.approx(0.0)


def test_claim_can_be_that_a_method_lies_above_some_others():
    # The print has LocalEM at .3, FedEM at .2 and FedGrEM at .1 in every row.
    runs = runs_of({"a": 0.0})
    for claim, effect in (
        (Claim(method="FedEM", direction="above", than=["FedGrEM"]), 0.1),
        (Claim(method="FedEM", direction="above"), -0.1),
        (Claim(method="FedEM", than=["LocalEM"]), -0.1),
        (Claim(method="FedEM"), 0.1),
    ):
        score = score_protocols(runs, PRINTED, claim).iloc[0]
        assert score["effect"] == pytest.approx(effect)
        assert score["printed_effect"] == pytest.approx(effect)
        assert score["lowest"] == (len(claim.than) > 0)
        assert score["rows_lowest"] == 2 * len(claim.than)


def test_equal_errors_summed_in_another_order_are_no_lead():
    runs = runs_of({"a": 0.0}, replications=3)
    values = {"LocalEM": (0.3, 0.2, 0.1), "FedEM": (0.4, 0.5, 0.6), "FedGrEM": (0.1, 0.2, 0.3)}
    runs["value"] = [values[m][r] for m, r in zip(runs["method"], runs["replication"], strict=True)]
    assert np.mean(values["FedGrEM"]) != np.mean(values["LocalEM"])
    score = score_protocols(runs, PRINTED, CLAIM).iloc[0]
    assert (score["effect"], score["rows_lowest"]) == (0.0, 0)


def test_method_that_diverged_is_behind_the_others_whatever_their_scale():
    far = PRINTED.assign(mean=50 * PRINTED["mean"])
    runs = runs_of({"a": 0.0})
    runs["value"] *= 50
    runs.loc[runs["method"] == "FedGrEM", "value"] = np.nan
    score = score_protocols(runs, far, CLAIM).iloc[0]
    assert score["effect"] == pytest.approx(15.0 - 10.0)
    assert not score["lowest"]


def test_protocol_with_a_fit_that_diverged_is_infinitely_far():
    runs = runs_of({"a": 0.0, "b": 0.0})
    runs.loc[(runs["protocol"] == "a") & (runs["method"] == "FedGrEM"), "value"] = np.nan
    scores = score_protocols(runs, PRINTED, CLAIM).set_index("protocol")
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


def test_halving_keeps_the_nearest_to_all_tables():
    near = runs_of({"p0": 0.1, "p1": 1.0, "p2": 2.0})
    far = runs_of({"p0": 9.0, "p1": 1.0, "p2": 2.0}, table="two")
    scores = score_tables(
        space(("one", "two")), pd.concat([near, far]), {"one": PRINTED, "two": PRINTED}
    )
    assert survivors(scores, 2) == ["p1", "p2"]
    assert survivors(scores[scores["table"] == "one"], 1) == ["p0"]


def test_variations_differ_in_a_few_choices_from_the_nearest():
    own = space()
    rung = own.rungs[1].model_copy(update={"variations": 20})
    own = own.model_copy(update={"rungs": [own.rungs[0], rung]})
    own.choices["elsewhere"] = choice(
        "elsewhere", {"a": 1.0, "b": 1.0}, methods={"KFED": "seeding"}, tables=["two"]
    )
    nearest = draw_protocols(own).iloc[:3]
    varied = vary(own, nearest, 1, ["one"])
    assert len(varied) == 20
    assert varied["protocol"].is_unique
    assert (varied["entered"] == "1").all()
    parents = nearest.set_index("protocol")
    for row in varied.to_dict("records"):
        parent = parents.loc[row["protocol"].partition("-")[0]]
        assert any(row[name] != parent[name] for name in own.choices)
        assert row["elsewhere"] == parent["elsewhere"]
    pd.testing.assert_frame_equal(varied, vary(own, nearest, 1, ["one"]))
    assert own.rungs[1].blocks()[-1] == "24-27"


def search():
    """A whole search on made-up runs: protocols without scaling lie nearer."""
    own = space()
    design = draw_protocols(own)
    rng = np.random.default_rng(1)
    base = np.where(design["scaling"] == "none", 1.0, 4.0) + 0.1 * rng.random(len(design))
    offsets = dict(zip(design["protocol"], base, strict=True))
    first = runs_of(offsets, rows=(0,), replications=2)
    kept = survivors(score_tables(own, first, {"one": PRINTED}), 8)
    done = first[["protocol", "n_contaminated", "replication"]]
    later = runs_of({name: offsets[name] for name in kept})
    later = later.merge(done.drop_duplicates(), how="left", indicator=True)
    later = later[later["_merge"] == "left_only"].drop(columns="_merge")
    chosen = [design, design[design["protocol"].isin(kept)]]
    return own, chosen, first, pd.concat([first, later], ignore_index=True)


def test_ranks_put_those_that_got_further_first_and_then_the_nearest():
    own, chosen, _, runs = search()
    ranked = rank_protocols(own, runs, {"one": PRINTED}, chosen)
    assert ranked["rank"].tolist() == list(range(1, 65))
    assert (ranked["rung"].iloc[:8] == 1).all()
    assert (ranked["rung"].iloc[8:] == 0).all()
    assert ranked["joint_distance"].iloc[:8].is_monotonic_increasing
    assert ranked["replications"].tolist() == [3] * 8 + [2] * 56
    assert ranked["cells"].tolist() == [6] * 8 + [3] * 56


def test_permuted_columns_are_not_matched_as_well_as_the_print():
    control = permuted(runs_of({"a": 0.2, "b": 1.0}), {"one": PRINTED}).iloc[0]
    assert control["distance"] == pytest.approx(0.2, rel=1e-2)
    assert control["share"] == 0.0
    assert control["permuted_lowest"] > 1.0
    assert control["tried"] == 2


def test_rows_are_permuted_where_the_first_rung_runs_several():
    # Methods do not differ, rows do: a table with its rows permuted is not matched.
    rows = PRINTED.assign(mean=0.1 * PRINTED["n_contaminated"])
    runs = runs_of({"a": 0.0}).drop(columns="value").merge(rows, on=["n_contaminated", "method"])
    runs["value"] = runs["mean"]
    control = permuted(runs, {"one": rows}).iloc[0]
    assert control["distance"] == pytest.approx(0.0)
    assert 0.3 < control["share"] < 0.7
    assert control["permuted_median"] >= 0.0


def test_rows_and_tables_are_held_out_in_turn():
    runs = pd.concat([runs_of({"a": 0.2, "b": 1.0}, table=t) for t in ("one", "two")])
    splits = held_out(runs, {"one": PRINTED, "two": PRINTED})
    assert splits["control"].tolist() == ["rows"] * 4 + ["tables"] * 2
    assert (splits["nearest"] == "a").all()
    np.testing.assert_allclose(splits["elsewhere"], 0.2, rtol=1e-2)
    np.testing.assert_allclose(splits["typical"], 0.6, rtol=1e-2)


def test_a_table_of_one_row_holds_nothing_out_and_says_so():
    own, chosen, first, _ = search()
    one = own.tables["one"].model_copy(update={"rows": [0]})
    rungs = [rung.model_copy(update={"rows": None}) for rung in own.rungs]
    own = own.model_copy(update={"tables": {"one": one}, "rungs": rungs})
    printed = {"one": PRINTED[PRINTED["n_contaminated"] == 0]}
    ranked = rank_protocols(own, first, printed, chosen)
    scores = score_tables(own, first, printed).merge(chosen[0], on="protocol")
    splits, shuffled = held_out(first, printed), permuted(first, printed)
    assert splits.empty
    shares = variance_shares(own, "one", scores)
    text = " ".join(in_words(own, "one", scores, ranked, splits, shuffled, shares))
    assert "Nothing is held out: the table has one row." in text
    assert "with its methods' columns permuted" in text


def test_variance_belongs_to_the_choices_that_make_it():
    own = space(sizes=(256, 8))
    design = draw_protocols(own)
    alone = (design["rounds"] == "20").astype(float)
    mixed = ((design["scaling"] == "none") == (design["penalty"] == "1")).astype(float)
    found = variance_shares(own, "one", design.assign(distance=np.exp(alone), lowest=mixed))
    found = found.set_index(["outcome", "choice", "other"])["share"]
    assert found["distance", "rounds", ""] > 0.9
    assert found["distance", "scaling", ""] < 0.05
    assert found["lowest", "scaling", "penalty"] > 0.6


def test_a_choice_that_makes_all_of_the_variance_has_no_more_than_all_of_it():
    own = space(sizes=(256, 8))
    design = draw_protocols(own)
    decided = (design["scaling"] == "none").astype(float)
    found = variance_shares(own, "one", design.assign(distance=np.exp(decided), lowest=decided))
    main = found[found["other"] == ""].groupby("choice")["share"].max()
    assert 0.97 < main["scaling"] < 1.01


@pytest.mark.slow
def test_sentences_and_figures_are_made_from_a_search(tmp_path):
    own, chosen, first, runs = search()
    printed = {"one": PRINTED}
    ranked = rank_protocols(own, runs, printed, chosen)
    scores = score_tables(own, first, printed).merge(chosen[0], on="protocol")
    shares = variance_shares(own, "one", scores)
    parts = {
        "first": scores,
        "scores": ranked,
        "nearest": nearest_cells(ranked, runs, printed),
        "shares": shares,
    }
    for name, part in parts.items():
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    controls = held_out(runs[runs["protocol"].isin(chosen[1]["protocol"])], printed)
    text = " ".join(
        in_words(own, "one", scores, ranked, controls, permuted(first, printed), shares)
    )
    assert "64 with 2 replications on the first row, then 8 with 3 replications on all rows" in text
    assert "FedGrEM is the lowest of 3 methods in 100 % of 64 protocols" in text
    assert "Its choices: scaling none" in text
    inputs = {name: tmp_path / f"{name}.csv" for name in parts}
    outputs = [tmp_path / f"t_{kind}.{s}" for kind in CAPTIONS for s in ("svg", "md")]
    item = Item(
        name="one",
        kind="table",
        paper="fedgrem",
        title="One",
        caption="",
        study="fedgrem_real",
        metric="misclustering",
        scale=0.01,
    )
    draw_search(own, {"one": item}, inputs, outputs, preset="paper")
    assert all(path.stat().st_size > 1000 for path in outputs if path.suffix == ".svg")
    assert CAPTIONS["curve"] in (tmp_path / "t_curve.md").read_text()


@pytest.mark.slow
def test_the_documented_paper_is_searched_by_its_own_study(tmp_path):
    for folder in ("config", "data/published"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copytree(ROOT / "docs" / "examples" / "paper", tmp_path, dirs_exist_ok=True)
    own = read_searches(read_papers(tmp_path / "config"), "quick")["waveforms"]
    printed = printed_of(own, "quick", tmp_path / "config", tmp_path / "data" / "published")
    [(name, table)] = own.tables.items()
    metrics = dict.fromkeys(own.methods, "ari_pooled")
    bench = Bench(own.experiment, own.study, own.row, table.setting, metrics)
    protocols = [own.protocol(name, p) for p in draw_protocols(own).to_dict("records")]
    points, labels = waveform(400, np.random.default_rng(0))
    dataset = Dataset("waveform_generated", points, labels)
    data = {("waveform_generated", "raw"): dataset}
    runs = bench.run(protocols, own.cells(name, 0), data).assign(table=name)
    scores = score_tables(own, runs, printed)
    assert len(scores) == 16
    assert (scores["cells"] == 4).all()
    assert len(survivors(scores, own.rungs[1].protocols)) == 4
    # High values are good: k-FED leads where its index is above FedKMeans'.
    means = runs.groupby(["protocol", "n_clients", "method"])["value"].mean().unstack()
    leads = (means["KFED"] > means["FedKMeans"]).groupby("protocol").all()
    assert scores.set_index("protocol")["lowest"].equals(leads.rename("lowest"))

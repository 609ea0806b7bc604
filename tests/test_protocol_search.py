"""The search for a protocol: its space, design, halving, scores, controls and shares."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.items import Item
from fedmix.cells.papers import read_papers
from fedmix.cells.protocols.controls import held_out, permuted
from fedmix.cells.protocols.design import draw_protocols, survivors, vary
from fedmix.cells.protocols.outcome import nearest_cells, rank_protocols
from fedmix.cells.protocols.score import printed_cells, score_protocols, score_tables
from fedmix.cells.protocols.shares import variance_shares
from fedmix.cells.protocols.space import (
    Choice,
    Claim,
    Column,
    Rung,
    Space,
    Table,
    Value,
    read_searches,
)
from fedmix.cells.protocols.words import in_words
from fedmix.configuration import read_yaml
from fedmix.data import Dataset
from fedmix.errors import ConfigurationError, DataError
from fedmix.experiments.base import Method
from fedmix.pipeline.request import read_request
from fedmix.protocols import Bench, Protocol
from fedmix.simulate.waveform import waveform
from fedmix.views.figures.protocols import CAPTIONS, draw_search

ROOT = Path(__file__).parents[1]
METHODS = ("LocalEM", "FedEM", "FedGrEM")
CLAIM = Claim("FedGrEM")
SETTING = {
    "dataset": "d",
    "embedding": "raw",
    "partition": "uniform",
    "n_clients": 6,
    "n_components": 3,
    "train_fraction": 0.8,
    "initialization": "ward",
    "contamination": "gaussian",
}
PRINTED = pd.DataFrame(
    [(n, m, mean, 0.01) for n in (0, 2) for m, mean in zip(METHODS, (0.3, 0.2, 0.1), strict=True)],
    columns=["n_contaminated", "method", "mean", "sd"],
)


def choice(name, values, **where):
    return Choice(name, "", [Value(v, v, w) for v, w in values.items()], **where)


def space(tables=("one",), sizes=(64, 8)):
    choices = [
        choice("scaling", {"none": 3.0, "global": 1.0}, setting="scaling"),
        choice("penalty", {"1": 1.0, "2": 1.0}, methods={"FedGrEM": "penalty_scale"}),
        choice("rounds", {"20": 1.0, "100": 1.0, "1000": 2.0}, methods={"FedEM": "max_rounds"}),
    ]
    return Space(
        name="fedgrem",
        paper="fedgrem",
        experiment="real_clustering",
        study="fedgrem_real",
        row="n_contaminated",
        claim=CLAIM,
        methods={m: Column(m, m, m, m, {"tol": 1e-4}) for m in METHODS},
        tables={t: Table(t, f"table {t}", SETTING, (0, 2)) for t in tables},
        choices={c.name: c for c in choices},
        rungs=[Rung(sizes[0], 2, 16, rows=1), *(Rung(n, 3, 4) for n in sizes[1:])],
    )


def runs_of(offsets, rows=(0, 2), replications=3, table="one"):
    """Runs that lie so many printed sd above the print, a protocol each."""
    return pd.DataFrame(
        [
            (table, name, n, r, method, mean + offset * sd + 1e-4 * (r - (replications - 1) / 2))
            for name, offset in offsets.items()
            for n, method, mean, sd in PRINTED.itertuples(index=False)
            if n in rows
            for r in range(replications)
        ],
        columns=["table", "protocol", "n_contaminated", "replication", "method", "value"],
    )


def paper_with(tmp_path, change):
    """A copy of the paper's folder whose space was changed."""
    import yaml

    folder = tmp_path / "config" / "papers" / "fedgrem"
    (folder / "protocols").mkdir(parents=True)
    (tmp_path / "workflow").mkdir()
    (tmp_path / "workflow" / "schemas").symlink_to(ROOT / "workflow" / "schemas")
    own = ROOT / "config" / "papers" / "fedgrem"
    (folder / "about.yaml").write_text((own / "about.yaml").read_text())
    (folder / "studies").symlink_to(own / "studies")
    (tmp_path / "config" / "methods.yaml").symlink_to(ROOT / "config" / "methods.yaml")
    document = read_yaml(own / "protocols" / "fedgrem.yaml")
    change(document)
    (folder / "protocols" / "fedgrem.yaml").write_text(yaml.safe_dump(document))
    return read_papers(tmp_path / "config")


def search_of(name, preset):
    """A search of the repository's own."""
    return read_searches(read_papers(ROOT / "config"), preset)[name]


def printed_of(own, preset, config=ROOT / "config", published=ROOT / "data" / "published"):
    options = {**read_yaml(ROOT / "config" / "config.yaml"), "preset": preset}
    return printed_cells(own, read_request(config, options).items, published)


@pytest.mark.parametrize("preset", ["quick", "reproduction", "paper"])
@pytest.mark.parametrize(("search", "largest"), [("fedgrem", 1.0), ("fedgrem_simulation", 3.0)])
def test_every_row_and_method_of_the_paper_has_a_printed_cell(search, largest, preset):
    own = search_of(search, preset)
    printed = printed_of(own, preset)
    for name, table in own.tables.items():
        assert len(printed[name]) == len(table.rows) * len(own.methods)
        assert printed[name]["mean"].between(0, largest).all()


def test_choices_of_the_paper_fill_parameters_that_exist():
    own = search_of("fedgrem", "paper")
    design = draw_protocols(own)
    protocol = own.protocol("fedgrem_table2", design.iloc[0].to_dict())
    assert set(protocol.setting) == {
        "embedding", "scaling", "initialization", "alignment", "contamination", "contaminated",
    }  # fmt: skip
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
    spread = (2.0, ("spread",))
    own.choices["penalty_scale"] = replace(
        own.choices["penalty_scale"], values=[Value("2 spreads", spread, 1.0)]
    )
    with pytest.raises(ConfigurationError, match=r"choices: penalty_scale: units.*real_clustering"):
        draw_protocols(own)


def test_unknown_setting_is_named_before_anything_runs():
    own = search_of("fedgrem", "reproduction")
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
    own = search_of("fedgrem_simulation", "reproduction")
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
        (Claim("FedEM", "above", ("FedGrEM",)), 0.1),
        (Claim("FedEM", "above"), -0.1),
        (Claim("FedEM", "below", ("LocalEM",)), -0.1),
        (Claim("FedEM"), 0.1),
    ):
        score = score_protocols(runs, PRINTED, claim).iloc[0]
        assert score["effect"] == pytest.approx(effect)
        assert score["lowest"] == (len(claim.than) > 0)
        assert score["rows_lowest"] == 2 * len(claim.than)


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
    own = search_of("fedgrem", "reproduction")
    table = own.tables["fedgrem_table1"]
    own.tables["fedgrem_table1"] = replace(table, rows=[0, 4])
    with pytest.raises(
        DataError, match=r"fedgrem_table1 has no printed mean.*with n_contaminated 4"
    ):
        printed_of(own, "reproduction")


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
    own = replace(own, rungs=[own.rungs[0], replace(own.rungs[1], variations=20)])
    own.choices["elsewhere"] = choice("elsewhere", {"a": 1.0, "b": 1.0}, tables=["two"])
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
    item = Item("one", "table", "fedgrem", "fedgrem_real", metric="misclustering", scale=0.01)
    draw_search(own, {"one": item}, inputs, outputs, preset="paper")
    assert all(path.stat().st_size > 1000 for path in outputs if path.suffix == ".svg")
    assert CAPTIONS["curve"] in (tmp_path / "t_curve.md").read_text()


def test_the_documented_paper_is_searched_by_its_own_study(tmp_path):
    for folder in ("config", "data/published"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copytree(ROOT / "docs" / "examples" / "paper", tmp_path, dirs_exist_ok=True)
    (tmp_path / "workflow").symlink_to(ROOT / "workflow")
    own = read_searches(read_papers(tmp_path / "config"), "quick")["waveforms"]
    printed = printed_of(own, "quick", tmp_path / "config", tmp_path / "data" / "published")
    [(name, table)] = own.tables.items()
    metrics = dict.fromkeys(own.methods, "ari_pooled")
    bench = Bench(own.experiment, own.study, own.row, table.setting, metrics)
    protocols = [own.protocol(name, p) for p in draw_protocols(own).to_dict("records")]
    points, labels = waveform(400, np.random.default_rng(0))
    data = {"raw": Dataset("waveform_generated", points, labels)}
    runs = bench.run(protocols, own.cells(name, 0), data).assign(table=name)
    scores = score_tables(own, runs, printed)
    assert len(scores) == 16
    assert (scores["cells"] == 4).all()
    assert len(survivors(scores, own.rungs[1].protocols)) == 4
    # High values are good: k-FED leads where its index is above FedKMeans'.
    means = runs.groupby(["protocol", "n_clients", "method"])["value"].mean().unstack()
    leads = (means["KFED"] > means["FedKMeans"]).groupby("protocol").all()
    assert scores.set_index("protocol")["lowest"].equals(leads.rename("lowest"))

"""Protocols run as the experiment does, and the optimiser finds what is planted."""

import numpy as np
import optuna
import pandas as pd
import pytest

from fedmix import methods
from fedmix.cells.protocols.choices import Choice
from fedmix.cells.protocols.running import (
    Runner,
    combined,
    improvements,
    optimize,
    parts_of,
    single_changes,
)
from fedmix.cells.protocols.score import contrasts, objective
from fedmix.cells.protocols.space import Claim
from fedmix.data import Dataset
from fedmix.errors import DivergenceError
from fedmix.experiments.base import Method
from fedmix.experiments.runner import Scenario, problem_of, run_replication
from fedmix.protocols import Bench, Protocol
from synthetic_search import PRINTED, runs_of, space

BLOBS = ("blobs", "raw")
SETTING = {
    "dataset": "blobs",
    "embedding": "raw",
    "partition": "uniform",
    "n_clients": 5,
    "train_fraction": 0.8,
    "n_components": 3,
}


def blobs(n=300):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=n)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    return {BLOBS: Dataset("blobs", centres[labels] + rng.normal(size=(n, 2)), labels)}


def protocol(name, parameters=None, **setting):
    chosen = {
        "scaling": "none",
        "initialization": "kmeans1",
        "alignment": "one_order",
        "contamination": "simulation",
        "contaminated": "last",
    }
    parameters = parameters or {"LocalEM": {}, "FedEM": {}}
    return Protocol(name, chosen | setting, [Method(m, m, own) for m, own in parameters.items()])


def run(protocols, cells=((0, 0), (2, 0), (0, 1)), data=None):
    metrics = {m.name: "misclustering" for p in protocols for m in p.methods}
    bench = Bench("real_clustering", "study", "n_contaminated", SETTING, metrics, data or blobs())
    return bench.run(protocols, cells)


def test_sharing_work_changes_no_result():
    several = [
        protocol("a"),
        protocol("b", contamination="sign_flip"),
        protocol("c", scaling="per_client", alignment="first_client"),
        protocol("d", {"FedEM": {"max_rounds": 3}, "PooledEM": {"init": "kmeans++"}}),
    ]
    together = run(several)
    alone = pd.concat([run([p], [cell]) for p in several for cell in ((0, 0), (2, 0), (0, 1))])
    by = ["protocol", "n_contaminated", "replication", "method"]
    pd.testing.assert_frame_equal(
        together.sort_values(by, ignore_index=True), alone.sort_values(by, ignore_index=True)
    )


def test_work_that_was_forgotten_is_done_again(monkeypatch):
    several = [protocol(s, scaling=s) for s in ("none", "tenth", "global", "none")]
    kept = run(several)
    monkeypatch.setattr("fedmix.protocols.real_clustering.RECENT", 1)
    pd.testing.assert_frame_equal(kept, run(several))


def test_the_experiment_itself_comes_to_the_same_errors():
    parameters = {
        "LocalEM": {},
        "FedEM": {"tol": {"value": 1e-3, "units": ["spread"]}},
        "FedGrEM": {"penalty_scale": {"value": 0.5, "units": ["spread"]}, "max_rounds": 20},
    }
    start = {"FedEM": {"initialization": "random", "alignment": "one_order"}}
    own = protocol("a", parameters, scaling="tenth", alignment="first_client", own_start=start)
    for row in run([own]).to_dict("records"):
        setting = {**SETTING, **own.setting, "n_contaminated": row["n_contaminated"]}
        scenario = Scenario("study", "", "blobs", "real_clustering", setting, blobs()[BLOBS])
        method = Method(row["method"], row["method"], parameters[row["method"]])
        replication = row["replication"]
        outcome = run_replication(scenario, method, replication, problem_of(scenario, replication))
        assert row["value"] == outcome.metrics["misclustering"]


def test_a_method_can_have_an_alignment_and_a_start_of_its_own():
    parameters = {"FedEM": {"max_rounds": 1}, "TGMM": {"max_rounds": 1}}
    shared = protocol("shared", parameters, initialization="random")
    own = {"initialization": "ward", "alignment": "first_client"}
    other = protocol("other", parameters, **own)
    mixed = protocol("mixed", parameters, initialization="random", own_start={"TGMM": own})
    cells = [(2, r) for r in range(4)]
    noise = Dataset("blobs", np.random.default_rng(1).normal(size=(300, 2)), np.arange(300) % 3)
    values = run([shared, other, mixed], cells, {BLOBS: noise}).pivot(
        index="replication", columns=["protocol", "method"], values="value"
    )
    assert (values["mixed"]["FedEM"] == values["shared"]["FedEM"]).all()
    assert (values["mixed"]["TGMM"] == values["other"]["TGMM"]).all()
    assert (values["mixed"]["TGMM"] != values["shared"]["TGMM"]).any()


def test_contamination_is_nothing_to_the_clean_row():
    runs = run([protocol("a"), protocol("b", contamination="shift", contaminated="random")])
    values = runs.pivot(
        index=["n_contaminated", "replication", "method"], columns="protocol", values="value"
    )
    assert (values["a"] == values["b"]).loc[0].all()
    assert (values["a"] != values["b"]).loc[2].any()


def test_local_methods_score_good_clients_as_in_the_clean_row():
    # The last two of five clients are contaminated; what the first three learn stays the same.
    runs = run([protocol("a", {"LocalEM": {}})], [(0, 0), (2, 0)])
    clean, contaminated = runs["value"]
    assert abs(clean - contaminated) < 0.1
    assert 0 <= contaminated < 0.1


def test_parameters_in_units_of_the_data_follow_its_scale():
    two_spreads = {"value": 2.0, "units": ["spread"]}
    parameters = {"FedGrEM": {"penalty_scale": two_spreads, "initial_penalty": 0.0}}
    small = blobs()[BLOBS]
    big = {BLOBS: Dataset("blobs", 1000 * small.features, small.labels)}
    seen = []
    original = methods.FedGrEM.fit

    def fit(self, clients):
        seen.append(self.penalty_scale)
        return original(self, clients)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods.FedGrEM, "fit", fit)
        for data in (blobs(), big):
            run([protocol("a", parameters)], [(0, 0)], data)
    assert seen[1] == pytest.approx(1000 * seen[0])


def test_fit_that_diverged_is_missing_and_the_others_go_on(monkeypatch):
    def diverge(self, clients):
        raise DivergenceError("not finite")

    monkeypatch.setattr(methods.FedEM, "fit", diverge)
    runs = run([protocol("a")], [(0, 0)]).set_index("method")["value"]
    assert np.isnan(runs["FedEM"])
    assert np.isfinite(runs["LocalEM"])


SIMULATION = {
    "model": "gaussian",
    "n_clients": 4,
    "n_points": {"gaussian": 100, "regression": 100},
    "outlier": {"gaussian": {"mean": 2.0, "variance": 3.0}, "regression": {"coefficient": 3.0}},
    "initialization": {"gaussian": "eee", "regression": "regression"},
    "density_floor": {"gaussian": None, "regression": None},
    "max_rounds": 20,
    "tol": 1e-4,
}


def simulate(protocols, h=(0.0, 1.0)):
    metrics = {m.name: "means_error" for p in protocols for m in p.methods}
    bench = Bench("mixture_simulation", "study", "h", SIMULATION, metrics)
    return bench.run(protocols, [(value, 0) for value in h])


def test_any_experiment_runs_as_it_does_by_itself():
    steps = [Method(f"F{step}", "FedGrEM", {"step_scale": step}) for step in (0.6, 0.9)]
    runs = simulate([Protocol("a", {}, steps)])
    assert list(runs) == ["protocol", "h", "replication", "method", "value"]
    for row in runs.to_dict("records"):
        own = Scenario("study", "", "simulated", "mixture_simulation", SIMULATION | {"h": row["h"]})
        method = next(m for m in steps if m.name == row["method"])
        outcome = run_replication(own, method, 0, problem_of(own, 0))
        assert row["value"] == outcome.metrics["means_error"]


def test_protocols_of_any_experiment_fill_settings():
    local = [Method("LocalEM", "LocalEM", {"max_rounds": 0})]
    ways = ("best_of_50_orders", "first_client", "truth", "none")
    protocols = [Protocol(way, {"alignment": way}, local) for way in ways]
    logs = [Protocol("logs", {"log_errors": True}, local)]
    runs = simulate(protocols + logs).set_index(["protocol", "h"])["value"]
    for way in ways:  # a local fit's error is taken under the best order of its own
        assert runs[way].tolist() == pytest.approx(runs["truth"].tolist())
    assert np.exp(runs["logs"]).tolist() == pytest.approx(runs["truth"].tolist())


def test_the_data_set_can_be_a_choice():
    setting = {"n_clients": 3, "partition": "dealt", "train_fraction": 0.7, "spared_classes": 0}
    setting |= {"dataset": "blobs", "embedding": "raw", "v": 1.0}
    kfed = [Method("KFED", "KFED", {})]
    small = blobs()[BLOBS]
    noise = np.random.default_rng(1).normal(size=small.features.shape)
    data = {BLOBS: small, ("noise", "raw"): Dataset("noise", noise, small.labels)}
    protocols = [Protocol("a", {}, kfed), Protocol("b", {"dataset": "noise"}, kfed)]
    metrics = {"KFED": "ari_pooled"}
    bench = Bench("federated_clustering", "study", "n_clients", setting, metrics, data)
    found = bench.run(protocols, [(3, 0)]).set_index("protocol")["value"]
    assert found["a"] > 0.9
    assert found["b"] < 0.2


def test_alignment_matters_to_what_is_pooled():
    pooled = [Method("TGMM", "TGMM", {})]
    protocols = [Protocol(way, {"alignment": way}, pooled) for way in ("truth", "none")]
    runs = simulate(protocols).set_index(["protocol", "h"])["value"]
    assert (runs["truth"] < runs["none"]).all()


def test_methods_can_start_at_a_contaminated_first_client():
    methods = {"LocalEM": {}, "PooledEM": {"max_rounds": 1}}
    runs = run([protocol(where, methods, contaminated=where) for where in ("last", "first")])
    values = runs.set_index(["n_contaminated", "protocol", "method", "replication"])["value"]
    clean, contaminated = values[0].unstack("protocol"), values[2].unstack("protocol")
    pd.testing.assert_series_equal(clean["first"], clean["last"], check_names=False)
    assert contaminated.loc[("PooledEM", 0), "first"] > contaminated.loc[("PooledEM", 0), "last"]


class MadeUp(Runner):
    """Protocols whose cells lie at a distance that their choices make."""

    def __init__(self, own, distance):
        self.space, self.distance, self.benches = own, distance, dict.fromkeys(own.tables)

    def run(self, protocols, cells):
        parts = []
        for (table, own), protocol in ((c, p) for c in cells.items() for p in protocols):
            runs = runs_of({protocol["protocol"]: self.distance(protocol)}, table=table)
            parts += [
                runs[runs["n_contaminated"].eq(n) & runs["replication"].eq(0)].assign(replication=r)
                for n, r in own
            ]
        return pd.concat(parts)


def far_from_the_best(protocol):
    away = abs(np.log10(float(protocol["first"].split()[0]) / 3))
    return 0.1 + away + (protocol["scaling"] != "global")


@pytest.fixture(scope="module")
def own():
    own = space()
    spreads = {"weight": 1.0, "between": [0.01, 100], "log": True}
    own.choices["first"] = Choice(
        name="first", silent="", values={"x": spreads}, methods={"FedGrEM": "initial_penalty"}
    )
    return own


@pytest.fixture(scope="module")
def found(own):
    runner = MadeUp(own, far_from_the_best)
    return runner, *optimize(own, runner, {"one": PRINTED}, 1)


def test_the_optimiser_finds_the_category_and_the_number(found):
    _, trials, runs = found
    [judged] = runs.loc[runs["kind"] == "judged", "protocol"].unique()
    best = trials.set_index("protocol").loc[judged]
    assert best["confirmed"] == trials["confirmed"].min()
    assert best["scaling"] == "global"
    assert 1.5 < float(best["first"].split()[0]) < 6
    assert best["objective"] == trials["objective"].min()


def test_a_trial_in_the_worse_half_ends_after_three_replications(own, found):
    _, trials, runs = found
    runs = runs[runs["kind"] == "tried"]
    ran = runs.groupby(["protocol", "method"])["replication"].nunique().groupby("protocol").max()
    assert set(ran[trials.loc[~trials["complete"], "protocol"]]) == {3}
    assert 0.3 < trials["complete"].mean() < 0.8
    few = trials["confirmed"].notna()
    assert set(ran[trials.loc[few, "protocol"]]) == {6}  # four, and two on which the best compete
    best = trials[trials["complete"]].drop_duplicates(["start", "objective"])
    for start, competing in trials[few].groupby("start"):
        expected = best.loc[best["start"] == start, "objective"].nsmallest(4)
        assert sorted(competing["objective"]) == expected.tolist()
    assert set(runs["n_contaminated"]) == {0}  # the other row is held out


def test_the_optimiser_weighs_contrasts(own):
    heavy = own.search.model_copy(update={"contrast_weight": 3.0})
    weighed = own.model_copy(update={"search": heavy})
    trials, runs = optimize(weighed, MadeUp(weighed, far_from_the_best), {"one": PRINTED}, 1)
    best = trials.loc[trials["confirmed"].idxmin()]
    ran = runs[(runs["protocol"] == best["protocol"]) & (runs["kind"] == "tried")]
    chose = ran["replication"] < heavy.replications
    for own_runs, expected in [(ran[chose], "objective"), (ran[~chose], "confirmed")]:
        assert best[expected] == objective(own_runs, {"one": PRINTED}, own.claim, 3.0)
        assert best[expected] != objective(own_runs, {"one": PRINTED}, own.claim)


def test_stages_change_the_methods_own_choices_and_the_others_in_turn(own, found):
    _, trials, _ = found
    others, alone = parts_of(own, ["one"])
    assert (others, alone) == (["scaling", "rounds"], ["penalty", "first"])
    # The second of three starts has the third and the fourth of 18 stages; the last stages are of
    # the best start, which begins with the choices of other methods.
    stages = np.array_split(np.arange(len(trials)), 18)
    second = [(1, others, stages[3])]
    best_start = trials["start"].iloc[-1]
    late = [
        (best_start, fixed, own) for fixed, own in zip([alone, others], stages[6:8], strict=True)
    ]
    for number, fixed, numbers in second + late:
        start = trials[trials["start"] == number]
        before, stage = start[start["trial"] < numbers[0]], trials.iloc[numbers]
        best = before.loc[before.loc[before["complete"], "objective"].idxmin()]
        assert (stage[fixed] == best[fixed]).all(axis=None)
        # It begins with the best protocol's changes in one choice.
        assert (stage.iloc[0][list(own.choices)] != best[list(own.choices)]).sum() == 1


def test_the_start_with_the_best_protocol_has_the_stages_that_remain(found):
    _, trials, _ = found
    stages = np.array_split(np.arange(len(trials)), 18)
    starts = [trials["start"].iloc[stage].unique().tolist() for stage in stages]
    early = trials.iloc[: stages[6][0]]
    least = early[early["complete"]].groupby("start")["objective"].min()
    assert starts == 2 * [[0]] + 2 * [[1]] + 2 * [[2]] + 12 * [[least.idxmin()]]


def trial(value, **params):
    parameters = {"kind": "a", "number": 1.0, "share": 0.5} | params
    distributions = {
        "kind": optuna.distributions.CategoricalDistribution(["a", "b", "c"]),
        "number": optuna.distributions.FloatDistribution(0.01, 100.0, log=True),
        "share": optuna.distributions.FloatDistribution(0.0, 0.55),
    }
    return optuna.trial.create_trial(params=parameters, distributions=distributions, value=value)


def test_single_changes_try_the_other_categories_of_the_free_choices():
    best = trial(1.0)
    changes = single_changes(best, ["number", "kind"])
    assert changes == [{**best.params, "kind": "b"}, {**best.params, "kind": "c"}]
    assert single_changes(best, ["number"]) == []


def test_improvements_are_made_together_with_the_best_change_of_each_choice():
    best = trial(1.0)
    pruned = optuna.trial.create_trial(state=optuna.trial.TrialState.PRUNED)
    changes = [
        trial(0.7, kind="c"),
        trial(0.9, kind="b"),
        trial(0.8, number=2.0),
        trial(1.2, share=0.4),
        pruned,
    ]
    better = improvements(best, changes)
    assert [t.value for t in better] == [0.9, 0.8, 0.7]
    assert combined(best, better) == {"kind": "c", "number": 2.0, "share": 0.5}


def test_the_best_protocol_of_a_seed_runs_on_all_rows_and_other_replications(found):
    _, _, runs = found
    ran = runs.groupby(["kind", "n_contaminated"])["replication"].unique().map(list)
    assert ran.loc["compared"].to_dict() == {0: [6, 7], 2: [6, 7]}
    assert ran.loc["judged"].to_dict() == {n: [1000, 1001, 1002] for n in (0, 2)}


def test_a_search_without_choices_of_one_kind_changes_the_others_in_all_stages(own):
    few = own.model_copy(update={"choices": {"scaling": own.choices["scaling"]}})
    assert parts_of(few, ["one"]) == [["scaling"]]


def test_a_search_is_the_same_from_the_same_seed(own, found):
    _, trials, runs = found
    again = optimize(own, MadeUp(own, far_from_the_best), {"one": PRINTED}, 1)
    pd.testing.assert_frame_equal(trials, again[0])
    pd.testing.assert_frame_equal(runs, again[1])
    other, _ = optimize(own, MadeUp(own, far_from_the_best), {"one": PRINTED}, 2)
    assert not trials["first"].equals(other["first"])


def test_every_seed_begins_with_the_first_trial(own):
    given = {"first": "2.5 x", "scaling": "global"}
    table = own.tables["one"].model_copy(update={"first_trial": given})
    begun = own.model_copy(update={"tables": {"one": table}})
    for seed in (1, 2):
        trials, _ = optimize(begun, MadeUp(begun, far_from_the_best), {"one": PRINTED}, seed)
        assert trials.iloc[0][list(given)].to_dict() == given
        assert trials.loc[trials["start"] == 1, "first"].iloc[0] != "2.5 x"
    assert begun.first_trial(["one", "two"]) == {}  # a common protocol begins with none


def test_missed_contrasts_count_as_much_as_cells():
    own = space()
    runs = runs_of({"a": 0.0})
    assert objective(runs, {"one": PRINTED}, own.claim) == pytest.approx(0.0, abs=1e-9)
    lost = runs.assign(value=runs["value"].mask(runs["method"] == "FedGrEM", 0.2))
    # Ten published sd away in two of six cells and in two of three contrasts: not in the change.
    expected = np.sqrt((2 * 10**2 + 2 * 10**2) / (6 + 3))
    assert objective(lost, {"one": PRINTED}, own.claim) == pytest.approx(expected)
    heavier = np.sqrt((2 * 10**2 + 4 * 2 * 10**2) / (6 + 4 * 3))
    assert objective(lost, {"one": PRINTED}, own.claim, 4.0) == pytest.approx(heavier)
    lost.loc[lost.index[0], "value"] = np.nan
    assert objective(lost, {"one": PRINTED}, own.claim) == np.inf


def test_contrasts_are_leads_the_change_and_the_lead_over_the_baseline():
    means = np.array([[0.3, 0.2, 0.1], [0.3, 0.15, 0.12]])
    claim = Claim(method="FedGrEM", baseline="LocalEM")
    found = contrasts(means, ["LocalEM", "FedEM", "FedGrEM"], claim)
    np.testing.assert_allclose(found, [-0.1, -0.03, 0.02, -0.2, -0.18])

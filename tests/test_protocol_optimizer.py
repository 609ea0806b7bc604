"""The optimiser of a search finds what is planted."""

import numpy as np
import optuna
import pandas as pd
import pytest

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
from synthetic_search import PRINTED, runs_of, space


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


#: The trials of each of five starts: 29 are screened, one runs in full, ten are a stage. After
#: four more stages of one start, the last stage has the remaining twenty.
START, SCREENED, LAST = 40, 29, 240


@pytest.fixture(scope="module")
def own():
    own = space()
    own = own.model_copy(update={"search": own.search.model_copy(update={"trials": 260})})
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
    assert best["kind"] == "confirmed"
    assert best["scaling"] == "global"
    assert 1.5 < float(best["first"].split()[0]) < 6
    assert best["objective"] == trials["objective"].min()


def replications_of(runs):
    runs = runs[runs["kind"] == "tried"]
    return runs.groupby(["protocol", "method"])["replication"].nunique().groupby("protocol").max()


def test_a_start_screens_on_three_replications_and_runs_the_best_protocol_in_full(own, found):
    _, trials, runs = found
    ran = replications_of(runs)
    for start in range(5):
        of_start = trials.iloc[start * START :]
        screened, full = of_start.iloc[:SCREENED], of_start.iloc[SCREENED]
        assert set(ran[screened["protocol"]]) == {3}
        assert set(screened["kind"]) == {"screened"}
        assert (full["kind"], full["complete"]) == ("tried", True)
        best = screened.loc[screened["objective"].idxmin()]
        assert (full[list(own.choices)] == best[list(own.choices)]).all()


def test_a_trial_in_the_worse_half_ends_after_three_replications(found):
    _, trials, runs = found
    ran = replications_of(runs)
    in_stages = trials[(trials["kind"] == "tried") & (trials["trial"] != SCREENED)]
    assert set(ran[in_stages.loc[~in_stages["complete"], "protocol"]]) == {3}
    assert 0.3 < in_stages["complete"].mean() < 0.8
    assert set(runs.loc[runs["kind"] == "tried", "n_contaminated"]) == {0}  # the other is held out


def test_the_last_stage_changes_the_methods_choices_on_further_replications(own, found):
    _, trials, runs = found
    before, last = trials.iloc[:LAST], trials.iloc[LAST:]
    assert set(before["kind"]) == {"screened", "tried"}
    assert set(last["kind"]) == {"confirmed"}
    ran = runs[(runs["kind"] == "tried") & runs["protocol"].isin(last["protocol"])]
    assert set(ran["replication"]) == {4, 5}  # the other stages saw the first four
    best = before.loc[before.loc[before["complete"], "objective"].idxmin()]
    assert (last.iloc[0][list(own.choices)] == best[list(own.choices)]).all()
    others, alone = parts_of(own, ["one"])
    assert (last[others] == best[others]).all(axis=None)
    of_starts = before[before["complete"] & (before["kind"] == "tried")]
    of_starts = of_starts.sort_values(["objective", "trial"]).drop_duplicates("start")
    begun = last.iloc[:5][alone].to_dict("records")
    assert begun == of_starts[alone].to_dict("records")


def test_a_trial_of_the_last_stage_runs_all_rows_of_three_replications_before_it_can_end(own):
    search = own.search.model_copy(update={"confirmed": 8})
    table = own.tables["one"].model_copy(update={"seen": [0, 2]})
    both = own.model_copy(update={"search": search, "tables": {"one": table}})
    trials, runs = optimize(both, MadeUp(both, far_from_the_best), {"one": PRINTED}, 1)
    last = trials[trials["kind"] == "confirmed"]
    ran = runs[(runs["kind"] == "tried") & runs["protocol"].isin(last["protocol"])]
    by_trial = ran.groupby(["protocol", "n_contaminated"])["replication"].unique().map(list)
    ended = by_trial[last.loc[~last["complete"], "protocol"]]
    assert {len(replications) for replications in ended} <= {3, 6}
    assert ended[ended.map(len) == 3].map(lambda own: own == [4, 5, 6]).all()
    whole = by_trial[last.loc[last["complete"], "protocol"]]
    assert (whole.map(len) == 8).all()
    assert 0 < len(whole) < len(by_trial)


def test_the_optimiser_weighs_contrasts(own):
    heavy = own.search.model_copy(update={"contrast_weight": 3.0})
    weighed = own.model_copy(update={"search": heavy})
    trials, runs = optimize(weighed, MadeUp(weighed, far_from_the_best), {"one": PRINTED}, 1)
    by_kind = trials[trials["complete"]].groupby("kind")
    for _, best in trials.loc[by_kind["objective"].idxmin()].iterrows():
        ran = runs[(runs["protocol"] == best["protocol"]) & (runs["kind"] == "tried")]
        assert best["objective"] == objective(ran, {"one": PRINTED}, own.claim, 3.0)
        assert best["objective"] != objective(ran, {"one": PRINTED}, own.claim)


def test_stages_change_the_methods_own_choices_and_the_others_in_turn(own, found):
    _, trials, _ = found
    others, alone = parts_of(own, ["one"])
    assert (others, alone) == (["scaling", "rounds"], ["penalty", "first"])
    best_start = trials["start"].iloc[-1]
    stages = [(1, others, range(70, 80))]  # the second start's
    late = [range(n, n + 10) for n in range(5 * START, LAST, 10)]
    stages += [
        (best_start, fixed, own) for fixed, own in zip(2 * [alone, others], late, strict=True)
    ]
    for number, fixed, numbers in stages:
        start = trials[trials["start"] == number]
        before, stage = start[start["trial"] < numbers[0]], trials.iloc[numbers]
        best = before.loc[before.loc[before["complete"], "objective"].idxmin()]
        assert (stage[fixed] == best[fixed]).all(axis=None)
        # It begins with the best protocol's changes in one choice.
        assert (stage.iloc[0][list(own.choices)] != best[list(own.choices)]).sum() == 1


def test_the_start_with_the_best_protocol_has_the_stages_that_remain(found):
    _, trials, _ = found
    early, late = trials.iloc[: 5 * START], trials.iloc[5 * START :]
    assert early["start"].tolist() == [number for number in range(5) for _ in range(START)]
    least = early[early["complete"]].groupby("start")["objective"].min()
    assert set(late["start"]) == {least.idxmin()}


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


def test_the_first_start_of_every_seed_runs_the_first_trial_in_full(own):
    given = {"first": "2.5 x", "scaling": "global"}
    table = own.tables["one"].model_copy(update={"first_trial": given})
    begun = own.model_copy(update={"tables": {"one": table}})
    for seed in (1, 2):
        trials, _ = optimize(begun, MadeUp(begun, far_from_the_best), {"one": PRINTED}, seed)
        first = trials.iloc[SCREENED]
        assert first[list(given)].to_dict() == given
        assert first["complete"]
        assert "2.5 x" not in set(trials.loc[trials["start"] == 1, "first"])
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

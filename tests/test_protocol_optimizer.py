"""The optimiser of a protocol search: its objective, its stages, and where its trials end."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.protocols.choices import Choice
from fedmix.cells.protocols.running import Runner, contrasts, objective, optimize, parts_of
from fedmix.cells.protocols.score import best_trials
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
    _, trials, _ = found
    best = best_trials(trials).iloc[0]
    assert best["scaling"] == "global"
    assert 1.5 < float(best["first"].split()[0]) < 6
    assert best["objective"] == trials["objective"].min()


def test_a_trial_in_the_worse_half_ends_after_three_replications(own, found):
    _, trials, runs = found
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


def test_stages_change_the_methods_own_choices_and_the_others_in_turn(own, found):
    _, trials, _ = found
    others, alone = parts_of(own, ["one"])
    assert (others, alone) == (["scaling", "rounds"], ["penalty", "first"])
    start = trials[trials["start"] == 1].reset_index(drop=True)  # 40 trials in 6 stages
    stages = np.array_split(np.arange(len(start)), 6)
    for fixed, numbers in zip([others, alone, others, alone], stages[1:5], strict=True):
        before, stage = start[: numbers[0]], start.iloc[numbers]
        best = before.loc[before.loc[before["complete"], "objective"].idxmin()]
        assert (stage[fixed] == best[fixed]).all(axis=None)
        # It begins with the best protocol's changes in one choice.
        assert (stage.iloc[0][list(own.choices)] != best[list(own.choices)]).sum() == 1


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


def test_missed_contrasts_count_as_much_as_cells():
    own = space()
    runs = runs_of({"a": 0.0})
    assert objective(own, runs, {"one": PRINTED}) == pytest.approx(0.0, abs=1e-9)
    lost = runs.assign(value=runs["value"].mask(runs["method"] == "FedGrEM", 0.2))
    # Ten published sd away in two of six cells and in two of three contrasts: not in the change.
    expected = np.sqrt((2 * 10**2 + 2 * 10**2) / (6 + 3))
    assert objective(own, lost, {"one": PRINTED}) == pytest.approx(expected)
    lost.loc[lost.index[0], "value"] = np.nan
    assert objective(own, lost, {"one": PRINTED}) == np.inf


def test_contrasts_are_leads_the_change_and_the_lead_over_the_baseline():
    means = np.array([[0.3, 0.2, 0.1], [0.3, 0.15, 0.12]])
    claim = Claim(method="FedGrEM", baseline="LocalEM")
    found = contrasts(means, ["LocalEM", "FedEM", "FedGrEM"], claim)
    np.testing.assert_allclose(found, [-0.1, -0.03, 0.02, -0.2, -0.18])

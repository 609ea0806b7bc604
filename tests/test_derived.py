"""What is derived from results within a setting, and ranks over settings."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.condensed import critical_difference, data_of, mean_ranks
from fedmix.cells.measured import measure, metric_of, steady
from fedmix.errors import ConfigurationError
from fedmix.views.captions import leaderboard
from made_up_claims import frame
from synthetic_results import RUN


def measured_setting(values: dict[str, list[float]], failing: tuple[str, int] | None = None):
    """Return one setting with the scores of some methods, one replication of one failed."""
    results = frame(values, "score")
    if failing:
        bad = (results["method"] == failing[0]) & (results["replication"] == failing[1])
        results.loc[bad, "status"] = "diverged"
    return measure([(results, pd.DataFrame())])[0]


def test_methods_are_ranked_within_a_replication_and_failures_come_last():
    setting = measured_setting({"A": [3.0, 3.0], "B": [2.0, 4.0], "C": [2.0, 9.0]}, ("C", 1))
    ranks = metric_of(setting, "rank: score")
    assert ranks["A"].tolist() == [1.0, 2.0]
    assert ranks["B"].tolist() == [2.5, 1.0]
    assert ranks["C"].tolist() == [2.5, 3.0]


def test_derived_metrics_are_asked_for_by_name():
    setting = measured_setting({"A": [1.0, np.e]})
    np.testing.assert_allclose(metric_of(setting, "log: score")["A"], [0.0, 1.0])
    assert metric_of(setting, "floats")["A"].tolist() == [30.0, 30.0]
    with pytest.raises(ConfigurationError, match="Did you mean 'rank'"):
        metric_of(setting, "rnk: score")


def test_rounds_to_the_oracle_are_counted_on_the_trajectory():
    paths = {"OracleClustering": [1.0, 1.0, 1.0], "A": [5.0, 1.15, 1.1], "B": [5.0, 4.0, 3.0]}
    rows = [
        {"study": "s", "variant": "v", "setting": "a", "method": m, "replication": 0} | where
        for m, path in paths.items()
        for where in [
            {"round": None, "value": path[-1]},
            *({"round": t, "value": v} for t, v in enumerate(path)),
        ]
    ]
    results = pd.DataFrame(rows).assign(metric="model_error", status="ok", **RUN)
    setting = measure([(results.astype({"round": "Int64"}), pd.DataFrame())])[0]
    rounds, reached = (metric_of(setting, name) for name in ("rounds_to_oracle", "reached_oracle"))
    assert rounds["A"].tolist() == [2.0]  # at most 1.1 times the oracle's error
    assert rounds["B"].empty
    assert (reached["A"].tolist(), reached["B"].tolist()) == ([1.0], [0.0])


def test_floats_to_the_best_are_counted_until_five_percent_above_it():
    errors = {"A": [4.0, 1.05, 1.0], "B": [4.0, 3.0, 1.2], "C": [4.0, 3.0, 2.0]}
    sent = {"A": [0.0, 10.0, 20.0], "B": [0.0, 5.0, 9.0]}
    rows = [
        {"study": "s", "variant": "v", "setting": "a", "method": m, "replication": 0}
        | {"metric": metric, "round": t, "value": value}
        for metric, paths in (("means_error", errors), ("floats", sent))
        for m, path in paths.items()
        for t, value in ((None, path[-1]), *enumerate(path))
    ]
    results = pd.DataFrame(rows).assign(status="ok", **RUN).astype({"round": "Int64"})
    setting = measure([(results, pd.DataFrame())])[0]
    floats, reached = (metric_of(setting, name) for name in ("floats_to_best", "reached_best"))
    assert {method: own.tolist() for method, own in floats.items()} == {"A": [10.0], "B": []}
    assert (reached["A"].tolist(), reached["B"].tolist()) == ([1.0], [0.0])


def test_the_first_timing_of_a_process_counts_where_there_is_no_other():
    place = {"study": "s", "variant": "v", "setting": "a"}
    timings = pd.DataFrame({"method": ["A", "A", "B"], "warm": [False, True, False]})
    assert steady(timings.assign(**place)).index.tolist() == [1, 2]


def test_mean_ranks_leave_out_what_some_methods_have_not_run_yet():
    ranks = {"A": [1.0] * 10, "B": [2.0] * 5, "C": [3.0] * 5 + [2.0] * 5}  # B lags behind
    rows = [
        {"setting": "s", "setting_dataset": "d", "method": name, "label": name}
        | {"metric": "rank: x", "replications": list(range(len(own))), "values": own}
        for name, own in ranks.items()
    ]
    other = {"setting": "t", "setting_dataset": "e", "values": [], "replications": []}
    failed = [{**row, **other} for row in rows]
    found = mean_ranks(pd.DataFrame([*rows, *failed]), "rank: x")
    assert found["mean_rank"].tolist() == [1.0, 2.0, 3.0]
    none = mean_ranks(pd.DataFrame(failed), "rank: x")
    assert none.empty
    assert leaderboard(none, 1, 20) == ""
    assert "replications" not in leaderboard(found.iloc[:1], 1, 20)  # one method has no order


def test_mean_ranks_average_over_settings():
    ranks = {"first": {"A": [1.0, 1.0], "B": [2.0, 2.0]}, "second": {"A": [2.0], "B": [1.0]}}
    rows = [
        {"setting": s, "method": m, "label": m, "metric": "rank: score", "values": values}
        | {"replications": list(range(len(values))), "setting_dataset": s}
        for s, methods in ranks.items()
        for m, values in methods.items()
    ]
    found = mean_ranks(pd.DataFrame(rows), "rank: score")
    assert found["mean_rank"].tolist() == [1.5, 1.5]
    assert (found["low"] <= found["mean_rank"]).all()


def test_settings_of_one_data_set_count_as_one():
    ranks = {"clean": [1.0, 2.0], "contaminated": [1.0, 2.0], "other": [2.0, 1.0]}
    names = {"clean": "frog_a", "contaminated": "frog_b", "other": "waveform"}
    rows = [
        {"setting": s, "setting_dataset": names[s], "method": m, "label": m, "metric": "rank: x"}
        | {"values": [rank], "replications": [0]}
        for s, own in ranks.items()
        for m, rank in zip("AB", own, strict=True)
    ]
    cells = pd.DataFrame(rows)
    assert mean_ranks(cells, "rank: x")["mean_rank"].tolist() == pytest.approx([4 / 3, 5 / 3])
    same = {"frog_b": "frog_a"}
    assert mean_ranks(cells, "rank: x", same)["mean_rank"].tolist() == [1.5, 1.5]
    assert len(set(data_of(cells, same).values())) == 2


@pytest.mark.parametrize(("n_methods", "n_data", "q"), [(3, 10, 2.343), (4, 14, 2.569)])
def test_the_critical_difference_is_demsars(n_methods, n_data, q):
    # Demsar (2006), Table 5, at 0.05.
    expected = q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data))
    assert critical_difference(n_methods, n_data) == pytest.approx(expected, rel=1e-3)


def test_ratios_to_one_local_step_are_taken_within_a_replication():
    scores = {"TwoPhase-FedAvg-s1": [1.0, 2.0], "TwoPhase-FedAvg-s5": [3.0, 8.0]}
    ratios = metric_of(measured_setting(scores), "ratio to one step: score")
    assert ratios["TwoPhase-FedAvg-s1"].tolist() == [1.0, 1.0]
    assert ratios["TwoPhase-FedAvg-s5"].tolist() == [3.0, 4.0]
    assert metric_of(measured_setting({"A": [1.0]}), "ratio to one step: score") == {}

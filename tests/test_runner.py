import sys
import time
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from fedmix.errors import DivergenceError
from fedmix.experiments import runner
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.runner import Scenario, problem_of, run_block, tables_of
from fedmix.storage import write_table


@pytest.fixture
def scenario(monkeypatch):
    """A study whose "method" is named after what it does to the runner."""
    module = ModuleType("fedmix.experiments.toy")

    def make_problem(setting, data, streams):
        return {"points": streams.generator("data").random(setting.n)}

    def initial_values(setting, problem, data, streams):
        return {"mean": problem["points"].mean(keepdims=True)}

    def run(method, setting, problem, data, streams):
        behaviour = {
            "diverge": lambda: _raise(DivergenceError("client 3 in round 7")),
            "fail": lambda: _raise(RuntimeError("first line\nsecond line")),
            "garble": lambda: _raise(RuntimeError("half a letter: \ud800")),
            "exhaust": lambda: _raise(MemoryError()),
            "load": lambda: _raise(OSError("Could not find/load shared object file")),
            "sleep": lambda: time.sleep(30),
            "leave": lambda: sys.exit(0),
        }
        if streams.replication == 1:
            behaviour.get(method.name, lambda: None)()
        score = np.nan if method.name == "undefined" else float(problem["mean"][0])
        return Outcome(
            metrics={"error": score},
            trajectories={"error": np.array([2.0, score])},
            rounds=1,
            converged=True,
            floats_up=3,
            floats_down=4,
        )

    module.Settings = SimpleNamespace
    module.make_problem, module.initial_values, module.run = make_problem, initial_values, run
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return Scenario("study", "as_written", "n5", "toy", {"n": 5, "outlier": {"mean": 2}})


def _raise(error):
    raise error


def run_all(scenario, name="good", replications=range(3), parameters=None, **options):
    method = Method(name, "Toy", parameters or {})
    fits = run_block(scenario, [method], replications, **options)
    return tables_of(scenario, method, fits, replications)


def test_rows_are_tidy_and_carry_the_setting(scenario):
    results, timings = run_all(scenario)
    final = results[results["round"].isna()]
    assert len(final) == 3
    assert set(final["metric"]) == {"error"}
    assert (results["setting_n"] == 5).all()
    assert "setting_outlier" not in results
    assert results.loc[results["round"].notna(), "round"].tolist() == [0, 1] * 3
    assert {"seconds", "cpu_seconds"} <= set(timings)
    assert timings["warm"].tolist() == [False, True, True]
    assert "seconds" not in results


def test_a_setting_and_a_parameter_never_overwrite_an_outcome(scenario):
    values = {**scenario.values, "rounds": 400, "status": "mine", "round": 9, "value": 0.5}
    named = replace(scenario, values=values)
    results, timings = run_all(named, parameters={"rounds": 30, "init": None, "step_scale": 0.95})
    assert set(results["rounds"]) == {1}
    assert set(results["status"]) == {"ok"}
    for frame in (results, timings):
        assert set(frame["setting_rounds"]) == {400}
        assert set(frame["setting_status"]) == {"mine"}
        assert set(frame["method_rounds"]) == {30}
        assert set(frame["method_step_scale"]) == {0.95}
        assert "method_init" not in frame


def test_timings_bear_the_identity_of_the_results(scenario):
    results, timings = run_all(scenario)
    identity = [c for c in results if c.startswith(("study", "variant", "setting", "method"))]
    assert [c for c in timings if c in results][: len(identity)] == identity


def test_results_do_not_depend_on_the_blocks(scenario):
    together, _ = run_all(scenario, replications=range(4))
    apart = [run_all(scenario, replications=range(a, a + 2))[0] for a in (2, 0)]
    for half, first in zip(apart, (2, 0), strict=True):
        same = together[together["replication"].between(first, first + 1)].reset_index(drop=True)
        assert half.equals(same)


def test_variants_share_their_data(scenario):
    other = Scenario(
        scenario.study, "as_coded", scenario.setting, scenario.experiment, scenario.values
    )
    for r in range(2):
        first, second = problem_of(scenario, r), problem_of(other, r)
        for name, value in first.items():
            np.testing.assert_array_equal(value, second[name])


def test_methods_of_a_block_share_a_start_that_none_can_change_for_the_next(scenario, monkeypatch):
    seen = []

    def run(method, setting, problem, data, streams):
        seen.append(problem["mean"][0])
        problem["mean"][0] = problem["points"][:] = 9.0
        return Outcome({"error": 0.0}, 1, True, 0, 0)

    monkeypatch.setattr(scenario.module, "run", run)
    run_block(scenario, [Method("a", "Toy"), Method("b", "Toy")], range(1))
    assert seen[0] == seen[1] != 9.0


def test_what_is_finished_is_not_run_again(scenario):
    good = Method("good", "Toy")
    fits = run_block(scenario, [good], range(2))
    known = dict(fits)
    run_block(scenario, [good], range(3), fits=fits)
    assert set(fits) == {("good", r) for r in range(3)}
    assert all(fits[cell] is fit for cell, fit in known.items())


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("diverge", "diverged", "DivergenceError: client 3 in round 7"),
        ("fail", "error", "RuntimeError: first line"),
        ("leave", "error", "SystemExit: 0"),
        ("sleep", "timeout", "ReplicationTimeout: took longer than replication_timeout = 0.2 s"),
    ],
)
def test_a_failed_replication_is_a_row_and_the_others_go_on(scenario, name, status, message):
    results, timings = run_all(scenario, name, timeout=0.2)
    by_replication = results.drop_duplicates("replication").set_index("replication")
    assert by_replication["status"].tolist() == ["ok", status, "ok"]
    assert by_replication.loc[1, "message"].startswith(message)
    assert timings["status"].tolist() == ["ok", status, "ok"]


def test_a_message_that_no_file_can_hold_is_repaired(scenario, tmp_path, monkeypatch):
    monkeypatch.setattr(runner.logger, "disabled", True)  # pytest cannot send its text either
    results, _ = run_all(scenario, "garble")
    assert "RuntimeError: half a letter: ?" in set(results["message"])
    write_table(tmp_path / "results.parquet", results)


def test_an_undefined_score_is_an_error_and_never_a_nan_in_a_mean(scenario):
    results, _ = run_all(scenario, "undefined")
    assert set(results["status"]) == {"error"}
    assert "leave undefined scores out" in results["message"][0]


@pytest.mark.parametrize(("method", "error"), [("exhaust", MemoryError), ("load", OSError)])
def test_running_out_of_memory_ends_the_job(scenario, method, error):
    with pytest.raises(error):
        run_all(scenario, method)

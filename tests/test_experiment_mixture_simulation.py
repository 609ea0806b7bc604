"""The simulated mixtures: what a method starts from."""

import pytest

from fedmix.experiments import mixture_simulation
from fedmix.experiments.base import Method
from fedmix.streams import Streams

SETTING = {
    "model": "regression",
    "h": 0.0,
    "n_clients": 3,
    "n_points": {"gaussian": 60, "regression": 60},
    "outlier": {"gaussian": {"mean": 2.0, "variance": 3.0}, "regression": {"coefficient": 3.0}},
    "density_floor": {},
    "max_rounds": 10,
    "tol": 0.0,
}


def error(parameters, strategy):
    starts = {"gaussian": "eee", "regression": strategy}
    setting = mixture_simulation.Settings(**SETTING, initialization=starts)
    streams = Streams("study", "setting", 0)
    problem = mixture_simulation.make_problem(setting, None, streams)
    initial = mixture_simulation.initial_values(setting, problem, None, streams)
    method = Method("PooledEM", "PooledEM", {"max_rounds": 0, **parameters})
    found = mixture_simulation.run(method, setting, problem, initial, None, streams)
    return found.metrics["means_error"]


@pytest.mark.parametrize("strategy", ["regression", "mixreg"])
def test_a_method_may_run_the_setting_s_strategy_itself(strategy):
    own = error({"init": None}, strategy)
    assert own == error({"init": strategy}, strategy)
    assert own != error({}, strategy)  # that of the first client

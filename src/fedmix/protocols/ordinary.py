"""Protocols of any experiment, by its own functions. Equal settings share their start."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import ConvergenceWarning

from fedmix.errors import DivergenceError
from fedmix.experiments.base import Method

if TYPE_CHECKING:
    from fedmix.data import Dataset
    from fedmix.streams import Streams


class Ordinary:
    """One replication of an experiment.

    Parameters
    ----------
    experiment : str
        Name of a module of ``fedmix.experiments``.
    data : mapping
        Data sets, by the names of the data set and its embedding; empty for simulations.
    streams : Streams
        The random streams of the replication.
    """

    def __init__(
        self, experiment: str, data: Mapping[tuple[str, str], Dataset], streams: Streams
    ) -> None:
        self.experiment = experiment
        self.module = import_module(f"fedmix.experiments.{experiment}")
        self.data = data
        self.streams = streams
        self._started: dict[str, tuple[dict, dict]] = {}

    def score(self, setting: Mapping[str, Any], method: Method, metric: str) -> float:
        """Return a method's score; NaN if the fit diverged or the score is undefined."""
        settings = self.module.Settings(**setting)
        data = self.data[setting["dataset"], setting["embedding"]] if self.data else None
        key = json.dumps(setting, sort_keys=True)
        if key not in self._started:
            problem = self.module.make_problem(settings, data, self.streams)
            initial = {}
            if hasattr(self.module, "initial_values"):
                initial = self.module.initial_values(settings, problem, data, self.streams)
            self._started[key] = problem, initial
        problem, initial = self._started[key]
        try:
            with warnings.catch_warnings():  # the number of rounds is one of the choices
                warnings.simplefilter("ignore", ConvergenceWarning)
                outcome = self.module.run(method, settings, problem, initial, data, self.streams)
        except DivergenceError:
            return float("nan")
        return float(outcome.metrics.get(metric, "nan"))

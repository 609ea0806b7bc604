"""Many protocols of one experiment: a score for each combination of unreported choices.

A protocol fixes everything that a paper does not report: values of the setting and the methods'
parameters. It runs by the experiment's own functions. One experiment has a module that computes the
protocols' shared parts once, which saves hours (:mod:`fedmix.protocols.real_clustering`).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fedmix.errors import DivergenceError
from fedmix.experiments.base import Arrays, Method

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.data.dataset import Dataset
    from fedmix.protocols.real_clustering import RealClustering
    from fedmix.streams import Streams


@dataclass(frozen=True)
class Protocol:
    """One combination of a paper's unreported choices.

    ``setting`` applies to all methods, which have the chosen parameters.
    """

    name: str
    setting: Mapping[str, Any]
    methods: Sequence[Method]


@dataclass(frozen=True)
class Bench:
    """The common parts of a table's protocols.

    ``experiment`` names a module of ``fedmix.experiments``, and ``row`` the setting whose values
    are the rows of the table. ``setting`` holds the values that no protocol changes, such as
    ``dataset``, ``metrics`` the metric that the table shows for each method, and ``data`` the data
    sets, by the names of the data set and its embedding. ``study`` is part of the key of the random
    streams, with the data set's name and the replication: all protocols, and all rows, use the same
    random numbers.
    """

    experiment: str
    study: str
    row: str
    setting: Mapping[str, Any]
    metrics: Mapping[str, str]
    data: Mapping[tuple[str, str], Dataset] = field(default_factory=dict)
    _runners: dict[int, Any] = field(default_factory=dict, init=False, repr=False)

    def run(self, protocols: Sequence[Protocol], cells: Iterable[tuple[Any, int]]) -> pd.DataFrame:
        """Run every protocol on every cell, the values of a row and of a replication.

        Later runs on the same replications share their work. The frame has one row per fit:
        ``protocol``, the row's value under the row's name, ``replication``, ``method`` and
        ``value``. The value is missing if the fit diverged or its score is undefined.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        by_replication: dict[int, list[Any]] = {}
        for value, replication in cells:
            by_replication.setdefault(replication, []).append(value)
        for replication, own in by_replication.items():
            runner = self._runner(replication)
            for protocol in protocols:
                for value in own:
                    setting = {**self.setting, **protocol.setting, self.row: value}
                    rows += [
                        {
                            "protocol": protocol.name,
                            self.row: value,
                            "replication": replication,
                            "method": method.name,
                            "value": runner.score(setting, method, self.metrics[method.name]),
                        }
                        for method in protocol.methods
                    ]
        return pd.DataFrame(rows)

    def _runner(self, replication: int) -> Ordinary | RealClustering:
        if replication not in self._runners:
            # Numerical libraries, which a plan does not need
            from fedmix.protocols.real_clustering import RealClustering
            from fedmix.streams import Streams

            name = str(self.setting.get("dataset", "simulated"))
            streams = Streams(self.study, name, replication)
            self._runners[replication] = (
                RealClustering(self.data, streams)
                if self.experiment == "real_clustering"
                else Ordinary(self.experiment, self.data, streams)
            )
        return self._runners[replication]


@dataclass(frozen=True)
class Ordinary:
    """One replication of any experiment, by its own functions. Equal settings share their problem.

    ``data`` holds the data sets, by the names of the data set and its embedding; none for
    simulations.
    """

    experiment: str
    data: Mapping[tuple[str, str], Dataset]
    streams: Streams
    _problems: dict[str, Arrays] = field(default_factory=dict, init=False, repr=False)

    def score(self, setting: Mapping[str, Any], method: Method, metric: str) -> float:
        """Return a method's score; NaN if the fit diverged or the score is undefined."""
        from sklearn.exceptions import ConvergenceWarning

        from fedmix.experiments.runner import Scenario, problem_of, run_replication

        data = self.data[setting["dataset"], setting["embedding"]] if self.data else None
        own, replication = self.streams, self.streams.replication
        scenario = Scenario(own.study, "", own.setting, self.experiment, setting, data)
        key = json.dumps(setting, sort_keys=True)
        if key not in self._problems:
            self._problems[key] = problem_of(scenario, replication)
        try:
            with warnings.catch_warnings():  # the number of rounds is one of the choices
                warnings.simplefilter("ignore", ConvergenceWarning)
                outcome = run_replication(scenario, method, replication, self._problems[key])
        except DivergenceError:
            return float("nan")
        return float(outcome.metrics.get(metric, "nan"))

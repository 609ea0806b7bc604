"""Protocols of :mod:`fedmix.experiments.real_clustering`, which share most of their work.

The data, clients and scores are those of the experiment. The parts that protocols share in a
replication are computed once: the partition, scaled clients, local fits, alignment, and fits with
equal parameters.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fedmix import methods
from fedmix.clients import Clients
from fedmix.errors import DivergenceError
from fedmix.experiments.base import Arrays, Method
from fedmix.experiments.clustering import error_of, in_numbers
from fedmix.experiments.real_clustering import Settings, clients_of, make_problem
from fedmix.experiments.settings import ALIGNMENTS
from fedmix.initialization import align_fits, initialize
from fedmix.streams import Streams

if TYPE_CHECKING:
    from fedmix.data.dataset import Dataset

    Start = tuple[np.ndarray, np.ndarray]

# The setting's values that each stage depends on.
_DATA = ("embedding", "scaling")
_LOCAL = (*_DATA, "initialization")
_START = (*_LOCAL, "alignment")

#: Scaled and contaminated data that are kept at a time.
RECENT = 12


class RealClustering:
    """One replication, which caches everything that protocols share.

    Parameters are those of :class:`fedmix.protocols.Ordinary`. A method without ``init``, or with
    None, starts from the shared initial values.
    """

    def __init__(self, data: Mapping[tuple[str, str], Dataset], streams: Streams) -> None:
        self.data = data
        self.streams = streams
        self._kept: dict[str, Any] = {}
        self._recent: dict[str, tuple[Clients, Clients]] = {}

    def score(self, setting: dict[str, Any], method: Method, metric: str) -> float:
        """Return a method's mean error over good clients; NaN if it diverged."""
        setting = {**setting, **setting.get("own_start", {}).get(method.name, {})}
        clean, _ = self._clients({**setting, "n_contaminated": 0})
        parameters = in_numbers(method.parameters, clean)
        depends_on = _DATA if parameters.get("init") else _START
        key = [method.estimator, parameters, *self._values(setting, depends_on)]
        return self._once("error", key, lambda: self._error(setting, method.estimator, parameters))

    def _error(self, setting: dict, method: str, parameters: dict) -> float:
        train, test = self._clients(setting)
        if parameters.get("init") is None:
            parameters = {**parameters, "init": self._start(setting)}
        seed = self.streams.integer(f"method {method}")
        estimator = methods.get(method)(
            n_components=setting["n_components"], random_state=seed, **parameters
        )
        try:
            with warnings.catch_warnings():  # the number of rounds is one of the choices
                warnings.simplefilter("ignore", ConvergenceWarning)
                estimator.fit(train)
                return error_of(estimator, test, self._problem(setting), self._dataset(setting))
        except DivergenceError:
            return float("nan")

    def _dataset(self, setting: dict) -> Dataset:
        return self.data[setting["dataset"], setting["embedding"]]

    def _problem(self, setting: dict) -> Arrays:
        """Return the clients' rows and the contaminated clients, the same for all protocols."""
        return self._once(
            "problem",
            self._values(setting, ()),
            lambda: make_problem(Settings(**setting), self._dataset(setting), self.streams),
        )

    def _clients(self, setting: dict) -> tuple[Clients, Clients]:
        """Return training and test data. Only the last few are kept, because they are large."""
        key = json.dumps(self._values(setting, _DATA))
        if key not in self._recent:
            self._recent[key] = clients_of(
                Settings(**setting),
                self._problem(setting),
                self._dataset(setting),
                self.streams,
            )
            if len(self._recent) > RECENT:
                del self._recent[next(iter(self._recent))]
        return self._recent[key]

    def _start(self, setting: dict) -> Start:
        """Return the shared initial values, with aligned labels."""
        return self._once(
            "start",
            self._values(setting, _START),
            lambda: align_fits(
                self._clients(setting)[0],
                *self._local_fits(setting),
                random_state=self.streams.integer("alignment"),
                **ALIGNMENTS[setting["alignment"]],
            ),
        )

    def _local_fits(self, setting: dict) -> Start:
        """Fit every client alone. The good clients' fits are those without contamination."""
        train = self._clients(setting)[0]
        if not setting["n_contaminated"]:
            key = self._values(setting, _LOCAL)
            return self._once("local fits", key, lambda: self._fit(setting, train))
        clean = self._local_fits({**setting, "n_contaminated": 0})
        weights, means = (values.copy() for values in clean)
        bad = self._problem(setting)["contaminated"]
        alone = Clients.from_arrays([x if k in bad else x[:0] for k, x in enumerate(train)])
        fits = self._fit(setting, alone)
        weights[bad], means[bad] = fits[0][bad], fits[1][bad]
        return weights, means

    def _fit(self, setting: dict, clients: Clients) -> Start:
        return initialize(
            clients,
            setting["n_components"],
            setting["initialization"],
            random_state=self.streams.integer("initial values"),
        )

    def _values(self, setting: dict, names: Sequence[str]) -> list[Any]:
        """Return the values that a stage depends on, without contamination's if there is none."""
        harm = (
            ("n_contaminated", "contaminated", "contamination") if setting["n_contaminated"] else ()
        )
        return [setting[name] for name in ("dataset", *names, *harm)]

    def _once(self, what: str, key: Any, make: Callable[[], Any]) -> Any:
        name = f"{what} {json.dumps(key, sort_keys=True)}"
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

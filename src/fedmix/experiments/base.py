"""The contract between the pipeline and an experiment.

An experiment is a module of this folder with three functions, whose settings and metrics a module
of the same name in :mod:`fedmix.experiments.settings` declares:

``make_problem(setting, data, streams) -> dict of arrays``
    One replication's data, or the row indices that pick it from ``data``. Shared by all methods.
``initial_values(setting, problem, data, streams) -> dict of arrays``
    What the methods start from (possibly empty). Shared by all methods.
``run(method, setting, problem, initial, data, streams) -> Outcome``
    Fit one method and score it.

``setting`` is of the experiment's ``Settings``, ``data`` the embedded data set that it names (or
None), ``streams`` the random streams of the replication.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmix import methods

if TYPE_CHECKING:
    from fedmix.clients import Clients
    from fedmix.methods.base import FederatedEstimator


@dataclass(frozen=True)
class Method:
    """A configured method.

    Parameters
    ----------
    name : str
        The name in tables and paths, e.g. ``"FFCM-avg1"``.
    estimator : str
        The registered class, e.g. ``"FFCM"``.
    parameters : mapping
        Its constructor's parameters from the configuration.
    """

    name: str
    estimator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> type[FederatedEstimator]:
        """The registered class."""
        return methods.get(self.estimator)

    def build(self, **parameters: Any) -> FederatedEstimator:
        """Return a new estimator; the configuration's parameters win over ``parameters``."""
        return self.kind(**{**parameters, **self.parameters})

    def fit(self, clients: Clients, **parameters: Any) -> FederatedEstimator:
        """Build, fit and time an estimator: ``fit_seconds_`` leaves scoring out."""
        estimator = self.build(**parameters)
        started = time.perf_counter()
        estimator.fit(clients)
        estimator.fit_seconds_ = time.perf_counter() - started
        return estimator


@dataclass(frozen=True)
class Outcome:
    """What one method did in one replication.

    Parameters
    ----------
    metrics : mapping of str to float
        Final scores. A score that is undefined is left out and counted in one of its own.
    trajectories : mapping of str to ndarray of shape (rounds + 1,)
        Scores by round, from round 0.
    rounds : int
        Communication rounds done.
    converged : bool
        Whether the tolerance was met.
    floats_up, floats_down : int
        Floats sent by, and to, all clients together.
    seconds : float, optional
        Wall seconds of the fit alone; it is no result, for no repetition reproduces it.
    """

    metrics: Mapping[str, float]
    rounds: int
    converged: bool
    floats_up: int
    floats_down: int
    trajectories: Mapping[str, np.ndarray] = field(default_factory=dict)
    seconds: float | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        estimator: FederatedEstimator,
        metrics: Mapping[str, float],
        trajectories: Mapping[str, np.ndarray] | None = None,
    ) -> Outcome:
        """Combine scores with what a fitted estimator says of its run."""
        return cls(
            metrics=metrics,
            rounds=estimator.n_rounds_,
            converged=estimator.converged_,
            floats_up=estimator.communication_["up"],
            floats_down=estimator.communication_["down"],
            trajectories=trajectories or {},
            seconds=getattr(estimator, "fit_seconds_", None),
        )

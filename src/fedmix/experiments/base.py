"""The contract between the pipeline and an experiment.

An experiment is a module of this folder that declares its ``Settings`` and ``METRICS``, see
:mod:`fedmix.experiments.settings`, and has these functions:

``make_problem(setting, data, streams) -> dict of arrays``
    One replication's data, or the row indices that pick it from ``data``. Shared by all methods.
``initial_values(setting, problem, data, streams) -> dict of arrays``
    What the methods start from, shared by all of them. An experiment without this function has no
    such stage.
``run(method, setting, problem, initial, data, streams) -> Outcome``
    Fit one method and score it. ``initial`` is empty where there are no initial values.

What a method is given is decided in one place, :func:`arguments_of`: an experiment offers what it
knows, by name, and a method takes what its class declares.

``setting`` is of the experiment's ``Settings``, ``data`` the embedded data set that it names (or
None), ``streams`` the random streams of the replication.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fedmix import methods
from fedmix.errors import ConfigurationError, nearest_names

if TYPE_CHECKING:
    import numpy as np

    from fedmix.clients import Clients
    from fedmix.methods.base import FederatedEstimator

Arrays = dict[str, "np.ndarray"]


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

    @property
    def open_choices(self) -> list[str]:
        """The parameters to be chosen for the data, less those that the configuration sets."""
        return list(self.kind.open_choices(self.parameters))

    def build(self, known: Mapping[str, Any]) -> FederatedEstimator:
        """Return a new estimator, given what it takes; the configuration's parameters win.

        Raises
        ------
        ConfigurationError
            If the configuration has a parameter that the method has not.
        """
        taken = inspect.signature(self.kind).parameters
        for name in self.parameters:
            if name not in taken:
                raise ConfigurationError(
                    f"{self.name}: {self.estimator} has no parameter {name!r}. "
                    f"{nearest_names(name, taken)}"
                )
        return self.kind(**arguments_of(self.kind, {**known, **self.parameters}))

    def fit(self, clients: Clients, known: Mapping[str, Any]) -> FederatedEstimator:
        """Build, fit and time an estimator: ``fit_seconds_`` leaves scoring out."""
        estimator = self.build(known)
        started = time.perf_counter()
        estimator.fit(clients)
        estimator.fit_seconds_ = time.perf_counter() - started
        return estimator


def arguments_of(kind: type[FederatedEstimator], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a method takes of what is known.

    Parameters
    ----------
    kind : type of FederatedEstimator
        It takes the parameters of its constructor, and as ``init`` the start that its class
        variable ``starts_from`` names, if it is there.
    known : mapping
        Values by name. ``starts`` holds the shared starts by kind: "mixtures" (weights, means),
        "means", "models" or "model". An ``init`` given by the configuration wins over them.

    Raises
    ------
    ConfigurationError
        If the method needs something that is not known.
    """
    missing = [name for name in kind.needs if name not in known]
    if missing:
        raise ConfigurationError(
            f"{kind.__name__} needs {missing[0]!r}, which this study does not know. It knows "
            f"{', '.join(sorted(known))}."
        )
    starts = known.get("starts", {})
    if kind.starts_from in starts:
        known = {"init": starts[kind.starts_from], **known}
    return {name: known[name] for name in inspect.signature(kind).parameters if name in known}


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

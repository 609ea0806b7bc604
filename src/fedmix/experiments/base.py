"""The interface between the pipeline and an experiment.

An experiment is a module of this folder that declares its ``Settings`` and ``METRICS``, see
:mod:`fedmix.experiments.settings`, and has these functions:

``make_problem(setting, data, streams) -> dict of arrays``
    Return one replication's data, or the row indices that select it from ``data``. All methods
    share it.
``initial_values(setting, problem, data, streams) -> dict of arrays``
    Return the initial values that all methods share, which are added to the problem. This function
    is optional.
``run(method, setting, problem, data, streams) -> Outcome``
    Fit one method and score it.

``setting`` is an instance of the experiment's ``Settings``. ``data`` is the embedded data set that
the setting names, or None. ``streams`` holds the random streams of the replication.

:func:`arguments_of` decides which arguments a method gets. An experiment offers the values that it
knows, by name, and a method takes those that its class declares.
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
    from fedmix.data.dataset import Dataset
    from fedmix.methods.base import FederatedEstimator

Arrays = dict[str, "np.ndarray"]


@dataclass(frozen=True)
class Method:
    """A configured method.

    Parameters
    ----------
    name : str
        The name in tables and paths, such as ``"FFCM-avg1"``.
    estimator : str
        The registered class, such as ``"FFCM"``.
    parameters : mapping, optional
        The constructor's parameters that the configuration sets; none by default.
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
        """The parameters to choose for the data, except those that the configuration sets."""
        return list(self.kind.open_choices(self.parameters))

    def build(self, known: Mapping[str, Any]) -> FederatedEstimator:
        """Return a new estimator with the known values that it takes; see :func:`arguments_of`.

        The configuration's parameters take precedence. Raises ConfigurationError if it sets a
        parameter that the method does not have.
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
        """Build, fit and time an estimator. ``fit_seconds_`` does not include scoring."""
        estimator = self.build(known)
        started = time.perf_counter()
        estimator.fit(clients)
        estimator.fit_seconds_ = time.perf_counter() - started
        return estimator


def arrays_of(part: str, clients: Clients) -> Arrays:
    """Return the arrays that hold simulated clients in a problem; :func:`clients_in` reads them."""
    arrays = {part: clients.points, f"{part}_offsets": clients.offsets}
    if clients.responses is not None:
        arrays[f"{part}_responses"] = clients.responses
    return arrays


def rows_of(**parts: list[np.ndarray]) -> Arrays:
    """Return the arrays that hold each client's rows of a data set, by part."""
    import numpy as np

    from fedmix.clients import offsets_of

    arrays = {}
    for part, rows in parts.items():
        arrays[part] = np.concatenate(rows)
        arrays[f"{part}_offsets"] = offsets_of([len(own) for own in rows])
    return arrays


def clients_in(problem: Arrays, part: str, data: Dataset | None = None) -> Clients:
    """Return one part of a problem, such as "train": simulated, or rows of a data set."""
    from fedmix.clients import Clients

    offsets = problem[f"{part}_offsets"]
    if data is not None:
        return Clients(data.features[problem[part]], offsets)
    return Clients(problem[part], offsets, problem.get(f"{part}_responses"))


def arguments_of(kind: type[FederatedEstimator], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known values that a method takes.

    A method takes the parameters of its constructor. Its ``init`` is the start that its class
    variable ``starts_from`` names, if there is one: ``known["starts"]`` holds the shared starts by
    kind, "mixtures" (weights, means), "means", "models" or "model". An ``init`` in the
    configuration takes precedence.

    Raises
    ------
    ConfigurationError
        If the method needs a value that is not known.
    """
    missing = [name for name in kind.needs if name not in known]
    if missing:
        raise ConfigurationError(
            f"{kind.__name__} needs {missing[0]!r}, which this study does not provide. It provides "
            f"{', '.join(sorted(known))}."
        )
    starts = known.get("starts", {})
    if kind.starts_from in starts:
        known = {"init": starts[kind.starts_from], **known}
    return {name: known[name] for name in inspect.signature(kind).parameters if name in known}


@dataclass(frozen=True)
class Outcome:
    """The result of one method in one replication.

    Parameters
    ----------
    metrics : mapping of str to float
        Final scores. An undefined score is left out, and a separate metric counts it.
    rounds : int
        Number of communication rounds.
    converged : bool
        Whether the tolerance was reached.
    floats_up, floats_down : int
        Number of floats sent by, and to, all clients together.
    trajectories : mapping of str to ndarray of shape (rounds + 1,), optional
        Scores by round, from round 0.
    seconds : float, optional
        Wall time of the fit alone, in seconds. It is not compared between outcomes because it
        differs between runs.
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
        """Combine scores with a fitted estimator's rounds, convergence, communication and time."""
        return cls(
            metrics=metrics,
            rounds=estimator.n_rounds_,
            converged=estimator.converged_,
            floats_up=estimator.communication_["up"],
            floats_down=estimator.communication_["down"],
            trajectories=trajectories or {},
            seconds=getattr(estimator, "fit_seconds_", None),
        )

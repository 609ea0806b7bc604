"""When does federation help? Clients that each have a mixture of regressions.

See :mod:`fedmix.experiments.federation`. The methods are those that can fit regressions. The
components of new points are predicted from their features and responses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from fedmix.experiments import federation
from fedmix.experiments.base import Arrays, Method, Outcome
from fedmix.experiments.settings import Model, RegressionStart

if TYPE_CHECKING:
    from fedmix.streams import Streams


class Settings(federation.Settings):
    """The settings of `federation`, for regressions."""

    family: ClassVar[Model] = "regression"
    initialization: RegressionStart  # type: ignore[assignment]
    """Strategy for each client's own start, before labels are aligned."""


METRICS = federation.METRICS

make_problem = federation.make_problem
initial_values = federation.initial_values


def run(
    method: Method, setting: Settings, problem: Arrays, data: None, streams: Streams
) -> Outcome:
    """Fit one method to all clients and to each client alone, and score the good clients."""
    method = replace(method, parameters={"family": "regression", **method.parameters})
    return federation.run(method, setting, problem, data, streams)

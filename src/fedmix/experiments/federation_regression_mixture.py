"""When does federation help? Clients that each have a mixture of regressions.

See :mod:`fedmix.experiments.federation`. The methods are those that can fit regressions. The
components of new points are predicted from their features and responses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fedmix.experiments import federation
from fedmix.experiments.base import Arrays, Method, Outcome
from fedmix.experiments.settings import RegressionStart

if TYPE_CHECKING:
    from fedmix.streams import Streams


class Settings(federation.Settings):
    """The settings of `federation`, for regressions."""

    initialization: RegressionStart  # type: ignore[assignment]
    """Strategy for each client's own start, before labels are aligned."""


METRICS = federation.METRICS


def make_problem(setting: Settings, data: None, streams: Streams) -> Arrays:
    """Draw the clients' training and test points."""
    return federation.make_problem(setting, data, streams, "regression")


def initial_values(setting: Settings, problem: Arrays, data: None, streams: Streams) -> Arrays:
    """Fit every client alone and align the labels across clients."""
    return federation.initial_values(setting, problem, data, streams, "regression")


def run(
    method: Method,
    setting: Settings,
    problem: Arrays,
    initial: Arrays,
    data: None,
    streams: Streams,
) -> Outcome:
    """Fit one method to all clients and to each client alone, and score the good clients."""
    method = replace(method, parameters={"family": "regression", **method.parameters})
    return federation.run(method, setting, problem, initial, data, streams)

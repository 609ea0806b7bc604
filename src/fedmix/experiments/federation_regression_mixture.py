"""When does federation pay? Clients that each hold a mixture of regressions.

As :mod:`fedmix.experiments.federation`, by the methods whose family may be regressions; the
components of fresh points are told from their responses as well.
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
    """Those of `federation`, of regressions."""

    initialization: RegressionStart  # type: ignore[assignment]
    """Each client's own start, before labels are aligned."""


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
    """Fit one method, to all clients and to each one; scores are those of good clients."""
    method = replace(method, parameters={"family": "regression", **method.parameters})
    return federation.run(method, setting, problem, initial, data, streams)

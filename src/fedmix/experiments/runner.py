"""Make, start and run the replications of a block."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmix.errors import ConfigurationError, DataError, DivergenceError
from fedmix.experiments.base import Method, Outcome
from fedmix.streams import Streams

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.data import Dataset
    from fedmix.experiments.settings.base import Settings

logger = logging.getLogger(__name__)
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Scenario:
    """One setting of one study, with what its replications need.

    Parameters
    ----------
    study, variant, setting : str
        Names; streams are keyed without the variant, so that variants share their data.
    experiment : str
        Module of ``fedmix.experiments``.
    values : mapping
        The setting's values.
    data : Dataset, optional
        The embedded data set, if the setting names one.
    """

    study: str
    variant: str
    setting: str
    experiment: str
    values: Mapping[str, Any]
    data: Dataset | None = None

    @property
    def module(self) -> ModuleType:
        """The experiment's module."""
        return import_module(f"fedmix.experiments.{self.experiment}")

    @property
    def settings(self) -> Settings:
        """What an experiment sees of the values."""
        return self.module.Settings(**self.values)

    def streams(self, replication: int) -> Streams:
        """Return the random streams of a replication."""
        return Streams(self.study, self.setting, replication)


class ReplicationTimeout(Exception):
    """A replication took longer than ``replication_timeout``."""


def read_scenario(description: Mapping[str, Any], data: str | None = None) -> Scenario:
    """Return the scenario that a job's parameters describe, its data set read from ``data``."""
    from fedmix.data import load_dataset

    return Scenario(**description, data=load_dataset(data) if data else None)


def make_problems(scenario: Scenario, replications: Iterable[int]) -> Arrays:
    """Return the problems of a block as one dict of arrays, keyed ``"<replication>/<name>"``."""
    return _pack(
        (r, scenario.module.make_problem(scenario.settings, scenario.data, scenario.streams(r)))
        for r in replications
    )


def make_initial_values(
    scenario: Scenario, problems: Arrays, replications: Iterable[int]
) -> Arrays:
    """Return the shared initial values of a block, keyed like its problems."""
    return _pack((r, initial_values_of(scenario, _unpack(problems, r), r)) for r in replications)


def initial_values_of(scenario: Scenario, problem: Arrays, replication: int) -> Arrays:
    """Return a replication's shared initial values; nothing where an experiment has none."""
    if not hasattr(scenario.module, "initial_values"):
        return {}
    return scenario.module.initial_values(
        scenario.settings, problem, scenario.data, scenario.streams(replication)
    )


def run_block(
    scenario: Scenario,
    method: Method,
    problems: Arrays,
    initial: Arrays,
    replications: Iterable[int],
    timeout: float | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run one method on a block of replications.

    A replication that fails becomes a row with its status and message; the others go on. Running
    out of memory is not a result: it ends the job, so that it can be tried again with more.

    Parameters
    ----------
    scenario : Scenario
        The setting.
    method : Method
        The configured method.
    problems, initial : dict of ndarray
        From :func:`make_problems` and :func:`make_initial_values`.
    replications : iterable of int
        The block's replications.
    timeout : float, optional
        Seconds that one replication may take.

    Returns
    -------
    results : DataFrame
        Tidy rows that any repetition reproduces bit for bit: the columns of :func:`identity_of`,
        then ``replication, round, metric, value, status, message, rounds, converged, floats_up,
        floats_down``; ``round`` is missing for final scores.
    timings : DataFrame
        One row a replication with the same identity, which no repetition reproduces: ``seconds``
        of the fit alone, ``cpu_seconds`` with data and scoring, and ``warm``, false for the
        process's first replication, which also loads compiled code.
    """
    import pandas as pd

    results: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    for r in replications:
        wall, cpu = time.perf_counter(), time.process_time()
        rows, seconds = _attempt(
            scenario, method, _unpack(problems, r), _unpack(initial, r), r, timeout
        )
        identity = {**identity_of(scenario, method), "replication": r}
        results += [{**identity, **row} for row in rows]
        timing = {
            "status": rows[0]["status"],
            "seconds": time.perf_counter() - wall if seconds is None else seconds,
            "cpu_seconds": time.process_time() - cpu,
            "warm": len(timings) > 0,
        }
        timings.append({**identity, **timing})
        logger.info("replication %d: %s, %.2f s", r, timing["status"], timing["seconds"])
    return _typed(pd.DataFrame(results)), pd.DataFrame(timings)


def run_replication(
    scenario: Scenario, method: Method, replication: int, problem: Arrays, initial: Arrays
) -> Outcome:
    """Run one method on one replication in the foreground, errors and all."""
    return scenario.module.run(
        method, scenario.settings, problem, initial, scenario.data, scenario.streams(replication)
    )


def _attempt(
    scenario: Scenario,
    method: Method,
    problem: Arrays,
    initial: Arrays,
    replication: int,
    timeout: float | None,
) -> tuple[list[dict[str, Any]], float | None]:
    """Return the result rows, and the seconds of the fit if the experiment tells them."""
    try:
        with _deadline(timeout):
            outcome = run_replication(scenario, method, replication, problem, initial)
        return _success(outcome), outcome.seconds
    except DivergenceError as error:
        return [_failure("diverged", error)], None
    except ReplicationTimeout as error:
        return [_failure("timeout", error)], None
    except (ConfigurationError, MemoryError, ImportError, OSError):
        # Not a result: the request itself is wrong, or the job needs more memory. Where a scheduler
        # limits the address space, a library that no longer fits ends its import with an OSError.
        raise
    except Exception as error:
        logger.exception("replication %d of %s failed", replication, method.name)
        return [_failure("error", error)], None


def _success(outcome: Outcome) -> list[dict[str, Any]]:
    for metric, value in outcome.metrics.items():
        if not np.isfinite(value):
            raise DataError(f"metric {metric!r} is {value}: undefined scores must be left out")
    shared = {
        "status": "ok",
        "message": "",
        "rounds": outcome.rounds,
        "converged": outcome.converged,
        "floats_up": outcome.floats_up,
        "floats_down": outcome.floats_down,
    }
    final = [
        {"round": None, "metric": m, "value": float(v), **shared}
        for m, v in outcome.metrics.items()
    ]
    by_round = [
        {"round": t, "metric": m, "value": float(v), **shared}
        for m, values in outcome.trajectories.items()
        for t, v in enumerate(values)
    ]
    return final + by_round


def _failure(status: str, error: Exception) -> dict[str, Any]:
    first_line = (str(error) or type(error).__name__).splitlines()[0]
    return {
        "round": None,
        "metric": "",
        "value": np.nan,
        "status": status,
        "message": f"{type(error).__name__}: {first_line}",
        "rounds": 0,
        "converged": False,
        "floats_up": 0,
        "floats_down": 0,
    }


def identity_of(scenario: Scenario, method: Method) -> dict[str, Any]:
    """Return the columns that say what was run: a value of the setting is ``setting_<name>``.

    Parameters are ``method_<name>``; of both, those that are one plain value.
    """
    return {
        "study": scenario.study,
        "variant": scenario.variant,
        "setting": scenario.setting,
        **_prefixed("setting_", scenario.values),
        "method": method.name,
        **_prefixed("method_", method.parameters),
    }


def _prefixed(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    plain = (str, int, float, bool)
    return {prefix + name: value for name, value in values.items() if isinstance(value, plain)}


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    kinds = {"round": "Int64", "value": "float64", "rounds": "int64", "replication": "int64"}
    return frame.astype(kinds)


@contextmanager
def _deadline(seconds: float | None) -> Iterator[None]:
    """Raise ReplicationTimeout in the main thread after ``seconds`` (None: never)."""
    if not seconds:
        yield
        return

    def expire(*_: Any) -> None:
        raise ReplicationTimeout(
            f"took longer than the {seconds:g} s of replication_timeout (config/config.yaml; null "
            "sets no limit)"
        )

    previous: Callable | int | None = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _pack(blocks: Iterable[tuple[int, Arrays]]) -> Arrays:
    return {f"{r}/{name}": value for r, arrays in blocks for name, value in arrays.items()}


def _unpack(arrays: Arrays, replication: int) -> Arrays:
    prefix = f"{replication}/"
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

"""Running the replications of a block."""

from __future__ import annotations

import logging
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmix.errors import ConfigurationError, DataError, DivergenceError
from fedmix.experiments.base import Arrays, Method, Outcome
from fedmix.streams import Streams

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.data.dataset import Dataset
    from fedmix.experiments.settings import ExperimentSettings

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Scenario:
    """One setting of one study, with everything that its replications need.

    Parameters
    ----------
    study, variant, setting : str
        Names. The keys of random streams do not include the variant, so that variants share their
        data.
    experiment : str
        Name of a module of ``fedmix.experiments``.
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
    def settings(self) -> ExperimentSettings:
        """The values as the experiment's ``Settings``."""
        return self.module.Settings(**self.values)

    def streams(self, replication: int) -> Streams:
        """Return the random streams of a replication."""
        return Streams(self.study, self.setting, replication)


class ReplicationTimeout(Exception):
    """A replication took longer than ``replication_timeout``."""


def read_scenario(description: Mapping[str, Any], data: str | None = None) -> Scenario:
    """Return the scenario that a job's parameters describe; its data set is read from ``data``."""
    from fedmix.data.dataset import load_dataset

    return Scenario(**description, data=load_dataset(data) if data else None)


def problem_of(scenario: Scenario, replication: int) -> Arrays:
    """Return the problem that all methods of a replication share, with any initial values."""
    module, settings, data = scenario.module, scenario.settings, scenario.data
    streams = scenario.streams(replication)
    problem = module.make_problem(settings, data, streams)
    if hasattr(module, "initial_values"):
        problem = problem | module.initial_values(settings, problem, data, streams)
    return problem


@dataclass(frozen=True)
class Fit:
    """One replication of one method: rows of results and of timings, without the run's identity."""

    rows: list[dict[str, Any]]
    timing: dict[str, Any]


# Finished replications by method and number.
Fits = MutableMapping[tuple[str, int], Fit]


def run_block(
    scenario: Scenario,
    methods: Sequence[Method],
    replications: Iterable[int],
    timeout: float | None = None,
    fits: Fits | None = None,
) -> Fits:
    """Run methods on a block of replications, each on the same data and from the same start.

    A failed replication becomes a row with its status and message, and the others continue. Running
    out of memory ends the job instead, so that the job can be run again with more memory.

    Parameters
    ----------
    scenario, methods, replications
        The setting, the configured methods and the block's replications.
    timeout : float, optional
        Time limit of one replication in seconds; none by default.
    fits : mapping, optional
        Finished replications, by method name and replication. Each new fit is added to it.

    Returns
    -------
    mapping of tuple to Fit
        The complete ``fits``; :func:`tables_of` turns it into tables.
    """
    fits = {} if fits is None else fits
    warm: set[str] = set()
    for r in replications:
        missing = [method for method in methods if (method.name, r) not in fits]
        if not missing:
            continue
        started = time.process_time()
        problem = problem_of(scenario, r)
        shared = time.process_time() - started
        for method in missing:
            # A copy, so that no other method sees this method's changes
            own = {name: values.copy(order="K") for name, values in problem.items()}
            fit = _run_fit(scenario, method, r, own, timeout)
            fit.timing.update(shared_seconds=shared, warm=method.name in warm)
            fits[method.name, r] = fit
            warm.add(method.name)
    return fits


def tables_of(
    scenario: Scenario, method: Method, fits: Fits, replications: Iterable[int]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a method's fits as tables.

    Returns
    -------
    results : DataFrame
        Tidy rows, which are bit-identical in every run: the columns of :func:`identity_of`, then
        ``replication, round, metric, value, status, message, rounds, converged, floats_up,
        floats_down``. ``round`` is missing for final scores.
    timings : DataFrame
        One row per replication with the same identifying columns. These values differ between
        runs: ``seconds`` of the fit alone, ``cpu_seconds`` including scoring, ``shared_seconds`` of
        the work that the methods share, ``memory`` (the process's peak so far in MB), and ``warm``,
        false for the method's first replication in the process, which also loads compiled code.
    """
    import pandas as pd

    results: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    for r in replications:
        identity = {**identity_of(scenario, method), "replication": r}
        results += [{**identity, **row} for row in fits[method.name, r].rows]
        timings.append({**identity, **fits[method.name, r].timing})
    kinds = {"round": "Int64", "value": "float64", "rounds": "int64", "replication": "int64"}
    return pd.DataFrame(results).astype(kinds), pd.DataFrame(timings)


def run_replication(
    scenario: Scenario, method: Method, replication: int, problem: Arrays
) -> Outcome:
    """Run one method on one replication, without catching errors."""
    return scenario.module.run(
        method, scenario.settings, problem, scenario.data, scenario.streams(replication)
    )


def _run_fit(
    scenario: Scenario, method: Method, replication: int, problem: Arrays, timeout: float | None
) -> Fit:
    wall, cpu = time.perf_counter(), time.process_time()
    seconds = None  # of the fit alone, if the experiment reports them
    try:
        with _deadline(timeout):
            outcome = run_replication(scenario, method, replication, problem)
        rows, seconds = _success(outcome), outcome.seconds
    except DivergenceError as error:
        rows = [_failure("diverged", error)]
    except ReplicationTimeout as error:
        rows = [_failure("timeout", error)]
    except (ConfigurationError, MemoryError, ImportError, OSError):
        # Not a result: the request itself is wrong, or the job needs more memory. If a scheduler
        # limits the address space, the import of a library that does not fit raises an OSError.
        raise
    except (Exception, SystemExit) as error:  # a method must not end the job as if all were done
        logger.exception("replication %d of %s failed", replication, method.name)
        rows = [_failure("error", error)]
    timing = {
        "status": rows[0]["status"],
        "seconds": time.perf_counter() - wall if seconds is None else seconds,
        "cpu_seconds": time.process_time() - cpu,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,  # Linux: kB
    }
    logger.info(
        "%s, replication %d: %s, %.2f s", method.name, replication, *list(timing.values())[:2]
    )
    return Fit(rows, timing)


def _success(outcome: Outcome) -> list[dict[str, Any]]:
    for metric, value in outcome.metrics.items():
        if not np.isfinite(value):
            raise DataError(f"metric {metric!r} is {value}: leave undefined scores out")
    shared = {
        "status": "ok",
        "message": "",
        "rounds": int(outcome.rounds),
        "converged": bool(outcome.converged),
        "floats_up": int(outcome.floats_up),
        "floats_down": int(outcome.floats_down),
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


def _failure(status: str, error: BaseException) -> dict[str, Any]:
    first_line = (str(error) or type(error).__name__).splitlines()[0]
    first_line = first_line.encode(errors="replace").decode()  # a file holds no lone surrogates
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
    """Return the columns that identify a run.

    A value of the setting is ``setting_<name>``, a parameter of the method ``method_<name>``. Lists
    and mappings are left out.
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


@contextmanager
def _deadline(seconds: float | None) -> Iterator[None]:
    """Raise ReplicationTimeout in the main thread after ``seconds``, or never if None."""
    if not seconds:
        yield
        return

    def expire(*_: Any) -> None:
        raise ReplicationTimeout(
            f"took longer than replication_timeout = {seconds:g} s (config/config.yaml; null sets "
            "no limit)"
        )

    previous: Callable | int | None = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)

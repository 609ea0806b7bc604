"""Run one replication again in the foreground, with the seed and data of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedmix.errors import ConfigurationError, DataError, nearest_names
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.runner import Scenario, read_scenario, run_replication
from fedmix.pipeline.request import Request, embedded_path


@dataclass(frozen=True)
class Cell:
    """One method in one scenario, found by the names that a person gave."""

    scenario: Scenario
    method: Method


def find_cell(
    request: Request, study: str, setting: str, method: str, workdir: str | Path = "."
) -> Cell:
    """Look up one method in one setting, and read the embedded data set.

    Parameters
    ----------
    request : Request
        Where the names are looked up.
    study, setting, method : str
        ``setting`` is the folder's name under ``results/<study>``.
    workdir : path-like, default="."
        Where Snakemake works: ``data/embedded`` lies below.

    Raises
    ------
    ConfigurationError
        If a name is unknown, with the nearest valid ones.
    DataError
        If the embedded data set is not there yet.
    """
    planned_study = _named("study", study, request.studies)
    planned_setting = _named("setting", setting, planned_study.settings)
    methods = planned_study.methods_of(planned_setting)
    _named("method", method, dict.fromkeys(methods, method))
    planned = planned_study.method_in(method, planned_setting)
    values = dict(planned_setting.values)
    data = Path(workdir, embedded_path(values)) if "dataset" in values else None
    if data is not None and not data.exists():
        raise DataError(f"{data} is not there: `snakemake {embedded_path(values)}` makes it.")
    scenario = read_scenario(
        {
            "study": study,
            "variant": planned_setting.variant,
            "setting": planned_setting.name,
            "experiment": planned_study.experiment,
            "values": values,
        },
        str(data) if data else None,
    )
    return Cell(scenario, Method(planned.name, planned.estimator, planned.parameters))


def rerun(cell: Cell, replication: int) -> Outcome:
    """Run one method on one replication.

    Nothing is written, and no error is caught: under ``python -m pdb -m fedmix rerun ...`` a
    debugger stops where the method failed.

    Parameters
    ----------
    cell : Cell
        From :func:`find_cell`.
    replication : int
        Replication number, from 0. It, with the study and the setting, is the seed.

    Returns
    -------
    Outcome
        Equal to what the pipeline stores.
    """
    scenario = cell.scenario
    streams = scenario.streams(replication)
    problem = scenario.module.make_problem(scenario.settings, scenario.data, streams)
    initial = scenario.module.initial_values(scenario.settings, problem, scenario.data, streams)
    return run_replication(scenario, cell.method, replication, problem, initial)


def _named(kind: str, name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise ConfigurationError(f"There is no {kind} {name!r}. {nearest_names(name, known)}")
    return known[name]

"""Run one replication again in the foreground, with the seed and data of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedmix.errors import ConfigurationError, nearest_names
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.runner import initial_values_of, read_scenario, run_replication
from fedmix.pipeline.request import Request, embedded_path


def rerun(
    request: Request,
    study: str,
    setting: str,
    method: str,
    replication: int,
    workdir: str | Path = ".",
) -> Outcome:
    """Run one method on one replication.

    Nothing is read but the embedded data set, nothing is written, and no error is caught: under
    ``python -m pdb -m fedmix rerun ...`` a debugger stops where the method failed.

    Parameters
    ----------
    request : Request
        Where the names below are looked up.
    study, setting, method : str
        ``setting`` is the folder's name under ``results/<study>``.
    replication : int
        Replication number, from 0. It, with the study and the setting, is the seed.
    workdir : path-like, default="."
        Where Snakemake works: ``data/embedded`` lies below.

    Returns
    -------
    Outcome
        Equal to what the pipeline stores.

    Raises
    ------
    ConfigurationError
        If a name is unknown, with the nearest valid ones.
    """
    planned_study = _named("study", study, request.studies)
    planned_setting = _named("setting", setting, planned_study.settings)
    methods = planned_study.methods_of(planned_setting)
    _named("method", method, dict.fromkeys(methods, method))
    planned = planned_study.method_in(method, planned_setting)
    values = dict(planned_setting.values)
    scenario = read_scenario(
        {
            "study": study,
            "variant": planned_setting.variant,
            "setting": planned_setting.name,
            "experiment": planned_study.experiment,
            "values": values,
        },
        str(Path(workdir, embedded_path(values))) if "dataset" in values else None,
    )
    streams = scenario.streams(replication)
    problem = scenario.module.make_problem(scenario.settings, scenario.data, streams)
    initial = initial_values_of(scenario, problem, replication)
    chosen = Method(planned.name, planned.estimator, planned.parameters)
    return run_replication(scenario, chosen, replication, problem, initial)


def _named(kind: str, name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise ConfigurationError(f"There is no {kind} {name!r}. {nearest_names(name, known)}")
    return known[name]

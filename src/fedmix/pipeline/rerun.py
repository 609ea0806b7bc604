"""Rerun one replication in the foreground, with the seed and data of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedmix.errors import ConfigurationError, nearest_names
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.runner import Scenario, read_scenario, run_replication, start_of
from fedmix.pipeline.request import Request


@dataclass(frozen=True)
class Rerun:
    """One replication of one method, ready to run.

    Parameters
    ----------
    scenario : Scenario
    method : Method
    replication : int
    """

    scenario: Scenario
    method: Method
    replication: int

    def run(self) -> Outcome:
        """Run it and return what the pipeline stores, without catching errors."""
        problem, initial = start_of(self.scenario, self.replication)
        return run_replication(self.scenario, self.method, self.replication, problem, initial)


def prepare_rerun(
    request: Request,
    study: str,
    setting: str,
    method: str,
    replication: int,
    workdir: str | Path = ".",
) -> Rerun:
    """Prepare one method and one replication, to run them in the foreground.

    Only the embedded data set is read, and nothing is written. With
    ``python -m pdb -m fedmix rerun ...`` a debugger stops where the method fails.

    Parameters
    ----------
    request : Request
        The request that has the names below.
    study, setting, method : str
        ``setting`` is the folder's name under ``results/<study>``.
    replication : int
        Replication number, from 0. Study, setting and replication together are the seed.
    workdir : path-like, default="."
        Where Snakemake works, with the folder ``data/embedded``.

    Returns
    -------
    Rerun

    Raises
    ------
    ConfigurationError
        If a name is unknown, with the nearest valid ones, the replication is negative, or the
        embedded data set has not been made.
    """
    planned_study = _named("study", study, request.studies)
    planned_setting = _named("setting", setting, planned_study.settings)
    methods = planned_study.methods_of(planned_setting)
    _named("method", method, dict.fromkeys(methods, method))
    planned = planned_study.method_in(method, planned_setting)
    if replication < 0:
        raise ConfigurationError(f"There is no replication {replication}: the first is 0.")
    values = dict(planned_setting.values)
    data = Path(workdir, planned_setting.embedded) if planned_setting.embedded else None
    if data and not data.is_file():
        raise ConfigurationError(
            f"{data} does not exist: `snakemake --cores 1 {planned_setting.embedded}` makes it."
        )
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
    chosen = Method(planned.name, planned.estimator, planned.parameters)
    return Rerun(scenario, chosen, replication)


def _named(kind: str, name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise ConfigurationError(f"There is no {kind} {name!r}. {nearest_names(name, known)}")
    return known[name]

"""What each experiment may be asked and what it yields, declared without numerical imports.

A module bears its experiment's name and declares ``Settings``, a subclass of
:class:`fedmix.experiments.settings.base.Settings`, and ``METRICS``, the scores by name;
one that can measure its data may have ``UNITS``, by name as well. The experiment reads its settings
from there, planning checks the configuration against it, and the configuration reference is written
from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from fedmix.errors import ConfigurationError, nearest_names
from fedmix.experiments.settings.base import Settings


def names() -> list[str]:
    """Return the names of all experiments that declare settings."""
    found = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return [name for name in found if name != "base"]


@cache
def declared(experiment: str) -> tuple[type[Settings], Mapping[str, str]]:
    """Return an experiment's settings and metrics.

    Parameters
    ----------
    experiment : str
        A module of :mod:`fedmix.experiments`.

    Returns
    -------
    settings : type of Settings
    metrics : mapping of str to str
        What each metric is, by its name.

    Raises
    ------
    ConfigurationError
        If there is no such experiment; the nearest names are given.
    """
    if experiment not in names():
        raise ConfigurationError(
            f"unknown experiment {experiment!r}. {nearest_names(experiment, names())}"
        )
    module = import_module(f"{__name__}.{experiment}")
    return module.Settings, module.METRICS


def units_of(experiment: str) -> Mapping[str, str]:
    """Return what an experiment's methods may have a parameter in multiples of; mostly nothing."""
    return getattr(import_module(f"{__name__}.{experiment}"), "UNITS", {})

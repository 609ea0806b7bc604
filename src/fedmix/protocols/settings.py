"""The settings of protocols: those of the experiment, and values that only searches have so far.

A value that an experiment itself had would change the keys of all its finished replications.
Planning checks searches against these declarations, so they import no numerical library.
"""

from __future__ import annotations

from typing import Literal

from fedmix.experiments import real_clustering
from fedmix.experiments.settings import ExperimentSettings, declared


class RealClustering(real_clustering.Settings):
    """A setting of real data in which the first clients can be the contaminated ones."""

    contaminated: Literal["last", "first", "random"] = "last"  # type: ignore[assignment]  # wider
    """With `first`, methods that start at the first client start at a contaminated one."""


def settings_of_protocols(experiment: str) -> type[ExperimentSettings]:
    """Return the class of the settings of an experiment's protocols.

    Parameters
    ----------
    experiment : str
        The name of a module of :mod:`fedmix.experiments`.
    """
    return RealClustering if experiment == "real_clustering" else declared(experiment)[0]

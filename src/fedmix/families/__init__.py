"""Component families: log densities, sufficient statistics, M-steps and gradients."""

from __future__ import annotations

from fedmix.checks import check_choice
from fedmix.families.base import Family, Sample, Statistics, log_sum, probabilities
from fedmix.families.gaussian import Gaussian
from fedmix.families.regression import Regression

FAMILIES: dict[str, Family] = {family.name: family for family in (Gaussian(), Regression())}

__all__ = [
    "FAMILIES",
    "Family",
    "Gaussian",
    "Regression",
    "Sample",
    "Statistics",
    "get",
    "log_sum",
    "probabilities",
]


def get(name: str) -> Family:
    """Return the family called ``name``.

    Raises
    ------
    ConfigurationError
        If there is no such family. The message lists the valid names.
    """
    check_choice("fedmix", "family", name, FAMILIES)
    return FAMILIES[name]

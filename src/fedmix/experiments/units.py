"""Parameters of methods in units of the data, such as ``{value: 0.5, units: [spread]}``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fedmix.clients import Clients

#: What a number may be a multiple of; :mod:`fedmix.experiments.settings` declares them.
UNITS: dict[str, Callable[[Clients], float]] = {
    "spread": lambda train: float(np.sqrt(train.points.var(axis=0).mean())),
    "root_n": lambda train: float(np.sqrt(train.sizes.mean())),
}


def in_numbers(parameters: Mapping[str, Any], train: Clients) -> dict[str, Any]:
    """Return parameters as numbers.

    Parameters
    ----------
    parameters : mapping
        A mapping with ``value`` and ``units``, a list of :data:`UNITS`, is the number times all of
        them; others stay as they are.
    train : Clients
        The clean training data, as scaled.
    """
    return {
        name: value["value"] * math.prod(UNITS[unit](train) for unit in value["units"])
        if isinstance(value, Mapping) and "units" in value
        else value
        for name, value in parameters.items()
    }

"""Settings of :mod:`fedmix.experiments.communication`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fedmix.experiments.settings import federation
from fedmix.experiments.settings.base import Number


class Settings(federation.Settings):
    """Those of `federation`; `max_rounds` and `tol` are left out of account."""

    stops: Annotated[list[Number], Field(min_length=2)]
    """Rounds, ascending, after which a method that iterates is looked at; after 0 it is the start,
    which a method is not asked for that has no fit of none."""


METRICS = {
    "means_error": "Mean over good clients of the largest error of a mean, by round as well.",
    "floats": "Floats sent up and down by all clients; by round only.",
    "floats_near_final": "Floats sent until the error is first within 5 % of its last value.",
    "rounds_near_final": "Rounds until it is.",
}

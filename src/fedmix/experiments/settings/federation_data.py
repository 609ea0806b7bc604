"""Settings of :mod:`fedmix.experiments.federation_data`."""

from __future__ import annotations

from fedmix.experiments.settings import federation, matrix


class Settings(matrix.Settings):
    """Those of `matrix`."""


METRICS = federation.METRICS

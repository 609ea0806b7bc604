"""Settings of :mod:`fedmix.experiments.federation_regression_mixture`."""

from __future__ import annotations

from fedmix.experiments.settings import federation
from fedmix.experiments.settings.mixture_simulation import RegressionStart


class Settings(federation.Settings):
    """Those of `federation`, of regressions."""

    initialization: RegressionStart  # type: ignore[assignment]
    """Each client's own start, before labels are aligned."""


METRICS = federation.METRICS

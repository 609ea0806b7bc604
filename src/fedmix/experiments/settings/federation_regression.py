"""Settings of :mod:`fedmix.experiments.federation_regression`."""

from __future__ import annotations

from fedmix.experiments.settings import federation, mixed_regression


class Settings(mixed_regression.Settings):
    """Those of `mixed_regression`."""


METRICS = {
    "coefficient_error": "Mean over good clients of the distance of the coefficients that they use "
    "from their true ones, in units of the true ones' norm.",
    "coefficient_error_alone": "The same of each client's own least squares.",
    **{name: federation.METRICS[name] for name in ("gain", "worst_decile")},
    "harmed": "Share of good clients whose error is larger than alone.",
}

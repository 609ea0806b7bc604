"""Settings of :mod:`fedmix.experiments.mixture_simulation`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from fedmix.experiments.settings.base import (
    Alignment,
    Count,
    Declared,
    GaussianStart,
    Positive,
)
from fedmix.experiments.settings.base import Settings as BaseSettings

Model = Literal["gaussian", "regression"]


class ByModel(Declared):
    """A value for either model."""

    def of(self, model: Model) -> Any:
        """Return the value for a model."""
        return getattr(self, model)


class Sizes(ByModel):
    """Points by model."""

    gaussian: Count
    regression: Count


class GaussianOutlier(Declared):
    """A normal distribution with the same mean in all features."""

    mean: float
    variance: Positive


class RegressionOutlier(Declared):
    """A regression with the same coefficient for all features."""

    coefficient: float


class Outliers(ByModel):
    """The outlier client's distribution by model."""

    gaussian: GaussianOutlier
    regression: RegressionOutlier


RegressionStart = Literal["regression", "regression10", "mixreg"]
#: All strategies of :mod:`fedmix.initialization`.
STRATEGIES = (*get_args(GaussianStart), *get_args(RegressionStart))


class Initializations(ByModel):
    """Strategies of `fedmix.initialization` by model."""

    gaussian: GaussianStart
    regression: RegressionStart


class DensityFloors(ByModel):
    """The published program's floor under densities, by model; none by default."""

    gaussian: Literal["zeros", "below"] | None = None
    regression: Literal["zeros", "below"] | None = None


class Settings(BaseSettings):
    """The simulated mixtures of the FedGrEM paper."""

    model: Model
    """Gaussian mixture, or mixture of regressions."""
    h: Annotated[float, Field(ge=0)]
    """Heterogeneity of the clients."""
    n_clients: Annotated[int, Field(ge=2)]
    """K; the last client is the outlier."""
    n_points: Sizes
    """Points a client."""
    outlier: Outliers
    """What the outlier client's points follow."""
    initialization: Initializations
    """Each client's own start, before labels are aligned."""
    alignment: Alignment | Literal["truth", "none"] = "best_of_50_orders"
    """How the labels of the clients' starts are aligned: by a search over orders of the clients, to
    the first client, to the true parameters, or not at all."""
    log_errors: bool = False
    """Whether errors are natural logarithms, as the captions of the paper's tables say."""
    density_floor: DensityFloors
    """Under weight times density, in the published program."""
    max_rounds: Count
    """Rounds after which a method stops."""
    tol: Annotated[float, Field(ge=0)]
    """A method stops when no parameter moves by more; 0: it runs all rounds."""


METRICS = {
    "weights_error": "Largest error of a good client's mixing weights.",
    "means_error": "Largest error of a good client's means, or coefficients.",
    "snr": "Signal-to-noise ratio of the drawn truth.",
}

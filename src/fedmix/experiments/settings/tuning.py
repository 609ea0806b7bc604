"""Settings of :mod:`fedmix.experiments.tuning`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fedmix.experiments.settings import real_clustering
from fedmix.experiments.settings.base import Count


class Settings(real_clustering.Settings):
    """Those of `real_clustering`, and what is to be chosen."""

    parameter: Literal["penalty_scale", "initial_penalty", "final_radius_scale", "n_components"]
    """Parameter of the method that is chosen."""
    candidates: Annotated[list[float], Field(min_length=2)]
    """Its candidates, what pools least or is smallest first; of `penalty_scale` times the typical
    client's standard deviation."""
    max_rounds: Count
    """Rounds after which a method stops."""
    tol: Annotated[float, Field(ge=0)]
    """A method stops when no parameter moves by more."""


METRICS = {
    "oracle": "Least mis-clustering error of any candidate: chosen with the labels.",
    "default": "That of the first candidate, which pools least.",
    "held_out": "That of the candidate of largest held-out likelihood, median over clients.",
    "held_out_mean": "The same by the mean over clients.",
    "silhouette": "That of the candidate of largest silhouette.",
    "stability": "That of the most stable candidate.",
    "vetoed": "That of the most stable one by which no more than two thirds of clients lose.",
    "regret_held_out": "`held_out` less `oracle`.",
    "regret_held_out_mean": "`held_out_mean` less `oracle`.",
    "regret_silhouette": "`silhouette` less `oracle`.",
    "regret_stability": "`stability` less `oracle`.",
    "regret_vetoed": "`vetoed` less `oracle`.",
    "regret_default": "`default` less `oracle`.",
}

"""What tables, figures, claims and discrepancies may name of a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fedmix.cells.summary import DERIVED, OF_METRICS
from fedmix.experiments.settings import declared
from fedmix.methods.capabilities import constraints_of
from fedmix.pipeline.plan import Setting, Study

#: What is told of every run, whatever the experiment.
OF_EVERY_RUN = ("seconds", "rounds", "floats_up", "floats_down")

#: What tells cells apart beside settings and the methods' parameters; see fedmix.cells.frame.
OF_EVERY_CELL = (
    *("row", "column", "variant", "setting", "method", "label", "metric"),
    "contaminated_percent",
)


@dataclass(frozen=True)
class Vocabulary:
    """A study's names, as published and in every preset.

    Parameters
    ----------
    settings : tuple of Setting
    methods, labels, parameters : tuple of str
        Of its methods.
    metrics : tuple of str
        Those of the experiment, of every run, and what is derived from them.
    """

    settings: tuple[Setting, ...]
    methods: tuple[str, ...]
    labels: tuple[str, ...]
    parameters: tuple[str, ...]
    metrics: tuple[str, ...]

    @classmethod
    def of(cls, plans: Iterable[Study]) -> Vocabulary:
        """Collect the names of one study's plans."""
        plans = list({id(plan): plan for plan in plans}.values())  # presets share what they leave
        methods = [method for plan in plans for method in plan.methods.values()]
        _, own = declared(plans[0].experiment)
        measured = [*own, *OF_EVERY_RUN]
        derived = [f"{kind}: {name}" for kind in OF_METRICS for name in (*measured, *DERIVED)]
        return cls(
            settings=tuple(s for plan in plans for s in plan.settings.values()),
            methods=tuple(dict.fromkeys(method.name for method in methods)),
            labels=tuple(dict.fromkeys(method.label for method in methods)),
            parameters=tuple({p for m in methods for p in constraints_of(m.estimator)}),
            metrics=(*measured, *DERIVED, *derived),
        )

    @cached_property
    def columns(self) -> set[str]:
        """Names of the settings."""
        return {key for setting in self.settings for key in setting.identity}

    @cached_property
    def cell_columns(self) -> set[str]:
        """Columns of the frame of cells that say what a cell is."""
        settings = {f"setting_{name}" for name in self.columns - {"variant", "setting"}}
        return {*OF_EVERY_CELL, *settings, *(f"method_{name}" for name in self.parameters)}

    @cached_property
    def context(self) -> Mapping[str, Any]:
        """The names by their kind."""
        return {"setting": self.columns, "method": self.methods, "metric": self.metrics}

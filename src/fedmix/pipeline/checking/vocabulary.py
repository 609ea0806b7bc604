"""What may be named of a study, and conditions on its settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fedmix.cells.summary import DERIVED, OF_METRICS
from fedmix.configuration import Document, Place
from fedmix.errors import nearest_names
from fedmix.experiments.settings import declared
from fedmix.methods.capabilities import constraints_of
from fedmix.pipeline.plan import Setting, Study

#: What is reported of every run, whatever the experiment.
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


def unknown(place: Place, kind: str, name: Any, known: Collection[str]) -> Iterator[str]:
    """Yield that a name is not a known one, with the nearest of these."""
    if name not in known:
        yield f"{place}: unknown {kind} {name!r}. {nearest_names(str(name), known)}"


def condition_errors(where: Document, settings: Collection[Setting]) -> Iterator[str]:
    """Yield what no setting can satisfy: an unknown key, a value that never occurs, or all of it.

    Parameters
    ----------
    where : Document
        Key -> value, or a list of values of which any will do; or several such mappings, of which
        one must fit.
    settings : collection of Setting
        All that it may speak of.
    """
    if isinstance(where.content, list):
        for i in range(len(where.content)):
            yield from condition_errors(where.part(i), settings)
        return
    found = [
        error
        for key, value in where.content.items()
        for error in value_errors(where.place(key), key, value, settings)
    ]
    yield from found
    if not found and not any(setting.matches(where.content) for setting in settings):
        yield f"{where.place()}: no setting has all of these values"


def value_errors(
    place: Place, key: str, wanted: Any, settings: Collection[Setting]
) -> Iterator[str]:
    """Yield the values wanted under one key that no setting has."""
    occurring = [s.identity[key] for s in settings if key in s.identity]
    if not occurring:
        keys = {name for setting in settings for name in setting.identity}
        yield f"{place}: no setting has {key!r}. {nearest_names(key, keys)}"
        return
    if wanted == []:
        yield f"{place}: expected a value or several, got an empty list"
    # A list is one value where settings have lists, such as the sizes of clients.
    values = wanted if isinstance(wanted, list) and wanted not in occurring else [wanted]
    for value in values:
        if not any(value == other and type(value) in _kinds(other) for other in occurring):
            hint = nearest_names(str(value), {str(other) for other in occurring})
            yield f"{place}: no setting has {key} {value!r}. {hint}"


def _kinds(value: Any) -> tuple[type, ...]:
    """Return the types in which a value may be written: 1 is 1.0, but no truth value."""
    return (int, float) if type(value) in (int, float) else (type(value),)

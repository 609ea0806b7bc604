"""Checks that no schema can do: whether the names and values of the configuration match.

Each check yields messages that start with the file and the line. Here are the names that a study
defines, and checks of conditions on its settings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from fedmix.cells.measured import DERIVED, OF_METRICS, RUN_METRICS, SECONDS
from fedmix.cells.predicates import nearest_known
from fedmix.configuration import Document, Place
from fedmix.errors import nearest_names
from fedmix.experiments.settings import declared
from fedmix.methods.capabilities import constraints_of
from fedmix.pipeline.plan import Setting, Study

# Columns that identify cells, besides settings and parameters; see fedmix.cells.frame.
_OF_EVERY_CELL = frozenset(
    ["row", "column", "variant", "setting", "method", "label", "metric", "contaminated_percent"]
)


class Vocabulary:
    """The names in all plans of one study: its settings, its methods, and all metrics."""

    def __init__(self, plans: Iterable[Study]) -> None:
        plans = list({id(plan): plan for plan in plans}.values())  # presets share unchanged plans
        methods = [method for plan in plans for method in plan.methods.values()]
        _, own = declared(plans[0].experiment)
        measured = [*own, SECONDS, *RUN_METRICS]
        derived = [f"{kind}: {name}" for kind in OF_METRICS for name in (*measured, *DERIVED)]
        self.settings = [s for plan in plans for s in plan.settings.values()]
        self.methods = list(dict.fromkeys(method.name for method in methods))
        self.labels = list(dict.fromkeys(method.label for method in methods))
        self.parameters = {p for m in methods for p in constraints_of(m.estimator)}
        self.metrics = [*measured, *DERIVED, *derived]

    @cached_property
    def columns(self) -> set[str]:
        """The names of the settings."""
        return {key for setting in self.settings for key in setting.identity}

    @cached_property
    def cell_columns(self) -> set[str]:
        """Columns of the frame of cells that identify a cell."""
        settings = {f"setting_{name}" for name in self.context["setting"]}
        return {*_OF_EVERY_CELL, *settings, *(f"method_{name}" for name in self.parameters)}

    @cached_property
    def context(self) -> Mapping[str, Any]:
        """The names by their kind."""
        settings = self.columns - {"variant", "setting"}
        return {"setting": settings, "method": self.methods, "metric": self.metrics}


def unknown(place: Place | str, kind: str, name: Any, known: Collection[str]) -> Iterator[str]:
    """Yield an error with the nearest known names, if a name is unknown."""
    if name not in known:
        yield f"{place}: unknown {kind} {name!r}. {nearest_known(str(name), known)}"


def unknown_names(
    document: Document, kind: str, known: Collection[str], *keys: Any
) -> Iterator[str]:
    """Yield an error for each unknown name in the list, or mapping by name, under some keys."""
    names = document.part(*keys).content if document.has(*keys) else ()
    own_keys = range(len(names)) if isinstance(names, list) else names
    for key, name in zip(own_keys, names, strict=True):
        yield from unknown(document.place(*keys, key), kind, name, known)


def condition_errors(where: Document, settings: Collection[Setting]) -> Iterator[str]:
    """Yield the parts of a condition that no setting satisfies: keys, values, or all together."""
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
    """Yield the wanted values of one key that no setting has."""
    occurring = [s.identity[key] for s in settings if key in s.identity]
    if not occurring:
        keys = {name for setting in settings for name in setting.identity}
        yield f"{place}: no setting has {key!r}. {nearest_names(key, keys)}"
        return
    if wanted == []:
        yield f"{place}: expected a value or several, got an empty list"
    # If settings have lists, such as the sizes of clients, a list is one value.
    values = wanted if isinstance(wanted, list) and wanted not in occurring else [wanted]
    for value in values:
        is_bool = isinstance(value, bool)  # 1 can be 1.0, but not True
        if not any(value == other and isinstance(other, bool) == is_bool for other in occurring):
            hint = nearest_names(str(value), {str(other) for other in occurring})
            yield f"{place}: no setting has {key} {value!r}. {hint}"


def number_errors(
    place: Place, key: str, settings: Collection[Setting], least: int = 1
) -> Iterator[str]:
    """Yield an error if a key has other values than numbers, or less than ``least`` of them."""
    values = [s.identity[key] for s in settings if s.identity.get(key) is not None]
    others = [v for v in values if not isinstance(v, int | float) or isinstance(v, bool)]
    if others or len(set(values)) < least:
        found = ", ".join(sorted({str(value) for value in others or values})) or "no value"
        several = "numbers" if least == 1 else "different numbers"
        yield f"{place}: expected a setting with {several}; {key} has {found}"

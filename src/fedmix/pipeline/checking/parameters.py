"""Parameters of methods, held against what their estimators take."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from fedmix import methods as method_registry
from fedmix.configuration import Document
from fedmix.errors import nearest_names
from fedmix.experiments.settings import STRATEGIES, units_of
from fedmix.methods.capabilities import constraints_of
from fedmix.methods.constraints import violation


def method_errors(methods: Document) -> Iterator[str]:
    """Yield unknown estimators of ``config/methods.yaml``, and parameters that they do not take."""
    known = method_registry.index()
    for name, entry in methods.content.items():
        estimator = entry["estimator"]
        if estimator not in known:
            place = methods.place(name, "estimator")
            yield f"{place}: unknown estimator {estimator!r}. {nearest_names(estimator, known)}"
        elif "parameters" in entry:
            yield from parameter_errors(methods.part(name, "parameters"), estimator)


def study_parameter_errors(
    study: Document, estimators: Mapping[str, str], known: Collection[str]
) -> Iterator[str]:
    """Yield parameters in a study that its methods do not take, and methods that it does not have.

    Parameters
    ----------
    study : Document
        Whose listed methods all exist.
    estimators : mapping of str to str
        Every entry of ``config/methods.yaml`` and its estimator.
    known : collection of str
        What the study's variants may call its methods.
    """
    listed = study.content["methods"]
    entries = [e for e in listed if isinstance(e, Mapping)] if isinstance(listed, list) else []
    sources = {entry["name"]: entry.get("method", entry["name"]) for entry in entries}
    units = units_of(study.content["experiment"])
    for entry in entries:
        if "parameters" in entry:
            parameters = study.part("methods", listed.index(entry), "parameters")
            source = sources[entry["name"]]  # a registered method may do without an entry
            yield from parameter_errors(parameters, estimators.get(source, source), units)
    for variant, change in study.content.get("variants", {}).items():
        for name in change.get("methods", {}):
            parameters = study.part("variants", variant, "methods", name)
            if name not in known:
                yield f"{parameters.place()}: unknown method {name!r}. {nearest_names(name, known)}"
                continue
            source = sources.get(name, name)
            yield from parameter_errors(parameters, estimators.get(source, source), units)


def only_errors(study: Document, known: Collection[str]) -> Iterator[str]:
    """Yield methods that a variant of a study is confined to and that the study does not list."""
    for variant, change in study.content.get("variants", {}).items():
        for i, name in enumerate(change.get("only", ())):
            if name not in known:
                place = study.place("variants", variant, "only", i)
                yield f"{place}: unknown method {name!r}. {nearest_names(name, known)}"


def parameter_errors(
    parameters: Document, estimator: str, units: Collection[str] = ()
) -> Iterator[str]:
    """Yield parameters that an estimator does not take, and values that it does not allow.

    A number may be in ``units`` of the data, see :func:`fedmix.experiments.clustering.in_numbers`.
    """
    known = constraints_of(estimator)
    for name, value in parameters.content.items():
        place = parameters.place
        if isinstance(value, Mapping) and "units" in value:
            given = value["units"]
            if {*value} != {"value", "units"} or not isinstance(given, list):
                yield f"{place(name)}: expected {{value: 0.5, units: [spread]}} or the like"
                continue
            for unit in given:
                if unit not in [*units]:  # it may be anything
                    hint = nearest_names(str(unit), units)
                    yield f"{place(name, 'units')}: unknown units {unit!r}. {hint}"
            value = value["value"]
        if name not in known:
            hint = nearest_names(name, known)
            yield f"{place(name)}: {estimator} takes no {name!r}. {hint}"
        elif wrong := violation(estimator, name, value, known[name]):
            yield f"{place(name)}: {wrong}"
        elif name == "init" and isinstance(value, str) and value not in STRATEGIES:
            hint = nearest_names(value, STRATEGIES)
            yield f"{place(name)}: unknown initialisation {value!r}. {hint}"

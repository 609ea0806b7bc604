"""Check the settings, methods and parameters of studies and searches, and plug-ins' methods."""

from __future__ import annotations

import re
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from fedmix import methods as method_registry
from fedmix import plugins
from fedmix.cells.papers import misnamed
from fedmix.cells.protocols.space import Space
from fedmix.configuration import Document, Place
from fedmix.declarations import Declared, Keys, problems
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.experiments.settings import STRATEGIES, declared, units_of
from fedmix.methods.capabilities import capabilities_of, constraints_of
from fedmix.methods.constraints import violation
from fedmix.pipeline.checking import condition_errors, unknown, unknown_names
from fedmix.pipeline.plan import OWN_METHOD, Study, combinations

#: Class variable of a method -> the values that mean something.
_DECLARED = {
    "families": ("gaussian", "regression"),
    "level": ("sample", "client"),
    "starts_from": (None, "mixtures", "means", "models", "model"),
}
#: What experiments give to a method that needs it.
GIVEN = ("n_components", "n_clusters", "components_per_client", "models")
#: The experiments that give only some of these. The others give all but models.
GIVEN_BY = {
    "real_clustering": ("n_components",),
    "mixture_simulation": ("n_components",),
    "tuning": ("n_components", "components_per_client"),
    "mixed_regression": ("n_clusters", "models"),
    "federation_regression": ("n_clusters", "models"),
}


def study_errors(
    document: Document, plans: Sequence[Study], datasets: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the problems of a study's settings, methods and parameters.

    ``document`` is its validated file with the changes of a preset. The first of the ``plans`` is
    its own. For a preset, the published plan follows, whose names it may use.
    """
    try:
        settings, _ = declared(document.content["experiment"])
    except ConfigurationError as error:
        yield f"{document.place('experiment')}: {error}"
        return
    estimators: dict[str, str] = {}  # behind each name that a variant may use
    for plan in reversed(plans):  # the first is the plan of the document itself
        estimators |= {method.source: method.estimator for method in plan.methods.values()}
        estimators |= {method.name: method.estimator for method in plan.methods.values()}
    methods = {name: estimators[name] for plan in plans for name in plan.methods}
    for variant, entry, values in combinations(document.content):
        found = list(problems(settings, values)) or [
            *_dataset_errors(values, datasets),
            *_own_errors(values, methods),
        ]
        for keys, message in found:
            yield f"{_origin(document, variant, entry, keys)}: {message}"
    yield from _listed_errors(document, estimators, plans)
    yield from _variant_errors(document, estimators, methods)


def _origin(document: Document, variant: str, entry: Keys, place: Keys) -> Place:
    """Return the place of a setting's value: its grid's list, its entry or the constants."""
    for owner in ((*entry, "grid"), entry, ("variants", variant, "constants"), ("constants",)):
        if place and document.has(*owner, *place):
            return document.place(*owner, *place)
    return document.place(*entry)


def _own_errors(
    values: Mapping[str, Any], methods: Mapping[str, str]
) -> Iterator[tuple[Keys, str]]:
    """Yield the place and the problem of each start or parameter of a method's own.

    ``methods`` has the estimator of each method that is run.
    """
    for key in ("own_start", "own_parameters"):
        for name, own in values.get(key, {}).items():
            if name not in methods:
                yield (key,), f"method {name!r} is not run. {nearest_names(name, methods)}"
            elif key == "own_parameters":
                for parameter, value in own.items():
                    found = parameter_value_errors(name, methods[name], parameter, value, ())
                    yield from (((key,), message) for message in found)


def _dataset_errors(
    values: Mapping[str, Any], datasets: Mapping[str, Any]
) -> Iterator[tuple[Keys, str]]:
    """Yield the place and the problem of each value that does not match the data set."""
    if "dataset" not in values:
        return
    name, embedding = values["dataset"], values["embedding"]
    if name not in datasets:
        yield ("dataset",), f"unknown data set {name!r}. {nearest_names(name, datasets)}"
        return
    entry = datasets[name]
    known = entry["embeddings"]
    if embedding not in known:
        hint = nearest_names(embedding, known)
        yield ("embedding",), f"data set {name!r} has no embedding {embedding!r}. {hint}"
    n_points = entry.get("n_points")
    if n_points is not None and values["n_clients"] > n_points:
        yield ("n_clients",), f"{values['n_clients']} clients for {n_points} points of {name}"
    if values["partition"] == "group":
        groups = entry.get("n_groups")
        if groups is None:
            yield ("partition",), f"data set {name!r} has no groups; use uniform"
        elif groups != values["n_clients"]:
            message = f"data set {name!r} has {groups} groups, not {values['n_clients']}"
            yield ("n_clients",), message


def method_errors(methods: Document) -> Iterator[str]:
    """Yield the errors in names, estimators and parameters of ``config/methods.yaml``."""
    known = method_registry.index()
    for name, entry in methods.content.items():
        estimator = entry["estimator"]
        if estimator not in known:
            place = methods.place(name, "estimator")
            hint = f"{nearest_names(estimator, known)} {OWN_METHOD}"
            yield f"{place}: unknown estimator {estimator!r}. {hint}"
            continue
        if name in known and name != estimator:
            yield (
                f"{methods.place(name)}: a registered method has this name, and the entry runs "
                f"{estimator}. Give it another name."
            )
        if "parameters" in entry:
            yield from parameter_errors(methods.part(name, "parameters"), estimator)


def _listed_errors(
    document: Document, estimators: Mapping[str, str], plans: Sequence[Study]
) -> Iterator[str]:
    """Yield the problems of the parameters, conditions and replications of a study's methods."""
    experiment = document.content["experiment"]
    units, given = units_of(experiment), GIVEN_BY.get(experiment, GIVEN[:-1])
    settings = [setting for plan in plans for setting in plan.settings.values()]
    entries = document.content["methods"]
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        listed = entry if isinstance(entry, Mapping) else {"name": entry}
        estimator = estimators[listed["name"]]
        needs = set(capabilities_of(estimator).needs) - {*given, *listed.get("parameters", {})}
        if missing := sorted(needs.intersection(GIVEN)):
            yield (
                f"{document.place('methods', i)}: {estimator} needs {', '.join(missing)}, and the "
                f"experiment {experiment} gives only {', '.join(given)}. Add what is missing to "
                "`parameters`."
            )
        if "parameters" in listed:
            parameters = document.part("methods", i, "parameters")
            yield from parameter_errors(parameters, estimator, units)
        if "where" in listed:
            yield from condition_errors(document.part("methods", i, "where"), settings)
        most = document.content["replications"]
        if len(plans) == 1 and listed.get("replications", 0) > most:  # a preset may have fewer
            yield (
                f"{document.place('methods', i, 'replications')}: the study has only {most} "
                "replications. Give the study more, and the other methods their own number."
            )


def _variant_errors(
    document: Document, estimators: Mapping[str, str], methods: Collection[str]
) -> Iterator[str]:
    """Yield a variant's methods that the study does not have, and their unknown parameters."""
    units = units_of(document.content["experiment"])
    for variant, change in document.content.get("variants", {}).items():
        yield from misnamed("a variant", variant, document.place("variants", variant))
        for name in change.get("methods", {}):
            parameters = document.part("variants", variant, "methods", name)
            if name in estimators:
                yield from parameter_errors(parameters, estimators[name], units)
            else:
                yield from unknown(parameters.place(), "method", name, estimators)
        yield from unknown_names(document, "method", methods, "variants", variant, "only")


class InUnits(Declared):
    """A number in units of the data, see :func:`fedmix.experiments.clustering.in_numbers`."""

    value: Any
    units: list[str]


def parameter_errors(
    parameters: Document, estimator: str, units: Collection[str] = ()
) -> Iterator[str]:
    """Yield the problems of an estimator's parameters; a number may be in ``units`` of the data."""
    for name, value in parameters.content.items():
        yield from parameter_value_errors(parameters.place(name), estimator, name, value, units)


def parameter_value_errors(
    place: Place | str, estimator: str, name: str, value: Any, units: Collection[str]
) -> Iterator[str]:
    """Yield the problems of a parameter: its name is unknown or its value is wrong."""
    known = constraints_of(estimator)
    if name not in known:
        yield f"{place}: {estimator} takes no {name!r}. {nearest_names(name, known)}"
        return
    if isinstance(value, Mapping) and "units" in value:
        wrong = [message for _, message in problems(InUnits, value)]
        yield from (f"{place}: {message}" for message in wrong)
        if wrong:
            return
        for unit in value["units"]:
            yield from unknown(place, "units", unit, units)
        value = value["value"]
    if wrong_value := violation(estimator, name, value, known[name]):
        yield f"{place}: {wrong_value}{_read_as_text(value)}"
    elif name == "init" and isinstance(value, str):
        yield from unknown(place, "initialisation", value, STRATEGIES)


def _read_as_text(value: object) -> str:
    """Return a hint for a number that YAML reads as text, such as 1e-4; else an empty text."""
    found = re.fullmatch(r"([-+]?\d+)(\.\d*)?e([-+]?)(\d+)", str(value), re.IGNORECASE)
    if not (found and isinstance(value, str)):
        return ""
    whole, part, sign, power = found.groups()
    return f" YAML reads this as text. Write {whole}{part or '.0'}e{sign or '+'}{power}."


def search_errors(space: Space, document: Document) -> Iterator[str]:
    """Yield the values of a search, in one preset, that its methods and settings do not accept."""
    units = units_of(space.experiment)
    for name, column in space.methods.items():
        for key, value in column.parameters.items():
            place = document.place("methods", name, "parameters", key)
            yield from parameter_value_errors(place, column.estimator, key, value, units)
    for name, choice in space.choices.items():
        filled = {(space.methods[m].estimator, p) for m, p in space.filled_by(choice).items()}
        for estimator, parameter in sorted(filled):
            for value in choice.values:
                place = document.place("choices", name, "values", value.name)
                for example in value.examples:
                    yield from parameter_value_errors(place, estimator, parameter, example, units)
    yield from _filled_setting_errors(space, document)


def _filled_setting_errors(space: Space, document: Document) -> Iterator[str]:
    """Yield wrong values of a setting, each tested in an otherwise default setting."""
    settings, _ = declared(space.experiment)
    methods = {name: column.estimator for name, column in space.methods.items()}
    for table in space.tables.values():
        choices = [choice for choice in space.choices_of(table.name) if choice.setting]
        plain = {choice.setting: choice.values[0].examples[0] for choice in choices}
        plain = {**table.setting, **plain, space.row: table.rows[0]}
        for keys, message in problems(settings, plain):
            yield f"{document.place('tables', table.name, 'setting', *keys)}: {message}"
        for i, row in enumerate(table.rows):
            for keys, message in problems(settings, {**plain, space.row: row}):
                if keys[:1] == (space.row,):
                    yield f"{document.place('tables', table.name, 'rows', i)}: {message}"
        for choice in choices:
            for value in choice.values:
                place = document.place("choices", choice.name, "values", value.name)
                for example in value.examples:
                    tried = {**plain, choice.setting: example}
                    found = list(problems(settings, tried))
                    for keys, message in found or _own_errors(tried, methods):
                        if keys[:1] == (choice.setting,):
                            yield f"{place}: {message}"


def folder_of_plugins(given: str | None, root: Path) -> str | Path | None:
    """Return the folder of plug-ins, in the repository if there is none here."""
    if given and not Path(given).is_dir() and (root / given).is_dir():
        return root / given
    return given


def plugin_errors() -> Iterator[str]:
    """Yield why a module of plug-ins cannot be used, with its file and line."""
    for module, path in plugins.modules().items():
        try:
            import_module(module)
            own = sorted(name for name, place in method_registry.index().items() if place == module)
            found = [_unregistered(module, own), *(_undeclared(name) for name in own)]
            yield from (f"{path}: {error}" for errors in found for error in errors)
        except ConfigurationError as error:
            yield from (f"{path}: {problem}" for problem in error.problems)
        except (Exception, SystemExit) as error:  # whatever a file does when it is imported
            yield f"{_place(path, error)}: {type(error).__name__}: {error}"


def _unregistered(module: str, registered: list[str]) -> Iterator[str]:
    """Yield the methods of a module that lack the decorator, unless others are made from them."""
    from fedmix.methods.base import FederatedEstimator

    methods = {
        name: value
        for name, value in vars(import_module(module)).items()
        if isinstance(value, type) and issubclass(value, FederatedEstimator)
    }
    bases = {base for name in registered for base in methods[name].__mro__}
    for name, cls in methods.items():
        if cls.__module__ == module and cls not in bases and not name.startswith("_"):
            yield (
                f"{name} is a method without @register, so nothing would run it. Decorate it, or "
                "begin its name with an underscore."
            )


def _undeclared(name: str) -> Iterator[str]:
    """Yield what would keep a method from running: its class variables, missing functions."""
    try:
        can, arguments = capabilities_of(name), list(constraints_of(name))
    except ConfigurationError:
        return  # reading the configuration reports it
    for variable, valid in {**_DECLARED, "needs": arguments}.items():
        value = getattr(can, variable)
        several = variable in ("families", "needs")
        if several and not isinstance(value, tuple | list):
            yield f"{name}.{variable}: expected a tuple of strings, got {value!r}."
            continue
        for one in value if several else [value]:
            if one not in valid:
                hint = nearest_names(str(one), [str(known) for known in valid])
                yield f"{name}.{variable}: {one!r} is not valid. {hint}"
            elif variable == "needs" and one not in GIVEN:
                yield (
                    f"{name}.needs: no experiment gives {one!r}. Experiments give "
                    f"{', '.join(GIVEN)}. Leave it out of `needs`, and give it a default."
                )


def _place(path: Path, error: BaseException) -> str:
    """Return the file and the last line of it that led to the error."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)

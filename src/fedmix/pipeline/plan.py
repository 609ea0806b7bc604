"""What a run consists of: studies, settings, methods and blocks of replications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from string import Formatter
from typing import Any

from fedmix.configuration import merged, raise_all
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.methods.capabilities import able_methods

DEFAULT_VARIANT = "default"
REGISTERED = "registered"
# Values that a setting must have, or several such mappings of which one must fit.
Where = Mapping[str, Any] | list[Mapping[str, Any]]


@dataclass(frozen=True)
class Setting:
    """One cell of a study's grid in one variant.

    Parameters
    ----------
    study, variant, name : str
        ``name`` is the setting's short id without the variant.
    values : mapping
        Constants, the variant's changes and the grid's values.
    """

    study: str
    variant: str
    name: str
    values: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """The folder's name under ``results/<study>/``."""
        return self.name if self.variant == DEFAULT_VARIANT else f"{self.variant}.{self.name}"

    def matches(self, where: Where) -> bool:
        """Return whether the setting has the given values (a list means any of them)."""
        if isinstance(where, list):
            return any(self.matches(one) for one in where)
        values = {**self.values, "variant": self.variant, "setting": self.name}
        return all(
            values.get(key) in wanted if isinstance(wanted, list) else values.get(key) == wanted
            for key, wanted in where.items()
        )


@dataclass(frozen=True)
class PlannedMethod:
    """A method of a study: its name in paths and tables, its estimator and parameters.

    ``source`` is the entry of ``config/methods.yaml`` that it is, or varies. ``replications`` is
    set for a method too slow for as many as the study has.
    """

    name: str
    source: str
    estimator: str
    label: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    where: Where = field(default_factory=dict)
    replications: int | None = None


@dataclass(frozen=True)
class Study:
    """A study as configured: settings times methods times replications."""

    name: str
    paper: str
    experiment: str
    replications: int
    block: int
    settings: Mapping[str, Setting]
    variants: Mapping[str, Mapping[str, Any]]
    methods: Mapping[str, PlannedMethod]

    @property
    def diagnostic(self) -> list[str]:
        """Names of the variants that only show what one switch does."""
        return [name for name, change in self.variants.items() if change.get("diagnostic")]

    def replications_of(self, name: str, setting: Setting) -> int:
        """Return how often a method runs in a setting: the study's number, or a smaller one."""
        variant = self.variants[setting.variant]
        limits = [variant.get("replications"), self.methods[name].replications]
        return min([self.replications, *(limit for limit in limits if limit)])

    def blocks_of(self, name: str, setting: Setting) -> list[str]:
        """Return the names of a method's blocks in a setting, such as ``"0-19"``."""
        n = self.replications_of(name, setting)
        return [f"{a}-{min(a + self.block, n) - 1}" for a in range(0, n, self.block)]

    def methods_of(self, setting: Setting) -> list[str]:
        """Return the methods that run in a setting."""
        only = self.variants[setting.variant].get("only", self.methods)
        return [
            name for name, m in self.methods.items() if name in only and setting.matches(m.where)
        ]

    def method_in(self, name: str, setting: Setting) -> PlannedMethod:
        """Return a method with the parameters that the setting's variant gives it.

        What a variant says of an entry of ``config/methods.yaml`` holds for all that vary it.
        """
        method = self.methods[name]
        changes = self.variants[setting.variant].get("methods", {})
        parameters = {
            **method.parameters,
            **changes.get(method.source, {}),
            **changes.get(name, {}),
        }
        return replace(method, parameters=parameters)


def replications_of(block: str) -> range:
    """Return the replications that a block's name stands for: ``"0-19"`` is 0, 1, ..., 19."""
    first, last = block.split("-")
    return range(int(first), int(last) + 1)


def plan_study(
    name: str, paper: str, document: Mapping[str, Any], methods: Mapping[str, Any]
) -> Study:
    """Resolve a study's configuration.

    Parameters
    ----------
    name, paper : str
        The study's name, and the folder that it belongs to.
    document : mapping
        Its validated configuration, the preset's changes included.
    methods : mapping
        The method entries of ``config/methods.yaml``. A study whose methods are ``registered``
        runs every method that can label the points of Gaussian data, with an entry or without.

    Returns
    -------
    Study

    Raises
    ------
    ConfigurationError
        If settings share an id, or a method or variant is unknown.
    """
    variants = document.get("variants") or {DEFAULT_VARIANT: {}}
    planned = {m.name: m for m in _planned_methods(name, document["methods"], methods)}
    raise_all(
        f"studies/{name}.yaml: variant {variant!r} changes the unknown method {method!r}. "
        f"{nearest_names(method, [*planned, *methods])}"
        for variant, change in variants.items()
        for method in [*change.get("methods", {}), *change.get("only", [])]
        if method not in planned and method not in methods
    )
    settings: dict[str, Setting] = {}
    for setting in _settings(name, document, variants):
        if setting.folder in settings:
            raise ConfigurationError(
                f"studies/{name}.yaml: two settings share the id {setting.folder!r}. "
                "Name every varying key in setting_id."
            )
        settings[setting.folder] = setting
    return Study(
        name=name,
        paper=paper,
        experiment=document["experiment"],
        replications=document["replications"],
        block=document["block"],
        settings=settings,
        variants=variants,
        methods=planned,
    )


def _settings(
    study: str, document: Mapping[str, Any], variants: Mapping[str, Any]
) -> Iterator[Setting]:
    template = document["setting_id"]
    for variant, change in variants.items():
        for grid in change.get("settings", document["settings"]):
            axes = {k: v if isinstance(v, list) else [v] for k, v in grid.items()}
            for combination in product(*axes.values()):
                chosen = dict(zip(axes, combination, strict=True))
                values = merged(
                    merged(document.get("constants", {}), change.get("constants", {})), chosen
                )
                yield Setting(study, variant, _format_id(study, template, values), values)


def _format_id(study: str, template: str, values: Mapping[str, Any]) -> str:
    keys = [key for _, key, _, _ in Formatter().parse(template) if key]
    missing = [key for key in keys if key not in values]
    if missing:
        raise ConfigurationError(
            f"studies/{study}.yaml: setting_id names {missing[0]!r}, which no setting has. "
            f"{nearest_names(missing[0], values)}"
        )
    return template.format(**values)


def _planned_methods(
    study: str, wanted: str | list[str | Mapping[str, Any]], known: Mapping[str, Any]
) -> Iterator[PlannedMethod]:
    if wanted != REGISTERED:
        yield from (_plan_method(study, entry, known) for entry in wanted)
        return
    for estimator in able_methods():
        entries = {n: e for n, e in known.items() if e["estimator"] == estimator}
        # A method's first entry is the plain one; a new method may do without.
        name = next(iter(entries), estimator)
        plain = {"estimator": estimator, "label": estimator}
        yield _plan_method(study, name, {name: entries.get(name, plain)})


def _plan_method(study: str, entry: str | Mapping[str, Any], known: Mapping) -> PlannedMethod:
    entry = {"name": entry} if isinstance(entry, str) else entry
    source = entry.get("method", entry["name"])
    if source not in known:
        raise ConfigurationError(
            f"studies/{study}.yaml: unknown method {source!r}. {nearest_names(source, known)}"
        )
    base = known[source]
    return PlannedMethod(
        name=entry["name"],
        source=source,
        estimator=base["estimator"],
        label=entry.get("label", base["label"] if source == entry["name"] else entry["name"]),
        parameters={**base.get("parameters", {}), **entry.get("parameters", {})},
        where=entry.get("where", {}),
        replications=entry.get("replications"),
    )

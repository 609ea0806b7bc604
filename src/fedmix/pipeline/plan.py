"""The parts of a run: studies, settings, methods and blocks of replications."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from string import Formatter
from typing import Any

from fedmix.cells.verdicts import DIAGNOSTIC, SOURCES, WRITTEN
from fedmix.conditions import Where, has_values
from fedmix.configuration import Document, merged
from fedmix.declarations import Keys
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.methods import index
from fedmix.methods.capabilities import able_methods
from fedmix.pipeline.costs import Costs, Scale

DEFAULT_VARIANT = "default"
REGISTERED = "registered"
RUNTIME = 120  # minutes, a job's limit at its first attempt; blocks are sized to take ten
OWN_METHOD = "A method of your own is found with plugins=<its folder>."
_BLOCK = re.compile(r"\d+-\d+")
_SAFE_ID = re.compile(r"[\w+-][\w.+-]*")


@dataclass(frozen=True)
class Setting:
    """One cell of a study's grid in one variant.

    ``name`` is its short id without the variant. ``values`` are constants, the variant's changes
    and the grid's values.
    """

    variant: str
    name: str
    values: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """The folder's name under ``results/<study>/``."""
        return setting_folder(self.variant, self.name)

    @property
    def dataset(self) -> str:
        """The data set of the setting; empty for a simulation."""
        return self.values.get("dataset", "")

    @property
    def embedded(self) -> str:
        """The path of the embedded data set; empty for a simulation."""
        name = self.dataset
        return f"data/embedded/{name}/{self.values['embedding']}.npz" if name else ""

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that a condition can test: the values, the variant, the setting's name."""
        return {**self.values, "variant": self.variant, "setting": self.name}

    def matches(self, where: Where) -> bool:
        """Return whether the setting has the given values, which may include variant and name."""
        return has_values(self.identity, where)


@dataclass(frozen=True)
class PlannedMethod:
    """A method of a study: its name in paths and tables, its estimator and parameters.

    ``source`` is its entry in ``config/methods.yaml``, or the entry that it varies. ``inherited``
    are the parameters of that entry, there and in the study. ``replications`` is set for a method
    that is too slow for the study's number of replications. ``paper`` is an address.
    """

    name: str
    source: str
    estimator: str
    label: str
    paper: str = ""
    inherited: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    where: Where = field(default_factory=dict)
    replications: int | None = None


@dataclass(frozen=True)
class Block:
    """The replications of a setting that one job runs, and the methods that it runs on them.

    ``name`` has the first and the last replication, such as ``"0-19"``.
    """

    name: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """A configured study: settings times methods times replications.

    ``block`` is the number of replications per job; None derives it from ``costs``. ``enough``
    gives the replications that a setting needs at most, see :mod:`fedmix.pipeline.precision`.
    """

    name: str
    paper: str
    experiment: str
    replications: int
    block: int | None
    settings: Mapping[str, Setting]
    variants: Mapping[str, Mapping[str, Any]]
    methods: Mapping[str, PlannedMethod]
    costs: Costs = field(default_factory=Costs, repr=False)
    enough: Callable[[Study, Setting], int] | None = field(default=None, repr=False, compare=False)

    @property
    def roles(self) -> dict[str, str]:
        """The role of each variant, from :data:`fedmix.cells.verdicts.SOURCES`."""
        return {name: change.get("role", DIAGNOSTIC) for name, change in self.variants.items()}

    def most_replications(self, name: str, setting: Setting) -> int:
        """Return a method's configured replications: the study's number, or a smaller one."""
        variant, method = self.variants[setting.variant], self.methods[name]
        limits = (self.replications, variant.get("replications"), method.replications)
        return min(filter(None, limits))

    def replications_of(self, name: str, setting: Setting) -> int:
        """Return a method's replications in a setting: the configured number, or a smaller one."""
        most = self.most_replications(name, setting)
        return min(most, self.enough(self, setting)) if self.enough else most

    def replications_in(self, setting: Setting) -> dict[str, int]:
        """Return the number of replications of each method in a setting."""
        return {name: self.replications_of(name, setting) for name in self.methods_of(setting)}

    def blocks(self, setting: Setting) -> Iterator[Block]:
        """Yield the jobs of a setting, sized by the known costs to last minutes.

        A job runs all methods of its replications, because they share the clients and the initial
        values. If some methods have fewer replications, a block ends where theirs end.
        """
        numbers = self.replications_in(setting)
        first = 0
        for end in sorted(set(numbers.values())):
            methods = tuple(name for name, n in numbers.items() if n >= end)
            place = self.name, setting.dataset, setting.variant
            size = self.block or self.costs.block(*place, methods)
            for a in range(first, end, size):
                yield Block(f"{a}-{min(a + size, end) - 1}", methods)
            first = end

    def seconds(self, name: str, setting: Setting, scale: Scale | None = None) -> float:
        """Return the known CPU seconds of a replication, see :meth:`.costs.Costs.seconds`."""
        return self.costs.seconds(self.name, setting.dataset, setting.variant, name, scale)

    def methods_of(self, setting: Setting) -> list[str]:
        """Return the methods that run in a setting."""
        only = self.variants[setting.variant].get("only", self.methods)
        return [
            name for name, m in self.methods.items() if name in only and setting.matches(m.where)
        ]

    def method_in(self, name: str, setting: Setting) -> PlannedMethod:
        """Return a method with all its parameters in a setting.

        A variant's parameters for an entry of ``config/methods.yaml`` apply to all methods that
        vary it. A method's own parameters override them. A variant that names it overrides both.
        """
        method = self.methods[name]
        changes = self.variants[setting.variant].get("methods", {})
        parameters = {
            **method.inherited,
            **changes.get(method.source, {}),
            **method.parameters,
            **changes.get(name, {}),
        }
        return replace(method, parameters=parameters)


def setting_folder(variant: str, name: str) -> str:
    """Return the name of a setting's folder under ``results/<study>/``."""
    return name if variant == DEFAULT_VARIANT else f"{variant}.{name}"


def timings_of(block: Path) -> Path:
    """Return the file of a block's timings, beside that of its results."""
    return block.with_suffix(".timings.parquet")


def replications_of(block: str) -> range:
    """Return the replications of a block from its name: ``"0-19"`` is 0, 1, ..., 19."""
    first, last = block.split("-")
    return range(int(first), int(last) + 1)


def block_paths(folder: str | os.PathLike) -> list[Path]:
    """Return the result files of the blocks in a setting's folder, sorted by replications."""
    paths = [p for p in Path(folder).glob("*.parquet") if _BLOCK.fullmatch(p.stem)]
    return sorted(paths, key=lambda path: replications_of(path.stem).start)


def finished_blocks(
    folder: str | os.PathLike, replications: int, planned: Collection[str] = ()
) -> list[str]:
    """Return the names of the blocks of any size in a setting's folder, in order.

    Blocks beyond the wanted number of ``replications``, and those that overlap an earlier one, are
    left out. Of blocks with the same first replication, a ``planned`` one is taken, else the
    longest.
    """
    found: list[str] = []
    end = 0

    def order(block: str) -> tuple[int, bool, int]:
        held = replications_of(block)
        return held.start, block not in planned, -held.stop

    for block in sorted((path.stem for path in block_paths(folder)), key=order):
        if end <= order(block)[0] < replications:
            found.append(block)
            end = replications_of(block).stop
    return found


def plan_study(
    name: str,
    paper: str,
    document: Document,
    methods: Mapping[str, Any],
    costs: Costs | None = None,
) -> Study:
    """Resolve a study's validated configuration, with the preset's changes.

    ``paper`` is the folder of its paper, and ``methods`` are the entries of
    ``config/methods.yaml``. A registered method needs none. A study whose methods are
    ``registered`` runs all that can label the points of Gaussian data.
    """
    content = document.content
    _check_roles(document)
    planned = {m.name: m for m in _planned_methods(document.part("methods"), methods)}
    settings: dict[str, Setting] = {}
    for variant, keys, values in combinations(content):
        setting = Setting(variant, _format_id(document, keys, values), values)
        if setting.folder in settings:
            raise ConfigurationError(
                f"{document.place(*keys)}: two settings share the id {setting.folder!r}. "
                "Name every varying key in setting_id."
            )
        settings[setting.folder] = setting
    return Study(
        name=name,
        paper=paper,
        experiment=content["experiment"],
        replications=content["replications"],
        block=content.get("block"),
        settings=settings,
        variants=variants_of(content),
        methods=planned,
        costs=costs or Costs(),
    )


def _check_roles(document: Document) -> None:
    """Check that a study has at most one variant of each role, except diagnostic ones."""
    variants = document.content.get("variants", {})
    for role in SOURCES:
        own = [name for name, change in variants.items() if change.get("role") == role]
        if len(own) > 1:
            raise ConfigurationError(
                f"{document.place('variants', own[-1], 'role')}: {', '.join(own)} have the role "
                f"{role!r}. Only one variant of a study can have it; the others are diagnostic."
            )


def combinations(document: Mapping[str, Any]) -> Iterator[tuple[str, Keys, dict[str, Any]]]:
    """Yield the settings of a study's document.

    Each has its variant, the place of its entry in ``settings``, and its values: the constants, the
    variant's and the entry's values, and one combination of its ``grid``.
    """
    for variant, change in variants_of(document).items():
        constants = merged(document.get("constants", {}), change.get("constants", {}))
        owner, keys = (change, ("variants", variant)) if "settings" in change else (document, ())
        for i, entry in enumerate(owner["settings"]):
            grid = entry.get("grid", {})
            plain = {key: value for key, value in entry.items() if key != "grid"}
            for combination in product(*grid.values()):
                chosen = dict(zip(grid, combination, strict=True))
                yield variant, (*keys, "settings", i), merged(constants, plain | chosen)


def variants_of(document: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return a document's variants, or one without changes."""
    return document.get("variants", {DEFAULT_VARIANT: {"role": WRITTEN}})


def _format_id(document: Document, of: Keys, values: Mapping[str, Any]) -> str:
    template, place = document.content["setting_id"], document.place("setting_id")
    try:
        keys = [key for _, key, _, _ in Formatter().parse(template) if key is not None]
        missing = [key for key in keys if key not in values]
        name = "" if missing else template.format(**values)
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigurationError(f"{place}: {template!r} cannot be filled in: {error}") from None
    if missing:
        raise ConfigurationError(
            f"{document.place(*of)}: missing {missing[0]}, which {place} names. The setting has: "
            f"{', '.join(sorted(values))}."
        )
    if not _SAFE_ID.fullmatch(name):
        raise ConfigurationError(
            f"{place}: the id {name!r} cannot name a folder: only letters, "
            "digits and . _ + - are allowed, and no . at its start."
        )
    return name


def _planned_methods(wanted: Document, known: Mapping[str, Any]) -> Iterator[PlannedMethod]:
    if wanted.content == REGISTERED:
        yield from _registered_methods(known)
        return
    entries: list[Any] = [{"name": e} if isinstance(e, str) else e for e in wanted.content]
    names = [entry["name"] for entry in entries]
    listed = {e["name"]: e.get("parameters", {}) for e in entries}
    for i, entry in enumerate(entries):
        source = entry.get("method", entry["name"])
        if source not in known and source not in index():
            hint = f"{nearest_names(source, {*known, *index()})} {OWN_METHOD}"
            raise ConfigurationError(f"{wanted.place(i)}: unknown method {source!r}. {hint}")
        if entry["name"] in names[:i]:
            raise ConfigurationError(f"{wanted.place(i)}: {entry['name']!r} is listed twice.")
        base = known.get(source) or _plain(source)
        inherited = {**base.get("parameters", {}), **listed.get(source, {})}
        yield _plan_method(entry, source, {**base, "parameters": inherited})


def _registered_methods(known: Mapping[str, Any]) -> Iterator[PlannedMethod]:
    for estimator in able_methods():
        entries = ((name, e) for name, e in known.items() if e["estimator"] == estimator)
        # The first entry of a method is its default. A new method needs no entry.
        name, entry = next(entries, (estimator, _plain(estimator)))
        yield _plan_method({"name": name}, name, entry)


def _plain(estimator: str) -> dict[str, Any]:
    """Return an entry for a registered method without one in ``config/methods.yaml``."""
    return {"estimator": estimator, "label": estimator}


def _plan_method(entry: Mapping[str, Any], source: str, base: Mapping[str, Any]) -> PlannedMethod:
    return PlannedMethod(
        name=entry["name"],
        source=source,
        estimator=base["estimator"],
        label=entry.get("label", base["label"] if source == entry["name"] else entry["name"]),
        paper=base.get("paper", ""),
        inherited=base.get("parameters", {}),
        parameters=entry.get("parameters", {}),
        where=entry.get("where", {}),
        replications=entry.get("replications"),
    )

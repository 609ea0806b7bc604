"""The request of a run: its studies, data sets, tables and figures, as its options choose them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fedmix.cells.items import Item, read_items
from fedmix.cells.papers import KINDS, Paper
from fedmix.configuration import Problems, raise_all, read_yaml
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.methods import index, use_plugins
from fedmix.methods.capabilities import obstacles
from fedmix.pipeline.checking.studies import folder_of_plugins, plugin_errors
from fedmix.pipeline.configured import read_configuration, read_options
from fedmix.pipeline.coverage import Coverage
from fedmix.pipeline.evidence import Evidence
from fedmix.pipeline.plan import Setting, Study
from fedmix.pipeline.precision import Precision
from fedmix.views.format import number_of


@dataclass(frozen=True)
class Part:
    """Settings of a study that one job collects."""

    study: Study
    name: str
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class Request:
    """Everything that a run is to make, resolved and checked.

    ``options`` is the top-level configuration, e.g. ``preset`` and ``mirror``. ``datasets`` and
    ``papers`` are all of them, used or not. ``left_out`` has the optional settings of a study whose
    embedding is missing. Papers ``on_request`` run only if a target names them. ``coverage`` knows
    the finished replications that the evidence holds. ``precision`` is the preset's rule for
    replications; None for the studies' own numbers.
    """

    options: Mapping[str, Any]
    studies: Mapping[str, Study]
    items: Mapping[str, Item]
    datasets: Mapping[str, Any]
    papers: Mapping[str, Paper]
    left_out: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    on_request: frozenset[str] = frozenset()
    coverage: Coverage = field(default_factory=lambda: Coverage(Evidence(), {}))
    precision: Precision | None = None

    @property
    def asked(self) -> str:
        """The options of the command line that ask for the same run."""
        given = {name: self.options.get(name) for name in ("preset", "replications", "plugins")}
        said = [shlex.quote(f"{name}={value}") for name, value in given.items() if value]
        return " ".join(["--config", *said])

    def in_all(self) -> Request:
        """Return the part of the target ``all``, which is also that of the audit and the pages."""
        kept = {n: s for n, s in self.studies.items() if s.paper not in self.on_request}
        items = {name: item for name, item in self.items.items() if item.study in kept}
        papers = {key: p for key, p in self.papers.items() if key not in self.on_request}
        return replace(self, studies=kept, items=items, papers=papers)

    def of_target(self, name: str) -> Request:
        """Return the part behind a target: a paper, a study, a table or a figure, or ``all``."""
        if name == "all":
            return self.in_all()
        items = {k: item for k, item in self.items.items() if name in (k, item.paper, item.study)}
        if not items:
            papers = {item.paper for item in self.items.values()}
            hint = nearest_names(name, sorted({"all", *papers, *self.studies, *self.items}))
            raise ConfigurationError(f"There is no study or target {name!r}. {hint}")
        shown: dict[str, dict[str, Setting]] = {}
        for part in (part for item in items.values() for part in self.parts_behind(item)):
            own = {setting.folder: setting for setting in part.settings}
            shown.setdefault(part.study.name, {}).update(own)
        studies = {
            key: replace(self.studies[key], settings=settings) for key, settings in shown.items()
        }
        return replace(self, studies=studies, items=items)

    def settings_of(self, item: Item) -> list[Setting]:
        """Return the settings that an item shows."""
        return [s for s in self.studies[item.study].settings.values() if s.matches(item.where)]

    @cached_property
    def parts(self) -> dict[tuple[str, str], Part]:
        """The settings that are collected together, by study and name: those of the same items.

        A part bears the name of its first item, so that one item needs no other settings.
        """
        found: dict[tuple[str, str], Part] = {}
        for study in self.studies.values():
            items = [item for item in self.items.values() if item.study == study.name]
            groups: dict[tuple[str, ...], list[Setting]] = {}
            for setting in study.settings.values():
                names = tuple(item.name for item in items if setting.matches(item.where))
                groups.setdefault(names, []).append(setting)
            for names in sorted(groups, key=len):  # the fewest items first, so that none is taken
                settings = groups[names]
                name = next((n for n in names if (study.name, n) not in found), "_".join(names))
                part = Part(study, name or "rest", tuple(settings))
                found[study.name, part.name] = part
        return found

    def folder_of(self, part: Part) -> str:
        """Return the folder with the collected results of a part."""
        return f"results/{self.options['preset']}/collected/{part.study.name}/{part.name}"

    def parts_in(self, study: str) -> list[Part]:
        """Return the parts of a study; none if it is not run."""
        return [part for part in self.parts.values() if part.study.name == study]

    def parts_of(self, item: Item) -> list[Part]:
        """Return the parts with the settings that an item shows."""
        shown = {setting.folder for setting in self.settings_of(item)}
        own = self.parts_in(item.study)
        return [part for part in own if shown & {setting.folder for setting in part.settings}]

    def parts_behind(self, item: Item) -> list[Part]:
        """Return the parts of an item, and those of the study with other draws if that is run."""
        return [*self.parts_of(item), *self.parts_in(item.other_draws)]

    def with_optional(self, study: Study) -> Study:
        """Return a study with its optional settings whose embedding is missing.

        Evidence from outside may have used an embedding that cannot be made here.
        """
        missing = {setting.folder: setting for setting in self.left_out.get(study.name, ())}
        return replace(study, settings={**study.settings, **missing})

    def unavailable(self, study: str, where: Mapping[str, Any]) -> dict[str, str]:
        """Return the missing embeddings of a study's settings, by the titles of their data."""
        return {
            self.datasets[setting.dataset]["title"]: setting.embedded
            for setting in self.left_out.get(study, ())
            if setting.matches(where)
        }

    def embeddings(self) -> list[tuple[str, str]]:
        """Return the pairs (data set, embedding) that settings need, sorted."""
        values = (s.values for study in self.studies.values() for s in study.settings.values())
        return sorted({(v["dataset"], v["embedding"]) for v in values if "dataset" in v})


def read_request(
    folder: str | Path, options: Mapping[str, Any], workdir: str | Path = "."
) -> Request:
    """Resolve the options of a run against the configuration in a ``folder``.

    ``options`` is ``config.yaml`` with the changes of ``--config``. Snakemake works in ``workdir``:
    optional settings run if their embedding exists there. An error has the file and key of each
    problem, and the nearest valid names.
    """
    folder = Path(folder)
    options = read_options(folder, options)
    problems = Problems()
    with problems.kept():
        use_plugins(folder_of_plugins(options["plugins"], folder.parent))
        raise_all(plugin_errors())
    with problems.kept():
        configuration = read_configuration(folder)
    problems.raise_all()
    with problems.kept():
        declared = named("preset", options["preset"], configuration.presets)
    with problems.kept():
        raise_all(_unknown("paper", options["papers"] or (), configuration.papers))
    problems.raise_all()
    changes = configuration.changes[options["preset"]]
    limits = {key: options[key] for key in ("replications", "block") if options[key]}
    studies = {name: replace(study, **limits) for name, study in declared.items()}
    compared = [name for name, study in studies.items() if study.experiment == "matrix"]
    studies = _with_methods(studies, compared, options["methods"])
    kept = Evidence(folder.parent / options["evidence"] if options["evidence"] else None)
    limit = options["replication_timeout"]
    coverage = Coverage(kept, configuration.datasets, Path(workdir), limit)
    present = _with_settings(studies, coverage.has_data)
    missing = {
        name: tuple(s for key, s in study.settings.items() if key not in present[name].settings)
        for name, study in studies.items()
        if len(study.settings) > len(present[name].settings)
    }
    if options["partial"]:
        present = _with_settings(present, coverage.has_started)
    items = read_items(configuration.papers, changes.items)
    precision = None
    if changes.replications and not options["replications"]:
        published = folder.parent / "data" / "published"
        precision = Precision(changes.replications, coverage, present, items, published)
        present = {name: replace(study, enough=precision) for name, study in present.items()}
    planned = {name: item for name, item in items.items() if item.study in studies}
    planned = _with_metrics(planned, compared, options["metrics"])
    on_request = changes.on_request
    if options["papers"]:
        on_request = configuration.papers.keys() - options["papers"]
    request = Request(
        options=options,
        studies=present,
        items=planned,
        datasets=configuration.datasets,
        papers=configuration.papers,
        left_out=missing,
        on_request=frozenset(on_request),
        coverage=coverage,
        precision=precision,
    )
    shown = {name: item for name, item in planned.items() if _has_something_to_show(item, request)}
    return replace(request, items=shown)


def _with_methods(
    studies: Mapping[str, Study], compared: Collection[str], chosen: Sequence[str] | None
) -> dict[str, Study]:
    """Return the studies, of which the ``compared`` ones have the chosen methods in this order."""
    if chosen is None:
        return dict(studies)
    known = dict.fromkeys(method for name in compared for method in studies[name].methods)
    raise_all(_unknown("method", chosen, known))
    found = dict(studies)
    for name in compared:
        own = studies[name].methods
        found[name] = replace(studies[name], methods={m: own[m] for m in chosen if m in own})
    return found


def _with_metrics(
    items: Mapping[str, Item], compared: Collection[str], chosen: Sequence[str] | None
) -> dict[str, Item]:
    """Return the items, of which those of ``compared`` studies have the chosen metrics, if any."""
    if chosen is None:
        return dict(items)
    own = {name: item for name, item in items.items() if item.study in compared}
    known = dict.fromkeys(_measured(m) for item in own.values() for m in item.metrics)
    raise_all(_unknown("metric", chosen, known))
    whole = {**items, **{name: _narrowed(item, chosen) for name, item in own.items()}}
    return {name: item for name, item in whole.items() if name not in own or item.metric}


def _measured(metric: str) -> str:
    """Return the metric behind a derived one: ``"ari"`` for ``"rank: ari"``."""
    return metric.rpartition(": ")[2]


def _narrowed(item: Item, chosen: Sequence[str]) -> Item:
    metrics = [m for name in chosen for m in item.metrics if _measured(m) == name]
    rows = item.options.get("rows", [])
    if isinstance(rows, list):  # a figure's panels, one per metric
        rows = [row for name in chosen for row in rows if row.get("metric") == name]
    options = {**item.options, "rows": rows} if rows else item.options
    return item.model_copy(update={"metric": metrics, "options": options})


def _unknown(kind: str, names: Sequence[str], known: Iterable[str]) -> Iterator[str]:
    known = list(known)
    for name in names:
        if name not in known:
            nearest = nearest_names(name, known) if known else "This preset compares nothing."
            yield f"--config {kind}s: unknown {kind} {name!r}. {nearest}"


def left_out(study: Study) -> dict[str, list[str]]:
    """Return the registered methods that a study of the matrix does not run, by reason."""
    running = {method.estimator for method in study.methods.values()}
    reasons = dict.fromkeys(index(), "not chosen") | obstacles()
    found: dict[str, list[str]] = {}
    for name in sorted(reasons.keys() - running):
        found.setdefault(reasons[name], []).append(name)
    return found


def _has_something_to_show(item: Item, request: Request) -> bool:
    """Return whether an item has settings, and two variants if it compares variants."""
    variants = {setting.variant for setting in request.settings_of(item)}
    needed = 2 if item.options.get("series") == "variant" else 1
    return len(variants) >= needed


def _with_settings(
    studies: Mapping[str, Study], keep: Callable[[Study, Setting], bool]
) -> dict[str, Study]:
    """Return the studies with the settings to keep."""
    return {
        name: replace(study, settings={k: s for k, s in study.settings.items() if keep(study, s)})
        for name, study in studies.items()
    }


def named(kind: str, name: str, known: Mapping[str, Any]) -> Any:
    """Return what has a name; an unknown one is an error with the nearest names."""
    if name not in known:
        raise ConfigurationError(f"There is no {kind} {name!r}. {nearest_names(name, known)}")
    return known[name]


def check(read: Callable[[], Request], config: Path, paper: str | None = None) -> Iterator[str]:
    """Yield what was checked, if nothing is wrong.

    ``read`` reads the request, which checks all of the configuration and imports the plug-ins. With
    a ``paper``, problems elsewhere are only counted.
    """
    folders = (path for kind in KINDS for path in sorted((config / kind).glob("*")))
    papers = [path.name for path in folders if path.is_dir()]
    if paper and paper not in papers:
        raise ConfigurationError(f"There is no paper {paper!r}. {nearest_names(paper, papers)}")
    try:
        request = read()
    except ConfigurationError as error:
        if not paper:
            raise
        raise_all(problem for problem in error.problems if f"/{paper}/" in problem)
        elsewhere = number_of(len(error.problems), "problem")
        yield f"No problem in {paper}, but {elsewhere} elsewhere:"
        yield from (f"  - {problem}" for problem in error.problems)
        return
    n_studies = len(request.studies)
    n_settings = sum(len(study.settings) for study in request.studies.values())
    yield (
        f"No problem found in {len(request.papers)} papers and comparisons, in all presets. The "
        f"preset {request.options['preset']} has {n_studies} "
        f"{'study' if n_studies == 1 else 'studies'}, {number_of(n_settings, 'setting')}, and "
        f"{len(request.items)} tables and figures."
    )


def require_evidence(folder: str | None, root: Path) -> None:
    """Stop if a folder of kept replications that was asked for does not exist.

    Otherwise everything would run again. That of ``config.yaml`` appears with the first ones.
    """
    default = read_yaml(root / "config" / "config.yaml").get("evidence")
    if folder and folder != default and not (root / folder).is_dir():
        raise ConfigurationError(
            f"There is no folder {folder} with kept replications (evidence). Set evidence=<folder> "
            "to an existing one, relative to the repository, or evidence=false to run everything."
        )

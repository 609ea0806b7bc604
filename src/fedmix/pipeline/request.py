"""Read the request of a run: configuration, preset, studies, methods, data sets and items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fedmix.cells.items import Item, read_items
from fedmix.cells.papers import Paper
from fedmix.configuration import Problems, raise_all
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.methods import index, use_plugins
from fedmix.methods.capabilities import obstacles
from fedmix.pipeline.checking.plugins import plugin_errors
from fedmix.pipeline.configured import read_configuration
from fedmix.pipeline.coverage import Coverage
from fedmix.pipeline.evidence import Evidence
from fedmix.pipeline.options import read_options
from fedmix.pipeline.plan import Setting, Study
from fedmix.pipeline.precision import Precision

_NOT_CHOSEN = "not chosen"


@dataclass(frozen=True)
class Part:
    """Settings of a study that one job collects."""

    study: Study
    name: str
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class Request:
    """Everything that a run is to make, resolved and checked.

    Attributes
    ----------
    options : mapping
        The top-level configuration, e.g. ``preset`` and ``mirror``.
    studies : mapping of str to Study
    items : mapping of str to Item
    datasets : mapping of str to mapping
        Entries of ``config/datasets.yaml``.
    papers : mapping of str to Paper
        Every folder of ``config/papers`` and ``config/beyond``.
    left_out : mapping of str to tuple of Setting
        Study -> its optional settings whose embedding is missing.
    on_request : frozenset of str
        Papers that the preset runs only if a target names them.
    coverage : Coverage
        The finished replications that the evidence holds.
    precision : Precision or None
        The preset's rule for replications; None for the studies' own numbers.
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

    def in_all(self) -> Request:
        """Return the part of the target ``all``, which is also that of the audit and the pages."""
        kept = {n: s for n, s in self.studies.items() if s.paper not in self.on_request}
        items = {name: item for name, item in self.items.items() if item.study in kept}
        papers = {key: p for key, p in self.papers.items() if key not in self.on_request}
        return replace(self, studies=kept, items=items, papers=papers)

    def of_target(self, name: str) -> Request:
        """Return the part behind a target: a paper, a table or a figure, or ``all``.

        Raises
        ------
        ConfigurationError
            If there is no such target, with the nearest names.
        """
        if name == "all":
            return self.in_all()
        items = {key: item for key, item in self.items.items() if name in (key, item.paper)}
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

        A part bears the name of the first of its items, so a single item needs no other settings.
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

    def parts_of(self, item: Item) -> list[Part]:
        """Return the parts with the settings that an item shows."""
        shown = {setting.folder for setting in self.settings_of(item)}
        return [
            part
            for (study, _), part in self.parts.items()
            if study == item.study and shown & {setting.folder for setting in part.settings}
        ]

    def parts_behind(self, item: Item) -> list[Part]:
        """Return the parts behind an item and its verdicts.

        They are its own, and those of the study with other partition draws if that is run.
        """
        other = [p for (study, _), p in self.parts.items() if study == item.partition_draws]
        return [*self.parts_of(item), *other]

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
    """Resolve a request against the configuration folder.

    Parameters
    ----------
    folder : path-like
        The ``config`` folder.
    options : mapping
        The top-level configuration after ``--config``.
    workdir : path-like, default="."
        Where Snakemake works. Optional settings run if their embedding exists there.

    Returns
    -------
    Request

    Raises
    ------
    ConfigurationError
        With the file and key of each problem, and the nearest valid names.
    """
    folder = Path(folder)
    options = read_options(folder, options)
    problems = Problems()
    with problems.kept():
        use_plugins(options["plugins"])
        raise_all(plugin_errors())
    with problems.kept():
        configuration = read_configuration(folder)
    problems.raise_all()
    preset, known = options["preset"], configuration.presets
    if preset not in known:
        raise ConfigurationError(f"There is no preset {preset!r}. {nearest_names(preset, known)}")
    limits = {key: options[key] for key in ("replications", "block") if options[key]}
    studies = {name: replace(study, **limits) for name, study in known[preset].items()}
    compared = [name for name, study in studies.items() if study.experiment == "matrix"]
    studies = with_methods(studies, compared, options["methods"])
    kept = Evidence(folder.parent / options["evidence"] if options["evidence"] else None)
    limit = options["replication_timeout"]
    coverage = Coverage(kept, configuration.datasets, Path(workdir), limit)
    present = {name: _without_missing(study, coverage) for name, study in studies.items()}
    left_out = _left_out(studies, present)
    if options["partial"]:
        present = {name: _started(study, coverage) for name, study in present.items()}
    items = read_items(configuration.papers, configuration.changes[preset].items)
    rule = configuration.changes[preset].replications
    precision = None
    if rule and not options["replications"]:
        published = folder.parent / "data" / "published"
        precision = Precision(rule, coverage, present, items, published)
        present = {name: replace(study, enough=precision) for name, study in present.items()}
    planned = {name: item for name, item in items.items() if item.study in studies}
    planned = with_metrics(planned, compared, options["metrics"])
    request = Request(
        options=options,
        studies=present,
        items=planned,
        datasets=configuration.datasets,
        papers=configuration.papers,
        left_out=left_out,
        on_request=frozenset(configuration.changes[preset].on_request),
        coverage=coverage,
        precision=precision,
    )
    shown = {name: item for name, item in planned.items() if _has_something_to_show(item, request)}
    return replace(request, items=shown)


def _has_something_to_show(item: Item, request: Request) -> bool:
    """Return whether an item has settings, and two variants if it compares variants."""
    variants = {setting.variant for setting in request.settings_of(item)}
    needed = 2 if item.options.get("series") == "variant" else 1
    return len(variants) >= needed


def _without_missing(study: Study, coverage: Coverage) -> Study:
    """Leave out optional settings without an embedding, unless the evidence holds them."""
    settings = {
        folder: setting
        for folder, setting in study.settings.items()
        if not setting.values.get("optional") or coverage.data_hash(study, setting)
    }
    return replace(study, settings=settings)


def _started(study: Study, coverage: Coverage) -> Study:
    """Leave out settings without finished replications, for tables of the others.

    If a setting's embedding is missing, results under its name belong to another preset.
    """
    settings = {
        folder: setting
        for folder, setting in study.settings.items()
        if any(coverage.held(study, setting).values())
        or (
            any((coverage.workdir / "results" / study.name / folder).glob("*-*.parquet"))
            and (not setting.embedded or coverage.data_hash(study, setting))
        )
    }
    return replace(study, settings=settings)


def _left_out(
    studies: Mapping[str, Study], present: Mapping[str, Study]
) -> dict[str, tuple[Setting, ...]]:
    missing = {
        name: tuple(s for key, s in study.settings.items() if key not in present[name].settings)
        for name, study in studies.items()
    }
    return {name: settings for name, settings in missing.items() if settings}


def with_methods(
    studies: Mapping[str, Study], compared: Iterable[str], chosen: Sequence[str] | None
) -> dict[str, Study]:
    """Return the studies, with the chosen methods in the chosen order in those that compare.

    Parameters
    ----------
    studies : mapping of str to Study
    compared : iterable of str
        The studies that compare all methods, which are those of the matrix.
    chosen : sequence of str, optional
        Names of methods; all by default.

    Raises
    ------
    ConfigurationError
        If no compared study has such a method, with the nearest names.
    """
    if chosen is None:
        return dict(studies)
    own = [studies[name] for name in compared if name in studies]
    known = dict.fromkeys(name for study in own for name in study.methods)
    raise_all(_not_compared("method", chosen, known))
    kept = {
        study.name: replace(
            study, methods={m: study.methods[m] for m in chosen if m in study.methods}
        )
        for study in own
    }
    return {**studies, **kept}


def with_metrics(
    items: Mapping[str, Item], compared: Iterable[str], chosen: Sequence[str] | None
) -> dict[str, Item]:
    """Return the items, with the chosen metrics in the chosen order in compared studies.

    An item without any of them is left out. Parameters and errors are as in :func:`with_methods`.
    """
    if chosen is None:
        return dict(items)
    own = {name: item for name, item in items.items() if item.study in set(compared)}
    known = dict.fromkeys(measured(m) for item in own.values() for m in item.metrics)
    raise_all(_not_compared("metric", chosen, known))
    kept = {name: _narrowed(item, chosen) for name, item in own.items()}
    whole = {**items, **kept}
    return {name: item for name, item in whole.items() if name not in own or item.metric}


def left_out(study: Study) -> dict[str, list[str]]:
    """Return the registered methods that a comparison does not run, by reason.

    Parameters
    ----------
    study : Study
        A study of methods that label the points of Gaussian data.
    """
    running = {method.estimator for method in study.methods.values()}
    reasons = {name: _NOT_CHOSEN for name in index()} | obstacles()
    found: dict[str, list[str]] = {}
    for name in sorted(reasons.keys() - running):
        found.setdefault(reasons[name], []).append(name)
    return found


def measured(metric: str) -> str:
    """Return the metric behind a derived one: ``"ari"`` for ``"rank: ari"``."""
    return metric.rpartition(": ")[2]


def _narrowed(item: Item, chosen: Sequence[str]) -> Item:
    metrics = [m for name in chosen for m in item.metrics if measured(m) == name]
    rows = item.options.get("rows", [])
    if isinstance(rows, list):  # a figure's panels, one per metric
        rows = [row for name in chosen for row in rows if row.get("metric") == name]
    options = {**item.options, "rows": rows} if rows else item.options
    return item.model_copy(update={"metric": metrics, "options": options})


def _not_compared(kind: str, names: Sequence[str], known: Iterable[str]) -> Iterator[str]:
    known = list(known)
    for name in names:
        if name not in known:
            nearest = nearest_names(name, known) if known else "This preset compares nothing."
            yield f"--config {kind}s: unknown {kind} {name!r}. {nearest}"

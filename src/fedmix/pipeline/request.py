"""Read what a run is asked for: configuration, preset, studies, methods, data sets and items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from fedmix.cells.items import Item, read_items
from fedmix.cells.papers import Paper
from fedmix.configuration import (
    Document,
    Keys,
    read_document,
    read_schema,
    validate,
)
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.methods import use_plugins
from fedmix.pipeline.choice import with_methods, with_metrics
from fedmix.pipeline.configured import read_configuration
from fedmix.pipeline.plan import RUNTIME, Setting, Study


@dataclass(frozen=True)
class Request:
    """Everything a run is asked for, resolved and checked.

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
        Study -> its optional settings whose embedding is not at hand.
    on_request : frozenset of str
        Papers that the preset runs only where a target names them.
    """

    options: Mapping[str, Any]
    studies: Mapping[str, Study]
    items: Mapping[str, Item]
    datasets: Mapping[str, Any]
    papers: Mapping[str, Paper]
    left_out: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    on_request: frozenset[str] = frozenset()

    def in_all(self) -> Request:
        """Return what the target ``all`` takes in, and with it the audit and the pages."""
        kept = {n: s for n, s in self.studies.items() if s.paper not in self.on_request}
        items = {name: item for name, item in self.items.items() if item.study in kept}
        papers = {key: p for key, p in self.papers.items() if key not in self.on_request}
        return replace(self, studies=kept, items=items, papers=papers)

    def settings_of(self, item: Item) -> list[Setting]:
        """Return the settings that an item shows."""
        return [s for s in self.studies[item.study].settings.values() if s.matches(item.where)]

    def cells_behind(self, item: Item) -> list[str]:
        """Return the files of the cells that an item and its verdicts are made of.

        They are its own, and those of the study that has other partition draws if it is run.
        """
        other = self.studies[item.draws].settings.values() if item.draws in self.studies else ()
        own = [(item.study, setting) for setting in self.settings_of(item)]
        behind = [*own, *((item.draws, setting) for setting in other)]
        return [f"results/{study}/{setting.folder}/cells.parquet" for study, setting in behind]

    def not_at_hand(self, study: str, where: Mapping[str, Any]) -> dict[str, str]:
        """Return the embeddings that a study's settings wait for, by the titles of their data."""
        return {
            self.datasets[setting.values["dataset"]]["title"]: embedded_path(setting.values)
            for setting in self.left_out.get(study, ())
            if setting.matches(where)
        }

    def embeddings(self) -> list[tuple[str, str]]:
        """Return every pair (data set, embedding) that some setting needs, sorted."""
        values = (s.values for study in self.studies.values() for s in study.settings.values())
        return sorted({(v["dataset"], v["embedding"]) for v in values if "dataset" in v})


def read_request(
    folder: str | Path, options: Mapping[str, Any], workdir: str | Path = "."
) -> Request:
    """Resolve a request against the configuration folder.

    Parameters
    ----------
    folder : path-like
        The ``config`` folder; the schemas lie in ``workflow/schemas`` beside it.
    options : mapping
        The top-level configuration after ``--config``.
    workdir : path-like, default="."
        Where results go; optional settings run if their embedding is there.

    Returns
    -------
    Request

    Raises
    ------
    ConfigurationError
        Listing what is wrong, in which file and under which key, with the nearest valid names.
    """
    folder = Path(folder)
    options = read_options(folder, options)
    use_plugins(options["plugins"])
    configuration = read_configuration(folder)
    preset, known = options["preset"], configuration.presets
    if preset not in known:
        raise ConfigurationError(f"There is no preset {preset!r}. {nearest_names(preset, known)}")
    limits = {key: options[key] for key in ("replications", "block") if options[key]}
    studies = {name: replace(study, **limits) for name, study in known[preset].items()}
    compared = [name for name, study in studies.items() if study.experiment == "matrix"]
    studies = with_methods(studies, compared, options["methods"])
    present = {name: _without_missing(study, Path(workdir)) for name, study in studies.items()}
    left_out = _left_out(studies, present)
    if options["partial"] and not options["archive"]:
        present = {name: _started(study, Path(workdir)) for name, study in present.items()}
    items = read_items(configuration.papers, configuration.changes[preset].items)
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
    )
    shown = {name: item for name, item in planned.items() if _has_something_to_show(item, request)}
    return replace(request, items=shown)


def _has_something_to_show(item: Item, request: Request) -> bool:
    """Return whether an item has settings and, where it sets variants side by side, two of them."""
    variants = {setting.variant for setting in request.settings_of(item)}
    needed = 2 if item.options.get("series") == "variant" else 1
    return len(variants) >= needed


def read_options(folder: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the top-level configuration, checked.

    Parameters
    ----------
    folder : pathlib.Path
        The ``config`` folder.
    options : mapping
        ``config.yaml`` with what the command line changes. Snakemake leaves some of that as text,
        such as the ``true`` of ``--config partial=true``.

    Raises
    ------
    ConfigurationError
        Listing what is wrong, and whether the file or the command line says so.
    """
    file = read_document(folder / "config.yaml", empty={})
    schema = read_schema(folder.parent / "workflow" / "schemas" / "config.schema.yaml")
    kinds = {key: entry["type"] for key, entry in schema["properties"].items()}
    given = {key for key, value in options.items() if value != file.content.get(key)}
    values = {
        key: plain(value) if key in given and "string" not in kinds.get(key, "string") else value
        for key, value in options.items()
    }

    def find(keys: Keys) -> str | None:
        return f"the command line (--config): {keys[0]}" if keys and keys[0] in given else None

    document = Document(values, (find, *file.finders))
    validate(document, schema)
    timeout = values.get("replication_timeout")
    if timeout and timeout > RUNTIME * 60:
        raise ConfigurationError(
            f"{document.place('replication_timeout')}: {timeout} s is more than the {RUNTIME} "
            "minutes that a job is given: a replication that takes as long would end its job, each "
            "time anew. Finished replications of a job that ran out of time are kept."
        )
    return values


def plain(value: Any) -> Any:
    """Return what a text from the command line stands for."""
    try:
        return yaml.safe_load(value) if isinstance(value, str) else value
    except yaml.YAMLError:
        return value


def embedded_path(values: Mapping[str, Any]) -> str:
    """Return where the embedded data set of a setting lies."""
    return f"data/embedded/{values['dataset']}/{values['embedding']}.npz"


def _without_missing(study: Study, workdir: Path) -> Study:
    """Leave out optional settings whose embedding nobody has made yet."""
    settings = {
        folder: setting
        for folder, setting in study.settings.items()
        if not setting.values.get("optional") or _at_hand(setting, workdir)
    }
    return replace(study, settings=settings)


def _started(study: Study, workdir: Path) -> Study:
    """Leave out settings of which nothing is finished: tables of the others are asked for.

    What lies under a setting's name while its embedding is not at hand is another preset's.
    """
    settings = {
        folder: setting
        for folder, setting in study.settings.items()
        if any((workdir / "results" / study.name / folder).glob("*-*.parquet"))
        and ("dataset" not in setting.values or _at_hand(setting, workdir))
    }
    return replace(study, settings=settings)


def _at_hand(setting: Setting, workdir: Path) -> bool:
    return (workdir / embedded_path(setting.values)).is_file()


def _left_out(
    studies: Mapping[str, Study], present: Mapping[str, Study]
) -> dict[str, tuple[Setting, ...]]:
    missing = {
        name: tuple(s for key, s in study.settings.items() if key not in present[name].settings)
        for name, study in studies.items()
    }
    return {name: settings for name, settings in missing.items() if settings}

"""Read what a run is asked for: configuration, preset, studies, methods, data sets and items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedmix import methods as method_registry
from fedmix.cells.items import Item, read_items
from fedmix.cells.papers import Paper, read_papers
from fedmix.configuration import merged, raise_all, read_schema, read_yaml, validate
from fedmix.data.registry import entries_of
from fedmix.errors import nearest_names
from fedmix.pipeline.plan import Setting, Study, plan_study


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
    left_out : tuple of str
        Optional settings whose embedding is not at hand, each with the reason.
    """

    options: Mapping[str, Any]
    studies: Mapping[str, Study]
    items: Mapping[str, Item]
    datasets: Mapping[str, Any]
    papers: Mapping[str, Paper]
    left_out: tuple[str, ...] = ()

    def settings_of(self, item: Item) -> list[Setting]:
        """Return the settings that an item shows."""
        return [s for s in self.studies[item.study].settings.values() if s.matches(item.where)]

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
    schemas = folder.parent / "workflow" / "schemas"
    validate(options, read_schema(schemas / "config.schema.yaml"), "config/config.yaml")
    papers = read_papers(folder)
    preset = _read_preset(folder, schemas, papers, options["preset"])
    methods = _read(folder / "methods.yaml", schemas, "methods")
    datasets = _read(folder / "datasets.yaml", schemas, "datasets")
    entries_of(datasets)  # for the errors that the schema cannot see
    raise_all(_unknown_estimators(methods))
    studies = _read_studies(papers, schemas, preset, methods, options)
    raise_all(e for study in studies.values() for e in _setting_errors(study, datasets))
    present = {name: _without_missing(study, Path(workdir)) for name, study in studies.items()}
    items = _read_items(papers, preset)
    planned = {name: item for name, item in items.items() if item.study in studies}
    request = Request(options, present, planned, datasets, papers, _left_out(studies, present))
    shown = {name: item for name, item in planned.items() if request.settings_of(item)}
    return replace(request, items=shown)


def _read_preset(
    folder: Path, schemas: Path, papers: Mapping[str, Paper], name: str
) -> dict[str, Any]:
    """Return a preset's studies and items: those of its own file and of every paper's part."""
    own = folder / "presets" / f"{name}.yaml"
    parts = [paper.folder / "presets" / own.name for paper in papers.values()]
    found = [path for path in (own, *parts) if path.exists()] or [own]
    preset: dict[str, Any] = {"studies": {}, "items": {}}
    for path in found:
        part = _read(path, schemas, "preset")
        if part.get("studies") == "all":
            part["studies"] = {study: {} for study in _study_files(papers)}
        preset["studies"] |= part.get("studies", {})
        preset["items"] |= part.get("items", {})
    return preset


def _study_files(papers: Mapping[str, Paper]) -> dict[str, tuple[Paper, Path]]:
    """Return every study's paper and file, by the study's name."""
    return {
        path.stem: (paper, path)
        for paper in papers.values()
        for path in sorted((paper.folder / "studies").glob("*.yaml"))
    }


def _read_studies(
    papers: Mapping[str, Paper], schemas: Path, preset: Mapping, methods: Mapping, options: Mapping
) -> dict[str, Study]:
    overrides = {k: options[k] for k in ("replications", "block") if options.get(k)}
    files = _study_files(papers)
    raise_all(
        f"preset {options['preset']}: unknown study {name!r}. {nearest_names(name, files)}"
        for name in preset["studies"]
        if name not in files
    )
    studies = {}
    for name, change in preset["studies"].items():
        paper, path = files[name]
        base = _read(path, schemas, "study")
        document = merged(merged(base, change or {}), overrides)
        validate(document, read_schema(schemas / "study.schema.yaml"), f"studies/{name}.yaml")
        studies[name] = plan_study(name, paper.key, document, methods)
    return studies


def embedded_path(values: Mapping[str, Any]) -> str:
    """Return where the embedded data set of a setting lies."""
    return f"data/embedded/{values['dataset']}/{values['embedding']}.npz"


def _without_missing(study: Study, workdir: Path) -> Study:
    """Leave out optional settings whose embedding nobody has made yet."""
    settings = {
        folder: setting
        for folder, setting in study.settings.items()
        if not setting.values.get("optional") or (workdir / embedded_path(setting.values)).is_file()
    }
    return replace(study, settings=settings)


def _left_out(studies: Mapping[str, Study], present: Mapping[str, Study]) -> tuple[str, ...]:
    return tuple(
        f"{name}/{folder}: {embedded_path(setting.values)} is not at hand; "
        f"`snakemake {embedded_path(setting.values)}` makes it"
        for name, study in studies.items()
        for folder, setting in study.settings.items()
        if folder not in present[name].settings
    )


def _read(path: Path, schemas: Path, schema: str) -> dict[str, Any]:
    document = read_yaml(path) or {}
    where = "/".join(path.parts[-2:])
    validate(document, read_schema(schemas / f"{schema}.schema.yaml"), where)
    return document


def _read_items(papers: Mapping[str, Paper], preset: Mapping[str, Any]) -> dict[str, Item]:
    items = read_items(papers, preset["items"])
    known = _study_files(papers)
    raise_all(
        f"{item.kind}s: {item.name} shows the unknown study {item.study!r}. "
        f"{nearest_names(item.study, known)}"
        for item in items.values()
        if item.study not in known
    )
    return items


def _unknown_estimators(methods: Mapping[str, Any]) -> Iterator[str]:
    known = method_registry.index()
    for name, entry in methods.items():
        if entry["estimator"] not in known:
            hint = nearest_names(entry["estimator"], known)
            yield f"methods.yaml: {name}: unknown estimator {entry['estimator']!r}. {hint}"


def _setting_errors(study: Study, datasets: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with settings that a schema cannot see, each once."""
    found: dict[str, None] = {}
    for setting in study.settings.values():
        values, where = setting.values, f"studies/{study.name}.yaml"
        if "dataset" in values:
            found |= dict.fromkeys(_dataset_errors(values, datasets, where))
        bad, clients = values.get("n_contaminated"), values.get("n_clients")
        if bad and clients and 2 * bad > clients:
            found[
                f"{where}: {bad} of {clients} clients contaminated: at most one half can be, "
                "for nobody can tell which side is right where they are the majority"
            ] = None
    yield from found


def _dataset_errors(values: Mapping, datasets: Mapping, where: str) -> Iterator[str]:
    name, embedding = values["dataset"], values.get("embedding")
    if name not in datasets:
        yield f"{where}: unknown data set {name!r}. {nearest_names(name, datasets)}"
        return
    known = datasets[name]["embeddings"]
    if embedding not in known:
        yield (
            f"{where}: data set {name!r} has no embedding {embedding!r}. "
            f"{nearest_names(str(embedding), known)}"
        )

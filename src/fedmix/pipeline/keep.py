"""Keep finished replications: add them to the evidence, or pack them for others who add them.

They come from results, from archives, or from other files of evidence. An archive is a zip with
``evidence/<study>.parquet`` of every study and the documents of :data:`DOCUMENTS`. Its metadata
name the workflow, its data with their licences, and the results behind each table and figure:
RO-Crate 1.1, https://w3id.org/ro/crate/1.1, with the profile of workflow runs 0.5,
https://w3id.org/ro/wfrun/workflow/0.5.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from fedmix.cells.protocols.space import read_searches
from fedmix.errors import DataError
from fedmix.experiments.settings import declared
from fedmix.pipeline.blocks import finished
from fedmix.pipeline.coverage import Coverage
from fedmix.pipeline.evidence import (
    COLUMNS,
    FIT,
    ROUNDED,
    SAME,
    TIMINGS,
    among,
    checked,
    empty,
    read_foreign,
    stopped_early,
    write_evidence,
)
from fedmix.pipeline.kept_embeddings import keep_embeddings
from fedmix.pipeline.plan import Study, setting_folder
from fedmix.pipeline.request import Request
from fedmix.storage import atomic_path, concatenate, stacked
from fedmix.views.format import number_of

if TYPE_CHECKING:
    from rocrate.model.contextentity import ContextEntity
    from rocrate.rocrate import ROCrate

_MADE_BY = ["setting", "method", "key"]
_LARGEST = 1 << 28  # bytes of a study in an archive
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a zip's earliest time: bytes do not depend on the clock
_RUN = ["variant", "setting", "method", "replication"]
METADATA = "ro-crate-metadata.json"
#: Files of the repository in an archive: name in the archive -> path.
DOCUMENTS = {
    f"provenance/{path}": path
    for path in ("Snakefile", "environment.yml", "requirements.lock", "LICENSE", "CITATION.cff")
}
_WORKFLOW = "provenance/Snakefile"
_LICENCE = "https://spdx.org/licenses/BSD-3-Clause"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}


def add(request: Request, workdir: Path, files: Sequence[Path] = ()) -> Iterator[str]:
    """Add finished replications with the planned keys to the evidence; say what was left out.

    They are all that is finished below ``results`` in ``workdir``, where Snakemake works, or those
    in ``files`` of evidence and archives of ``snakemake archive``. Replications beyond the request
    are added too, if a setting and a method of it made them.
    """
    evidence = request.coverage.evidence
    if evidence.folder is None:
        raise DataError("evidence is false, so there is no folder to add to.")
    # A killed writer leaves a temporary file whose name begins with a dot.
    for file in sorted(evidence.folder.glob("[!.]*.parquet")):
        try:
            evidence.index(file.stem)
        except DataError:  # an earlier call was interrupted, or the file was changed by hand
            yield from _written_again(file, request.studies.get(file.stem))
    given = {str(path): dict(_read_file(path)) for path in files}
    for path, tables in given.items():
        if not any(map(len, tables.values())):
            yield f"{path}: there are no replications in it."
        for name in sorted(tables.keys() - request.studies.keys()):
            yield f"{path}: {name} is left out: the preset has no study of this name."
    anything = bool(files)
    for study in map(request.with_optional, request.studies.values()):
        sources = {path: tables.get(study.name, empty()) for path, tables in given.items()}
        if not files:
            sources = {f"results/{study.name}": _from_results(study, workdir)}
        for source, rows in sources.items():
            if len(rows):
                anything = True
                yield from _add_study(request, study, source, rows)
    if not anything:
        preset = request.options["preset"]
        yield f"{workdir / 'results'}: nothing is finished of the studies of the preset {preset}."


def _written_again(path: Path, study: Study | None) -> list[str]:
    """Write a file of evidence with its index, and return what it loses: what is not sound."""
    rows = read_foreign(path, str(path))
    metrics = declared(study.experiment)[1] if study else rows["metric"].unique()
    rows, problems = checked(rows, metrics, str(path))
    attributes = (rows.attrs.get(name, {}) for name in ("data", "adoptions"))
    write_evidence(path.parent, path.stem, rows, *attributes)
    return problems


def _add_study(request: Request, study: Study, source: str, rows: pd.DataFrame) -> Iterator[str]:
    coverage, evidence = request.coverage, request.coverage.evidence
    coverage.accept(study, rows.attrs.get("data", {}))
    planned = [
        (setting.folder, method, key)
        for setting in study.settings.values()
        for method, key in coverage.keys(study, setting).items()
    ]
    current = rows.set_index(_MADE_BY).index.isin(planned)
    stale = rows[~current].drop_duplicates(FIT)
    rows, problems = checked(rows[current], declared(study.experiment)[1], source)
    yield from problems
    rows = rows[~stopped_early(rows, coverage.limit)]
    old = evidence.rows(study.name)
    again = stopped_early(old, coverage.limit) & among(old, rows, FIT)
    # Of other code than new ones of the same method and setting.
    replaced = among(old, rows, _MADE_BY[:2]) & ~among(old, rows, _MADE_BY)
    kept = old[~(replaced | again)]
    new = rows[~among(rows, kept, FIT)]
    count = len(new.drop_duplicates(FIT))
    differing = _differing(kept, rows)
    if differing:
        yield (
            f"{source}: {number_of(len(differing), 'replication')} with other values than those "
            f"kept, which stay: first {differing[0]}."
        )
    if count:
        index = evidence.index(study.name)
        data = {**index.data, **coverage.data_used(study)}
        rows = stacked([kept, new])
        write_evidence(evidence.folder, study.name, rows, data, index.adoptions)
        yield from keep_embeddings(
            evidence.folder,
            _embedded(coverage, study, new),
            request.datasets,
            searched_data(request),
        )
    others = f", {len(stale)} of other code, data or settings left out" if len(stale) else ""
    yield f"{study.name}: {number_of(count, 'replication')} added{others}"


def searched_data(request: Request) -> set[tuple[str, str]]:
    """Return the data sets, each with its embedding, that the searches of the papers run on."""
    spaces = read_searches(request.papers, request.options["preset"]).values()
    return {pair for space in spaces for table in space.tables for pair in space.data(table)}


def _embedded(coverage: Coverage, study: Study, rows: pd.DataFrame) -> dict[tuple[str, str], Path]:
    """Return the embedded data that rows were computed from, where Snakemake works."""
    settings = [study.settings[folder] for folder in rows["setting"].unique()]
    return {
        (setting.dataset, setting.values["embedding"]): path
        for setting in settings
        if setting.embedded and (path := coverage.workdir / setting.embedded).is_file()
    }


def _from_results(study: Study, workdir: Path) -> pd.DataFrame:
    """Return all finished replications of a study's settings as rows of evidence."""
    rows = [
        {"setting": folder, "method": method, "replication": replication}
        | {**fit.timing, **row, "key": key}
        for folder in study.settings
        for key, method, replication, fit in finished(workdir / "results" / study.name / folder)
        for row in fit.rows
    ]
    if not rows:
        return empty()
    table = pd.DataFrame(rows)[list(COLUMNS)].astype({"round": "Int64", "value": "float64"})
    return table.drop_duplicates([*FIT, "key", "metric", "round"], ignore_index=True)


def _read_file(path: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the studies of a file or an archive, whose members are read into memory."""
    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    if not zipfile.is_zipfile(path):
        yield path.stem, read_foreign(path, str(path))
        return
    try:
        bundle = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(f"{path} is damaged: {error}") from None
    with bundle:
        for entry in bundle.infolist():
            folder, _, file = entry.filename.partition("/")
            if folder != "evidence" or not file.endswith(".parquet"):
                continue
            name = f"{path}: {entry.filename}"
            if entry.file_size > _LARGEST:
                raise DataError(f"{name} is larger than {_LARGEST} bytes.")
            try:
                content = bundle.read(entry)
            except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
                raise DataError(f"{name} is damaged: {error}") from None
            yield file.removesuffix(".parquet"), read_foreign(io.BytesIO(content), name)


def _differing(kept: pd.DataFrame, rows: pd.DataFrame) -> list[str]:
    """Return the replications with other values than the kept ones."""
    place = [*FIT, "metric", "round"]
    names, again = [*place, "value", "status"], among(kept, rows, FIT)
    rows = rows.loc[among(rows, kept, FIT), names]
    both = kept.loc[again, names].merge(rows, how="outer", on=place)
    gap = (both["value_x"] - both["value_y"]).abs()
    allowed = both["round"].notna().map({True: ROUNDED, False: SAME})
    # A replication that failed has other rows than one that did not.
    wrong = (gap > allowed * both["value_x"].abs()) | (both["status_x"] != both["status_y"])
    fits = sorted(set(both.loc[wrong, FIT].itertuples(index=False, name=None)))
    return ["/".join(map(str, fit)) for fit in fits]


def evidence_files(request: Request, workdir: Path) -> dict[str, bytes]:
    """Return the results of a request that are collected below ``workdir`` as files of evidence.

    They are by name in the archive. A study without results has none.
    """
    with TemporaryDirectory() as folder:
        for study in request.studies.values():
            rows = _collected_rows(request, study, workdir)
            if len(rows):
                data = request.coverage.data_used(study)
                adoptions = request.coverage.evidence.index(study.name).adoptions
                write_evidence(Path(folder), study.name, rows, data, adoptions)
        files = {f"evidence/{path.name}": path.read_bytes() for path in Path(folder).iterdir()}
    if not files:
        raise DataError("No method has run yet, so there is nothing to archive.")
    return dict(sorted(files.items()))


def write_zip(path: str | os.PathLike, files: Mapping[str, bytes]) -> None:
    """Write files to a zip by name; equal files give equal bytes."""
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as bundle:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            bundle.writestr(entry, content, compress_type=zipfile.ZIP_DEFLATED)


def _collected_rows(request: Request, study: Study, workdir: Path) -> pd.DataFrame:
    """Return the collected results of a study as rows of evidence."""
    folders = [workdir / request.folder_of(part) for part in request.parts_in(study.name)]
    results_in, timings_in = (
        [folder / f"{kind}.parquet" for folder in folders] for kind in ("results", "timings")
    )
    for path in (*results_in, *timings_in):
        if not path.is_file():
            raise DataError(f"{path} does not exist, so it cannot be archived.")
    results, timings = concatenate(results_in), concatenate(timings_in)
    if results.empty:
        return empty()
    rows = results.merge(timings[[*_RUN, *TIMINGS]], on=_RUN)
    rows["setting"] = list(map(setting_folder, rows["variant"], rows["setting"]))
    keys = {key: request.coverage.keys(study, own) for key, own in study.settings.items()}
    places = zip(rows["setting"], rows["method"], strict=True)
    rows["key"] = [keys[setting][method] for setting, method in places]
    return rows[list(COLUMNS)]


def describe_crate(
    results: Sequence[str],
    items: Mapping[str, Mapping[str, Any]],
    datasets: Mapping[str, Mapping[str, Any]],
    run: Mapping[str, str],
    ended: str,
) -> dict[str, Any]:
    """Return the metadata of an archive in JSON-LD.

    ``results`` are the names of the evidence in the archive. ``items`` gives the ``title`` of each
    table and figure, and the ``files`` of evidence that it is made from. ``datasets`` are the
    entries of ``config/datasets.yaml`` for the data of the run, ``run`` describes the run, and
    ``ended`` is the day of its last result, ISO 8601.
    """
    from rocrate.rocrate import ROCrate  # takes over a second, which a plan does not need

    crate = ROCrate(version="1.1")
    crate.name = f"fedmix: results of the preset {run['Preset']}"
    crate.description = "; ".join(f"{name}: {value}" for name, value in run.items())
    crate.datePublished = ended
    crate.license = _about(crate, _LICENCE, "CreativeWork", name="BSD 3-Clause licence")
    crate.root_dataset["conformsTo"] = [
        _about(crate, profile, "CreativeWork", name=name, version=version)
        for profile, (name, version) in _PROFILES.items()
    ]
    workflow = crate.add_workflow(
        dest_path=_WORKFLOW,
        main=True,
        lang="snakemake",
        properties={"name": "fedmix", "license": {"@id": _LICENCE}},
    )
    for name in DOCUMENTS:
        if name != _WORKFLOW:
            _file(crate, name)
    files = {name: _file(crate, name) for name in results}
    used = [_dataset(crate, key, entry) for key, entry in sorted(datasets.items())]
    crate.add_action(
        workflow,
        identifier="#run",
        object=used,
        result=list(files.values()),
        properties={"name": crate.name, "description": crate.description, "endTime": ended},
    )
    mentioned: list[Any] = [{"@id": "#run"}]
    for name, item in items.items():
        sources = [files[file] for file in item["files"]]
        mentioned.append(
            _about(crate, f"#{name}", "CreativeWork", name=item["title"], isBasedOn=sources)
        )
    crate.root_dataset["mentions"] = mentioned
    return crate.metadata.generate()


def _about(crate: ROCrate, identifier: str, kind: str, **properties: Any) -> ContextEntity:
    """Add an entity that is not a file of the archive."""
    from rocrate.model.contextentity import ContextEntity

    entity = crate.add(ContextEntity(crate, identifier, {"@type": kind}))
    for name, value in properties.items():
        entity[name] = value
    return entity


def _file(crate: ROCrate, name: str) -> Any:
    suffix = name.rpartition(".")[2]
    kind = "application/vnd.apache.parquet" if suffix == "parquet" else "text/plain"
    properties = {"name": name.rpartition("/")[2], "encodingFormat": kind}
    return crate.add_file(dest_path=name, properties=properties)


def _dataset(crate: ROCrate, key: str, entry: Mapping[str, Any]) -> ContextEntity:
    """Add a data set, which is not in the archive: its authors and where to find it."""
    given = {
        "name": entry["title"],
        "license": entry.get("licence"),
        "citation": entry.get("citation"),
        "url": entry.get("homepage"),
    }
    return _about(crate, f"#data-{key}", "Dataset", **{k: v for k, v in given.items() if v})

"""Add finished replications to the evidence, from results, archives or files of others."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

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
    among,
    checked,
    empty,
    read_foreign,
    stopped_early,
    write_evidence,
    write_index,
)
from fedmix.pipeline.kept_embeddings import keep_embeddings
from fedmix.pipeline.plan import Study
from fedmix.pipeline.request import Request
from fedmix.storage import stacked
from fedmix.views.marks import number_of

_MADE_BY = ["setting", "method", "key"]
_LARGEST = 1 << 28  # bytes of a study in an archive


def add(request: Request, workdir: Path, files: Sequence[Path] = ()) -> Iterator[str]:
    """Add finished replications with the planned keys to the evidence.

    Parameters
    ----------
    request : Request
        Replications beyond it are added too, if a setting and a method of it made them.
    workdir : path
        Where Snakemake works: all that is finished below its ``results`` is added.
    files : sequence of path, optional
        Add these instead: files of evidence, or archives of ``snakemake archive``.

    Yields
    ------
    str
        What was added to each study, and what was left out and why.

    Raises
    ------
    DataError
        If there is nowhere to add to, or a file is damaged or not evidence.
    """
    coverage = request.coverage
    folder = coverage.evidence.folder
    if folder is None:
        raise DataError("evidence is false, so there is no folder to add to.")
    # A killed writer leaves a temporary file whose name begins with a dot.
    for name in sorted(path.stem for path in folder.glob("[!.]*.parquet")):
        try:
            coverage.evidence.index(name)
        except DataError:  # an earlier call was interrupted
            write_index(folder, name, coverage.evidence.rows(name))
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


def _add_study(request: Request, study: Study, source: str, rows: pd.DataFrame) -> Iterator[str]:
    coverage = request.coverage
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
    old = coverage.evidence.rows(study.name)
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
        data = {**coverage.evidence.index(study.name).data, **coverage.data_used(study)}
        adoptions = coverage.evidence.index(study.name).adoptions
        folder = coverage.evidence.folder
        write_evidence(folder, study.name, stacked([kept, new]), data, adoptions)
        embedded = _embedded(coverage, study, new)
        yield from keep_embeddings(folder, embedded, request.datasets, searched_data(request))
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
        {"setting": setting.folder, "method": method, "replication": replication}
        | {**fit.timing, **row, "key": key}
        for setting in study.settings.values()
        for key, method, replication, fit in finished(
            workdir / "results" / study.name / setting.folder
        )
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

"""Archives: a run's evidence in one file, described for other programs as an RO-Crate.

The archive is a zip with ``evidence/<study>.parquet`` of every study and the documents of
:mod:`fedmix.pipeline.crate`. ``python -m fedmix evidence add`` reads it.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fedmix.errors import DataError
from fedmix.pipeline.evidence import COLUMNS, write_evidence
from fedmix.pipeline.plan import Study
from fedmix.pipeline.request import Request
from fedmix.storage import atomic_path, concatenate

if TYPE_CHECKING:
    import pandas as pd

_EPOCH = (1980, 1, 1, 0, 0, 0)  # a zip's earliest time: bytes do not depend on the clock
_RUN = ["variant", "setting", "method", "replication"]


def make(
    request: Request, workdir: Path, archive: str | os.PathLike, documents: Mapping[str, bytes]
) -> None:
    """Write the collected results of a request to an archive.

    Parameters
    ----------
    request : Request
    workdir : path
        Where Snakemake works.
    archive : path-like
        The zip file to write, whole or not at all.
    documents : mapping of str to bytes
        Other files of the archive, by name.

    Raises
    ------
    DataError
        If a study has no collected results.
    """
    files = dict(documents)
    with TemporaryDirectory() as folder:
        for study in request.studies.values():
            rows = collected_rows(request, study, workdir)
            write_evidence(Path(folder), study.name, rows, request.coverage.data_used(study))
        for path in sorted(Path(folder).iterdir()):
            files[f"evidence/{path.name}"] = path.read_bytes()
    write_zip(archive, files)


def write_zip(path: str | os.PathLike, files: Mapping[str, bytes]) -> None:
    """Write files to a zip by name; equal files give equal bytes."""
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as bundle:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            bundle.writestr(entry, content, compress_type=zipfile.ZIP_DEFLATED)


def collected_rows(request: Request, study: Study, workdir: Path) -> pd.DataFrame:
    """Return the collected results of a study as rows of evidence."""
    folders = [
        workdir / request.folder_of(part)
        for (name, _), part in request.parts.items()
        if name == study.name
    ]
    try:
        results, timings = (
            concatenate(folder / f"{kind}.parquet" for folder in folders)
            for kind in ("results", "timings")
        )
    except FileNotFoundError as error:
        raise DataError(f"{error.filename} does not exist, so it cannot be archived.") from None
    settings = {(s.variant, s.name): s for s in study.settings.values()}
    timed = ["seconds", "cpu_seconds", "memory", "shared_seconds", "warm", "made"]
    rows = results.merge(timings[[*_RUN, *timed]], on=_RUN)
    places = [settings[place] for place in zip(rows["variant"], rows["setting"], strict=True)]
    keys = [request.coverage.keys(study, setting) for setting in places]
    rows["key"] = [own[method] for own, method in zip(keys, rows["method"], strict=True)]
    rows["setting"] = [setting.folder for setting in places]
    return rows[list(COLUMNS)]

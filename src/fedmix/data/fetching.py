"""Obtain a data set from local files or the network, check it and store it."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from fedmix.data.dataset import (
    Dataset,
    Raw,
    check_dataset,
    constant_columns,
    load_dataset,
    save_dataset,
    to_dataset,
)
from fedmix.data.download import Downloads, fetch_table
from fedmix.data.readers import read
from fedmix.data.registry import DatasetEntry, Source, SourceFile, mirror_folder
from fedmix.errors import ConfigurationError, DataError, DownloadError, FedmixError

_logger = logging.getLogger(__name__)
#: Folder inside the raw folder where people place raw files by hand.
ORIGINALS = "originals"


def fetch(
    entry: DatasetEntry,
    raw_folder: str | os.PathLike,
    mirror: str | os.PathLike | None = None,
    timeout: float = 30.0,
    log: Callable[[str], None] = _logger.info,
    replace: bool = False,
) -> Path:
    """Obtain a data set, check it and store it as ``<raw_folder>/<name>.npz``.

    The sources are tried in this order: the npz itself; bundled or generated data; files in
    ``<raw_folder>/originals``; files in the mirror; then, in the registry's order, OpenML and the
    publishers' own files. A bad local file is an error, because a person put it there. A bad
    download is reported, and the next source is tried; so is a download without any checksum,
    unless the entry has ``allow_unverified``. Only data that pass all checks are stored. Several
    processes can do this at the same time.

    Parameters
    ----------
    entry : DatasetEntry
        The data set.
    raw_folder : path-like
        The pipeline's folder of raw data. It is made if it does not exist.
    mirror : path-like, optional
        Folder with raw files; by default the environment variable FEDMIX_MIRROR, if it is set.
    timeout : float, default=30
        Longest time in seconds without data from a server.
    log : callable, optional
        Takes one line of progress at a time; by default the module's logger.
    replace : bool, default=False
        Whether to read the sources again if the npz exists, because their options have changed. An
        npz whose content has the registry's hash stays. The old npz stays until the new data have
        passed all checks.

    Returns
    -------
    pathlib.Path
        The npz, to be read by :func:`load`.

    Raises
    ------
    DataError
        If a local file does not agree with the registry.
    DownloadError
        If no source delivered the data. The message lists every attempt and explains how to place
        the files by hand.
    ConfigurationError
        If the mirror is not a folder, or if a reader's option does not fit a local file.
    """
    raw_folder = Path(raw_folder)
    target = raw_folder / f"{entry.name}.npz"
    if target.exists() and (entry.content_sha256 or not replace):
        try:
            load(entry, raw_folder)
        except DataError as error:
            log(f"{entry.name}: the stored file is bad and will be replaced. {error}")
        else:
            log(f"{entry.name}: {target} exists and passes all checks")
            return target
    found = mirror_folder(mirror)
    folders = [raw_folder / ORIGINALS, *([found] if found else [])]
    dataset = _obtain(entry, raw_folder, folders, timeout, log)
    constant = constant_columns(dataset.features)
    if constant:
        log(f"{entry.name}: {len(constant)} columns hold one value only, as expected")
    save_dataset(target, dataset)
    return target


def load(entry: DatasetEntry, raw_folder: str | os.PathLike) -> Dataset:
    """Read a data set that :func:`fetch` stored, and check it again.

    Raises
    ------
    DataError
        If the file is damaged or does not agree with the registry.
    FileNotFoundError
        If the data set has not been fetched.
    """
    path = Path(raw_folder) / f"{entry.name}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist. Fetch the data set {entry.name!r} first.")
    dataset = load_dataset(path, entry.name)
    try:
        check_dataset(entry, dataset, str(path))
    except DataError as error:
        advice = "Move the file away and run `snakemake --cores 1 fetch`."
        raise DataError(f"{error} {advice}") from error
    return dataset


def _obtain(
    entry: DatasetEntry,
    raw_folder: Path,
    folders: Sequence[Path],
    timeout: float,
    log: Callable[[str], None],
) -> Dataset:
    for source in entry.sources:
        paths = _local_files(source, folders)
        if paths is not None:
            log(
                f"{entry.name}: reading {', '.join(map(str, paths)) or 'bundled or generated data'}"
            )
            return _read_local(entry, source, paths)
    failures: list[str] = []
    downloadable = [source for source in entry.sources if source.downloadable]
    if not downloadable:
        raise DownloadError(_failure(entry, folders, failures))
    raw_folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{entry.name}-", dir=raw_folder) as temporary:
        downloads = Downloads(Path(temporary), timeout, log, entry.largest_file)
        for source in downloadable:
            try:
                _check_verified(entry, source)
                return _download(entry, source, downloads)
            except FedmixError as error:
                log(f"{entry.name}: {error}")
                failures.append(str(error))
    raise DownloadError(_failure(entry, folders, failures))


def _local_files(source: Source, folders: Sequence[Path]) -> list[Path] | None:
    """Return a source's files if one folder has all of them; an empty list if it needs none."""
    if source.needs_nothing:
        return []
    for folder in folders:
        paths = [folder / file.name for file in source.files]
        if paths and all(path.is_file() for path in paths):
            return paths
    return None


def _read_local(entry: DatasetEntry, source: Source, paths: Sequence[Path]) -> Dataset:
    try:
        for file, path in zip(source.files, paths, strict=True):
            _check_sum(file, path, str(path))
        where = ", ".join(map(str, paths)) or f"{source.reader} (bundled or generated)"
        return to_dataset(entry, _read(entry, source, paths), where)
    except DataError as error:
        if not paths:
            raise
        others = ", or run without its folder to try the other sources"
        raise DataError(
            f"{error}\nIf the file is the right one, correct {entry.name!r} in "
            "config/datasets.yaml. Else replace the file, which fedmix does not change"
            f"{others if len(entry.sources) > 1 or source.downloadable else ''}."
        ) from error


def _check_verified(entry: DatasetEntry, source: Source) -> None:
    if not (entry.allow_unverified or entry.verifies(source)):
        raise DownloadError(
            f"{_place_of(source)}: the download is unverified, because no checksum is known. Place "
            "the files by hand, or accept any content of the expected shape and classes with "
            f"`allow_unverified: true` in config/datasets.yaml: {entry.name}."
        )


def _place_of(source: Source) -> str:
    if source.openml is not None:
        return f"OpenML data set {source.openml}"
    return ", ".join(dict.fromkeys(file.url for file in source.files if file.url))


def _download(entry: DatasetEntry, source: Source, downloads: Downloads) -> Dataset:
    if source.openml is not None:
        paths = [fetch_table(source.openml, downloads)]
    else:
        paths = [downloads.get(file) for file in source.files]
        for file, path in zip(source.files, paths, strict=True):
            _check_sum(file, path, f"{file.name} from {file.url}")
    return to_dataset(entry, _read(entry, source, paths), _place_of(source))


def _read(entry: DatasetEntry, source: Source, paths: Sequence[Path]) -> Raw:
    try:
        return read(source.reader, paths, source.options)
    except ConfigurationError as error:
        raise ConfigurationError(f"config/datasets.yaml: {entry.name}: {error}") from error


def _check_sum(file: SourceFile, path: Path, where: str) -> None:
    for kind, expected in (("sha256", file.sha256), ("md5", file.md5)):
        if expected is None:
            continue
        with open(path, "rb") as stream:
            found = hashlib.file_digest(stream, kind).hexdigest()
        if found != expected:
            raise DataError(
                f"{where} has {kind} {found}; expected {expected}. It is truncated, damaged or "
                "another version."
            )


def _failure(entry: DatasetEntry, folders: Sequence[Path], failures: Sequence[str]) -> str:
    lines = [f"No source delivered the data set {entry.name!r}."]
    lines += [f"  - {failure}" for failure in failures]
    by_hand = [source.files for source in entry.sources if source.files]
    if by_hand:
        searched = " and ".join(map(str, folders))
        lines += [f"  - no source has all of its files in {searched}"]
        lines += [f"To place it by hand, put all files of one of these lines into {folders[0]}:"]
        lines += ["  - " + "; ".join(map(_describe, files)) for files in by_hand]
    return "\n".join(lines)


def _describe(file: SourceFile) -> str:
    known = {"sha256": file.sha256, "md5": file.md5, "from": file.url, "member": file.member}
    details = ", ".join(f"{what} {value}" for what, value in known.items() if value)
    return f"{file.name} ({details})" if details else file.name

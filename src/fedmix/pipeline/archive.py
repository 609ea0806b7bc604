"""One file with everything a reader needs to remake tables, figures and the page.

The archive is a zip with the files under their own relative paths and ``manifest.json``, which
holds the size and sha256 of each of them and what the run was (versions, commit, preset). Equal
files give equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from fedmix.errors import DataError
from fedmix.storage import atomic_path

MANIFEST = "manifest.json"
_FORMAT = 1
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip can hold: no run's clock in the bytes


def make(
    paths: Iterable[str | os.PathLike],
    archive: str | os.PathLike,
    root: str | os.PathLike = ".",
    about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write an archive.

    Parameters
    ----------
    paths : iterable of path-like
        Files, or folders taken whole; all of them under ``root``. Hidden files are left out.
    archive : path-like
        The zip file to write, whole or not at all.
    root : path-like
        Paths in the archive are relative to it.
    about : mapping, optional
        What the run was: versions, commit, preset, replications. Plain JSON values.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    DataError
        If there is nothing to archive, or a path is missing or outside ``root``.

    Examples
    --------
    >>> make(["results/fedgrem_real", "config"], "results/archive.zip",
    ...      about={"preset": "paper"})                              # doctest: +SKIP
    """
    root = Path(root).resolve()
    files = {_name(path, root): path for path in _files(paths, Path(archive))}
    if not files:
        raise DataError("There is nothing to archive: no files were found. Run a study first.")
    entries: dict[str, dict[str, Any]] = {}
    manifest = {"format": _FORMAT, "about": dict(about or {}), "files": entries}
    with atomic_path(archive) as temporary, zipfile.ZipFile(temporary, "w") as bundle:
        for name in sorted(files):
            content = files[name].read_bytes()
            entries[name] = {"size": len(content), "sha256": _digest(content)}
            _write(bundle, name, content)
        _write(bundle, MANIFEST, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
    return manifest


def extract(archive: str | os.PathLike, folder: str | os.PathLike) -> dict[str, Any]:
    """Unpack an archive, checking every file before any is written.

    Parameters
    ----------
    archive : path-like
        Made by :func:`make`.
    folder : path-like
        Where to unpack; files of the same name are replaced.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    DataError
        If the file is missing or damaged, a checksum differs, a file is missing or too many, or a
        path would lead outside ``folder``. Nothing is written then.
    """
    contents, manifest = _verified(Path(archive))
    for name, content in contents.items():
        with atomic_path(Path(folder) / name) as temporary:
            temporary.write_bytes(content)
    return manifest


def read_manifest(archive: str | os.PathLike) -> dict[str, Any]:
    """Return an archive's manifest after checking the whole archive.

    Raises
    ------
    DataError
        As :func:`extract`.
    """
    return _verified(Path(archive))[1]


def _verified(archive: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return all files' contents and the manifest, if everything is as it was made."""
    try:
        with zipfile.ZipFile(archive) as bundle:
            names = bundle.namelist()
            contents = {name: bundle.read(name) for name in names}
        manifest = json.loads(contents.pop(MANIFEST))
        promised = manifest["files"]
        version = manifest["format"]
    except FileNotFoundError:
        raise DataError(f"There is no archive {archive}.") from None
    except KeyError as error:
        raise DataError(f"{archive} is no archive of fedmix: it lacks {error}.") from error
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError) as error:
        raise DataError(
            f"{archive} is damaged or no archive ({error}). Fetch it again, and compare its size."
        ) from error
    if version != _FORMAT:
        raise DataError(f"{archive} has format {version}; this fedmix reads format {_FORMAT}.")
    _check(archive, contents, promised)
    return contents, manifest


def _check(archive: Path, contents: Mapping[str, bytes], promised: Mapping[str, Any]) -> None:
    problems = [f"{name}: missing" for name in sorted(promised.keys() - contents.keys())]
    problems += [f"{name}: not in the manifest" for name in sorted(contents.keys() - promised)]
    problems += [f"{name}: leads outside the folder" for name in contents if not _is_inside(name)]
    problems += [
        f"{name}: sha256 is {_digest(content)[:12]}..., expected {promised[name]['sha256'][:12]}..."
        for name, content in contents.items()
        if name in promised and _digest(content) != promised[name]["sha256"]
    ]
    if problems:
        listing = "\n".join(f"  - {problem}" for problem in problems)
        raise DataError(f"{archive} is not what was made; nothing was unpacked:\n{listing}")


def _files(paths: Iterable[str | os.PathLike], archive: Path) -> list[Path]:
    """Return all files, folders walked, without hidden ones and the archive itself."""
    found: list[Path] = []
    for path in map(Path, paths):
        if not path.exists():
            raise DataError(f"{path} does not exist, so it cannot be archived.")
        found += [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    own = archive.resolve()
    return [p for p in found if not p.name.startswith(".") and p.resolve() != own]


def _name(path: Path, root: Path) -> str:
    try:
        return path.resolve().relative_to(root).as_posix()
    except ValueError:
        raise DataError(f"{path} lies outside {root}, so it has no place in the archive.") from None


def _write(bundle: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, date_time=_EPOCH)
    entry.external_attr = 0o644 << 16
    # Parquet is compressed already.
    packed = zipfile.ZIP_STORED if name.endswith(".parquet") else zipfile.ZIP_DEFLATED
    bundle.writestr(entry, content, compress_type=packed)


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

"""Archives: one file from which a reader can remake tables, figures and the page.

The archive is a zip with the collected results under their own relative paths, documents for
other readers (:mod:`fedmix.pipeline.crate`), and ``manifest.json``, which holds the size and sha256
of each of them and what the run was (options, versions, commit). Equal files give equal bytes.

An archive can come from anyone. Its checksums find damage but not malice, because they are part of
the same file. The reader is protected in two ways: only collected results are written, each to its
own place, and only the options of a run are read from the manifest.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from fedmix.errors import DataError, FedmixError
from fedmix.pipeline import crate
from fedmix.storage import atomic_path, sha256_of

MANIFEST = "manifest.json"
# The options that determine what is run. An archive has no others.
RUN_OPTIONS = ("preset", "replications", "block", "methods")
_FORMAT = 1
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a zip's earliest time: bytes do not depend on the clock
_RESULT_FILE = re.compile(
    r"results/[a-z0-9_]+/(?!\.)[^/\\:\x00-\x1f]+/(results|timings)\.parquet", re.ASCII
)
# Other members of an archive, for people and other programs. They are never unpacked.
_DOCUMENTS = (crate.METADATA, *crate.DOCUMENTS)
_MOST_MEMBERS = 100_000  # the largest preset has a thousand
_LARGEST_MANIFEST = 1 << 25  # bytes: enough for this many entries
_PIECE = 1 << 20  # bytes read at a time


def make(
    paths: Iterable[str | os.PathLike],
    archive: str | os.PathLike,
    root: str | os.PathLike = ".",
    about: Mapping[str, Any] | None = None,
    documents: Mapping[str, bytes] | None = None,
) -> dict[str, Any]:
    """Write an archive.

    Parameters
    ----------
    paths : iterable of path-like
        Collected results: ``results/<study>/<setting>/{results,timings}.parquet`` under ``root``.
    archive : path-like
        The zip file to write, whole or not at all.
    root : path-like
        Paths in the archive are relative to it.
    about : mapping, optional
        A description of the run: ``options`` (:data:`RUN_OPTIONS`), and anything else that a reader
        may want to know. Plain JSON values.
    documents : mapping of str to bytes, optional
        The documents that :func:`fedmix.pipeline.crate.describe_crate` names, and its metadata.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    DataError
        If there is nothing to archive, or a path is missing or not a collected result.

    Examples
    --------
    >>> make(["results/fedgrem_real/digits/results.parquet"], "results/quick/archive.zip",
    ...      about={"options": {"preset": "paper"}})                  # doctest: +SKIP
    """
    files = {_name(Path(path), Path(root).resolve()): Path(path) for path in paths}
    if not files:
        raise DataError("There is nothing to archive: no files were found. Run a study first.")
    entries: dict[str, dict[str, Any]] = {
        name: {"size": path.stat().st_size, "sha256": sha256_of(path)}
        for name, path in sorted(files.items())
    }
    texts = dict(documents or {})
    written = {
        name: {"size": len(content), "sha256": sha256(content).hexdigest()}
        for name, content in texts.items()
    }
    manifest = {"format": _FORMAT, "about": dict(about or {}), "files": entries | written}
    with atomic_path(archive) as temporary, zipfile.ZipFile(temporary, "w") as bundle:
        for name in entries:
            entry = _member(name)
            entry.file_size = entries[name]["size"]
            with open(files[name], "rb") as source, bundle.open(entry, "w") as target:
                shutil.copyfileobj(source, target, _PIECE)
        for name, content in texts.items():
            bundle.writestr(_member(name), content)
        text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
        bundle.writestr(_member(MANIFEST), text, compress_type=zipfile.ZIP_DEFLATED)
    return manifest


def extract(
    archive: str | os.PathLike, folder: str | os.PathLike, wanted: Iterable[str]
) -> list[str]:
    """Unpack collected results after checking the whole archive.

    Parameters
    ----------
    archive : path-like
        An archive written by :func:`make`; it may come from anyone.
    folder : path-like
        Where to unpack. Files of the same name are replaced.
    wanted : iterable of str
        The files to unpack, by their names in the archive.

    Returns
    -------
    list of str
        The other collected results in the archive.

    Raises
    ------
    DataError
        If the archive is missing, damaged or has another structure, if a wanted file is missing, if
        it holds anything but collected results, or if a file would be written through a link. Then
        nothing is written.
    """
    folder, names = Path(folder).resolve(), list(wanted)
    with _opened(Path(archive)) as (bundle, manifest):
        others = sorted(manifest["files"].keys() - {*names, *_DOCUMENTS})
        _refuse(archive, (f"{n} is missing" for n in names if n not in manifest["files"]))
        _refuse(archive, (problem for name in names for problem in _place(folder, name)))
        for name in names:
            with atomic_path(folder / name) as temporary, open(temporary, "wb") as target:
                for piece in _pieces(bundle.open(name)):
                    target.write(piece)
    return others


def read_options(archive: str | os.PathLike) -> dict[str, Any]:
    """Return the options of the run that an archive holds, after checking the whole archive.

    Returns
    -------
    dict
        The :data:`RUN_OPTIONS`: a preset's name, whole numbers or None, names of methods or None.

    Raises
    ------
    DataError
        As for :func:`extract`.
    """
    with _opened(Path(archive)) as (_, manifest):
        return {key: manifest["about"]["options"].get(key) for key in RUN_OPTIONS}


@contextmanager
def _opened(archive: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """Yield the zip and its manifest after checking that everything is as it was made."""
    if not archive.is_file():
        raise DataError(
            f"There is no archive {archive}: expected results/<preset>/archive.zip, which "
            "`snakemake --cores 2 archive` makes."
        )
    try:
        with zipfile.ZipFile(archive) as bundle:
            members = bundle.infolist()
            _refuse(archive, _member_problems(members, archive.stat().st_size))
            manifest = json.loads(bundle.read(MANIFEST))
            _refuse(archive, _manifest_problems(manifest))
            _refuse(archive, _content_problems(bundle, manifest["files"]))
            yield bundle, manifest
    except FedmixError:
        raise
    # zipfile and json raise a dozen kinds of error for a bad file
    except Exception as error:
        raise DataError(
            f"{archive} is damaged or not an archive ({type(error).__name__}: {error}). Fetch it "
            "again, and compare its size."
        ) from error


def _member_problems(members: list[zipfile.ZipInfo], size: int) -> Iterator[str]:
    """Yield the problems of the zip's list of members, before any member is read."""
    if len(members) > _MOST_MEMBERS:
        yield f"{len(members)} members; at most {_MOST_MEMBERS} are read"
        return
    names = Counter(member.filename for member in members)
    if MANIFEST not in names:
        yield f"not an archive of fedmix: {MANIFEST} is missing"
    yield from (f"{name}: listed {count} times" for name, count in names.items() if count > 1)
    for member in members:
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            yield f"{member.filename!r}: not a regular file"
        elif member.filename == MANIFEST:
            if member.file_size > _LARGEST_MANIFEST:
                yield f"{MANIFEST}: {member.file_size} bytes; at most {_LARGEST_MANIFEST} are read"
        elif member.filename not in _DOCUMENTS and not _RESULT_FILE.fullmatch(member.filename):
            yield f"{member.filename!r}: not a collected result; an archive holds nothing else"
        elif member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            yield f"{member.filename}: compressed or encrypted; expected an uncompressed member"
    # Uncompressed members cannot be larger than their file, unless they overlap.
    unpacked = sum(member.file_size for member in members if member.filename != MANIFEST)
    if unpacked > size:
        yield f"{unpacked} bytes of results in a file of {size}"


def _manifest_problems(manifest: Any) -> Iterator[str]:
    """Yield the differences of a manifest from the structure that :func:`make` gives it."""
    if not isinstance(manifest, dict) or manifest.keys() != {"format", "about", "files"}:
        yield f"{MANIFEST}: expected the keys format, about and files"
        return
    if manifest["format"] != _FORMAT:
        yield f"format {manifest['format']!r}; this fedmix reads format {_FORMAT}"
    files, about = manifest["files"], manifest["about"]
    if not isinstance(files, dict) or not all(map(_is_entry, files.values())):
        yield f"{MANIFEST}: expected a size and a sha256 for every file"
    options = about.get("options") if isinstance(about, dict) else None
    if not isinstance(options, dict) or not options.keys() <= set(RUN_OPTIONS):
        yield f"{MANIFEST}: about.options may hold {', '.join(RUN_OPTIONS)} and nothing else"
        return
    preset = options.get("preset")
    if not isinstance(preset, str) or not re.fullmatch("[a-z0-9_]+", preset, re.ASCII):
        yield f"{MANIFEST}: {preset!r} is not the name of a preset"
    for key in ("replications", "block"):
        value = options.get(key)
        if value is not None and (type(value) is not int or value < 1):
            yield f"{MANIFEST}: {key} is {value!r}; expected a whole number from 1, or null"
    chosen = options.get("methods")
    if chosen is not None and not (isinstance(chosen, list) and all(map(_is_name, chosen))):
        yield f"{MANIFEST}: methods are {chosen!r}; expected a list of names, or null"


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[\w.+-]+", value, re.ASCII) is not None


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.keys() != {"size", "sha256"}:
        return False
    return type(entry["size"]) is int and isinstance(entry["sha256"], str)


def _content_problems(bundle: zipfile.ZipFile, promised: Mapping[str, Any]) -> Iterator[str]:
    """Yield the members that differ from the manifest."""
    found = set(bundle.namelist()) - {MANIFEST}
    yield from (f"{name!r}: missing" for name in sorted(promised.keys() - found))
    yield from (f"{name}: not in the manifest" for name in sorted(found - promised.keys()))
    for name in sorted(found & promised.keys()):
        digest = sha256()
        for piece in _pieces(bundle.open(name)):
            digest.update(piece)
        expected = promised[name]["sha256"]
        if digest.hexdigest() != expected:
            yield f"{name}: sha256 is {digest.hexdigest()[:12]}..., expected {expected[:12]}..."


def _place(folder: Path, name: str) -> Iterator[str]:
    """Yield the reasons why a file cannot be written to its own place in a folder without links."""
    target = folder / name
    if target.resolve() != target:
        yield f"{name}: a link leads to {target.resolve()}; give the run a folder: --directory"
    elif target.is_dir() or any(p.exists() and not p.is_dir() for p in target.parents):
        yield f"{name}: there is a folder where a file belongs, or a file where a folder belongs"


def _refuse(archive: str | os.PathLike, problems: Iterable[str]) -> None:
    found = list(problems)
    if found:
        listing = "\n".join(f"  - {problem}" for problem in found[:20])
        more = f"\n  ({len(found) - 20} more)" if len(found) > 20 else ""
        raise DataError(f"{archive} is refused; nothing was unpacked:\n{listing}{more}")


def _pieces(member: IO[bytes]) -> Iterator[bytes]:
    with member:
        while piece := member.read(_PIECE):
            yield piece


def _name(path: Path, root: Path) -> str:
    if not path.is_file():
        raise DataError(f"{path} does not exist, so it cannot be archived.")
    try:
        name = path.resolve().relative_to(root).as_posix()
    except ValueError:
        raise DataError(f"{path} lies outside {root}, so it has no place in the archive.") from None
    if not _RESULT_FILE.fullmatch(name):
        raise DataError(f"{name} is not a collected result; an archive holds nothing else.")
    return name


def _member(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=_EPOCH)
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry

"""The registry of data sets: where each comes from and what it must look like."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedmix.configuration import raise_all, read_document, read_schema, validate
from fedmix.errors import ConfigurationError

# Bytes of a number written out with its separator, generously; and what may lie beside the values:
# descriptions, and originals that are larger than the table made of them.
_LONGEST_NUMBER = 32
_BESIDE = 1 << 26


@dataclass(frozen=True)
class SourceFile:
    """One raw file of a source.

    Parameters
    ----------
    name : str
        Its name in ``data/raw/originals`` or in a mirror folder.
    sha256, md5 : str, optional
        Checksum of the file under that name, that is after unpacking.
    url : str, optional
        Where to download it; without one it can only be placed by hand or lie in a mirror.
    member : str, optional
        Its path inside the zip archive at ``url``. A suffix .gz or .Z that ``name`` lacks is
        unpacked as well.
    """

    name: str
    sha256: str | None = None
    md5: str | None = None
    url: str | None = None
    member: str | None = None


@dataclass(frozen=True)
class Source:
    """One way to obtain a data set.

    Parameters
    ----------
    reader : str
        Name of a function in :mod:`fedmix.data.readers`.
    files : tuple of SourceFile
        What it reads. Without files and ``openml`` the data are bundled or generated.
    openml : int, optional
        Number of the data set on OpenML; its table takes the place of ``files``.
    options : mapping
        Further arguments of the reader.
    """

    reader: str
    files: tuple[SourceFile, ...] = ()
    openml: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def needs_nothing(self) -> bool:
        """Whether the data are bundled or generated."""
        return not self.files and self.openml is None

    @property
    def downloadable(self) -> bool:
        """Whether the network can deliver it."""
        return self.openml is not None or all(f.url for f in self.files)


@dataclass(frozen=True)
class DatasetEntry:
    """What the registry says of one data set.

    Parameters
    ----------
    name, title : str
        Its name in configurations and in print.
    sources : tuple of Source
        In the order in which they are tried; those at hand come before those from the network.
    n_points, n_features : int, optional
        Its shape; None is any, for files at hand only.
    class_names : tuple of str, default=()
        Classes as they are called in the raw files; label r stands for ``class_names[r]``. Without
        names, those found, sorted.
    class_counts : tuple of int, optional
        Points a class; None where they are random or not known.
    embeddings : mapping of str to mapping
        Named specifications for :mod:`fedmix.embed`; the first one is the usual choice.
    n_groups : int, optional
        Number of groups, the natural clients, such as writers; None if there are none.
    constant_columns : int, default=0
        Columns known to hold one value only (margins of images).
    content_sha256 : str, optional
        Hash of the values, the same whatever the source (:func:`fedmix.data.content_sha256`).
    licence, citation, homepage, note : str
        For people.
    """

    name: str
    title: str
    sources: tuple[Source, ...]
    n_points: int | None = None
    n_features: int | None = None
    class_names: tuple[str, ...] = ()
    class_counts: tuple[int, ...] | None = None
    embeddings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    n_groups: int | None = None
    constant_columns: int = 0
    content_sha256: str | None = None
    licence: str = ""
    citation: str = ""
    homepage: str = ""
    note: str = ""

    @property
    def largest_file(self) -> int:
        """Bytes that a raw file of this shape can need; a download that goes on is stopped."""
        assert self.n_points is not None  # as _errors sees to
        assert self.n_features is not None
        return _BESIDE + _LONGEST_NUMBER * self.n_points * (self.n_features + 1)

    def embedded_shape(self, embedding: str) -> tuple[int | None, int | None]:
        """Return points and features of an embedding; None where nothing is promised."""
        spec = self.embeddings[embedding]
        as_they_are = self.n_features if spec["kind"] in ("identity", "standardize") else None
        return self.n_points, spec.get("n_components", as_they_are)

    @classmethod
    def from_mapping(cls, name: str, values: Mapping[str, Any]) -> DatasetEntry:
        """Build an entry from what the registry's file has under its name."""
        counts = values.get("class_counts")
        names = values.get("class_names") or range(len(counts or ()))
        changed = {
            "class_names": tuple(map(str, names)),
            "class_counts": None if counts is None else tuple(counts),
            "sources": tuple(_source(source) for source in values["sources"]),
        }
        return cls(name=name, **{**values, **changed})


def read_registry(path: str | Path, schema: str | Path | None = None) -> dict[str, DatasetEntry]:
    """Read ``config/datasets.yaml``.

    Parameters
    ----------
    path : path-like
        The registry.
    schema : path-like, optional
        Its JSON schema; default is ``workflow/schemas/datasets.schema.yaml`` beside the folder of
        the registry.

    Returns
    -------
    dict of str to DatasetEntry
        In the order of the file.

    Raises
    ------
    ConfigurationError
        Listing everything that is wrong at once, with the nearest valid names.
    """
    path = Path(path)
    schema = schema or path.resolve().parents[1] / "workflow" / "schemas" / "datasets.schema.yaml"
    document = read_document(path)
    validate(document, read_schema(Path(schema)))
    return entries_of(document.content, path.name)


def entries_of(document: Mapping[str, Any], file: str = "datasets.yaml") -> dict[str, DatasetEntry]:
    """Return the entries of a registry that its schema has passed.

    Raises
    ------
    ConfigurationError
        Listing what a schema cannot see, such as an unknown reader; ``file`` is named.
    """
    entries = {name: DatasetEntry.from_mapping(name, values) for name, values in document.items()}
    raise_all(f"{file}: {e}" for entry in entries.values() for e in _errors(entry))
    return entries


def mirror_folder(mirror: str | os.PathLike | None) -> Path | None:
    """Return the mirror that is asked for, by name or by the environment variable FEDMIX_MIRROR.

    Raises
    ------
    ConfigurationError
        If it is not a folder.
    """
    mirror = mirror or os.environ.get("FEDMIX_MIRROR")
    if mirror and not Path(mirror).is_dir():
        raise ConfigurationError(
            f"The mirror {mirror} is not a folder. Give mirror=<folder> (or FEDMIX_MIRROR) an "
            "existing folder with raw files, or leave it out to download them."
        )
    return Path(mirror) if mirror else None


def _source(values: Mapping[str, Any]) -> Source:
    files = tuple(SourceFile(**file) for file in values.get("files", ()))
    return Source(**{**values, "files": files})


def _errors(entry: DatasetEntry) -> Iterator[str]:
    """Yield what a schema cannot see."""
    counts = entry.class_counts
    if counts is not None and len(counts) != len(entry.class_names):
        yield f"{entry.name}: {len(counts)} class counts for {len(entry.class_names)} classes."
    if counts is not None and entry.n_points not in (None, sum(counts)):
        yield f"{entry.name}: class counts add up to {sum(counts)}, not to {entry.n_points} points."
    for source in entry.sources:
        if source.options.get("client") and entry.n_groups is None:
            column = source.options["client"]
            yield f"{entry.name}: give n_groups, the number of clients in the column {column!r}."
        if source.downloadable and None in (entry.n_points, entry.n_features):
            yield f"{entry.name}: give n_points and n_features, beyond which a download is stopped."
        if source.files and source.openml is not None:
            yield f"{entry.name}: a source has either files or an openml number, not both."

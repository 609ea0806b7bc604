"""The registry of data sets: their sources and their expected properties."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from fedmix.configuration import Document, raise_all, read_document, validate
from fedmix.declarations import Count, Declared, Like, Named, Number, Positive, Unique
from fedmix.errors import ConfigurationError

# A generous number of bytes for one number as text with its separator, and for other content such
# as descriptions, and originals that are larger than the table made from them.
_LONGEST_NUMBER = 32
_BESIDE = 1 << 26

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Columns = Annotated[list[str], Field(min_length=1)]


class NoOptions(Declared):
    """No options."""


class WaveformOptions(Declared):
    """Options of Breiman's generator."""

    n_points: Count = 5000
    seed: Number = 0


class NpzOptions(Declared):
    """Names of the arrays."""

    features: str = "images"
    labels: str = "labels"


class EmnistOptions(Declared):
    """The split of EMNIST to read."""

    split: Literal["balanced", "byclass", "bymerge", "digits", "letters", "mnist"] = "balanced"


class TableOptions(Declared):
    """The roles of a table's columns."""

    label: str = Field(description="The column of the classes.")
    client: str = Field("", description="The column of the clients, if there is one.")
    columns: Columns = Field([], description="The columns of the features; all others by default.")
    drop: Columns = Field([], description="Columns that are not features.")
    names: Columns = Field([], description="The columns' names, for a file without a header.")
    codes: dict[str, dict[Any, float]] = Field(
        {}, description="Numbers that replace the texts of a column: column -> text -> number."
    )
    label_edges: Annotated[list[float], Field(min_length=1)] = Field(
        [], description="Edges of bins that turn a numeric label into classes."
    )
    square: bool = Field(False, description="Whether each row is transposed as a square image.")


class SourceFile(Declared):
    """One raw file of a source."""

    name: str = Field(
        pattern="^[^/]+$", description="The file's name in data/raw/originals or a mirror folder."
    )
    sha256: Sha256 | None = Field(
        None, description="Checksum of the file under that name, after unpacking."
    )
    md5: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = Field(
        None, description="MD5 checksum, if the publishers give this one."
    )
    url: Annotated[str, Field(pattern="^https?://")] | None = Field(
        None,
        description="Address of the download. Without it the file must be placed by hand or be in "
        "a mirror.",
    )
    member: str | None = Field(
        None,
        description="The file's path inside the zip archive at `url`. A suffix .gz or .Z that "
        "`name` does not have is unpacked as well.",
    )


class Source(Declared):
    """One way to obtain a data set."""

    reader: str = Field(description="Name of a function in fedmix.data.readers.")
    files: tuple[SourceFile, ...] = Field(
        (),
        strict=False,
        min_length=1,
        description="Files to read. Without files and `openml` the data are bundled or generated.",
    )
    openml: Count | None = Field(
        None,
        description="Number of the data set on OpenML. Its table replaces `files`.",
    )
    options: dict[str, Any] = Field({}, description="Further arguments of the reader.")

    @property
    def needs_nothing(self) -> bool:
        """Whether the data are bundled or generated."""
        return not self.files and self.openml is None

    @property
    def downloadable(self) -> bool:
        """Whether the data can be downloaded."""
        return self.openml is not None or (bool(self.files) and all(f.url for f in self.files))


class PlainSource(Source):
    """Files of a format without options."""

    reader: Literal[
        "digits", "npy", "npy_idx", "idx", "cifar10", "pendigits_tables", "pendigits_originals"
    ]
    options: Annotated[dict[str, Any], Like(NoOptions)] = Field({})


class WaveformSource(Source):
    """Breiman's generator."""

    reader: Literal["waveform"]
    options: Annotated[dict[str, Any], Like(WaveformOptions)] = Field({})


class NpzSource(Source):
    """NumPy's archive."""

    reader: Literal["npz"]
    options: Annotated[dict[str, Any], Like(NpzOptions)] = Field({})


class EmnistSource(Source):
    """EMNIST's zip archive."""

    reader: Literal["emnist_zip"]
    options: Annotated[dict[str, Any], Like(EmnistOptions)] = Field({})


class TableSource(Source):
    """A table with a column of classes, from a file or from OpenML."""

    reader: Literal["table"]
    options: Annotated[dict[str, Any], Like(TableOptions)]


AnySource = Annotated[
    PlainSource | WaveformSource | NpzSource | EmnistSource | TableSource,
    Field(discriminator="reader"),
]


class PlainEmbedding(Declared):
    """The features as they are, or each with mean 0 and variance 1."""

    kind: Literal["identity", "standardize"]


class PcaEmbedding(Declared):
    """Principal components."""

    kind: Literal["pca"]
    n_components: Count = 10
    whiten: bool = False


class TsneEmbedding(Declared):
    """Parameters of :func:`fedmix.embed.tsne`."""

    kind: Literal["tsne"]
    n_components: Annotated[int, Field(ge=1, le=50)] = 10
    perplexity: Annotated[float, Field(gt=1)] = 30.0
    early_exaggeration: Annotated[float, Field(ge=1)] = 12.0
    n_iter: Count = 750
    repulsion: Literal["exact", "sampled"] = "exact"
    n_samples: Annotated[int, Field(ge=2)] | None = None
    degrees_of_freedom: Literal["sklearn"] | Positive = 1.0
    init: Literal["pca", "random"] = "pca"
    pca_components: Count | None = 50
    random_state: Number = 0


class VaeEmbedding(Declared):
    """Parameters of :func:`fedmix.embed.vae`."""

    kind: Literal["vae"]
    n_components: Count = 64
    epochs: Count = 30
    batch_size: Count = 256
    learning_rate: Positive = 1e-3
    n_training: Count | None = None
    layout: Literal["auto", "images", "vectors"] = "auto"
    device: str = "cpu"
    random_state: Number = 0


class FileEmbedding(Declared):
    """An embedding that was made elsewhere."""

    kind: Literal["file"]
    path: str
    sha256: Sha256


AnyEmbedding = Annotated[
    PlainEmbedding | PcaEmbedding | TsneEmbedding | VaeEmbedding | FileEmbedding,
    Field(discriminator="kind"),
]
Name = Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]


def _as_texts(names: Any) -> Any:
    """Return class names as texts; a list can contain integers."""
    if not isinstance(names, list):
        return names
    return tuple(str(name) if type(name) is int else name for name in names)


ClassNames = Annotated[
    tuple[str, ...],
    Field(min_length=1),
    Unique,
    BeforeValidator(_as_texts, json_schema_input_type=list[str | int]),
]


def _numbered(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(map(str, range(len(entry.get("class_counts") or ()))))


class DatasetEntry(Declared):
    """The registry's entry of one data set."""

    name: SkipJsonSchema[str]
    title: str = Field(description="The data set's name in tables and pages.")
    sources: tuple[AnySource, ...] = Field(
        strict=False,
        min_length=1,
        description="Sources in the order in which they are tried. Local sources come before "
        "downloads.",
    )
    n_points: Count | None = Field(
        None, description="Number of points. Null allows any number, for local files only."
    )
    n_features: Count | None = Field(
        None, description="Number of features. Null allows any number, for local files only."
    )
    class_counts: tuple[Number, ...] | None = Field(
        None,
        strict=False,
        description="Number of points of each class; null if random or unknown.",
    )
    class_names: ClassNames = Field(
        default_factory=_numbered,
        description="Names of the classes in the raw files. Label r is the r-th name. By default "
        "the names found, sorted.",
    )
    embeddings: Annotated[dict[str, dict[str, Any]], Like(dict[Name, AnyEmbedding])] = Field(
        description="Named specifications for fedmix.embed. The first one is the default choice."
    )
    n_groups: Count | None = Field(
        None, description="Number of groups (natural clients, such as writers)."
    )
    constant_columns: Number = Field(
        0, description="Number of columns with only one value (margins of images)."
    )
    content_sha256: Sha256 | None = Field(
        None, description="Hash of the values, the same for all sources."
    )
    allow_unverified: bool = Field(
        False,
        description="Whether to download from a source without checksums, if `content_sha256` is "
        "not known either. Only the shape and the classes are then checked.",
    )
    licence: str = ""
    citation: str = ""
    homepage: str = ""
    note: str = ""

    @property
    def largest_file(self) -> int:
        """Largest size in bytes of a raw file of this shape. A larger download is stopped."""
        assert self.n_points is not None  # checked by _errors
        assert self.n_features is not None
        return _BESIDE + _LONGEST_NUMBER * self.n_points * (self.n_features + 1)

    def verifies(self, source: Source) -> bool:
        """Return whether other content than expected would be noticed."""
        known = bool(source.files) and all(file.sha256 or file.md5 for file in source.files)
        return known or self.content_sha256 is not None

    def embedded_shape(self, embedding: str) -> tuple[int | None, int | None]:
        """Return the numbers of points and features of an embedding; None if not known."""
        spec = self.embeddings[embedding]
        as_they_are = self.n_features if spec["kind"] in ("identity", "standardize") else None
        return self.n_points, spec.get("n_components", as_they_are)

    @classmethod
    def from_mapping(cls, name: str, values: Mapping[str, Any]) -> DatasetEntry:
        """Build an entry from its values in the file. Embeddings can be missing."""
        return cls(**{"name": name, "embeddings": {}, **values})


#: The content of ``config/datasets.yaml``.
Registry = Annotated[dict[Name, DatasetEntry], Named]


def read_registry(path: str | Path) -> dict[str, DatasetEntry]:
    """Read ``config/datasets.yaml``.

    Parameters
    ----------
    path : path-like
        The registry.

    Returns
    -------
    dict of str to DatasetEntry
        The entries by name, in the order of the file.

    Raises
    ------
    ConfigurationError
        If the registry is not valid. The message lists all errors, with the most similar valid
        names.
    """
    return entries_of(read_document(path))


def entries_of(document: Document) -> dict[str, DatasetEntry]:
    """Return the entries of a registry, with the errors of :func:`read_registry`."""
    entries = validate(document, Registry)
    wrong = ((entry, error) for entry in entries.values() for error in _errors(entry))
    raise_all(f"{document.place(entry.name)}: {error}" for entry, error in wrong)
    return entries


def mirror_folder(mirror: str | os.PathLike | None) -> Path | None:
    """Return the mirror's folder: the given one or that of the variable FEDMIX_MIRROR.

    Raises ConfigurationError if it is not a folder.
    """
    mirror = mirror or os.environ.get("FEDMIX_MIRROR")
    if mirror and not Path(mirror).is_dir():
        raise ConfigurationError(
            f"The mirror {mirror} is not a folder. Set mirror=<folder> (or FEDMIX_MIRROR) to an "
            "existing folder with raw files, or leave it out to download them."
        )
    return Path(mirror) if mirror else None


def _errors(entry: DatasetEntry) -> Iterator[str]:
    counts = entry.class_counts
    if counts is not None and len(counts) != len(entry.class_names):
        yield f"{len(counts)} class counts for {len(entry.class_names)} classes."
    if counts is not None and entry.n_points not in (None, sum(counts)):
        yield f"class counts add up to {sum(counts)}, not to {entry.n_points} points."
    for name, embedding in entry.embeddings.items():
        n = embedding.get("n_components", 1)
        if embedding["kind"] == "pca" and n > (entry.n_features or n):
            yield (
                f"embeddings.{name}: n_components is {n}, but the data have {entry.n_features} "
                "features. PCA gives at most one component for each."
            )
    for source in entry.sources:
        if source.options.get("client") and entry.n_groups is None:
            column = source.options["client"]
            yield f"give n_groups, the number of clients in the column {column!r}."
        if source.downloadable and None in (entry.n_points, entry.n_features):
            yield "give n_points and n_features, which limit the size of a download."
        if source.files and source.openml is not None:
            yield "a source has either files or an openml number, not both."
